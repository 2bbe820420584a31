"""pydantic-ai: a capability. The agent's message history stays raw; its model sees the distilled one.

agent = Agent("anthropic:claude-sonnet-5-5", capabilities=[ContextGuard(store=open_store())])
"""

import base64
from dataclasses import replace
from typing import Any, TypeVar

from pydantic_ai import RunContext, Tool
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.messages import BinaryContent, ImageUrl, ModelRequest, ToolReturnPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.toolsets import FunctionToolset

from context_guard.config import Config
from context_guard.edit_log import RawImage
from context_guard_effects.hosts.pydantic_ai_messages import CODEC
from context_guard_effects.judges.port import Judge
from context_guard_effects.kit import DEFAULTS, Guard
from context_guard_effects.moment import Moment
from context_guard_effects.store import Store

Deps = TypeVar("Deps")

SERVER_HELD = ("openai_previous_response_id", "openai_conversation_id", "xai_previous_response_id")
"""Settings with which a model sends only what is new, since a server holds the rest."""


class ContextGuard(AbstractCapability[Deps]):
    """Distils at the end of a run, and in a long run where a checkpoint pays; gives the model the tool `recall`."""

    def __init__(self, store: Store | None = None, judge: Judge | str | None = None, config: Config = DEFAULTS) -> None:
        """As for `Guard`."""
        self.guard = Guard(store=store, judge=judge, config=config, provider=CODEC)

    def get_ordering(self) -> CapabilityOrdering:
        """Behind everything else that changes the messages."""
        return CapabilityOrdering(position="innermost")

    def get_toolset(self) -> FunctionToolset[Deps]:
        tool = self.guard.recall_tool()
        made: Tool[Deps] = Tool.from_schema(self._recall, tool.name, tool.description, tool.parameters)
        return FunctionToolset([made], id="context-guard")

    async def before_model_request(
        self, ctx: RunContext[Deps], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        messages = request_context.messages
        held = [name for name in SERVER_HELD if (request_context.model_settings or {}).get(name) is not None]
        if held:
            self.guard.refuse(f"{held[0]} is set: a server holds the history, so nothing can be edited. Leave it out.")
            return request_context
        if self.guard.config.mid_run and messages and _is_mid_run(messages[-1]):
            await self.guard.checkpoint(messages, _moment(ctx))
        return replace(request_context, messages=self.guard.project(messages))

    async def after_run(self, ctx: RunContext[Deps], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        await self.guard.settle(result.all_messages(), _moment(ctx))
        return result

    def _recall(self, **arguments: Any) -> Any:
        page = self.guard.recall_tool().page(arguments)
        return [page.text, *map(_image, page.images)] if page.images else page.text


def _is_mid_run(message: object) -> bool:
    return isinstance(message, ModelRequest) and any(isinstance(part, ToolReturnPart) for part in message.parts)


def _moment(ctx: RunContext[Any]) -> Moment:
    return Moment(model=f"{ctx.model.system}/{ctx.model.model_name}", session=ctx.conversation_id)


def _image(image: RawImage) -> BinaryContent | ImageUrl:
    if image.kind == "url":
        return ImageUrl(image.data)
    return BinaryContent(base64.b64decode(image.data), media_type=image.media_type)
