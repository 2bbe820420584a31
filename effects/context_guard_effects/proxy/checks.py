"""Who may ask: requests of this machine's programs, not those that a web page makes a browser send."""

import hmac
import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct

TOKEN_HEADER = "x-context-guard-token"
LOCAL = ("localhost",)


class Refusal(Struct, frozen=True):
    status: int
    why: str
    """One word for metrics, logs and the status header."""
    says: str
    """For people: what is wrong, what to do."""


class Access(Struct, frozen=True):
    token: str = ""
    """What every request has to bring; then the proxy may be called by any name."""

    def check(self, headers: Mapping[str, str], is_health: bool = False) -> Refusal | None:
        """`headers` by their names in lower case. Whether the proxy is well may be asked without a token: balancers
        have none."""
        if (
            self.token
            and not is_health
            and not hmac.compare_digest(self.token.encode(), headers.get(TOKEN_HEADER, "").encode())
        ):
            return Refusal(401, "token", f"This proxy takes only requests with its token in {TOKEN_HEADER}.")
        if not self.token and not is_loopback(_host(headers.get("host", ""))):
            says = "This proxy is asked under another name than this machine's own: use 127.0.0.1 or localhost."
            return Refusal(403, "host", says)
        origin = headers.get("origin", "")
        if headers.get("sec-fetch-site") == "cross-site" or (origin and not is_loopback(_host_of_origin(origin))):
            return Refusal(403, "origin", "This proxy takes no request that a web page of another origin makes.")
        return None


def check_path(path: str) -> Refusal | None:
    """The raw path: what a server further on could take for a way out of where it points."""
    plain = path.lower().replace("%2e", ".").replace("%2f", "/").replace("%5c", "\\")
    segments = plain.replace("\\", "/").split("/")
    if any(segment.partition(";")[0] in (".", "..") for segment in segments):
        return Refusal(400, "path", "The path leads out of where it begins: it is not passed on.")
    return None


def is_loopback(host: str) -> bool:
    if host in LOCAL:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host(value: str) -> str:
    try:
        return (urlsplit(f"//{value}").hostname or "") if "@" not in value and "/" not in value else ""
    except ValueError:
        return ""


def _host_of_origin(origin: str) -> str:
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""
