"""A framework as a host: all invariants, then the same conversation taken up by another process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Protocol

from context_guard_effects.kit import Guard
from context_guard_effects.store import open_store
from context_guard_effects.testing import (
    Conversation,
    Host,
    KeepJudge,
    Say,
    Search,
    assert_guard_invariants,
    made_output,
)
from context_guard_effects.testing.hosts import AT_ANY_COST, NEEDLE

UNANSWERED = "unanswered, what they ask about is kept"
"""The one problem that these conversations meet: of the judge that never answers."""


class Saved(Conversation, Protocol):
    def save(self) -> Any:
        """All that the host has stored of it, as JSON."""
        ...


class SavingHost(Host, Protocol):
    def open(self, guard: Guard) -> Saved: ...

    def load(self, guard: Guard, saved: Any) -> Conversation: ...


def main(host: SavingHost) -> None:
    """With the path of a store: everything. With that of a saved conversation too: goes on with it."""
    store, *conversations = map(Path, sys.argv[1:])
    if conversations:
        print(_go_on(host, store, json.loads(conversations[0].read_text())))
        return
    with open_store(store) as opened:
        assert_guard_invariants(host, opened)
    _check_other_process(host, store.with_name("other.db"))


def _check_other_process(host: SavingHost, store: Path) -> None:
    with open_store(store) as opened:
        conversation = host.open(Guard(opened, KeepJudge(NEEDLE), AT_ANY_COST, host.provider))
        conversation.run("Where is it?", [Search(made_output("far"), "call_1"), Say(f"Line 142: {NEEDLE}.")])
        conversation.run("Thanks.", [Say("Welcome.")])
        saved = store.with_suffix(".json")
        saved.write_text(json.dumps(conversation.save()))
        ours = conversation.requests()[-1]
    command = [sys.executable, "-m", sys.modules["__main__"].__spec__.name, store, saved]  # type: ignore[union-attr]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout)
    assert _result(host, ours) == _result(host, theirs), "another process sends the same replacement"
    assert _result(host, ours) != made_output("far"), "and it is one"


def _go_on(host: SavingHost, store: Path, saved: Any) -> str:
    with open_store(store) as opened:
        again = host.load(Guard(opened, KeepJudge(NEEDLE), AT_ANY_COST, host.provider), saved)
        again.run("And now?", [Say("Nothing.")])
        return json.dumps(again.requests()[-1])


def _result(host: Host, request: list[dict[str, Any]]) -> str:
    outputs = Guard(provider=host.provider).codec.read(request).unwrap()
    return next(str(entry.blocks) for entry in outputs if entry.role == "tool")
