"""The project's own labelled outputs: made up over files of the standard library that nothing is learnt from."""

from collections.abc import Iterator, Sequence
from functools import cache, partial

from benchmarks.quality.baselines import methods
from benchmarks.quality.chain import Cutting, cut_case
from benchmarks.quality.peers.adapters import Peer
from benchmarks.quality.peers.run import run_peers
from benchmarks.quality.peers.task import task_of_case
from benchmarks.quality.scores import Figures, figures
from benchmarks.quality.ways import ORIGINAL_NAME, Way
from benchmarks.train_local_judge.material import Case, Source, is_own, make_cases, read_sources
from msgspec import Struct

from context_guard.local_judge import Settings, judge_with
from context_guard.local_judge.weights import WEIGHTS

SEED = 11


class Row(Struct, frozen=True):
    name: str
    figures: Figures
    way: Way | None = None
    """None for what is not ours."""
    changed: float | None = None
    """Characters that a peer wrote itself, as a share of the outputs."""
    errors: int = 0
    """Cases on which a peer raised an error."""

    @property
    def is_curve(self) -> bool:
        return self.way is not None and self.way.name != ORIGINAL_NAME


@cache
def own_cases(count: int) -> tuple[Case, ...]:
    return tuple(make_cases(_sources(), count, SEED))


@cache
def _sources() -> tuple[Source, ...]:
    return read_sources(skip=lambda path: not is_own(path))


def own_rows(cases: Sequence[Case], ways: Sequence[Way], peers: Sequence[Peer]) -> Iterator[Row]:
    for name, method in methods().items():
        yield Row(name, figures(cases, [Cutting(method(case)) for case in cases]))
    yield from _peer_rows(cases, peers)
    for way in ways:
        judge = partial(judge_with, WEIGHTS, settings=Settings(keep_share=way.share))
        yield Row(way.name, figures(cases, [cut_case(case, way.config, judge) for case in cases]), way)


def _peer_rows(cases: Sequence[Case], peers: Sequence[Peer]) -> Iterator[Row]:
    found = run_peers(peers, [task_of_case(case) for case in cases])
    size = sum(len(case["output"]) for case in cases)
    for name in found[0] if found else ():
        runs = [runs[name] for runs in found]
        left = [run.outputs[case["id"]] for case, run in zip(cases, runs, strict=True)]
        yield Row(
            name,
            figures(cases, [Cutting(each.lines) for each in left]),
            changed=sum(each.changed for each in left) / size,
            errors=sum(bool(run.error) for run in runs),
        )
