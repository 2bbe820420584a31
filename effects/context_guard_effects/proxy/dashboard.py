"""What the proxy does right now, for its status address and for `context-guard watch`. Nothing of any content."""

from collections import OrderedDict, deque
from typing import Any

import msgspec
from msgspec import Struct

from context_guard.transcript import Usage
from context_guard_effects.proxy.jobs import Decision, Done, Job
from context_guard_effects.proxy.rewrite import Rewritten

CONVERSATIONS = 50
DECISIONS = 20
PROBLEMS = 20


class Seen(Struct):
    """A conversation as its last request shows it."""

    id: str
    """Of its first entry: forks and what came of one prompt share it."""
    session: str
    api: str
    model: str
    requests: int = 0
    raw_bytes: int = 0
    """Of the last request as the agent sent it."""
    sent_bytes: int = 0
    edits: int = 0
    kept_out_bytes: int = 0
    """In all requests together."""
    last: int = 0
    """When; milliseconds since the epoch."""
    usage: Usage | None = None
    """Of the last reply."""


class Judged(Struct, frozen=True):
    time: int
    session: str
    phase: str
    edits: int
    saved_chars: int
    waits: bool
    judge: str
    decisions: tuple[Decision, ...]


class Dashboard:
    def __init__(self, started: int) -> None:
        self._started = started
        self._seen: OrderedDict[tuple[str, str, str], Seen] = OrderedDict()
        self._judged: deque[Judged] = deque(maxlen=DECISIONS)
        self._problems: deque[tuple[int, str]] = deque(maxlen=PROBLEMS)
        self.requests = 0
        self.kept_out = 0

    def request(self, api: str, session: str, rewritten: Rewritten, size: int, now: int) -> Seen | None:
        self.requests += 1
        told = rewritten.conversation
        if told is None:
            return None
        key = (api, session, told.root)
        seen = self._seen.pop(key, None) or Seen(told.root, session, api, told.model)
        saved = rewritten.kept_out
        seen.requests += 1
        seen.model, seen.last = told.model, now
        seen.raw_bytes, seen.sent_bytes, seen.edits = size, size - saved, rewritten.edits
        seen.kept_out_bytes += max(0, saved)
        self.kept_out += max(0, saved)
        self._seen[key] = seen
        while len(self._seen) > CONVERSATIONS:
            self._seen.popitem(last=False)
        return seen

    def judged(self, job: Job, done: Done, now: int) -> None:
        if done.decisions:
            self._judged.append(
                Judged(
                    time=now,
                    session=job.session,
                    phase=job.phase,
                    edits=done.edits,
                    saved_chars=done.saved_chars,
                    waits=done.waits,
                    judge=done.judge,
                    decisions=done.decisions[-DECISIONS:],
                )
            )

    def problem(self, said: str, now: int) -> bool:
        """Whether it is new: told once while it lasts."""
        is_new = all(said != known for _, known in self._problems)
        if is_new:
            self._problems.append((now, said))
        return is_new

    def to_json(self) -> dict[str, Any]:
        return {
            "started": self._started,
            "requests": self.requests,
            "keptOutBytes": self.kept_out,
            "conversations": [msgspec.to_builtins(seen) for seen in reversed(self._seen.values())],
            "judged": [msgspec.to_builtins(judged) for judged in reversed(self._judged)],
            "problems": [{"time": at, "says": said} for at, said in reversed(self._problems)],
        }
