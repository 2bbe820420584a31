"""A judge that Pi asks, with its own log-ins: the copy crosses the pipe, the answers come back, no key ever does."""

from collections.abc import Callable
from typing import Any

import msgspec
import trio
from returns.result import Failure, Result

from context_guard.answers import Answers, Unanswered
from context_guard.judge_copy import write_copy
from context_guard.pi_classifier import read_pi_result, write_pi_request
from context_guard.requests import Request
from context_guard.servers import JEV_TOKENS
from context_guard.split import estimate_request_tokens
from context_guard_effects.judges.port import Judge
from context_guard_effects.pi_bridge.protocol import Classifier

News = dict[str, Any]


class Classifiers:
    """Those that Pi has a log-in for, and the calls that it has not answered yet."""

    def __init__(self, send: Callable[[News], None]) -> None:
        self.available: tuple[Classifier, ...] = ()
        self._send = send
        self._waiting: dict[int, trio.Event] = {}
        self._results: dict[int, News] = {}
        self._calls = 0

    def judge(self, reference: str) -> Judge | None:
        """The judge of this `provider/id`; None when Pi has no log-in for it."""
        found = next((each for each in self.available if each.ref == reference), None)
        return PiJudge(found, self) if found is not None else None

    def answered(self, call: int, result: News) -> None:
        """Pi's result; that of a call that nobody waits for any more is dropped."""
        if call in self._waiting:
            self._results[call] = result
            self._waiting[call].set()

    async def ask(self, classifier: Classifier, request: News) -> News:
        """What Pi says; when the caller gives up, Pi is told to."""
        self._calls += 1
        call = self._calls
        done = self._waiting[call] = trio.Event()
        try:
            asked = {"provider": classifier.provider, "id": classifier.id, "request": request}
            self._send({"event": "classify", "call": call, **asked})
            await done.wait()
            return self._results[call]
        finally:
            del self._waiting[call]
            if self._results.pop(call, None) is None:
                self._send({"event": "give up", "call": call})


class PiJudge:
    def __init__(self, classifier: Classifier, classifiers: Classifiers) -> None:
        self.name = classifier.ref
        self._classifier = classifier
        self._classifiers = classifiers
        self._tokens = min(classifier.context_window or JEV_TOKENS, JEV_TOKENS)

    async def __call__(self, request: Request) -> Result[Answers, Unanswered]:
        copy = write_copy(request)
        if estimate_request_tokens(copy) > self._tokens:
            limit = f"more than the {self._tokens:,} tokens that {self.name} takes"
            return Failure(Unanswered(request_id=request.id, reason="oversize", detail=limit, started=False))
        result = await self._classifiers.ask(self._classifier, write_pi_request(copy))
        provider = self._classifier.provider
        return read_pi_result(request, result).map(
            lambda answers: msgspec.structs.replace(
                answers, judge=f"{provider}/{answers.judge}" if answers.judge else self.name
            )
        )
