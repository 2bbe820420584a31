"""What a proxy does with a request by its method, path and headers: guarded under which API, or passed on, and why."""

import re
from collections.abc import Mapping

from msgspec import Struct

from context_guard.formats.codec import Provider

Api = Provider

ENCODINGS = ("gzip", "deflate", "zstd")
"""Of request bodies that can be opened; any other one passes as it is."""


class Guarded(Struct, frozen=True):
    """A request with a message list that edits may be written into."""

    api: Api


class Untouched(Struct, frozen=True):
    """A request that goes on byte for byte."""

    why: str
    """One word for metrics, logs and the status header."""


Route = Guarded | Untouched

PATHS: tuple[tuple[str, Route], ...] = (
    (r"/messages/count_tokens", Untouched("count-tokens")),
    (r"/(messages/)?batches(/.*)?", Untouched("batch")),
    (r"/responses/(input_tokens|compact)", Untouched("not-a-turn")),
    (r"/messages", Guarded("anthropic")),
    (r"/chat/completions", Guarded("openai-chat")),
    (r"/responses", Guarded("openai-responses")),
)
"""The end of the path, whatever stands before it; the first that fits."""

SESSION_HEADERS = ("x-claude-code-session-id", "session-id", "x-session-id")
"""In which agents name their conversation. For people, never for deciding."""

_PATHS = tuple((re.compile(f"(/.*)?{pattern}/?"), route) for pattern, route in PATHS)


def read_route(method: str, path: str, headers: Mapping[str, str]) -> Route:
    """`headers` by their names in lower case; `path` without the query."""
    route = next((route for pattern, route in _PATHS if pattern.fullmatch(path)), Untouched("other-path"))
    if isinstance(route, Untouched):
        return route
    if method != "POST":
        return Untouched("other-method")
    if headers.get("authorization", "").startswith("AWS4-"):
        return Untouched("signed")
    if any(name not in ENCODINGS for name in read_encodings(headers)):
        return Untouched("compressed")
    return route


def read_encodings(headers: Mapping[str, str]) -> tuple[str, ...]:
    """How a body is compressed, in the order in which that was done."""
    names = (name.strip().lower() for name in headers.get("content-encoding", "").split(","))
    return tuple(name for name in names if name not in ("", "identity"))


def read_session(headers: Mapping[str, str]) -> str:
    """The agent's own name for the conversation, empty without one; a line that can be shown."""
    found = next((headers[name] for name in SESSION_HEADERS if headers.get(name)), "")
    return found[:100] if found.isprintable() else ""
