"""Async tests run under Trio, on a clock that jumps to the next deadline whenever nobody has anything to do. Property
tests repeat themselves."""

import inspect
import os
from functools import partial

import pytest
import trio
from hypothesis import settings
from trio.testing import MockClock

# The same examples in every run; HYPOTHESIS=random looks for new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("random", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS", "repeatable"))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in wanted}
    trio.run(partial(pyfuncitem.obj, **arguments), clock=MockClock(autojump_threshold=0))
    return True
