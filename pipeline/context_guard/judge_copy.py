"""What leaves the machine of a request: the copy for a remote judge, without secrets, with lines that plead marked."""

import msgspec

from context_guard.fence import fence_request
from context_guard.redact import redact_request
from context_guard.requests import Request


def write_copy(request: Request) -> Request:
    """Redacted first, so that a mark never splits a secret. Ids, parts and questions are the request's own."""
    return fence_request(redact_request(msgspec.structs.replace(request, run=None)))
