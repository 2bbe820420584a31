"""Async tests run under Trio, on a clock that jumps to the next deadline whenever nobody has anything to do."""

import inspect
from functools import partial

import pytest
import trio
from trio.testing import MockClock


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in wanted}
    trio.run(partial(pyfuncitem.obj, **arguments), clock=MockClock(autojump_threshold=0))
    return True
