"""Every constant of the local judge, in one value: `WEIGHTS`.

`part`, `none`, `stay` and `later_mid` are learnt (`learnt/`, written by `benchmarks/train_local_judge`;
docs/local-judge.md says from what and how well). `small` and `exchange` were fitted once on made-up items and rounded
by hand, `whole` was set by hand. The rules were set on real sessions, cross-validated, so that the labelled outputs of
`benchmarks/judge_bed.py`, which nothing was learnt from, stay above their floor.
"""

import msgspec
from msgspec import Struct

from context_guard.local_judge.learnt import ANSWER, LATER_MID, STAY
from context_guard.local_judge.odds import Logistic
from context_guard.local_judge.rates import Rates


class Rule(Struct, frozen=True):
    """How probabilities become answers, for one phase."""

    none: float
    """From this P(nothing is needed) on a whole segment goes, but for what the answer took from it word for word."""
    small: float
    """From this P(needed) on a small output stays."""
    recall: float = 0.0
    """Keep the likeliest parts until this share of what is probably needed is kept."""
    floor: float = 1.0
    """Below this probability a part is not kept for recall's sake."""
    run_recall: float = 0.0
    run_floor: float = 1.0
    """The same where the run is known: then all that the answer says is covered, wherever in the run it stands."""
    vague_recall: float = 0.0
    vague_floor: float = 1.0
    """The same where the answer has no name, string or place in common with the output."""
    answer_power: float = 1.0
    """How fast what the answer rests on counts less the likelier it is that it rests on nothing here."""
    stay: float = 0.0
    """From this worth on an output stays as it is."""
    stay_none: float = 1.0
    """But not from this P(nothing is needed) on."""
    later: float = 0.0
    """Mid-run: from this rate of later need on a part is kept."""


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
    stay: Rates
    """How much of what later runs need an output holds, by where it stands in its run."""
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
    stay=msgspec.json.decode(STAY, type=Rates),
    later_mid=msgspec.json.decode(LATER_MID, type=Rates),
    run_end=Rule(
        none=0.9,
        small=0.05,
        recall=0.93,
        floor=0.055,
        run_recall=0.8,
        run_floor=0.2,
        vague_recall=0.985,
        vague_floor=0.005,
        answer_power=3.0,
        stay=1.1,
        stay_none=0.97,
    ),
    mid_run=Rule(none=0.98, small=0.03, later=1.37),
    superseded=2.5,
    superseded_small=0.3,
    failed=1.5,
)
