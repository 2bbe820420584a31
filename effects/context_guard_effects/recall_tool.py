"""The tool with which a model gets back what was taken out: its definition for each provider, and its executor."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from returns.result import Failure, Success

from context_guard.edit_log import RawImage, RawOutput
from context_guard.recall import expired, recall_output, unknown
from context_guard.text import MARKER, RECALL
from context_guard_effects.store import Expired, Store, StoreError

JsonObject = dict[str, Any]

DESCRIPTION = (
    f'Gives back the original of a tool output or of an earlier exchange that a "{MARKER}" note stands for. '
    "Long originals come in pages."
)
PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {
        "entryId": {"type": "string", "description": f'The id in the "{MARKER}" note.'},
        "pattern": {"type": "string", "description": "Only lines that match this RE2 regular expression, numbered."},
        "offset": {"type": "integer", "description": "First line, from 1; with a pattern, of those that match."},
        "limit": {"type": "integer", "description": "Most lines."},
        "column": {"type": "integer", "description": "First character, from 1, of the line at offset."},
    },
    "required": ["entryId"],
}


BLANK = "[nothing but white space]"
"""Providers refuse a blank text."""


class Arguments(Struct, frozen=True, rename="camel"):
    entry_id: str
    pattern: str | None = None
    offset: float | None = None
    limit: float | None = None
    column: float | None = None


class Page(Struct, frozen=True):
    """What the model reads."""

    text: str
    images: tuple[RawImage, ...] = ()
    is_error: bool = False


class RecallTool:
    """Blocks on the store for a moment; call it in a thread where that matters."""

    name = RECALL
    description = DESCRIPTION
    parameters = PARAMETERS

    def __init__(self, store: Store, provider: str) -> None:
        """`provider`: in whose words `schema` and `result` speak; other hosts have only the rest."""
        self._store = store
        self._provider = provider

    @property
    def schema(self) -> JsonObject:
        """The tool's definition as the provider takes it. The same in every request: a change would cost the cache."""
        if self._provider == "anthropic":
            return {"name": self.name, "description": self.description, "input_schema": self.parameters}
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        if self._provider == "openai-chat":
            return {"type": "function", "function": function}
        if self._provider == "openai-responses":
            return {"type": "function", **function, "strict": False}
        raise self._no_provider()

    def page(self, arguments: str | Mapping[str, Any]) -> Page:
        """What the model asked for, or what was wrong with its question. Never raises."""
        try:
            decoded = json.loads(arguments) if isinstance(arguments, str) else dict(arguments)
            asked = msgspec.convert(decoded, Arguments, strict=False)
        except (ValueError, TypeError, RecursionError) as error:
            return Page(f"The arguments are not usable: {error}. Give the entryId of a {MARKER} note.", is_error=True)
        try:
            raw = self._store.raw(asked.entry_id)
        except StoreError as error:
            return Page(f"The store of originals cannot be read: {error}", is_error=True)
        return _page(raw, asked)

    def result(self, call_id: str, arguments: str | Mapping[str, Any]) -> list[JsonObject]:
        """What goes back to the provider for this call: content blocks of the next user message (Anthropic), messages
        (chat; pictures follow in a user message, behind the results of all calls), or items (Responses)."""
        page = self.page(arguments)
        if self._provider == "anthropic":
            return [_anthropic(call_id, page)]
        if self._provider == "openai-chat":
            return _openai_chat(call_id, page)
        if self._provider == "openai-responses":
            return [_openai_responses(call_id, page)]
        raise self._no_provider()

    def _no_provider(self) -> ValueError:
        return ValueError(f"{self._provider!r} has no words of its own: use name, description, parameters and page.")


def _page(raw: RawOutput | Expired | None, asked: Arguments) -> Page:
    match raw:
        case None:
            return Page(unknown(asked.entry_id).message, is_error=True)
        case Expired(at=at):
            return Page(expired(asked.entry_id, at).message, is_error=True)
    match recall_output(raw, asked.pattern, asked.offset, asked.limit, asked.column):
        case Success(found):
            return Page(found.text if found.text.strip() else BLANK, found.images)
        case Failure(error):
            return Page(error.message, is_error=True)
    raise AssertionError


def _url(image: RawImage) -> str:
    return image.data if image.kind == "url" else f"data:{image.media_type};base64,{image.data}"


def _anthropic(call_id: str, page: Page) -> JsonObject:
    sources: list[JsonObject] = [
        {"type": "url", "url": image.data}
        if image.kind == "url"
        else {"type": "base64", "media_type": image.media_type, "data": image.data}
        for image in page.images
    ]
    content = [{"type": "text", "text": page.text}, *({"type": "image", "source": source} for source in sources)]
    failed = {"is_error": True} if page.is_error else {}
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **failed}


def _openai_chat(call_id: str, page: Page) -> list[JsonObject]:
    answer: JsonObject = {"role": "tool", "tool_call_id": call_id, "content": page.text}
    pictures = [{"type": "image_url", "image_url": {"url": _url(image)}} for image in page.images]
    return [answer, {"role": "user", "content": pictures}] if pictures else [answer]


def _openai_responses(call_id: str, page: Page) -> JsonObject:
    pictures = [{"type": "input_image", "image_url": _url(image)} for image in page.images]
    output = [{"type": "input_text", "text": page.text}, *pictures] if pictures else page.text
    return {"type": "function_call_output", "call_id": call_id, "output": output}
