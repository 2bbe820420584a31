"""The project's own labelled outputs: made up over files of the standard library that nothing is learnt from."""

from functools import cache

from benchmarks.train_local_judge.material import Case, is_own, make_cases, read_sources

SEED = 11


@cache
def own_cases(count: int) -> tuple[Case, ...]:
    return tuple(make_cases(read_sources(skip=lambda path: not is_own(path)), count, SEED))
