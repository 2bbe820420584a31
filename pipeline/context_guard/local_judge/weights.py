"""Every constant of the local judge, in one value: `WEIGHTS`.

`part`, `none` and the two rates are learnt (`learnt/`, written by `benchmarks/train_local_judge`; docs/local-judge.md
says from what and how well). `small` and `exchange` were fitted once on made-up items and rounded by hand, `whole` was
set by hand. The rules were set on real sessions, cross-validated, so that the labelled outputs of
`benchmarks/judge_bed.py`, which nothing was learnt from, stay above their floor.
"""

import msgspec
from msgspec import Struct

from context_guard.local_judge.learnt import ANSWER, LATER_MID, STAY
from context_guard.local_judge.odds import Logistic
from context_guard.local_judge.rates import Rates


class Rule(Struct, frozen=True):
    """How probabilities become answers, for one phase."""

    recall: float
    """Keep the likeliest parts until this share of what is probably needed is kept."""
    floor: float
    """Below this probability a part is not kept for recall's sake."""
    none: float
    """From this P(nothing is needed) on a whole segment goes."""
    vague_recall: float
    vague_floor: float
    """The same where the answer has no name, string or place in common with the output."""
    later: float
    """From this worth for later work on a part is kept."""
    part_share: float
    """How much of that worth is the part's own; the rest is that of its whole output."""
    size_power: float
    """How fast the worth falls with the size of the output."""
    answer_power: float
    """How fast what the answer rests on counts less the likelier it is that it rests on nothing here."""
    stay: float
    """From this worth on an output stays as it is."""
    stay_none: float
    """But not from this P(nothing is needed) on."""
    top: float
    """The likeliest parts of every output are kept up to this share of its later need."""
    small: float
    """From this P(needed) on a small output stays."""


class Weights(Struct, frozen=True):
    part: Logistic
    """P(needed) of a part of an output in which something is needed."""
    none: Logistic
    """P(nothing is needed) of an output."""
    whole: Logistic
    """P(all is needed) of an output."""
    small: Logistic
    """P(needed) of a small output."""
    exchange: Logistic
    """P(relevant) of an old exchange."""
    stay_end: Rates
    """How much of what later runs need an output holds, by where it stands in its run."""
    stay_mid: Rates
    """The same of what the rest of the run needs."""
    later_mid: Rates
    """How much of what the rest of the run needs a part holds."""
    run_end: Rule
    mid_run: Rule
    superseded: float
    """What being out of date takes from the logit of being needed, and adds to that of nothing being needed."""
    superseded_small: float
    """Most that the probability of an out-of-date small output can be."""
    failed: float
    """The same for a failed call that the answer got past: a small output once there is an answer, a large one when
    the answer says that it is mended."""


class Made(Struct, frozen=True):
    """How the learnt part came about."""

    command: str
    seed: int
    made_up_cases: int
    real_items: int
    data: str
    """SHA-256 of all that was learnt from."""


class Learnt(Struct, frozen=True):
    made: Made
    part: Logistic
    none: Logistic


LEARNT = msgspec.json.decode(ANSWER, type=Learnt)
_STAY = msgspec.json.decode(STAY, type=dict[str, Rates])

WEIGHTS = Weights(
    part=LEARNT.part,
    none=LEARNT.none,
    whole=Logistic(  # set by hand: cue words, and how much of the output is probably needed anyway
        bias=-4.0,
        weights=(
            ("asks_all", 2.0),
            ("asks_task", 1.7),
            ("answers_all", 2.0),
            ("needed_share", 4.0),
            ("cited", -1.0),
        ),
    ),
    small=Logistic(
        bias=-4.1,
        weights=(
            ("names_log", 0.9),
            ("answer_share", 3.9),
            ("answer_log", 0.8),
            ("history_share", 2.0),
            ("quotes", 2.8),
            ("numbers", 3.4),
            ("defined", 1.8),
            ("cited", 2.7),
            ("file_named", 1.0),
            ("source_named", 1.4),
        ),
    ),
    exchange=Logistic(
        bias=-3.4,
        weights=(
            ("names_log", 0.7),
            ("answer_share", 3.0),
            ("history_share", 10.0),
            ("file_named", 1.3),
            ("args_share", 5.7),
        ),
    ),
    stay_end=_STAY["stay_end"],
    stay_mid=_STAY["stay_mid"],
    later_mid=msgspec.json.decode(LATER_MID, type=Rates),
    run_end=Rule(
        recall=0.93,
        floor=0.06,
        none=0.9,
        vague_recall=0.985,
        vague_floor=0.005,
        later=0.0,
        part_share=0.1,
        size_power=0.3,
        answer_power=3.0,
        stay=1.0,
        stay_none=0.97,
        top=0.0,
        small=0.05,
    ),
    mid_run=Rule(
        recall=0.0,
        floor=0.03,
        none=0.98,
        vague_recall=0.0,
        vague_floor=0.0,
        later=0.62,
        part_share=1.4,
        size_power=0.1,
        answer_power=1.0,
        stay=1.0,
        stay_none=1.1,
        top=0.15,
        small=0.03,
    ),
    superseded=2.5,
    superseded_small=0.3,
    failed=1.5,
)
