"""What a store holds, in lines for people."""

from rich.filesize import decimal

from context_guard.printable import visible_line
from context_guard.text import plural
from context_guard_effects.store import StoredSession, StoreStatus
from context_guard_effects.word_log import day


def status_text(status: StoreStatus) -> str:
    lines = [
        status.place,
        f"{plural(status.outputs, 'output')}, {decimal(status.raw_size)} raw; the store takes {decimal(status.size)}.",
        f"{passes(status.passes)} in {plural(status.sessions, 'session')}{_since(status)}.",
    ]
    if status.expired:
        lines.append(f"{plural(status.expired, 'output')} expired: only the id and the time are left.")
    return "".join(f"{line}\n" for line in lines)


def session_line(found: StoredSession) -> str:
    name = visible_line(found.session) or "(no name)"
    return f"{day(found.last)}  {passes(found.passes)}, {plural(found.outputs, 'output')}  {name}\n"


def passes(count: int) -> str:
    return "1 pass" if count == 1 else f"{count} passes"


def _since(status: StoreStatus) -> str:
    if status.oldest is None or status.newest is None:
        return ""
    first, last = day(status.oldest), day(status.newest)
    return f", kept on {first}" if first == last else f", kept from {first} to {last}"
