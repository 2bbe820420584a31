"""`context-guard explain`: why one entry of a session was kept, dropped or left alone."""

import shlex
from pathlib import Path
from typing import Any

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.exits import UNREADABLE, Stop
from context_guard_effects.cli.nearest import nearest
from context_guard_effects.cli.output import write, write_json


@click.command()
@options.session
@options.entry
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value for programs.")
@options.judging
def command(session: Path, entry: str, as_json: bool, leaf: str | None, **how: Any) -> None:
    """Judge a session and say why ENTRY was kept or dropped.

    The rule that ruled it out, or what the judge said about each piece of it against the thresholds; what the edits
    cost; and what the records of the branch say. Nothing is changed.
    """
    import msgspec

    from context_guard.explain import explain, explanation_text
    from context_guard_effects.cli.judging import check_answered, judge_transcript
    from context_guard_effects.cli.sources import first_few, open_session

    source = open_session(session, leaf, holding=entry)
    known = {item.id for item in source.transcript.entries}
    if entry not in known:
        where = "is on another branch: give --leaf" if entry in source.known else "is not in this session"
        outputs = [item.id for item in source.transcript.entries if item.role == "tool"]
        hint = "" if entry in source.known else nearest(entry, source.known)
        raise Stop(f"entry {entry!r} {where}; tool outputs of this branch: {first_few(outputs)}.{hint}", UNREADABLE)
    distilled = judge_transcript(source.transcript, **how)
    way = source.recall_way(shlex.quote(str(session)))
    explanation = explain(source.transcript, distilled.plan, distilled.settlement, entry, way)
    assert explanation is not None
    if as_json:
        write_json(msgspec.to_builtins(explanation))
    else:
        write(explanation_text(explanation))
    check_answered(distilled)
