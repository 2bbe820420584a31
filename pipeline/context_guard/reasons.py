"""What a decision on an item rests on, in a sentence: the threshold, size or age, with its figures."""

from context_guard.config import Config
from context_guard.decisions import Decision
from context_guard.records import DEFERRED
from context_guard.requests import chunk_id
from context_guard.stages import Plan, Settlement
from context_guard.text import format_probability as p
from context_guard.text import plural
from context_guard.whole import Verdict, read_verdicts

MOST_NAMED = 6
"""Chunks named in a sentence."""


def why_decided(decision: Decision, plan: Plan, settlement: Settlement) -> str:
    """The threshold, size or age that a decision of this pass rests on; then that it waits, where it does."""
    config = plan.config
    waits = " It may go, but the edit has to wait: see the costs." if decision.reason == DEFERRED else ""
    match decision.kind:
        case "large":
            return _sized(decision, plan, settlement) + waits
        case "small":
            return _small(_verdict(decision, plan, settlement), config) + waits
        case "exchange":
            return _exchange(_verdict(decision, plan, settlement), config) + waits
        case "image":
            most = plural(config.image_keep_turns, "turn")
            return f"Its images are {decision.reason}; they go after {most} (imageKeepTurns)."


def _small(verdict: Verdict, config: Config) -> str:
    return _weighed(verdict, "P(needed)", config.small_keep_threshold, "smallKeepThreshold")


def _exchange(verdict: Verdict, config: Config) -> str:
    return _weighed(verdict, "P(relevant)", config.exchange_omit_threshold, "exchangeOmitThreshold")


def _weighed(verdict: Verdict, what: str, threshold: float, name: str) -> str:
    if verdict.probability is None:
        return f"The judge gave no answer ({verdict.failure}): it stays."
    if verdict.probability < threshold:
        return f"{what} {p(verdict.probability)} is below {name} {p(threshold)}: it goes."
    return f"{what} {p(verdict.probability)} reaches {name} {p(threshold)}: it stays."


def _sized(decision: Decision, plan: Plan, settlement: Settlement) -> str:
    """What of a large output would stay, against the share that an edit may leave."""
    config = plan.config
    cut = next(cut for cut in plan.chunks if cut.entry_id == decision.entry_id)
    judged = {index for item in settlement.keep_sets if item.entry_id == decision.entry_id for index in item.kept}
    if len(judged) == len(cut.chunks) and not decision.elided_chars:
        return f"All of its {plural(len(cut.chunks), 'chunk')} stay ({decision.reason})."
    kept = {*judged, *decision.cited, *decision.held}
    added = [
        f"{_named(indexes)} {why}"
        for indexes, why in (
            (decision.cited, "in files that the answer names (keepCitedFiles)"),
            (decision.held, "held whatever the judge says (hardKeeps)"),
        )
        if indexes
    ]
    stay = f"{len(kept)} of {plural(len(cut.chunks), 'chunk')} would stay{''.join(f', {said}' for said in added)}"
    chars = sum(len(cut.chunks[index].text) + 1 for index in kept) - decision.elided_chars
    if decision.elided_chars:
        stay += f", without {decision.elided_chars:,} characters of encoded data or overwritten states"
    if chars > decision.before_chars * config.max_keep_ratio:
        return (
            f"{stay}: {_share(chars, decision)} of its characters, more than maxKeepRatio "
            f"{_percent(config.max_keep_ratio)}, so an edit is not worth it."
        )
    if decision.reason.startswith("not-worth"):
        return f"{stay}, but with the notes around them the text would be no shorter, so an edit is not worth it."
    return (
        f"{stay}: {_share(chars, decision)} of its characters, within maxKeepRatio {_percent(config.max_keep_ratio)}."
    )


def _named(indexes: tuple[int, ...]) -> str:
    names = [chunk_id(index) for index in indexes]
    more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    return ", ".join([*names[:MOST_NAMED], *more])


def _share(chars: int, decision: Decision) -> str:
    return _percent(chars / max(1, decision.before_chars))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _verdict(decision: Decision, plan: Plan, settlement: Settlement) -> Verdict:
    outcomes = {outcome.request_id: outcome for outcome in settlement.outcomes}
    asked = (request for request in plan.requests if decision.entry_id in request.entry_ids)
    return read_verdicts(asked, outcomes)[decision.entry_id]
