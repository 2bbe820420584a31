"""OpenAI Agents SDK: a filter over what a model call is sent, a tool, and a word at a run's end. The session stays raw.

guard = ContextGuard(store=open_store())
agent = Agent(name="…", tools=[*tools, guard.tool])
settings = RunConfig(call_model_input_filter=guard.filter)
result = await Runner.run(agent, prompt, session=session, run_config=settings)
await guard.settle(result, session)
"""

from typing import Any

from agents import Agent, FunctionTool, OpenAIConversationsSession, Session, ToolOutputImage, ToolOutputText
from agents.items import TResponseInputItem
from agents.models.interface import Model
from agents.result import RunResultBase
from agents.run_config import CallModelData, ModelInputData
from agents.tool_context import ToolContext

from context_guard.config import Config
from context_guard.edit_log import RawImage
from context_guard_effects.judges.port import Judge
from context_guard_effects.kit import DEFAULTS, Guard
from context_guard_effects.moment import Moment
from context_guard_effects.settling import Settled
from context_guard_effects.store import Store

DELTA = (
    "the request holds only what is new, since a server holds the rest (conversation_id, previous_response_id): "
    "nothing can be edited."
)


class ContextGuard:
    """`filter` for `RunConfig.call_model_input_filter`, `tool` among the agent's tools, `settle` after each run."""

    def __init__(self, store: Store | None = None, judge: Judge | str | None = None, config: Config = DEFAULTS) -> None:
        """As for `Guard`."""
        self.guard = Guard(store=store, judge=judge, config=config, provider="openai-responses")
        tool = self.guard.recall_tool()
        self.tool = FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=tool.parameters,
            on_invoke_tool=self._recall,
            strict_json_schema=False,
        )

    async def filter(self, data: CallModelData[Any]) -> ModelInputData:
        """What a model call is sent. In a long run it judges first, where a checkpoint pays."""
        items = data.model_data.input
        if _is_delta(items):
            self.guard.refuse(DELTA)
            return data.model_data
        if self.guard.config.mid_run and items and items[-1].get("type") == "function_call_output":
            await self.guard.checkpoint(items, Moment(model=_model(data.agent)))
        return ModelInputData(input=self.guard.project(items), instructions=data.model_data.instructions)

    async def settle(self, result: RunResultBase, session: Session | None = None) -> Settled:
        """Judges the run that has ended. Without a session the result has to hold the whole conversation."""
        if isinstance(session, OpenAIConversationsSession):
            self.guard.refuse(DELTA)
            return Settled(problem=DELTA)
        items = await session.get_items() if session is not None else result.to_input_list()
        name = session.session_id if session is not None else None
        return await self.guard.settle(items, Moment(model=_model(result.last_agent), session=name))

    async def _recall(self, context: ToolContext[Any], arguments: str) -> Any:
        page = self.guard.recall_tool().page(arguments)
        return [ToolOutputText(text=page.text), *map(_image, page.images)] if page.images else page.text


def _is_delta(items: list[TResponseInputItem]) -> bool:
    """Whether there is a result whose call is not in the list."""
    called = {item.get("call_id") for item in items if item.get("type") == "function_call"}
    results = (item.get("call_id") for item in items if item.get("type") == "function_call_output")
    return any(call_id not in called for call_id in results)


def _model(agent: Agent[Any]) -> str | None:
    model = agent.model
    name = getattr(model, "model", None) if isinstance(model, Model) else model
    return f"openai/{name}" if isinstance(name, str) else None


def _image(image: RawImage) -> ToolOutputImage:
    url = image.data if image.kind == "url" else f"data:{image.media_type};base64,{image.data}"
    return ToolOutputImage(image_url=url)
