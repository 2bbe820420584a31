"""A proxy's status as it is read and shown."""

import httpx
import msgspec
from msgspec import Struct
from rich import box
from rich.console import Group, RenderableType
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from context_guard.text import format_chars, plural
from context_guard.transcript import Usage
from context_guard_effects.cli.table import cell

STATUS_PATH = "/context-guard/status"
SECONDS = 5.0
ROWS = 15
DECISIONS = 8


class Conversation(Struct, frozen=True):
    id: str
    session: str
    api: str
    model: str
    requests: int
    raw_bytes: int
    sent_bytes: int
    edits: int
    last: int
    usage: Usage | None = None


class Decision(Struct, frozen=True):
    tool: str
    outcome: str
    reason: str
    before_chars: int
    after_chars: int
    weighed: str = ""


class Judged(Struct, frozen=True):
    time: int
    phase: str
    edits: int
    saved_chars: int
    decisions: tuple[Decision, ...]


class Problem(Struct, frozen=True):
    time: int
    says: str


class Watched(Struct, frozen=True, rename="camel"):
    """What the status address says, as far as it is shown."""

    requests: int
    kept_out_bytes: int
    queued: int
    conversations: tuple[Conversation, ...]
    judged: tuple[Judged, ...]
    problems: tuple[Problem, ...]


def read_status(address: str, headers: dict[str, str]) -> Watched:
    """Raises ValueError in words for people."""
    try:
        reply = httpx.get(address.rstrip("/") + STATUS_PATH, headers=headers, timeout=SECONDS, trust_env=False)
    except (httpx.TransportError, httpx.InvalidURL):
        raise ValueError(f"no proxy answers at {address}: start one with `context-guard proxy`") from None
    if reply.status_code in (401, 403):
        raise ValueError(f"the proxy at {address} refuses: give its --token, and an address of this machine")
    try:
        return msgspec.json.decode(reply.content, type=Watched)
    except msgspec.MsgspecError:
        raise ValueError(f"what answers at {address} is no proxy of context-guard") from None


def view(watched: Watched, now: float) -> Group:
    """`now` in seconds since the epoch."""
    head = f"{plural(watched.requests, 'request')}, {decimal(watched.kept_out_bytes)} kept out" + (
        f", {'1 pass' if watched.queued == 1 else f'{watched.queued} passes'} not judged yet" if watched.queued else ""
    )
    parts: list[RenderableType] = [Text(head), _conversations(watched, now)]
    if watched.judged:
        parts.append(_decisions(watched, now))
    parts += [Text(f"{_ago(now, problem.time)} ago: {problem.says}", "yellow") for problem in watched.problems[:3]]
    return Group(*parts)


def _conversations(watched: Watched, now: float) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("conversation", "model"):
        table.add_column(name, overflow="ellipsis", no_wrap=True)
    for name in ("requests", "agent sends", "model sees", "edits", "cache read", "last"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in watched.conversations[:ROWS]:
        table.add_row(
            cell(each.session or each.id),
            cell(each.model),
            str(each.requests),
            decimal(each.raw_bytes),
            Text(decimal(each.sent_bytes), "green" if each.edits else ""),
            str(each.edits),
            _cached(each.usage),
            f"{_ago(now, each.last)} ago",
        )
    return table


def _decisions(watched: Watched, now: float) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("judged", "tool", "outcome"):
        table.add_column(name, overflow="ellipsis", no_wrap=True)
    table.add_column("reason", overflow="fold")
    table.add_column("characters", justify="right", no_wrap=True)
    rows = [(judged, decision) for judged in watched.judged for decision in judged.decisions]
    for judged, decision in rows[:DECISIONS]:
        sizes = format_chars(decision.before_chars)
        if decision.after_chars != decision.before_chars:
            sizes += f" → {format_chars(decision.after_chars)}"
        when = f"{_ago(now, judged.time)} ago, {judged.phase}"
        table.add_row(when, cell(decision.tool), cell(decision.outcome), cell(_reason(decision)), sizes)
    return table


def _reason(decision: Decision) -> str:
    return f"{decision.reason}: {decision.weighed}" if decision.weighed else decision.reason


def _cached(usage: Usage | None) -> str:
    total = usage.input + usage.cache_read + usage.cache_write if usage else 0
    return f"{usage.cache_read / total:.0%}" if usage and total else ""


def _ago(now: float, ms: int) -> str:
    seconds = max(0, round(now - ms / 1_000))
    if seconds < 60:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 3_600 else f"{seconds // 3_600} h"
