"""Where a server is: an address as it was given, as the root of its paths, or what is wrong with it."""

from urllib.parse import urlsplit

from returns.result import Failure, Result, Success

_THIS_MACHINE = "127.0.0.1"
_EVERYWHERE = {"0.0.0.0": _THIS_MACHINE, "::": "::1"}
"""What a server listens on when it listens on every interface, and where it is then reached on its own machine."""


def read_root(source: str, value: str, port: int | None = None) -> Result[str, str]:
    """The root, without a slash at its end. A value without a scheme is http.

    With a `port` such a value may leave out that port and this machine, as the clients of Ollama take `OLLAMA_HOST`.
    A failure names the source, an environment variable mostly, and quotes nothing of the value, which may hold a key.
    """
    value = value.strip()
    is_bare = "://" not in value
    if is_bare and value.count(":") > 1 and "[" not in value:
        value = f"[{value}]"
    try:
        parts = urlsplit(f"http://{value}" if is_bare else value)
        host, given = parts.hostname or "", parts.port
    except ValueError:
        return _wrong(source, "cannot be read")
    if is_bare and port is not None:
        host, given = host or _THIS_MACHINE, port if given is None else given
    if parts.scheme not in ("http", "https"):
        return _wrong(source, "is no http(s) address")
    if parts.username or parts.password:
        return _wrong(source, "holds a user or a password")
    if parts.query or parts.fragment:
        return _wrong(source, "holds more than an address")
    if not host or not host.isprintable() or " " in host:
        return _wrong(source, "names no host")
    host = _EVERYWHERE.get(host, host)
    netloc = f"[{host}]" if ":" in host else host
    if given is not None:
        netloc += f":{given}"
    return Success(f"{parts.scheme}://{netloc}{parts.path}".rstrip("/"))


def _wrong(source: str, what: str) -> Result[str, str]:
    return Failure(f"{source} {what}: give it as http(s)://HOST[:PORT]")
