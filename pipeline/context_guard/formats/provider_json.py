"""A provider's own message list in a file: the body of a request, or the bare list."""

from typing import Any

from msgspec.structs import replace
from returns.result import Result

from context_guard.formats.codec import Provider
from context_guard.formats.errors import FormatError
from context_guard.formats.message import Read
from context_guard.formats.parts import Json
from context_guard.formats.recorded import About, model_named, once_each, to_recorded
from context_guard.formats.request_body import list_key, read_request
from context_guard.transcript import Transcript


def read(name: Provider, value: Any) -> Result[tuple[Transcript, ...], FormatError]:
    body: Json = value if isinstance(value, dict) else {list_key(name): value}
    return read_request(name, body).map(lambda found: (_transcript(name, found),))


def _transcript(name: Provider, found: Read) -> Transcript:
    told = found.model if found.model and found.model.id else None
    model = model_named(told.id, told.provider) if told else None
    messages = [replace(it, model=it.model or model) if it.role == "assistant" else it for it in found.messages]
    return to_recorded(About(host=name, overhead_chars=found.overhead_chars or None), once_each(messages))
