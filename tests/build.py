"""Transcripts in a few words; they ship, since the cases that users make of their sessions are written in them."""

from context_guard_effects.testing.build import (
    MODEL,
    PNG,
    SECOND,
    Piece,
    answer,
    call,
    calls,
    edit,
    lines,
    note,
    prompt,
    recorded,
    result,
    session,
    summary,
)

__all__ = [
    "MODEL",
    "PNG",
    "SECOND",
    "Piece",
    "answer",
    "call",
    "calls",
    "edit",
    "lines",
    "note",
    "prompt",
    "recorded",
    "result",
    "session",
    "summary",
]
