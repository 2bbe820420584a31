"""One request, as far as it is known, from its head to the end of its reply."""

from msgspec import Struct

from context_guard.proxy_routes import Guarded, Route, Untouched
from context_guard_effects.proxy.asgi import Headers
from context_guard_effects.proxy.dashboard import Seen
from context_guard_effects.proxy.reading import ReadReply
from context_guard_effects.proxy.rewrite import Rewritten
from context_guard_effects.proxy.upstream import Upstream


class Asked(Struct):
    """One request, as far as it is known."""

    method: str
    path: str
    """Raw, behind the upstream's name."""
    query: bytes
    headers: Headers
    by_name: dict[str, str]
    upstream: Upstream
    route: Route
    began: float
    size: int = 0
    plain: bytes = b""
    """The body of a guarded request, opened."""
    rewritten: Rewritten | None = None
    seen: Seen | None = None
    is_over: bool = False
    """All of the reply has come."""
    status: int = 0
    """Of the reply, once it has begun."""
    reading: ReadReply | None = None

    @property
    def api(self) -> str:
        return self.route.api if isinstance(self.route, Guarded) else ""

    @property
    def why(self) -> str:
        """One word, where the request goes on unedited whatever the store says."""
        if self.rewritten is not None:
            return self.rewritten.why
        return self.route.why if isinstance(self.route, Untouched) else ""

    @property
    def done(self) -> bytes:
        """What was done with it, for the agent's user to see."""
        if self.rewritten is None:
            return f"passed; why={self.why}".encode()
        words = [f"edited; edits={self.rewritten.edits}" if self.rewritten.edits else "unedited"]
        words += [f"why={self.rewritten.why}"] if self.rewritten.why else []
        words += ["pinned"] if self.rewritten.is_pinned else []
        return "; ".join(words).encode()
