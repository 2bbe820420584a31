"""What is kept out of the context now, what all passes saved, and what judging took: from the branch alone.

So the figures follow branches, reloads and compaction. They are sizes, not a bill: `cache/` has what a request costs.
"""

from typing import Literal

from msgspec import Struct

from context_guard.records import Record
from context_guard.runs import is_steering, is_stub
from context_guard.sizes import blocks_chars, visible_chars
from context_guard.text import estimate_tokens, format_chars
from context_guard.transcript import Entry, Transcript, images_of, shown

State = Literal["off", "busy", "problem", "ready"]
Tone = Literal["dim", "accent", "warning", "success"]


class Savings(Struct, frozen=True):
    chars: int
    """Raw size minus visible size of everything that the guard's edits change now."""
    outputs: int
    """Tool outputs of which the model sees a part or a stub."""
    images: int
    """Tool outputs that only lost their images."""
    exchanges: int
    lifetime_chars: int
    """What all records of the branch saved, also before a compaction."""
    compacted: bool
    """Whether a compaction came after a record that saved something."""
    runs: int
    checkpoints: int
    requests: int
    cost_usd: float
    last: Record | None

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.chars)


def count_savings(transcript: Transcript) -> Savings:
    context = shown(transcript)
    results = [entry for entry in context if entry.role == "tool" and is_stub(entry)]
    prompts = [entry for entry in context if entry.role == "user" and is_stub(entry)]
    without_images = [entry for entry in results if images_of(entry.raw) and not images_of(entry.visible)]
    stored = transcript.records
    saving = [item.at for item in stored if item.record.saved_chars > 0]
    compactions = [at for at, entry in enumerate(transcript.entries) if _is_compaction(entry)]
    return Savings(
        chars=sum(max(0, blocks_chars(entry.raw) - visible_chars(entry)) for entry in results)
        + _exchange_chars(transcript, frozenset(entry.id for entry in prompts)),
        outputs=len(results) - len(without_images),
        images=len(without_images),
        exchanges=len(prompts),
        lifetime_chars=sum(max(0, item.record.saved_chars) for item in stored),
        compacted=bool(saving and compactions) and compactions[-1] > saving[0],
        runs=sum(1 for item in stored if item.record.phase == "run-end"),
        checkpoints=sum(1 for item in stored if item.record.phase == "mid-run"),
        requests=sum(item.record.requests for item in stored),
        cost_usd=sum(item.record.cost_usd for item in stored),
        last=stored[-1].record if stored else None,
    )


def status_text(savings: Savings, state: State = "ready", problem: str = "") -> str:
    """One short line for a status bar."""
    return "".join(text for _, text in status_parts(savings, state, problem))


def status_parts(savings: Savings, state: State = "ready", problem: str = "") -> tuple[tuple[Tone, str], ...]:
    """The line in parts, each with its tone, for a status bar that has colours."""
    match state:
        case "off":
            return (("dim", "🛡 guard off"),)
        case "busy":
            return (("accent", "🛡 distilling…"),)
        case "problem":
            return (("warning", f"🛡 {problem or 'guard unavailable'}"),)
    lifetime = estimate_tokens(savings.lifetime_chars)
    total = f" · Σ−{format_chars(lifetime)}" if savings.compacted and lifetime > savings.tokens else ""
    if savings.tokens == 0:
        return (("dim", f"🛡 0{total}" if total else "🛡 0 saved"),)
    count = savings.outputs + savings.images + savings.exchanges
    return (("success", f"🛡 −{format_chars(savings.tokens)}"), ("dim", f" · {count}{total}"))


def format_cost(dollars: float) -> str:
    if dollars == 0:
        return "$0"
    return f"${dollars:.4f}" if dollars < 0.01 else f"${dollars:.2f}"


def _exchange_chars(transcript: Transcript, stubs: frozenset[str]) -> int:
    """Raw size of the omitted exchanges (their prompt and what no longer shows of them) minus their stubs."""
    seen = {transcript.entries[index].id for index in transcript.context}
    total = saved = 0
    inside = False
    for at, entry in enumerate(transcript.entries):
        if entry.id in stubs or _begins_exchange(transcript.entries, at):
            total += max(0, saved)
            inside = entry.id in stubs
            saved = blocks_chars(entry.raw) - visible_chars(entry) if inside else 0
        elif inside and (entry.visible is None or entry.id not in seen):
            saved += blocks_chars(entry.raw)
    return total + max(0, saved)


def _is_compaction(entry: Entry) -> bool:
    """The kind of a note is whatever its extension calls it."""
    return entry.role == "summary" and entry.kind == "compaction"


def _begins_exchange(entries: tuple[Entry, ...], at: int) -> bool:
    return entries[at].role == "user" and entries[at].visible is not None and not is_steering(entries, at)
