"""All outcomes of an audit together."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from context_guard.cost.audit import Audited
from context_guard.cost.totals import Totals, add_up, by_host_and_model
from context_guard.local_judge import JUDGE
from context_guard_effects.audit.units import Problem
from context_guard_effects.audit.work import Outcome


class Found(Struct, frozen=True):
    path: str
    audited: Audited


class Summary(Struct, frozen=True):
    sessions: tuple[Found, ...]
    """What keeps most out of context first."""
    total: Totals
    groups: tuple[Totals, ...]
    problems: tuple[Problem, ...]
    empty: int
    """Files of a host in which no model answered."""
    unknown: int
    """Files in a folder that no known host wrote."""
    judge_seconds: float
    """Of the embedded judge, over all processes."""
    is_interrupted: bool


SPARE = 1_000
"""Sessions that wait to be sorted."""


class Gathered:
    """While they come in: one row a session, and the running total."""

    def __init__(self, problems: list[Problem]) -> None:
        self.total = Totals()
        self.is_interrupted = False
        self._found: list[Found] = []
        self._problems = list(problems)
        self._empty = 0
        self._unknown = 0
        self.judge_seconds = 0.0

    def add(self, outcome: Outcome) -> None:
        self._found += [Found(outcome.unit.path, it) for it in outcome.sessions]
        self.count(outcome)
        self._problems += [outcome.problem] if outcome.problem else []
        self._unknown += outcome.is_unknown
        self._empty += not (outcome.sessions or outcome.problem or outcome.is_unknown)

    def count(self, outcome: Outcome) -> None:
        """Its figures, and nothing of it besides."""
        self.total = add_up(outcome.sessions, self.total)
        self.judge_seconds += outcome.judge_seconds

    def summary(self) -> Summary:
        sessions = sorted(self._found, key=_saves_most)
        audited = [it.audited for it in sessions]
        return Summary(
            sessions=tuple(sessions),
            total=add_up(audited),
            groups=by_host_and_model(audited),
            problems=tuple(sorted(self._problems, key=lambda it: it.path)),
            empty=self._empty,
            unknown=self._unknown,
            judge_seconds=self.judge_seconds,
            is_interrupted=self.is_interrupted,
        )


def summarize(outcomes: Iterable[Outcome], problems: list[Problem], most: int | None) -> Summary:
    """Of any number of outcomes in a given order, with no more than `most` of the sessions; None for all of them."""
    best: list[Found] = []
    groups: dict[tuple[str, str], Totals] = {}
    total, told = Totals(), list(problems)
    empty = unknown = 0
    for outcome in outcomes:
        for one in outcome.sessions:
            key = (one.host, one.model)
            groups[key] = add_up([one], groups.get(key) or Totals(host=one.host, model=one.model))
            best.append(Found(outcome.unit.path, one))
        if most is not None and len(best) > 2 * most + SPARE:
            best = sorted(best, key=_saves_most)[:most]
        total = add_up(outcome.sessions, total)
        told += [outcome.problem] if outcome.problem else []
        unknown += outcome.is_unknown
        empty += not (outcome.sessions or outcome.problem or outcome.is_unknown)
    return Summary(
        sessions=tuple(sorted(best, key=_saves_most)[:most]),
        total=total,
        groups=tuple(sorted(groups.values(), key=lambda it: (-it.kept_out_chars, it.host, it.model))),
        problems=tuple(sorted(told, key=lambda it: it.path)),
        empty=empty,
        unknown=unknown,
        judge_seconds=0.0,
        is_interrupted=False,
    )


def as_json_value(summary: Summary) -> dict[str, Any]:
    """Keys stay as they are. Bills are in units: tokens at the price of plain input."""
    return {
        "judge": {"name": JUDGE, "seconds": round(summary.judge_seconds, 3), "costUsd": 0},
        "total": _totals(summary.total),
        "groups": [_totals(it) for it in summary.groups],
        "sessions": [{"path": it.path, **_session(it.audited)} for it in summary.sessions],
        "broken": [{"path": it.path, "reason": it.reason} for it in summary.problems],
        "empty": summary.empty,
        "unknown": summary.unknown,
        "interrupted": summary.is_interrupted,
    }


def _session(audited: Audited) -> dict[str, Any]:
    return {**msgspec.to_builtins(audited), "keptOutTokens": audited.kept_out_tokens, "bill": audited.bill}


def _totals(totals: Totals) -> dict[str, Any]:
    return {**msgspec.to_builtins(totals), "low": totals.low, "high": totals.high}


def _saves_most(found: Found) -> tuple[int, str, str]:
    return (-found.audited.kept_out_chars, found.path, found.audited.session)
