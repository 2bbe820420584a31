"""Why a pass has no decision on an entry: the first rule that ruled it out, as a sentence."""

from msgspec import Struct

from context_guard.candidates import is_old_enough, is_recall, may_edit
from context_guard.checkpoint import item_targets
from context_guard.config import Config
from context_guard.exchanges import MIN_CHARS, exchange_bounds, read_exchange, why_unfit
from context_guard.memory import judged_exchanges, judged_mid_run
from context_guard.runs import is_stub
from context_guard.span import RunResult, Span, find_spans
from context_guard.stages import Plan
from context_guard.text import one_line, plural
from context_guard.transcript import EDITABLE, Entry, Image, Opaque, Text, Transcript, images_of, shown

NO_RULE = "No rule of this pass is about it."


class Ground(Struct, frozen=True):
    """What the rules go by, read once for all entries of a branch."""

    transcript: Transcript
    plan: Plan
    context: tuple[Entry, ...]
    spans: tuple[Span, ...]
    collected: frozenset[str]
    """Every entry that could be judged, or that goes with one."""


def read_ground(transcript: Transcript, plan: Plan) -> Ground:
    return Ground(
        transcript=transcript,
        plan=plan,
        context=shown(transcript),
        spans=find_spans(transcript, plan.config, plan.boundary),
        collected=item_targets(plan.collected),
    )


def why_left_alone(ground: Ground, entry: Entry) -> str:
    """For an entry of the branch that is neither an item of the pass nor part of one."""
    transcript, plan, context, spans = ground.transcript, ground.plan, ground.context, ground.spans
    config = plan.config
    place = next((place for place, item in enumerate(context) if item.id == entry.id), None)
    if entry.role == "meta":
        return "It is no message: no model sees it."
    if place is None:
        return "A compaction has taken it out of the context."
    if entry.visible is None:
        return "An edit has omitted it: the model does not see it."
    if entry.role not in EDITABLE:
        return f"Only prompts, answers, notes and tool outputs are ever edited; this is a {entry.role} entry."
    if entry.id in transcript.pinned and not _is_carried(entry):
        return "It is pinned: no pass touches it."
    if not config.enabled:
        return "The guard is off (enabled is false)."
    if plan.phase == "mid-run" and not config.mid_run:
        return "Checkpoints are off (midRun is false)."
    if entry.id in ground.collected:
        return _held_back(plan)
    if not spans:
        return "There is no prompt in this branch."
    if plan.phase == "run-end" and not spans[-1].is_finished:
        return "The last run did not end in an answer, so nothing is touched."
    for span in spans:
        found = next((result for result in span.results if result.entry_id == entry.id), None)
        if found is not None:
            return _result(transcript, plan, entry, found, span, _age(context, place))
    if place >= spans[0].start:
        return "It belongs to a run that is judged: of that, only tool outputs are."
    if entry.role == "tool" and (images := _images(entry, config, _age(context, place))):
        return f"{images} {_exchange(transcript, plan, context, place, spans)}"
    return _exchange(transcript, plan, context, place, spans)


def _is_carried(entry: Entry) -> bool:
    """Whether something in it is neither text nor picture."""
    blocks = entry.raw if entry.raw_result is None else entry.raw_result.content
    return any(isinstance(block, Opaque) for block in blocks)


def _held_back(plan: Plan) -> str:
    """It could be judged, and is not in this pass."""
    if plan.checkpoint is not None and plan.items != plan.collected:
        return f"It would be judged, but the checkpoint leaves it out ({plan.checkpoint.reason})."
    if not plan.boundary.has_judge:
        return "It would be judged, but there is no judge to ask."
    return "Its images may go, but taking them out would not earn back yet what the cache would have to write again."


def _result(transcript: Transcript, plan: Plan, entry: Entry, result: RunResult, span: Span, age: int) -> str:
    config = plan.config
    if plan.phase == "run-end" and not span.is_finished:
        return "Its run did not end in an answer, so the run is left alone."
    if not result.is_raw:
        if is_stub(entry):
            return "It is distilled already: the model sees what the edit shows."
        return "Somebody else's edit is in force on it: the model does not see the original."
    if not result.is_text_only:
        return _images(entry, config, age) or "It holds something beside text, which is never cut."
    if not may_edit(result, config):
        if result.tool in config.exclude_tools:
            return f"The tool {one_line(result.tool)} is excluded (excludeTools)."
        if config.keep_recalls and is_recall(result):
            return "It is what the agent asked back (recall), which stays in the run that asked for it (keepRecalls)."
        return "The call failed, and failed calls are not judged (distillErrors is false)."
    return _size(result, config) or _moment(transcript, plan, result, span) or _sum(result, span, config)


