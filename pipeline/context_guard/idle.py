"""Why a pass came to nothing, in a sentence for people."""

from context_guard.candidates import is_large
from context_guard.checkpoint import NotDue
from context_guard.config import Config
from context_guard.items import Items
from context_guard.span import Span
from context_guard.stages import Plan, Settlement
from context_guard.text import MARKER, format_chars


def why_nothing(plan: Plan, settlement: Settlement) -> str:
    """In one sentence, why no item has a decision; empty when one has."""
    config, items = plan.config, plan.items
    if settlement.decisions:
        return ""
    if items != Items() and not plan.boundary.has_judge:
        return "There is no judge to ask, and no old image to take out."
    if items != Items():
        return "Taking out old images would not earn back yet what the cache would have to write again."
    if not config.enabled:
        return "The guard is off (enabled is false)."
    if plan.phase == "mid-run" and not config.mid_run:
        return "Checkpoints are off (midRun is false)."
    if not plan.spans:
        return "There is no prompt in this branch of the session."
    if isinstance(plan.checkpoint, NotDue):
        return _why_not_due(plan.checkpoint, plan.spans[-1])
    if not plan.spans[-1].is_finished:
        return "The last run did not end in an answer, so nothing is touched."
    return _why_no_output(tuple(span for span in plan.spans if span.is_finished), config)


def _why_not_due(checkpoint: NotDue, run: Span) -> str:
    best = max(checkpoint.tried, key=lambda tier: tier.chars)
    batch = format_chars(checkpoint.batch_chars)
    if not best.chars:
        said = "There is nothing yet that a checkpoint could judge (`explain` tells why, entry by entry)"
    elif best.chars < checkpoint.batch_chars:
        said = f"A checkpoint waits for {batch} characters to judge, and so far there are {format_chars(best.chars)}"
    else:
        said = f"A checkpoint {checkpoint.reason}"
    at_rest = "; the branch ends in a finished answer, and a checkpoint is for a run that goes on"
    return f"{said}{at_rest if run.is_finished else ''}."


def _why_no_output(spans: tuple[Span, ...], config: Config) -> str:
    where = "the last run" if len(spans) == 1 else f"the {len(spans)} runs"
    results = [result for span in spans for result in span.results]
    if not results:
        return f"There is no tool output in {where}."
    large = [result for result in results if len(result.text) >= config.min_result_chars]
    if editable := max(_editable_chars(span, config) for span in spans):
        return (
            f"The large outputs of a run have {editable:,} characters together, "
            f"fewer than the {config.min_run_chars:,} of minRunChars."
        )
    if any(not result.is_raw and result.text.startswith(MARKER) for result in results):
        return f"Every output of {where} that could be distilled already is."
    if large:
        return (
            f"No large output of {where} may be edited (an excluded tool, a recalled text, a failed call, "
            "an image in it, or an edit by others)."
        )
    floor = f"the {config.min_result_chars:,} characters of minResultChars"
    if config.small_result_min_chars:
        floor = f"the {config.small_result_min_chars:,} characters of smallResultMinChars"
    return f"No tool output of {where} that may be edited has {floor}."


def _editable_chars(span: Span, config: Config) -> int:
    """Of the large outputs of a run, before `minRunChars` rules them out."""
    return sum(len(result.text) for result in span.results if is_large(result, config))
