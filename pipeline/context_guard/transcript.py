"""Stage 0. What any host hands over: one branch of a conversation, raw beside what the model sees.

A format module (`formats/`) reads a host's data into a `Transcript`; nothing here knows a host. Every entry keeps a
pointer to its source (`src`), so that a format patches that place and never rebuilds the document.
"""

from typing import Literal

from msgspec import Struct

from context_guard.records import StoredRecord

CacheLife = Literal["5m", "1h"]


class Block(Struct, frozen=True, kw_only=True):
    cache: CacheLife | None = None
    """Life of the prompt-cache breakpoint that the host set on this block, if it set one."""


class Text(Block, frozen=True, tag="text"):
    text: str


class Image(Block, frozen=True, tag="image"):
    media_type: str
    ref: str
    """Where the format finds the bytes again. The bytes themselves never enter the pipeline."""
    width: int | None = None
    height: int | None = None


class Thinking(Block, frozen=True, tag="thinking"):
    text: str
    signature: str = ""


class ToolCall(Block, frozen=True, tag="call"):
    id: str
    name: str
    args: str = ""
    """Arguments as JSON text, keys in the host's order; empty when the host gave none."""


class Opaque(Block, frozen=True, tag="opaque"):
    """Anything else: carried and counted, never judged and never edited."""

    kind: str
    size: int


class ToolResult(Block, frozen=True, tag="result"):
    call_id: str
    name: str
    """Empty when the host does not repeat the tool's name on its result."""
    content: tuple[Text | Image | Opaque, ...]
    is_error: bool | None = None
    """None when the host has no such flag."""
    full_ref: str | None = None
    """Where the host spilled the full output, of which `content` is a part."""


AnyBlock = Text | Image | Thinking | ToolCall | ToolResult | Opaque

Role = Literal["system", "user", "assistant", "tool", "summary", "note", "shell", "meta"]
"""summary: of a compaction or a left branch; note: put in by an extension; shell: the user's own command;
meta: never in the model's context (labels, settings, edits, records)."""

EDITABLE: frozenset[Role] = frozenset({"user", "assistant", "tool", "note"})
"""Roles whose entries every host lets an edit replace or omit."""


class Model(Struct, frozen=True):
    provider: str
    id: str
    api: str = ""

    @property
    def ref(self) -> str:
        return f"{self.provider}/{self.id}"


class Usage(Struct, frozen=True):
    """Tokens as the provider counted them; `input` leaves out what was read from or written to the cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float | None = None
    """US dollars, where the host says so."""


class Entry(Struct, frozen=True):
    id: str
    parent: str | None
    role: Role
    raw: tuple[AnyBlock, ...] = ()
    visible: tuple[AnyBlock, ...] | None = ()
    """What the model sees instead of `raw`; None when an edit omitted the entry."""
    kind: str = ""
    """The host's own name for this sort of entry."""
    time: int | None = None
    """Milliseconds since the epoch; for a prompt, when it was sent, even if it had to wait; for an answer, when it was
    asked for."""
    written: int | None = None
    """When the host stored it, where it says so: of an answer the moment it was complete."""
    model: Model | None = None
    usage: Usage | None = None
    stop: str | None = None
    response_id: str | None = None
    sidechain: str | None = None
    """Name of the sub-agent that this entry belongs to."""
    src: str = ""
    """Where in the host's data the entry stands, in the format's own terms."""

    @property
    def result(self) -> ToolResult | None:
        """The one visible tool result of this entry."""
        return only_result(self.visible)

    @property
    def raw_result(self) -> ToolResult | None:
        return only_result(self.raw)


class Edit(Struct, frozen=True):
    """An edit that the branch already holds. The last one for a target wins."""

    id: str
    target: str
    at: int
    """Index of the edit in `Transcript.entries`."""
    content: tuple[AnyBlock, ...] | None
    """The replacement; None omits the target."""


class Transcript(Struct, frozen=True):
    host: str
    session: str
    entries: tuple[Entry, ...]
    """One branch, root to head, in the order of the branch."""
    head: str | None
    context: tuple[int, ...]
    """Indexes of the entries in the order the model sees them; what a compaction dropped is not among them."""
    edits: tuple[Edit, ...] = ()
    records: tuple[StoredRecord, ...] = ()
    model: Model | None = None
    """The model that the next request goes to."""
    cwd: str | None = None
    version: str = ""
    overhead_chars: int | None = None
    """System prompt and tool definitions, in characters, where the host says so."""
    pinned: frozenset[str] = frozenset()
    """Entries that no pass touches: the user said so, or the provider needs them as they are."""
    keeps: tuple[tuple[str, str], ...] = ()
    """Compactions of the branch: the entry, and the first one in front of it that stayed; itself when none did."""
    hidden: frozenset[str] = frozenset()
    """Entries with content that the host never shows the model."""


def only_result(blocks: tuple[AnyBlock, ...] | None) -> ToolResult | None:
    match blocks:
        case (ToolResult() as result,):
            return result
        case _:
            return None


def shown(transcript: Transcript) -> tuple[Entry, ...]:
    """The entries of the model's context, in its order; an omitted one keeps its place."""
    return tuple(transcript.entries[index] for index in transcript.context)


def text_of(blocks: tuple[AnyBlock, ...] | None) -> str:
    """The text blocks, those inside a tool result too, joined by newlines."""
    parts: list[str] = []
    for block in blocks or ():
        match block:
            case Text(text=text):
                parts.append(text)
            case ToolResult(content=content):
                parts.append(text_of(content))
    return "\n".join(parts)


def calls_of(blocks: tuple[AnyBlock, ...] | None) -> tuple[ToolCall, ...]:
    return tuple(block for block in blocks or () if isinstance(block, ToolCall))


def images_of(blocks: tuple[AnyBlock, ...] | None) -> tuple[Image, ...]:
    images: list[Image] = []
    for block in blocks or ():
        match block:
            case Image():
                images.append(block)
            case ToolResult(content=content):
                images.extend(images_of(content))
    return tuple(images)


def is_text_only(result: ToolResult) -> bool:
    return all(isinstance(block, Text) for block in result.content)
