"""The port that every judge fits: one request in, its answers out."""

from typing import Protocol

from returns.result import Result

from context_guard.answers import Answers, Unanswered
from context_guard.requests import Request


class Judge(Protocol):
    """Answers one request at a time, as many at once as it is called.

    Deadline, limit and pass are the caller's (`ask_all`): a judge neither waits longer on its own account, nor tries
    again, nor keeps a pool. It may raise; that counts as an error of this one request.
    """

    @property
    def name(self) -> str:
        """What the record of a pass calls it."""
        ...

    async def __call__(self, request: Request) -> Result[Answers, Unanswered]: ...
