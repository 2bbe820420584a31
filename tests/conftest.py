"""Async tests run under Trio, on a clock that jumps to the next deadline whenever nobody has anything to do. Property
tests repeat themselves."""

import inspect
import os
import signal
from functools import partial

import pytest
import trio
from hypothesis import settings
from trio.testing import MockClock

# The same examples in every run; HYPOTHESIS=random looks for new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("random", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS", "repeatable"))

# A shell starts what goes on in the background with interrupts ignored, and so would every program that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in wanted}
    trio.run(partial(pyfuncitem.obj, **arguments), clock=MockClock(autojump_threshold=0))
    return True
