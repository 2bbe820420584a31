"""For users' own tests: a System One server on loopback that answers, and that fails in every way asked for.

async with fake_system_one(faults=["http 429", "half a body"]) as server:
    judge = SystemOneJudge(server.server, server.key)
    asked = await ask_all(requests, judge, budget_ms=500)
    assert server.requests[0].body["model"] == "jev-1.13.0"
"""

from context_guard_effects.testing.fake_system_one import FakeRequest, FakeSystemOne, fake_system_one
from context_guard_effects.testing.faults import FAULTS, Fault

__all__ = ["FAULTS", "FakeRequest", "FakeSystemOne", "Fault", "fake_system_one"]
