"""A session as it was recorded, without what a guard did to it: what a replay walks through."""

import gzip
from pathlib import Path
from statistics import linear_regression

from msgspec import Struct
from msgspec.structs import replace

from context_guard.formats.pi import to_transcript
from context_guard.formats.pi_session import PiSession, branch, message_of, parse, select
from context_guard.sizes import CHARS_PER_TOKEN, visible_chars
from context_guard.text import MARKER
from context_guard.transcript import Edit, Entry, Transcript, shown, text_of

OVERHEAD_TOKENS = 1_600
"""System prompt and tools where no usage tells: what Pi's own take (first requests of `../shared/pi`)."""
PLAUSIBLE = (1.5, 8.0)
"""Characters per token; a fit outside of this is no measurement but a scripted provider's constant."""
FEWEST_REQUESTS = 5
SECOND = 1_000
MINUTE = 60 * SECOND


class Recording(Struct, frozen=True):
    name: str
    entries: tuple[Entry, ...]
    """One branch, root to head, raw. A guard's own edits and records are not among them."""
    edits: tuple[Edit, ...] = ()
    """The host's own, which hold with and without a guard."""
    keeps: tuple[tuple[str, str], ...] = ()
    """Compactions: id, and the id of the first entry that it kept."""
    cwd: str | None = None
    chars_per_token: float = CHARS_PER_TOKEN
    overhead_tokens: int = OVERHEAD_TOKENS
    """System prompt and tools."""
    is_fitted: bool = False
    """Whether the two figures above come from the recorded usage."""


def load_recording(path: Path) -> Recording:
    """A Pi session file, gzipped or not: the branch from which Pi would go on."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    name = path.name.removesuffix(".gz").removesuffix(".jsonl")
    session = parse(data).unwrap()
    return _with_tokens(record(name, to_transcript(session), _hidden(session)), session).with_keeps(session)
