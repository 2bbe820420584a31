"""How a guard reads and edits one host's message list: three providers, and the port for any other host."""

from collections.abc import Callable
from typing import Any, Generic, Literal, TypeVar

from msgspec import Struct
from returns.result import Result, Success

from context_guard.edit_log import RawImage
from context_guard.formats import anthropic, openai_chat, openai_responses
from context_guard.formats.errors import FormatError
from context_guard.formats.fitting import Changes, Edits, fit
from context_guard.formats.message import Begun, Message, entry_ids
from context_guard.transcript import Image
from context_guard.validate import Problem, validate_anthropic, validate_openai_chat, validate_openai_responses

Provider = Literal["anthropic", "openai-chat", "openai-responses"]
Item = TypeVar("Item")


class Codec(Struct, Generic[Item], frozen=True):
    """Pure functions over a host's list."""

    host: str
    """Name for people and for the transcript."""
    read: Callable[[list[Item]], Result[tuple[Message, ...], FormatError]]
    write: Callable[[list[Item], tuple[Message, ...], Changes], list[Item]]
    """The list, as it was read, with these changes: the same objects wherever nothing changes."""
    validate: Callable[[list[Item]], tuple[Problem, ...]]
    """What the provider would refuse of a list."""
    find_image: Callable[[list[Item], Image], RawImage | None]
    """The data of an image that `read` found."""
    read_on: Callable[[list[Item], Begun], Result[tuple[Message, ...], FormatError]] | None = None
    """`read`, from behind what is read already; None for a host whose lists are read as a whole."""
    api: str = ""
    """The wire, as models name it: it decides how an edit hits the cache."""


CODECS: dict[Provider, Codec[dict[str, Any]]] = {
    "anthropic": Codec(
        "anthropic",
        anthropic.read,
        anthropic.write,
        validate_anthropic,
        anthropic.find_image,
        anthropic.read,
        "anthropic-messages",
    ),
    "openai-chat": Codec(
        "openai-chat",
        openai_chat.read,
        openai_chat.write,
        validate_openai_chat,
        openai_chat.find_image,
        openai_chat.read,
        "openai-completions",
    ),
    "openai-responses": Codec(
        "openai-responses",
        openai_responses.read,
        openai_responses.write,
        validate_openai_responses,
        openai_responses.find_image,
        openai_responses.read,
        "openai-responses",
    ),
}


def find_codec(provider: Provider | Codec[Any]) -> Codec[Any]:
    """Raises ValueError for what is neither a provider nor a codec."""
    if isinstance(provider, Codec):
        return provider
    found = CODECS.get(provider)
    if found is None:
        raise ValueError(f"{provider!r} is no provider: give {', '.join(map(repr, CODECS))}, or a Codec.")
    return found


def apply_edits(codec: Codec[Item], messages: list[Item], edits: Edits) -> list[Item]:
    """The list as the model is to see it; one that cannot be read as it is."""
    if not edits:
        return messages
    match codec.read(messages):
        case Success(found):
            return codec.write(messages, found, fit(found, entry_ids(found), edits))
        case _:
            return messages
