"""A user's problem as a case: of a session only what one decision needs, without its secrets.

Parts of the conversation are left out as long as the decision stays the same, then settings, then chunks of the output
of which nothing is shown. Every step is proven by running the case.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from context_guard.chunks import Chunk
from context_guard.decisions import Decision
from context_guard.left_alone import read_ground, why_left_alone
from context_guard.needs import common
from context_guard.render import LineRanges
from context_guard.saved_trace import Trace
from context_guard.span import Span
from context_guard.stages import Plan, Settlement
from context_guard.transcript import Transcript
from context_guard_effects.testing.build import SECOND
from context_guard_effects.testing.cases import PAGE, SMALL, Toml, run_case, snapshot_texts
from context_guard_effects.testing.problem_answers import said_in
from context_guard_effects.testing.problem_entries import Masked, Part, mask, parts_of, to_entries
from context_guard_effects.testing.smallest import shrink


class Wish(Struct, frozen=True):
    """What the user wants of a case."""

    entry_id: str
    needs: LineRanges = ()
    """Lines of the output that the model has to be shown."""
    ask_local: bool = False
    """The case asks the embedded judge instead of pinning its answers."""
    says: str = ""


class Problem(Struct, frozen=True):
    case: dict[str, Any]
    name: str
    """Of the entry, in the case."""
    reproduces: bool
    """Whether the case comes to the decision that the session came to."""
    parts: tuple[int, int]
    """Of the branch, those in the case and all."""
    secrets: int
    """Texts in which something was masked."""


class _Verdict(Struct, frozen=True):
    """What a case has to come to: the decision in terms that do not name the session."""

    kind: str
    outcome: str
    reason: str
    lines: tuple[str, ...]
    """The lines that are shown."""


def make_problem(trace: Trace, wish: Wish) -> Problem:
    """The smallest case that comes to the decision of the trace on the entry. Where none does, all of its run."""
    every = parts_of(trace.transcript)
    found = [it for it in _drafts(trace, wish) if it.holds(every)]
    draft = found[0] if found else next(_drafts(trace, wish))
    if not found:
        return draft.made(_own_run(trace, wish.entry_id, every), draft.all_lines, len(every))
    parts = every
    for some in _around_run(trace, wish.entry_id, every):
        left = [part for part in parts if part not in some]
        parts = left if draft.holds(left) else parts
    fixed = [part for part in parts if part in _frame(trace, wish.entry_id)]
    others = [part for part in parts if part not in fixed]
    parts = [*fixed, *shrink(others, lambda left: draft.holds([*fixed, *left]))]
    draft = draft.simplified(parts)
    return draft.made(parts, draft.needed_lines(parts), len(every))


class _Draft:
    """Cases of one problem, with more or less in them."""

    def __init__(self, trace: Trace, masked: Masked, wish: Wish, head: Toml) -> None:
        self.trace, self.masked, self.wish, self.head = trace, masked, wish, head
        self.lines = masked.texts[wish.entry_id].split("\n")
        self.all_lines = list(range(len(self.lines)))
        self.wanted = _verdict(trace.transcript, trace.plan, trace.settlement, wish.entry_id, self.lines)

    def holds(self, parts: Iterable[Part], lines: list[int] | None = None) -> bool:
        """Whether the case comes to the same decision; `lines`: of the output, those in the case."""
        case, names = self.case(parts, self.all_lines if lines is None else lines)
        name = names.get(self.wish.entry_id)
        if name is None:
            return False
        return self.wanted == _verdict(*run_case(case), name, self._some(lines))

    def case(self, parts: Iterable[Part], lines: list[int]) -> tuple[Toml, dict[str, str]]:
        output = {self.wish.entry_id: "\n".join(self._some(lines))}
        entries, names = to_entries(self.masked, frozenset(parts), output)
        case = self.head | {"entry": entries}
        boundary = self.trace.plan.boundary
        if boundary.every_run and sum("prompt" in entry for entry in entries) > 1:
            case["every_run"] = True
        last = next((it.time for it in reversed(self.trace.transcript.entries) if it.time is not None), None)
        if boundary.now is not None and last is not None:
            case["now"] = boundary.now - last + (len(entries) - 1) * SECOND
        if self.wish.ask_local:
            return case | {"judge": "local"}, names
        return case | said_in(case, names, self.trace, self.masked.texts), names

    def simplified(self, parts: list[Part]) -> "_Draft":
        """With as few settings as do: all others are those of small cases, so that the output can be small too."""
        config = self.head["config"]

        def having(head: Toml) -> _Draft:
            return _Draft(self.trace, self.masked, self.wish, head)

        def of(keys: list[str]) -> Toml:
            return self.head | {"config": {key: config[key] for key in keys}}

        found = having(of(shrink(list(config), lambda keys: having(of(keys)).holds(parts))))
        usual: _Draft = having({key: value for key, value in found.head.items() if key not in ("model", "api")})
        return usual if usual.holds(parts) else found

    def needed_lines(self, parts: list[Part]) -> list[int]:
        """Those of the output without most of the chunks that go anyway."""
        chunks = self._removable()

        def without(kept: list[Chunk]) -> list[int]:
            gone = {line for chunk in chunks if chunk not in kept for line in range(chunk.start, chunk.end)}
            return [line for line in self.all_lines if line not in gone]

        return without(shrink(chunks, lambda kept: self.holds(parts, without(kept))))

    def made(self, parts: list[Part], lines: list[int], of: int) -> Problem:
        case, names = self.case(parts, lines)
        name = names[self.wish.entry_id]
        if self.wish.needs:
            needed = [line for start, end in self.wish.needs for line in range(start, end)]
            case["needs"] = {name: _as_pairs([lines.index(line) for line in needed if line in lines])}
        if max(text.count("\n") for text in snapshot_texts(*run_case(case)[1:]).values()) > PAGE:
            case = {"says": case["says"], "long": True, **case}
        return Problem(case, name, self.holds(parts, lines), (len(parts), of), self.masked.secrets)

    def _some(self, lines: list[int] | None) -> list[str]:
        return self.lines if lines is None else [self.lines[line] for line in lines]

    def _removable(self) -> list[Chunk]:
        """Chunks of whole lines of which nothing is shown and nothing is needed."""
        decision = _decision(self.trace.settlement, self.wish.entry_id)
        cut = next((it for it in self.trace.plan.chunks if it.entry_id == self.wish.entry_id), None)
        if decision is None or decision.shown is None or cut is None or cut.chunks[-1].end != len(self.lines):
            return []
        held = (*decision.shown, *self.wish.needs)
        torn = {chunk.start for chunk in cut.chunks if chunk.joined}
        return [
            chunk for chunk in cut.chunks if chunk.start not in torn and not common(held, ((chunk.start, chunk.end),))
        ]


def _drafts(trace: Trace, wish: Wish) -> Iterator[_Draft]:
    """Without and with the folder that the session ran in: its path is nobody's business unless it matters."""
    masked, head = mask(trace.transcript), _head(trace, wish)
    yield _Draft(trace, masked, wish, head)
    if trace.transcript.cwd:
        yield _Draft(trace, masked, wish, head | {"cwd": trace.transcript.cwd})


