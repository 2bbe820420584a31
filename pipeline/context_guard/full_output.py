"""The file into which a host spilled a full output, as the source of a recall in place of the part that it stored."""

import msgspec

from context_guard.transcript import Text, ToolResult, Transcript, text_of

NOTICE = "\n\n[Showing "
"""How Pi begins the note under an output of which it shows only the end."""
LEAST_MATCH = 200
"""Characters at the end that file and entry must share, where the entry has as many: less may be chance."""


def full_output_path(transcript: Transcript, entry_id: str) -> str | None:
    """The file that may hold more of this tool result than its entry does."""
    entry = next((entry for entry in transcript.entries if entry.id == entry_id), None)
    result = entry.raw_result if entry is not None else None
    return result.full_ref if result is not None else None


def with_full_output(transcript: Transcript, entry_id: str, spilled: str) -> Transcript:
    """The transcript with the file's text as the result's raw one, if the stored part is the end of that text.

    A file of that name may be another one by now; then the transcript comes back as it is.
    """
    place = next((at for at, entry in enumerate(transcript.entries) if entry.id == entry_id), None)
    if place is None or not isinstance(result := transcript.entries[place].raw_result, ToolResult):
        return transcript
    shown, found, _ = text_of(result.content).rpartition(NOTICE)
    body = shown.rstrip("\n")
    full = spilled.rstrip("\n")
    if not found or len(body) < LEAST_MATCH or not full.endswith(body):
        return transcript
    whole = msgspec.structs.replace(result, content=(Text(spilled),))
    entries = list(transcript.entries)
    entries[place] = msgspec.structs.replace(entries[place], raw=(whole,))
    return msgspec.structs.replace(transcript, entries=tuple(entries))