def _images(entry: Entry, config: Config, age: int) -> str:
    """About the images of a tool result; empty when it has none."""
    if not images_of(entry.visible):
        return ""
    if config.image_keep_turns == 0:
        return "It holds an image, and images are kept (imageKeepTurns is 0)."
    if age < config.image_keep_turns:
        old, most = plural(age, "turn"), config.image_keep_turns
        return f"It holds an image that is {old} old; images go after {most} (imageKeepTurns)."
    if entry.visible != entry.raw:
        return "It holds an image, and somebody else's edit is in force on it."
    if entry.result is not None and all(isinstance(block, Text | Image) for block in entry.result.content):
        return "It holds an image, and the note in its place would take as much."
    return "It holds something beside text and images, which is never cut."


def _size(result: RunResult, config: Config) -> str:
    chars, least = len(result.text), config.small_result_min_chars
    if chars >= config.min_result_chars or 0 < least <= chars:
        return ""
    if least == 0:
        floor = f"{config.min_result_chars:,} of minResultChars, and smaller ones are not judged"
    else:
        floor = f"{min(least, config.min_result_chars):,} of smallResultMinChars"
    return f"It is too small: {plural(chars, 'character')}, fewer than the {floor}."


def _moment(transcript: Transcript, plan: Plan, result: RunResult, span: Span) -> str:
    """Mid-run: too young, or judged before."""
    if plan.phase == "run-end":
        return ""
    config = plan.config
    if is_recall(result):
        return "It is what the agent has just asked back (recall), which no checkpoint takes away."
    if result.turn is None and len(result.text) >= config.min_result_chars:
        return "Its call is not in the run, so its age is not known."
    turn = result.turn or 0
    if not is_old_enough(result, turn, span, config):
        age, least = plural(span.turns - 1 - turn, "turn"), config.mid_run_min_age_turns
        return f"It is too young: {age} old, and a checkpoint judges from {least} on (midRunMinAgeTurns)."
    if result.entry_id in judged_mid_run(transcript):
        return "A checkpoint of this branch has judged it already; it is judged again when the run ends."
    return ""


def _sum(result: RunResult, span: Span, config: Config) -> str:
    if len(result.text) < config.min_result_chars:
        return "The note in its place would be as long."
    total = sum(
        len(item.text) for item in span.results if may_edit(item, config) and len(item.text) >= config.min_result_chars
    )
    if total < config.min_run_chars:
        least = f"the {config.min_run_chars:,} of minRunChars"
        return f"The large outputs of its run have {total:,} characters together, fewer than {least}."
    return NO_RULE


def _exchange(
    transcript: Transcript, plan: Plan, context: tuple[Entry, ...], place: int, spans: tuple[Span, ...]
) -> str:
    """Before the runs that are judged, exchanges go as a whole or not at all."""
    config = plan.config
    bounds = exchange_bounds(context, spans[-1].start)
    number = next((n for n, (start, end) in enumerate(bounds) if start <= place < end), None)
    if number is None:
        return "It stands before the first prompt."
    start, end = bounds[number]
    prompt = context[start].id
    whole = f"It belongs to the exchange of {one_line(prompt)}, which is judged as a whole, but"
    if not config.prune_exchanges:
        return f"{whole} old exchanges are not judged (pruneExchanges is false)."
    if number >= len(bounds) - config.keep_recent_exchanges:
        return f"{whole} it is one of the last {config.keep_recent_exchanges} before the run (keepRecentExchanges)."
    if unfit := why_unfit(context[start:end]):
        return f"{whole} {unfit}."
    if any(entry.id in transcript.pinned for entry in context[start:end]):
        return f"{whole} it holds something that is pinned or that no recall could give back."
    if prompt in judged_exchanges(transcript, spans[-1].start_id):
        return f"{whole} that was done since the run began."
    exchange = read_exchange(context[start:end])
    if exchange is not None and exchange.chars < MIN_CHARS:
        return f"{whole} its {exchange.chars:,} characters are fewer than {MIN_CHARS:,}."
    if exchange is not None and len(exchange.stub) >= exchange.chars:
        return f"{whole} the note in its place would be as long."
    return NO_RULE


def _age(context: tuple[Entry, ...], place: int) -> int:
    """Assistant messages since."""
    return sum(1 for entry in context[place + 1 :] if entry.role == "assistant" and entry.visible is not None)
