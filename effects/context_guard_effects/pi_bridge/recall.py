"""The tool `recall` on the live session: the page, and which blocks of which entries are its images."""

from pathlib import Path
from typing import Any

from returns.result import Failure, Success

from context_guard.full_output import full_output_path, with_full_output
from context_guard.recall import Recalled, RecallError, recall
from context_guard.transcript import Transcript
from context_guard_effects.pi_bridge.live import LiveSession
from context_guard_effects.pi_bridge.protocol import Recall

MAX_FILE_BYTES = 64 << 20
"""A larger full output is not read; the part in the session then has to do."""


def answer_recall(message: Recall, transcript: Transcript, live: LiveSession) -> dict[str, Any]:
    """Images stay where they are: the reply names them, and the extension takes them from Pi's own session."""
    if all(entry.id != message.entry_id for entry in transcript.entries):
        other = live.branch_through(message.entry_id)
        if other is not None and other.entries[-1].role == "tool":
            transcript = other
    path = full_output_path(transcript, message.entry_id)
    if path is not None and (spilled := _read(Path(path))) is not None:
        transcript = with_full_output(transcript, message.entry_id, spilled)
    found = recall(transcript, message.entry_id, message.pattern, message.offset, message.limit, message.column)
    match found:
        case Success(Recalled() as page):
            places = [place for image in page.images if (place := live.block(image.ref)) is not None]
            return {"text": page.text, "images": [{"entryId": entry, "index": index} for entry, index in places]}
        case Failure(RecallError() as error):
            return {"error": error.message}
        case _:
            raise AssertionError(found)


def _read(path: Path) -> str | None:
    try:
        if not path.is_file() or path.stat().st_size > MAX_FILE_BYTES:
            return None
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
