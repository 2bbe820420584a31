"""Old exchanges: a prompt and all that came of it, judged and omitted as a whole, calls and results together."""

from msgspec import Struct

from context_guard.config import Config
from context_guard.labels import tool_label
from context_guard.runs import is_steering, is_stub
from context_guard.sizes import visible_chars
from context_guard.span import Span
from context_guard.text import (
    MARKER,
    RECALL,
    collapse,
    estimate_tokens,
    format_chars,
    one_line,
    plural,
    recall_hint,
    shorten,
    trim,
    without_lone_surrogates,
)
from context_guard.transcript import EDITABLE, Entry, ToolCall, calls_of, text_of

MIN_CHARS = 2_000
STUB_PROMPT_CHARS = 120
LABEL_PROMPT_CHARS = 60


class OldExchange(Struct, frozen=True):
    prompt_id: str
    entry_ids: tuple[str, ...]
    """Every other editable entry, in order; they go together."""
    chars: int
    """What the editable entries take in the context."""
    messages: int
    """All messages of the exchange that the model sees, those that stay included."""
    stub: str
    """What the model sees of it when it goes, on the prompt."""
    prompt: str
    answer: str
    calls: tuple[str, ...]

    @property
    def label(self) -> str:
        return f'"{collapse(self.prompt)[:LABEL_PROMPT_CHARS]}"'


def pick_exchanges(
    context: tuple[Entry, ...], spans: tuple[Span, ...], config: Config, settled: frozenset[str]
) -> tuple[OldExchange, ...]:
    """The finished exchanges before the run that may go: seen as stored, recoverable, large enough, not `settled`.

    Settled are those with these prompts: just judged, or with something pinned in them.
    """
    if not config.prune_exchanges or not spans:
        return ()
    bounds = exchange_bounds(context, spans[-1].start)
    old = bounds[: max(0, len(bounds) - config.keep_recent_exchanges)]
    found = (
        read_exchange(context[start:end], config.recall_with)
        for start, end in old
        if end <= spans[0].start and context[start].id not in settled
    )
    return tuple(
        exchange
        for exchange in found
        if exchange is not None and exchange.chars >= MIN_CHARS and len(exchange.stub) < exchange.chars
    )


def exchange_bounds(context: tuple[Entry, ...], end: int) -> list[tuple[int, int]]:
    """Start and end of every exchange before the place `end`, which begins a run."""
    starts = [
        place
        for place in range(end)
        if context[place].role == "user" and context[place].visible is not None and not is_steering(context, place)
    ]
    return list(zip(starts, [*starts[1:], end], strict=False))


def exchanges_with(context: tuple[Entry, ...], end: int, ids: frozenset[str]) -> frozenset[str]:
    """Prompts of the exchanges before the place `end` in which one of these entries stands."""
    return frozenset(
        context[start].id
        for start, stop in exchange_bounds(context, end)
        if any(entry.id in ids for entry in context[start:stop])
    )


def why_unfit(entries: tuple[Entry, ...]) -> str:
    """Why an exchange may never be judged, in words; empty when it may."""
    replies = _replies(entries)
    if is_stub(entries[0]):
        return "it is omitted already"
    if not replies or calls_of(replies[-1].visible):
        return "it did not end in an answer"
    return "somebody else's edit is in force in it" if any(map(_is_foreign, entries)) else ""


def read_exchange(entries: tuple[Entry, ...], way: str = RECALL) -> OldExchange | None:
    """The exchange, or None when it is unfit."""
    if why_unfit(entries):
        return None
    prompt, replies = entries[0], _replies(entries)
    editable = [entry for entry in entries if entry.role in EDITABLE and entry.visible is not None]
    chars = sum(map(visible_chars, editable))
    messages = sum(1 for entry in entries if entry.visible is not None and entry.role != "meta")
    asked = text_of(prompt.visible)
    return OldExchange(
        prompt_id=prompt.id,
        entry_ids=tuple(entry.id for entry in editable[1:]),
        chars=chars,
        messages=messages,
        stub=_stub(prompt.id, asked, messages, chars, way),
        prompt=asked,
        answer=next((text for entry in reversed(replies) if (text := trim(text_of(entry.visible)))), ""),
        calls=tuple(
            tool_label(block.name, block.args)
            for entry in replies
            for block in entry.visible or ()
            if isinstance(block, ToolCall)
        ),
    )


def _replies(entries: tuple[Entry, ...]) -> list[Entry]:
    return [entry for entry in entries if entry.role == "assistant" and entry.visible is not None]


def _is_foreign(entry: Entry) -> bool:
    """Whether somebody else's edit is in force on the entry; the guard's own show its marker."""
    if entry.role not in EDITABLE:
        return False
    return entry.visible is None or (entry.visible != entry.raw and not text_of(entry.visible).startswith(MARKER))


def _stub(prompt_id: str, prompt: str, messages: int, chars: int, way: str) -> str:
    quoted = shorten(one_line(prompt), STUB_PROMPT_CHARS)
    return without_lone_surrogates(
        f'{MARKER} Omitted an earlier exchange judged unrelated to the current work: "{quoted}" '
        f"({plural(messages, 'message')}, ~{format_chars(estimate_tokens(chars))} tokens). "
        f"{recall_hint('Full exchange', prompt_id, way)}"
    )
