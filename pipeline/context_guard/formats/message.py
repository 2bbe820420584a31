"""One entry of a message list, told by its content: what a codec reads a provider's messages into."""

import json
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct

from context_guard.cache.marks import Mark
from context_guard.transcript import AnyBlock, Entry, Model, Opaque, Role, Usage, calls_of, only_result, text_of

ID_DIGITS = 12
_ID = re.compile(rf"[0-9a-f]{{{ID_DIGITS}}}")


class Message(Struct, frozen=True):
    """An entry to be: a tool result, the rest of a user message, an assistant message."""

    role: Role
    blocks: tuple[AnyBlock, ...]
    src: str
    """Where it stands: `3` is message 3, `3-5` messages 3 to 5, `3/1-2` the blocks 1 and 2 of message 3."""
    digests: tuple[str, ...] = ()
    """Of its pictures and of what is carried untouched, in order: what tells them apart."""
    fixed: bool = False
    """The provider needs it where it is: neither it nor the exchange around it may go."""
    time: int | None = None
    """Milliseconds since the epoch."""
    model: Model | None = None
    usage: Usage | None = None
    stop: str | None = None
    response_id: str | None = None
    kind: str = ""

    @property
    def is_fixed(self) -> bool:
        """Also what holds something that no edit may touch and no recall could give back."""
        result = only_result(self.blocks)
        blocks = self.blocks if result is None else result.content
        return self.fixed or any(isinstance(block, Opaque) for block in blocks)

    def to_entry(self, id: str, visible: tuple[AnyBlock, ...] | None, parent: str | None = None) -> Entry:
        """`visible` is what the model sees of it."""
        return Entry(
            id=id,
            parent=parent,
            role=self.role,
            raw=self.blocks,
            visible=visible,
            kind=self.kind,
            time=self.time,
            model=self.model,
            usage=self.usage,
            stop=self.stop,
            response_id=self.response_id,
            src=self.src,
        )


class Read(Struct, frozen=True):
    """A whole request body."""

    messages: tuple[Message, ...]
    model: Model | None = None
    overhead_chars: int | None = None
    """System prompt and tool definitions beside the messages."""
    marks: tuple[Mark, ...] = ()
    """Its cache breakpoints (Anthropic), in reading order."""


class Begun(Struct, frozen=True):
    """The entries of a list's first messages, where those were read before."""

    entries: tuple[Message, ...] = ()
    count: int = 0
    """Messages that they stand for: the next entry begins with the message at this place."""


NOT_BEGUN = Begun()


def call_names(entries: Iterable[Message]) -> dict[str, str]:
    """Id of each call → name of its tool."""
    return {call.id: call.name for entry in entries if entry.role == "assistant" for call in calls_of(entry.blocks)}


class Named(Struct, frozen=True):
    """Messages, and what each is told by."""

    messages: tuple[Message, ...]
    ids: tuple[str, ...]
    said: tuple[str, ...]
    """A digest of each, of which its id is made."""


def entry_ids(messages: Sequence[Message]) -> tuple[str, ...]:
    """Twelve hexadecimal digits for each entry, made of what it says and of how many equal ones stand before it.

    Left out is what hosts drop or make anew: thinking, signatures, cache marks, the providers' own ids. So adding
    messages at the end changes no id, and the id of a tool result depends on its call and its raw content alone. That
    of a prompt depends on the answer before it too: many say "go on", and an exchange is recalled by its prompt. That
    of an answer depends on what it was asked: where a host counts its calls, two tasks begin with the same steps.
    """
    return name_entries(messages).ids


def is_entry_id(text: str) -> bool:
    return bool(_ID.fullmatch(text))


def name_entries(messages: Sequence[Message], known: Named | None = None) -> Named:
    """The ids, see `entry_ids`. Messages that a known list begins with too are not digested again."""
    begun = known.said[: _shared(messages, known.messages)] if known is not None else ()
    seen: dict[str, int] = {}
    ids: list[str] = []
    digests: list[str] = []
    answer = prompt = ""
    follows_prompt = False
    for place, message in enumerate(messages):
        before = {"user": answer, "assistant": prompt}.get(message.role, "")
        said = begun[place] if place < len(begun) else _said(message, before)
        digests.append(said)
        count = seen.get(said, 0)
        seen[said] = count + 1
        ids.append(said if count == 0 else sha256(f"{said} {count}".encode()).hexdigest()[:ID_DIGITS])
        if message.role == "assistant":
            answer = ids[-1]
        if message.role == "user":
            prompt = _said(message, prompt if follows_prompt else "")
        follows_prompt = message.role == "user"
    return Named(tuple(messages), tuple(ids), tuple(digests))


def _shared(messages: Sequence[Message], known: Sequence[Message]) -> int:
    """With how many equal messages both begin."""
    pairs = enumerate(zip(messages, known, strict=False))
    differs = (place for place, (one, other) in pairs if one is not other and one != other)
    return next(differs, min(len(messages), len(known)))


def _said(message: Message, before: str) -> str:
    """A digest of the content and what stands before; the lengths in front of them tell where each part ends."""
    result = only_result(message.blocks)
    text = text_of(message.blocks)
    parts = [message.role, before if result is None else result.call_id]
    if message.role == "assistant":
        for call in calls_of(message.blocks):
            parts += (call.id, call.name, _canonical(call.args))
    parts += message.digests
    head = "".join((repr([len(text), *map(len, parts)]), *parts))
    digest = sha256(head.encode("utf-8", "surrogatepass"))
    # By itself: it may be long, and joined it would be copied once more.
    digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:ID_DIGITS]


def _canonical(args: str) -> str:
    """The same arguments in one form, whatever their order, spaces and escapes; what is no JSON as it is."""
    try:
        value = json.loads(args) if args else {}
        try:
            return msgspec.json.encode(value, order="sorted").decode()
        except (msgspec.MsgspecError, UnicodeEncodeError, TypeError, OverflowError):
            return json.dumps(value, sort_keys=True)
    except (ValueError, RecursionError):
        return args
