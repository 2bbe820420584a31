"""What would leave the machine for a request, byte for byte, without sending it."""

from context_guard.local_judge import judge_locally
from context_guard.requests import Request
from context_guard_effects.judges.chain import Chain
from context_guard_effects.judges.port import Judge
from context_guard_effects.judges.remote import RemoteJudge


def is_remote(judge: Judge) -> bool:
    return isinstance(judge, RemoteJudge | Chain)


def bodies_of(judge: Judge, request: Request) -> tuple[bytes, ...]:
    """The bodies in the order of sending; none for a judge on this machine, nor for what such a judge is sure of."""
    match judge:
        case RemoteJudge():
            return judge.bodies(request)
        case Chain():
            left = judge.left_to_ask(request, judge_locally(request))
            return () if left is None else bodies_of(judge.second, left)
        case _:
            return ()
