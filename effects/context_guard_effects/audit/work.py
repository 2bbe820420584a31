"""One unit audited, in whatever process: the pure call, and what only a process can tell of it."""

import sqlite3
import time
from functools import partial

from msgspec import Struct
from returns.result import Failure

from context_guard.answers import Answered
from context_guard.cost.audit import Audited, Terms, audit
from context_guard.formats.transcripts import UNKNOWN
from context_guard.local_judge import Settings, judge_locally
from context_guard.requests import Request
from context_guard_effects.audit.reading import read_unit
from context_guard_effects.audit.units import Problem, Unit


class Outcome(Struct, frozen=True):
    unit: Unit
    sessions: tuple[Audited, ...] = ()
    """Those in which a model answered."""
    problem: Problem | None = None
    is_unknown: bool = False
    """No host's session, and nobody said that it is one."""
    judge_seconds: float = 0.0


def audit_unit(unit: Unit, terms: Terms) -> Outcome:
    """Never raises: whatever a file holds, it costs nothing but its own row."""
    timer = _Timer(Settings(keep_share=terms.config.keep_share))
    try:
        read = read_unit(unit)
        if isinstance(read, Failure):
            error = read.failure()
            if error is UNKNOWN and not unit.is_named:
                return Outcome(unit, is_unknown=True)
            return _broken(unit, error.message)
        audited = tuple(map(partial(audit, terms=terms, judge=timer), read.unwrap()))
    except MemoryError:
        return _broken(unit, "It does not fit into memory.")
    except (OSError, sqlite3.Error) as error:
        said = getattr(error, "strerror", None) or str(error)
        return _broken(unit, f"{said.capitalize()}.")
    except Exception as error:  # one file must not end the audit of all others
        return _broken(unit, f"A defect of context-guard, please report it: {type(error).__name__}: {error}")
    return Outcome(unit, tuple(it for it in audited if it.requests), judge_seconds=timer.seconds)


class _Timer:
    def __init__(self, settings: Settings) -> None:
        self.seconds = 0.0
        self._settings = settings

    def __call__(self, request: Request) -> Answered:
        began = time.perf_counter()
        try:
            return judge_locally(request, self._settings)
        finally:
            self.seconds += time.perf_counter() - began


def _broken(unit: Unit, reason: str) -> Outcome:
    return Outcome(unit, problem=Problem(unit.path + (f" {unit.session}" if unit.session else ""), reason))
