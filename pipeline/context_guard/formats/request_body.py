"""The body of a whole request: its message list, its model, and what stands beside the list."""

from msgspec import Struct
from returns.result import Result

from context_guard.cache.marks import is_messages, read_marks
from context_guard.formats.codec import CODECS, Provider
from context_guard.formats.errors import FormatError
from context_guard.formats.message import Read
from context_guard.formats.parts import Json
from context_guard.formats.values import json_text, string
from context_guard.transcript import Model


class _Form(Struct, frozen=True):
    key: str
    """Under which the list stands."""
    provider: str
    beside: tuple[str, ...]
    """What else of the body the model reads."""


_FORMS: dict[Provider, _Form] = {
    "anthropic": _Form("messages", "anthropic", ("system", "tools")),
    "openai-chat": _Form("messages", "openai", ("tools", "functions")),
    "openai-responses": _Form("input", "openai", ("instructions", "tools")),
}


def list_key(name: Provider) -> str:
    """Under which the message list stands in the body."""
    return _FORMS[name].key


def read_request(name: Provider, body: Json) -> Result[Read, FormatError]:
    form, codec = _FORMS[name], CODECS[name]
    return codec.read(body.get(form.key, [])).map(
        lambda messages: Read(
            messages=messages,
            model=Model(form.provider, string(body.get("model")), codec.api),
            overhead_chars=sum(len(json_text(body[key])) for key in form.beside if key in body),
            marks=read_marks(body) if name == "anthropic" and is_messages(body) else (),
        )
    )