def _head(trace: Trace, wish: Wish) -> Toml:
    given, small = msgspec.to_builtins(trace.config), msgspec.to_builtins(SMALL)
    model = trace.transcript.model
    head: Toml = {"says": wish.says}
    if trace.plan.phase != "run-end":
        head["phase"] = trace.plan.phase
    if model is not None:
        head |= {"model": model.ref, "api": model.api}
    return head | {"config": {key: value for key, value in given.items() if value != small[key] and key != "model"}}


def _around_run(trace: Trace, entry_id: str, parts: list[Part]) -> Iterator[list[Part]]:
    """What came after the run of the entry, then what came before it."""
    places = {trace.transcript.entries[index].id: place for place, index in enumerate(trace.transcript.context)}
    span = _span_of(trace, entry_id)
    if span is not None:
        yield [part for part in parts if places.get(part.entry_id, -1) >= span.end]
        yield [part for part in parts if places.get(part.entry_id, span.start) < span.start]


def _frame(trace: Trace, entry_id: str) -> list[Part]:
    """What stays in any case, for people to read: the entry, the question and the answer of its run."""
    span = _span_of(trace, entry_id)
    if span is None:
        return [Part(entry_id)]
    run = [trace.transcript.entries[index] for index in trace.transcript.context[span.start : span.end]]
    spoken = [entry for entry in run if entry.role == "assistant" and entry.visible is not None]
    answers = [Part(spoken[-1].id)] if spoken and span.is_finished else []
    return [Part(entry_id), Part(span.start_id), *answers]


def _own_run(trace: Trace, entry_id: str, parts: list[Part]) -> list[Part]:
    for some in _around_run(trace, entry_id, parts):
        parts = [part for part in parts if part not in some]
    return parts


def _span_of(trace: Trace, entry_id: str) -> Span | None:
    return next(
        (span for span in trace.plan.spans if any(result.entry_id == entry_id for result in span.results)), None
    )


def _decision(settlement: Settlement, entry_id: str) -> Decision | None:
    """About the entry, or about the exchange that it goes with."""
    about = [it for it in settlement.decisions if it.entry_id == entry_id or entry_id in (it.omitted or ())]
    return about[0] if about else None


def _verdict(transcript: Transcript, plan: Plan, settlement: Settlement, entry_id: str, lines: list[str]) -> _Verdict:
    decision = _decision(settlement, entry_id)
    if decision is None:
        entry = next(it for it in transcript.entries if it.id == entry_id)
        return _Verdict("", "left alone", why_left_alone(read_ground(transcript, plan), entry), ())
    shown = () if decision.shown is None else decision.shown
    return _Verdict(
        kind=decision.kind,
        outcome=decision.outcome,
        reason=decision.reason,
        lines=tuple(line for start, end in shown for line in lines[start:end]),
    )


def _as_pairs(lines: list[int]) -> list[list[int]]:
    """Lines counted from 0 as [first, last] counted from 1."""
    pairs: list[list[int]] = []
    for line in sorted(lines):
        if pairs and pairs[-1][1] == line:
            pairs[-1][1] = line + 1
        else:
            pairs.append([line + 1, line + 1])
    return pairs
