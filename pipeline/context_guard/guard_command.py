"""The command `/guard` of a host with a prompt line: what was asked, and the answers that need no judge."""

from collections.abc import Iterator

from msgspec import Struct
from returns.result import Failure, Result, Success

from context_guard.config import Config
from context_guard.printable import visible_line
from context_guard.runs import is_stub
from context_guard.savings import Savings, format_cost
from context_guard.status import record_lines, status_lines, without_records
from context_guard.text import format_chars, plural
from context_guard.transcript import Entry, Transcript

WITH_ENTRY = ("why", "restore", "pin", "unpin")
ALONE = ("status", "on", "off", "reload", "report")
USAGE = f"Usage: /guard [{'|'.join(ALONE)}|{'|'.join(f'{verb} ENTRY' for verb in WITH_ENTRY)}]"


class Asked(Struct, frozen=True):
    verb: str
    entry_id: str = ""


def read_command(text: str) -> Result[Asked, str]:
    """What stands behind `/guard`; the failure is the usage."""
    match text.split():
        case []:
            return Success(Asked("status"))
        case [verb] if verb in ALONE:
            return Success(Asked(verb))
        case [verb, entry_id] if verb in WITH_ENTRY:
            return Success(Asked(verb, entry_id.strip('"')))
        case _:
            return Failure(USAGE)


def guard_lines(transcript: Transcript, savings: Savings, config: Config, problem: str) -> tuple[str, ...]:
    """For `/guard status`: on or off, what is kept out, what judging took, the settings that matter, the last pass."""
    state = "on" if config.enabled else "off"
    told = f" ({visible_line(problem)})" if problem else ""
    first, *rest = status_lines(savings)
    return (
        f"context-guard is {state}{told} · judge {config.model} · {first}",
        *([f"Pinned: {', '.join(sorted(transcript.pinned))}."] if transcript.pinned else []),
        _settings(config),
        *rest,
    )


def report_lines(transcript: Transcript, savings: Savings) -> tuple[str, ...]:
    """For `/guard report`: every pass of the branch, item by item, and their sum."""
    if not transcript.records:
        return (without_records(savings),)
    return (
        *(line for stored in transcript.records for line in record_lines(stored.record)),
        f"Together: {savings.lifetime_chars:,} characters saved, {plural(savings.requests, 'request')} to a judge, "
        f"{format_cost(savings.cost_usd)}.",
    )


def restored_by(transcript: Transcript, entry_id: str) -> Result[tuple[str, ...], str]:
    """The entries that show their own content again when this one is restored: itself, or all of its exchange."""
    entry = next((entry for entry in transcript.entries if entry.id == entry_id), None)
    if entry is None:
        return Failure(f"This branch has no entry {visible_line(entry_id)}: give the id from a [context-guard] note.")
    if not is_stub(entry):
        return Failure(
            f"{entry_id} is no output and no prompt that the guard has changed, so there is nothing to restore."
        )
    return Success((entry_id, *(_omitted_with(transcript, entry) if entry.role == "user" else ())))


def known_entry(transcript: Transcript, entry_id: str) -> bool:
    return any(entry.id == entry_id for entry in transcript.entries)


def _omitted_with(transcript: Transcript, prompt: Entry) -> Iterator[str]:
    """Of the latest record that omitted this exchange, what is still omitted."""
    hidden = {entry.id for entry in transcript.entries if entry.visible is None}
    omitted = next(
        (
            result.omitted
            for stored in reversed(transcript.records)
            for result in reversed(stored.record.results)
            if result.entry_id == prompt.id and result.kind == "exchange" and result.omitted is not None
        ),
        (),
    )
    return (entry_id for entry_id in omitted if entry_id in hidden)


def _settings(config: Config) -> str:
    checkpoints = (
        f"checkpoints for outputs {config.mid_run_min_age_turns} turns old in batches of "
        f"{format_chars(config.mid_run_batch_chars)}"
        if config.mid_run
        else "no checkpoints"
    )
    exchanges = (
        f"old exchanges judged but for the last {config.keep_recent_exchanges}"
        if config.prune_exchanges
        else "exchanges kept"
    )
    images = f"images removed after {config.image_keep_turns} turns" if config.image_keep_turns else "images kept"
    return f"Settings: {checkpoints}; {exchanges}; {images}."
