"""LangChain and LangGraph: a middleware. The agent's state stays raw; its model sees the distilled messages.

agent = create_agent(model, tools, middleware=[ContextGuard(store=open_store())], checkpointer=…)
"""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.config import get_config
from langgraph.runtime import Runtime

from context_guard.config import Config
from context_guard_effects.hosts.langchain_messages import CODEC, last_model
from context_guard_effects.judges.port import Judge
from context_guard_effects.kit import DEFAULTS, Guard
from context_guard_effects.moment import Moment
from context_guard_effects.store import Store

SERVER_HELD = "use_previous_response_id"
"""With this attribute of a model only what is new is sent, since a server holds the rest."""


class ContextGuard(AgentMiddleware[AgentState[Any], Any, Any]):
    """Distils at the end of a run, and in a long run where a checkpoint pays; gives the model the tool `recall`.

    Works under `invoke` and `ainvoke`. List it last: the last middleware is next to the model and sees what is sent.
    """

    def __init__(self, store: Store | None = None, judge: Judge | str | None = None, config: Config = DEFAULTS) -> None:
        """As for `Guard`."""
        super().__init__()
        self.guard = Guard(store=store, judge=judge, config=config, provider=CODEC)
        tool = self.guard.recall_tool()
        self.tools = [
            StructuredTool.from_function(
                self._recall, name=tool.name, description=tool.description, args_schema=tool.parameters
            )
        ]

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        if self._is_refused(request):
            return handler(request)
        if self._is_mid_run(request.messages):
            self.guard.checkpoint_sync(request.messages, _moment(request.messages))
        return handler(request.override(messages=self.guard.project(request.messages)))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        if self._is_refused(request):
            return await handler(request)
        if self._is_mid_run(request.messages):
            await self.guard.checkpoint(request.messages, _moment(request.messages))
        return await handler(request.override(messages=self.guard.project(request.messages)))

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        self.guard.settle_sync(state["messages"], _moment(state["messages"]))

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        await self.guard.settle(state["messages"], _moment(state["messages"]))

    def _is_refused(self, request: ModelRequest[Any]) -> bool:
        is_held = bool(getattr(request.model, SERVER_HELD, False))
        if is_held:
            self.guard.refuse(f"{SERVER_HELD} is set: a server holds the history, so nothing can be edited.")
        return is_held

    def _is_mid_run(self, messages: list[AnyMessage]) -> bool:
        return self.guard.config.mid_run and bool(messages) and isinstance(messages[-1], ToolMessage)

    def _recall(self, **arguments: Any) -> str | list[dict[str, Any]]:
        page = self.guard.recall_tool().page(arguments)
        pictures = [
            {"type": "image", "url": image.data}
            if image.kind == "url"
            else {"type": "image", "base64": image.data, "mime_type": image.media_type}
            for image in page.images
        ]
        return [{"type": "text", "text": page.text}, *pictures] if pictures else page.text


def _moment(messages: list[AnyMessage]) -> Moment:
    model = last_model(messages)
    try:
        thread = get_config().get("configurable", {}).get("thread_id")
    except RuntimeError:  # outside of a graph
        thread = None
    return Moment(model=model.ref if model is not None else None, session=thread and str(thread))
