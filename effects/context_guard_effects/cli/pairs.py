"""The two sides of a `diff`: traces of the same name, or each session judged twice."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from context_guard.formats.signatures import EVENT_NAME
from context_guard.rerun import rerun
from context_guard.saved_trace import Trace
from context_guard.text import plural
from context_guard_effects.cli.exits import UNREADABLE, Stop
from context_guard_effects.cli.folder import Named, is_trace, read_folder
from context_guard_effects.cli.judging import ask_judge, check_answered, trace_transcript
from context_guard_effects.cli.output import warn
from context_guard_effects.cli.settings import read_settings
from context_guard_effects.cli.sources import first_few, open_session
from context_guard_effects.cli.traces import NAME, open_trace

Pair = tuple[str, Trace, Trace]
FOR_SESSIONS = ("settings", "judge", "old_settings", "old_judge", "config_file", "now", "last_run")


def pair_up(old: Path, new: Path, ctx: click.Context) -> Iterator[Pair]:
    """Traces that lie at the same place on both sides."""
    if given := [it.opts[0] for it in ctx.command.params if it.name in FOR_SESSIONS and ctx.params[it.name]]:
        raise click.UsageError(f"two traces are compared as they are: leave out {', '.join(given)}.", ctx)
    ours, theirs = _traces(old), _traces(new)
    if old.is_file() or new.is_file() or {*ours} == {*theirs} == {NAME}:
        yield _name(old), open_trace(old), open_trace(new)
        return
    common = [name for name in ours if name in theirs]
    if not common:
        raise Stop(f"{old} and {new} have no trace of the same name; {old}: {first_few(ours)}", UNREADABLE)
    for folder, names in ((old, ours), (new, theirs)):
        if alone := [name for name in names if name not in common]:
            warn(f"only in {folder}, not compared: {first_few(alone)}")
    yield from ((name, open_trace(ours[name]), open_trace(theirs[name])) for name in common)


def pair_with_itself(
    path: Path,
    *,
    settings: tuple[str, ...],
    old_settings: tuple[str, ...],
    judge: str | None,
    old_judge: str | None,
    config_file: Path | None,
    **how: Any,
) -> Iterator[Pair]:
    """Each session judged both ways, each trace and the same run again. What cannot be read is told and left out."""
    done = failed = 0
    for name, found in read_folder(path) if _is_folder_of_many(path) else [_open(path)]:
        try:
            if isinstance(found, Trace):
                if old_settings or old_judge:
                    raise click.UsageError("--old-set and --old-judge are for sessions: a trace has its own.")
                old = found
            else:
                how |= {"judge": old_judge or judge, "settings": old_settings, "config_file": config_file}
                old = trace_transcript(found, **how)
                check_answered(old)
            new = _again(old, settings, judge, is_traced=isinstance(found, Trace))
        except Stop as error:
            if not path.is_dir():
                raise
            failed += 1
            warn(f"left out: {name}: {error.message}")
            continue
        done += 1
        yield name, old, new
    if not done:
        why = f": {plural(failed, 'session')} could not be judged" if failed else ""
        raise Stop(f"nothing in {path} could be compared{why}", UNREADABLE)


def _again(old: Trace, settings: tuple[str, ...], judge: str | None, is_traced: bool) -> Trace:
    config = read_settings(None, settings, old.config)
    new = rerun(old, config, ask=None if is_traced and judge is None else ask_judge(judge))
    check_answered(new)
    return new


def _open(path: Path) -> Named:
    return _name(path), open_trace(path) if is_trace(path) else open_session(path, None).transcript


def _is_folder_of_many(path: Path) -> bool:
    """Not one that is a session itself."""
    try:
        return path.is_dir() and not any(EVENT_NAME.fullmatch(it.name) for it in path.iterdir())
    except OSError:
        return True  # the finder says what is wrong


def _traces(path: Path) -> dict[str, Path]:
    if path.is_file():
        return {path.name: path}
    if not path.is_dir():
        raise Stop(f"There is no file {path}.", UNREADABLE)
    return {it.relative_to(path).as_posix(): it for it in sorted(path.rglob("*.json")) if is_trace(it)}


def _name(path: Path) -> str:
    return path.name or str(path)
