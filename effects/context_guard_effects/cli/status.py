"""`context-guard status`: what the guard keeps out of a session's context now, and what its passes did."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.output import write, write_json

if TYPE_CHECKING:
    from context_guard.savings import Savings
    from context_guard_effects.cli.sources import Source


@click.command()
@options.session
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value for programs.")
@options.leaf
def command(session: Path, as_json: bool, leaf: str | None) -> None:
    """Show what is kept out of the context, and the last pass item by item.

    All of it is read from the edits and records of the branch; nothing is judged.
    """
    from context_guard.savings import count_savings
    from context_guard.status import status_lines
    from context_guard_effects.cli.sources import open_session

    source = open_session(session, leaf)
    transcript = source.transcript
    savings = count_savings(transcript)
    if as_json:
        write_json({"session": str(session), "leaf": transcript.head, **_plain(savings)})
    else:
        write("".join(f"{line}\n" for line in [*status_lines(savings), _next(session, source, savings)]))


def _next(session: Path, source: "Source", savings: "Savings") -> str:
    """What to run next, ready to be pasted."""
    from context_guard.printable import visible_line

    file = visible_line(shlex.quote(str(session)))
    if savings.last is None:
        unless = " without --write" if source.file is not None else ""
        return f"Next: context-guard distill {file} shows what could go; it changes nothing{unless}."
    return f"Why: context-guard explain {file} ID. The original: context-guard recall {file} ID."


def _plain(savings: "Savings") -> dict[str, Any]:
    from context_guard.records import encode_record
    from context_guard.savings import status_text

    return {
        "status": status_text(savings),
        "keptOutChars": savings.chars,
        "keptOutTokensEstimate": savings.tokens,
        "outputs": savings.outputs,
        "images": savings.images,
        "exchanges": savings.exchanges,
        "lifetimeChars": savings.lifetime_chars,
        "compacted": savings.compacted,
        "runs": savings.runs,
        "checkpoints": savings.checkpoints,
        "requests": savings.requests,
        "costUsd": savings.cost_usd,
        "last": encode_record(savings.last) if savings.last else None,
    }
