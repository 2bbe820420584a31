"""What is known of one segment before any model speaks."""

from typing import NamedTuple

from context_guard.local_judge.context import context_features
from context_guard.local_judge.coverage import coverage_features
from context_guard.local_judge.features import Features, part_features
from context_guard.local_judge.passages import Passage, read_passages
from context_guard.local_judge.places import read_source
from context_guard.local_judge.query import Query
from context_guard.requests import Request


class Read(NamedTuple):
    passages: tuple[Passage, ...]
    parts: tuple[Features, ...]
    coverage: Features
    context: Features


def read_output(request: Request, query: Query) -> Read:
    state = request.state
    source = read_source(state)
    begins = state.parts[0].id == "chunk_1"
    passages = read_passages((part.text for part in state.parts), query, source, 0 if begins else None)
    return Read(
        passages=passages,
        parts=part_features(passages, query, failed=bool(state.status)),
        coverage=coverage_features(passages, query, state.args, source),
        context=context_features(state, query, source),
    )
