"""A provider's own message list in a file: the body of a request, or the bare list."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace
from returns.result import Result

from context_guard.formats import anthropic, openai_chat, openai_responses
from context_guard.formats.errors import FormatError
from context_guard.formats.message import Read
from context_guard.formats.parts import Json
from context_guard.formats.recorded import About, model_named, once_each, to_recorded
from context_guard.formats.signatures import Format
from context_guard.transcript import Transcript

Request = Callable[[Json], Result[Read, FormatError]]
REQUESTS: dict[Format, tuple[str, Request]] = {
    "anthropic": ("messages", anthropic.read_request),
    "openai-chat": ("messages", openai_chat.read_request),
    "openai-responses": ("input", openai_responses.read_request),
}


def read(value: Any, name: Format) -> Result[tuple[Transcript, ...], FormatError]:
    key, read_request = REQUESTS[name]
    body: Json = value if isinstance(value, dict) else {key: value}
    return read_request(body).map(lambda found: (_transcript(name, found),))


def _transcript(name: Format, found: Read) -> Transcript:
    told = found.model if found.model and found.model.id else None
    model = model_named(told.id, told.provider) if told else None
    messages = [replace(it, model=it.model or model) if it.role == "assistant" else it for it in found.messages]
    return to_recorded(About(host=name, overhead_chars=found.overhead_chars or None), once_each(messages))
