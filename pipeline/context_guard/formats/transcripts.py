"""Every recorded session that is known here, from what stands in its file: detected, then read by its host's reader."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from returns.result import Failure, Result, Success

from context_guard.formats import atif, claude_code, cline, codex, mini_swe_agent, opencode, openhands, pi, swe_agent
from context_guard.formats.codec import CODECS
from context_guard.formats.errors import FormatError
from context_guard.formats.json_lines import foreign
from context_guard.formats.pi_session import PiSession, decode_line, parse
from context_guard.formats.provider_json import read as read_provider
from context_guard.formats.signatures import Format, detect_document, fitting_line
from context_guard.transcript import Transcript

Read = Result[tuple[Transcript, ...], FormatError]

UNKNOWN = FormatError("No host's session: nothing in it says which host wrote it, or marks of two of them do.")


def _read_pi(lines: Iterable[bytes]) -> Read:
    """Pi passes over what it cannot read; an audit does not pass over what another host wrote."""
    data = b"".join(lines)
    return parse(data).bind(lambda session: _checked_pi(data, session))


def _checked_pi(data: bytes, session: PiSession) -> Read:
    lines = data.split(b"\n") if session.broken_lines else []
    for number in session.broken_lines:
        value = decode_line(lines[number - 1].decode("utf-8", "replace"))
        if isinstance(value, dict) and fitting_line(value) - {"pi"}:
            return Failure(foreign(number))
    return Success((pi.to_transcript(session),))


LINE_READERS: dict[Format, Callable[[Iterable[bytes]], Read]] = {
    "pi": _read_pi,
    "claude-code": claude_code.read,
    "codex": codex.read,
}
DOCUMENT_READERS: dict[Format, Callable[[Any], Read]] = {
    "mini-swe-agent": mini_swe_agent.read,
    "swe-agent": swe_agent.read,
    "cline": cline.read,
    "atif": atif.read,
    "opencode": lambda value: Success(opencode.read_document(value)),
    "openhands": lambda value: openhands.read(value["events"], value),
    **{name: partial(read_provider, name) for name in CODECS},
}


def read_document(value: Any) -> Read:
    """One JSON value: whatever its host, if it is clear which."""
    name = detect_document(value)
    if name is None:
        return Failure(UNKNOWN)
    return DOCUMENT_READERS[name](value)
