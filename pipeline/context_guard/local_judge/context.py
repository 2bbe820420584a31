"""What is known of a request beside its parts."""

import re
from math import log1p

from context_guard.local_judge.features import Features
from context_guard.local_judge.places import Source
from context_guard.local_judge.query import Query
from context_guard.local_judge.tools import KINDS, is_prose, is_test, kind_of
from context_guard.requests import State

_LINES = re.compile(r"([0-9]+) lines?(?:; this is part ([0-9]+) of ([0-9]+))?")


def context_features(state: State, query: Query, source: Source) -> Features:
    kind = kind_of(state.tool, state.args)
    size = _LINES.match(state.size)
    shown = sum(len(part.text) + 1 for part in state.parts)
    segments = float(size[3] or 1) if size else 1.0
    later = state.later_calls or ()
    return {
        **{f"is_{each}": float(kind == each) for each in KINDS},
        "segment_log": log1p(shown),
        "lines_log": log1p(int(size[1])) if size else 0.0,
        "segment_at": float(size[2] or 1) if size else 1.0,
        "segments": segments,
        "output_log": log1p(shown * segments),
        "later": float(len(later)),
        "superseded": float(bool(state.superseded)),
        "failed": float(bool(state.status)),
        "question_log": log1p(len(state.question)),
        "answer_len": log1p(len(state.answer or state.latest_note)),
        "notes_log": log1p(len(state.notes)),
        "asks_back": float(state.answer.rstrip()[-200:].count("?") > 0),
        "exchanges": float(len(state.history.exchanges)),
        "history_first": float(bool(state.history.first_request)),
        "citations": log1p(len(query.citations)),
        "query_names": log1p(len(query.identifiers)),
        "test_source": float(is_test(source.path or state.args)),
        "prose_source": float(is_prose(source.path or state.args)),
        "partial": float("offset" in state.args or "sed -n" in state.args or "limit" in state.args),
    }
