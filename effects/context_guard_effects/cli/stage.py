"""`context-guard stage`: what one stage of the pipeline makes of a session, as JSON."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.exits import UNREADABLE, Stop
from context_guard_effects.cli.nearest import NearestChoice, nearest
from context_guard_effects.cli.output import write_json

if TYPE_CHECKING:
    from context_guard.stages import Plan
    from context_guard.transcript import Transcript
    from context_guard_effects.guard import Distilled

PLANNED = ("span", "candidates", "checkpoint", "chunks", "segments", "requests")
SETTLED = ("answers", "keep-sets", "decisions", "sums", "drafts")


class StageName(NearestChoice):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices and Path(str(value)).is_file():
            raise click.UsageError(f"NAME comes before SESSION: context-guard stage chunks {value}", ctx)
        return super().convert(value, param, ctx)


@click.command()
@click.argument("name", metavar="NAME", type=StageName((*PLANNED, *SETTLED)))
@options.session
@click.option("--entry", metavar="ID", callback=options.read_entry, help="Only what is about this entry.")
@options.judging
def command(
    name: str,
    session: Path,
    entry: str | None,
    leaf: str | None,
    **how: Any,
) -> None:
    """Print the value of one stage as a JSON list.

    NAME is span, candidates, checkpoint, chunks, segments or requests, and behind the judge answers, keep-sets,
    decisions, sums or drafts. The candidates are all that could be judged; mid-run the checkpoint says what is judged
    now. With --judge, requests are the bodies that this judge would be sent, one a line, byte for byte.
    """
    from context_guard_effects.cli.sources import open_session

    transcript = open_session(session, leaf, holding=entry).transcript

    def write_values(values: list[Value]) -> None:
        write_json([value for _, value in (_about(values, entry, name, transcript) if entry else values)])

    if name in PLANNED:
        from context_guard.stages import plan
        from context_guard_effects.cli.moment import boundary_at
        from context_guard_effects.cli.settings import read_settings

        config = read_settings(how["config_file"], how["settings"])
        boundary = boundary_at(transcript, how["phase"], how["now"], how["last_run"])
        made = plan(transcript, config, boundary)
        if name == "requests" and how["judge"] is not None and write_bodies(made, how["judge"], entry):
            return
        write_values(planned(made, name))
    else:
        from context_guard_effects.cli.judging import check_answered, judge_transcript

        distilled = judge_transcript(transcript, **how)
        write_values(settled(distilled, name))
        check_answered(distilled)


def write_bodies(plan: "Plan", name: str, entry: str | None) -> bool:
    """What would leave the machine; False when the judge is on it, and nothing would."""
    from context_guard_effects.cli.judging import choose_judge
    from context_guard_effects.cli.output import write_bytes
    from context_guard_effects.judges.preview import bodies_of, is_remote

    judge = choose_judge(name, plan.config)
    if not is_remote(judge):
        return False
    asked = [request for request in plan.requests if entry is None or entry in request.entry_ids]
    write_bytes(b"".join(body + b"\n" for request in asked for body in bodies_of(judge, request)))
    return True


Value = tuple[frozenset[str], Any]
"""The entries that a value is about, and the value as plain data."""


def planned(plan: "Plan", name: str) -> list[Value]:
    from msgspec.structs import replace

    from context_guard.checkpoint import item_targets

    match name:
        case "span":
            return [_value(span, span.start_id, *(result.entry_id for result in span.results)) for span in plan.spans]
        case "candidates":
            items = plan.collected
            return [
                *(_kind("large", item, item.entry_id) for item in items.large),
                *(_kind("small", item, item.entry_id) for item in items.small),
                *(_kind("exchange", item, item.prompt_id, *item.entry_ids) for item in items.exchanges),
                *(_kind("image", item, item.entry_id) for item in items.images),
            ]
        case "checkpoint":
            checkpoint = plan.checkpoint
            return [] if checkpoint is None else [_value(checkpoint, *item_targets(checkpoint.items))]
        case "chunks":
            return [_value(cut, cut.entry_id) for cut in plan.chunks]
        case "segments":
            return [_value(segment, segment.entry_id) for segment in plan.segments]
        case _:
            return [_value(replace(request, run=None), *request.entry_ids) for request in plan.requests]


def settled(distilled: "Distilled", name: str) -> list[Value]:
    from context_guard.drafts import Append

    settlement = distilled.settlement
    match name:
        case "answers":
            asked = {request.id: request.entry_ids for request in distilled.plan.requests}
            return [_value(outcome, *asked[outcome.request_id]) for outcome in settlement.outcomes]
        case "keep-sets":
            return [_value(keep_set, keep_set.entry_id) for keep_set in settlement.keep_sets]
        case "decisions":
            return [_value(it, it.entry_id, *(it.omitted or ())) for it in settlement.decisions]
        case "sums":
            gates = settlement.gates
            about = [it.entry_id for it in settlement.decisions]
            weighed = (("exchanges", gates.exchanges), ("early", gates.early), ("edits", gates.edits))
            return [_kind(kind, gate, *about) for kind, gate in weighed if gate is not None]
        case _:
            return [
                _value(draft) if isinstance(draft, Append) else _value(draft, draft.target)
                for draft in settlement.drafts
            ]


def _about(values: list[Value], entry: str, name: str, transcript: "Transcript") -> list[Value]:
    from context_guard_effects.cli.sources import first_few

    found = [value for value in values if entry in value[0]]
    if not found:
        known = [item.id for item in transcript.entries if any(item.id in ids for ids, _ in values)]
        what = "is not in this branch" if all(item.id != entry for item in transcript.entries) else "has none"
        raise Stop(
            f"entry {entry!r} {what}; entries with {name}: {first_few(known)}.{nearest(entry, known)}", UNREADABLE
        )
    return found


def _value(value: Any, *entries: str) -> Value:
    import msgspec

    return frozenset(entries), msgspec.to_builtins(value)


def _kind(kind: str, value: Any, *entries: str) -> Value:
    ids, plain = _value(value, *entries)
    return ids, {"kind": kind, **plain}
