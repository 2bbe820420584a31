"""The embedded judge on the project's own labelled outputs stays above the floor that docs/local-judge.md names."""

import re
from functools import cache

from benchmarks.quality.chain import cut_case
from benchmarks.quality.own import own_cases
from benchmarks.quality.scores import Figures, figures

from context_guard.config import Config
from context_guard.local_judge import judge_locally
from context_guard.local_judge.weights import LEARNT

CASES = 54


@cache
def measured() -> Figures:
    cases = own_cases(CASES)
    return figures(cases, [cut_case(case, Config(), judge_locally) for case in cases])


def test_the_weights_say_how_they_were_made() -> None:
    """Command, seed and fingerprint of what was learnt from: anyone can make them again and see that they did."""
    made = LEARNT.made
    assert made.command.startswith("python -m benchmarks.train_local_judge")
    assert f"--seed {made.seed} " in made.command
    assert made.made_up_cases > 0
    assert re.fullmatch(r"[0-9a-f]{64}", made.data)


def test_what_is_needed_stays_at_a_small_size() -> None:
    """Lines and chunks that the answer rests on are kept, at less than half of the size."""
    found = measured()
    assert (found.line_recall or 0) >= 0.93
    assert (found.chunk_recall or 0) >= 0.92
    assert (found.kept or 1) <= 0.45
    assert (found.vague_recall or 0) >= 0.85


def test_the_probabilities_rank_and_hold() -> None:
    """A needed part is likelier than another of its output, and a probability is about the share that is needed."""
    found = measured()
    assert (found.auc or 0) >= 0.95
    assert (found.ece or 1) <= 0.08


def test_outputs_are_decided_as_a_whole_where_that_is_right() -> None:
    """Most dead ends go, though half of them are of the answer's own topic, and what is needed is not emptied."""
    found = measured()
    assert (found.dead_ends or 0) >= 0.5
    assert found.emptied is not None
    assert found.emptied <= 0.03
