"""Labelled outputs as rows of numbers: the features of the judge itself, and what each part is worth."""

import json
from collections.abc import Iterable, Iterator
from zlib import crc32

from benchmarks.quality.later_use import Item, read_outputs
from benchmarks.train_local_judge.material import Case
from msgspec import Struct

from context_guard.candidates import Candidate
from context_guard.chunks import Chunk, cut_chunks
from context_guard.config import Config
from context_guard.history import Exchange, History
from context_guard.local_judge.query import read_query
from context_guard.local_judge.reading import Read, read_output
from context_guard.local_judge.standing import read_standing
from context_guard.requests import Request, build_request
from context_guard.segments import pack_segments
from context_guard.span import Span
from context_guard.text import clip

CONFIG = Config()
FOLDS = 5


class Row(Struct, frozen=True):
    """One segment of an output: its features, and by part what it is labelled with."""

    parts: tuple[dict[str, float], ...]
    coverage: dict[str, float]
    context: dict[str, float]
    answered: tuple[float, ...]
    """1 where the answer rests on the part, 0 where not, -1 where either is fine."""
    later: tuple[float, ...] = ()
    """The share of all that is needed later which the part holds."""
    chunks: int = 1
    """Parts of the whole output."""
    siblings: int = 1
    """Outputs of the same run."""
    expect: str = "some"
    fold: int = -1
    has_answer: bool = True
    """Whether the answer rests on the output at all."""
    standing: dict[str, float] = {}
    """Where the output stands in its run."""
    needs: int = 0
    """How much the run is needed later, in all."""
    all_later: float = 0.0
    """As `later`, of the whole output."""
    is_first: bool = True
    """Of the segments of its output."""


def made_up_rows(cases: Iterable[Case]) -> Iterator[Row]:
    for case in cases:
        needed, either = (_lines(case, key) for key in ("needed", "maybe"))
        span, candidate = to_span(case), to_candidate(case)
        cut = cut_chunks(candidate, CONFIG)
        for segment in pack_segments(cut, CONFIG):
            if not segment.oversize:
                read = _read(build_request(span, candidate, cut, segment, "run-end"))
                labels = tuple(_label(cut.chunks[index], needed, either) for index in segment.chunks)
                yield Row(
                    read.parts, read.coverage, read.context, labels, chunks=len(cut.chunks), expect=case["expect"]
                )


def later_use_rows(item: Item, gold: Item) -> Iterator[Row]:
    """Rows of a real session; `used` by the last assistant entry is what its answer rests on."""
    last = next((entry["id"] for entry in reversed(item["entries"]) if entry["role"] == "assistant"), None)
    told = [use for use in gold["used"] if use["use"] == last] if item["setting"] == "run-end" else []
    outputs = list(read_outputs(item, CONFIG))
    places = {output.candidate.entry_id: _places(output.cut.chunks) for output in outputs}
    worth: dict[tuple[str, int], float] = {}
    for need in gold["needs"]:
        holding = sorted({(entry, places[entry][line]) for entry, lines in need["alts"].items() for line in lines})
        for place in holding:
            worth[place] = worth.get(place, 0.0) + 1 / len(gold["needs"]) / len(holding)
    for output in outputs:
        entry = output.candidate.entry_id
        rests = {places[entry][line] for use in told for line in use["alts"].get(entry, ())}
        first = next((s.index for s, r in zip(output.segments, output.requests, strict=True) if r is not None), -1)
        for segment, request in zip(output.segments, output.requests, strict=True):
            if request is not None:
                read = _read(request)
                yield Row(
                    read.parts,
                    read.coverage,
                    read.context,
                    answered=tuple(float(index in rests) for index in segment.chunks),
                    later=tuple(worth.get((entry, index), 0.0) for index in segment.chunks),
                    chunks=len(output.cut.chunks),
                    siblings=len(outputs),
                    fold=fold_of(item),
                    has_answer=bool(rests),
                    standing=read_standing(request).own,
                    needs=len(gold["needs"]),
                    all_later=sum(worth.get((entry, chunk.index), 0.0) for chunk in output.cut.chunks),
                    is_first=segment.index == first,
                )


def fold_of(item: Item) -> int:
    """Sessions stay together."""
    return crc32(f"{item['source']} {item['session']}".encode()) % FOLDS


def to_span(case: Case) -> Span:
    exchanges = tuple(
        Exchange(user=clip(each["user"], 800), assistant=clip(each.get("assistant") or "", 1_200))
        for each in case["history"][-CONFIG.history_exchanges :]
    )
    return Span(
        start_id="prompt",
        start=0,
        end=1,
        question=case["question"],
        answer=case["answer"],
        latest=case["answer"],
        notes=case["notes"],
        history=History(exchanges=exchanges),
        turns=1,
        calls=(),
        results=(),
    )


def to_candidate(case: Case) -> Candidate:
    args = json.dumps(case["args"], ensure_ascii=False, separators=(",", ":"))
    return Candidate(
        entry_id=case["id"],
        tool=case["tool"],
        args=args,
        label=case["tool"],
        text=case["output"],
        is_error=case["is_error"],
        turn=0,
    )


def _read(request: Request) -> Read:
    return read_output(request, read_query(request))


def _lines(case: Case, key: str) -> set[int]:
    """Labelled lines that are not blank, from 0."""
    lines = case["output"].split("\n")
    return {
        n - 1 for first, last in case[key] for n in range(first, last + 1) if n <= len(lines) and lines[n - 1].strip()
    }


def _label(chunk: Chunk, needed: set[int], either: set[int]) -> float:
    own = set(range(chunk.start, chunk.end))
    return 1.0 if own & needed else -1.0 if own & either else 0.0


def _places(chunks: tuple[Chunk, ...]) -> dict[int, int]:
    """Line → the first chunk that holds it."""
    return {line: chunk.index for chunk in reversed(chunks) for line in range(chunk.start, chunk.end)}
