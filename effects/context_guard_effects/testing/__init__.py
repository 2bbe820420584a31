"""For users' own tests: conversations in a few words, judges that say what a test wants, what every guarded host has to
hold to, and a System One server on loopback that answers, and that fails in every way asked for.

def test_my_host() -> None:
    assert_guard_invariants(MyHost(), memory_store())

async with fake_system_one(faults=["http 429", "half a body"]) as server:
    judge = SystemOneJudge(server.server, server.key)
    asked = await ask_all(requests, judge, budget_ms=500)
    assert server.requests[0].body["model"] == "jev-1.13.0"
"""

from context_guard_effects.judges.recorded import RecordedJudge
from context_guard_effects.testing.conversation import answer, call, calls, messages, prompt, result, transcript
from context_guard_effects.testing.fake_system_one import FakeRequest, FakeSystemOne, fake_system_one
from context_guard_effects.testing.faults import FAULTS, Fault
from context_guard_effects.testing.hosts import (
    Conversation,
    Host,
    Recall,
    Say,
    Search,
    Turn,
    assert_guard_invariants,
    made_output,
    noted_id,
)
from context_guard_effects.testing.judges import KeepJudge, SilentJudge
from context_guard_effects.testing.loop import LoopHost

__all__ = [
    "FAULTS",
    "Conversation",
    "FakeRequest",
    "FakeSystemOne",
    "Fault",
    "Host",
    "KeepJudge",
    "LoopHost",
    "Recall",
    "RecordedJudge",
    "Say",
    "Search",
    "SilentJudge",
    "Turn",
    "answer",
    "assert_guard_invariants",
    "call",
    "calls",
    "fake_system_one",
    "made_output",
    "messages",
    "noted_id",
    "prompt",
    "result",
    "transcript",
]
