"""Which chunks were demonstrably used: the answer quotes them, or a later edit of the run replaced what they show."""

import re
from collections.abc import Iterator
from typing import Any

from context_guard.chunks import Cut
from context_guard.labels import first_text, read_args
from context_guard.span import Call

MOST_HOLDERS = 2
"""A string that more chunks hold tells none of them apart."""
MOST_QUOTES = 60
QUOTE_CHARS = 16

_QUOTE = re.compile(r"`([^`\n]{16,300})`|\"([^\"\n]{16,300})\"|“([^”\n]{16,300})”")
_FENCED = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_OLD_TEXTS = ("oldText", "old_text", "old_string", "oldString", "old_str")
_PATCHES = ("input", "patch", "diff")


def quoted_chunks(cut: Cut, answer: str) -> Iterator[int]:
    quotes = [next(filter(None, groups)) for groups in _QUOTE.findall(answer)]
    quotes += [line for block in _FENCED.findall(answer) for line in block.split("\n")]
    yield from _holders(cut, [quote.strip() for quote in quotes])


def edited_chunks(cut: Cut, turn: int | None, calls: tuple[Call, ...]) -> Iterator[int]:
    if turn is None:
        return
    for call in calls:
        if call.turn > turn:
            texts = old_texts(read_args(call.args))
            yield from _holders(cut, [line.strip() for text in texts for line in text.split("\n")])


def old_texts(args: dict[str, Any]) -> Iterator[str]:
    """What an edit replaces: under the names that edit tools give it, or as the removed lines of a patch."""
    yield from (value for key in _OLD_TEXTS if isinstance(value := args.get(key), str))
    edits = args.get("edits")
    for edit in edits if isinstance(edits, list) else ():
        if isinstance(edit, dict):
            yield from old_texts(edit)
    for line in first_text(args, *_PATCHES).split("\n"):
        if line.startswith("-") and not line.startswith("---"):
            yield line[1:]


def _holders(cut: Cut, strings: list[str]) -> Iterator[int]:
    """The chunks that hold one of the strings, where that tells them apart."""
    telling = dict.fromkeys(string for string in strings if len(string) >= QUOTE_CHARS and not string.isidentifier())
    for string in list(telling)[:MOST_QUOTES]:
        found = [chunk.index for chunk in cut.chunks if string in chunk.text]
        if len(found) <= MOST_HOLDERS:
            yield from found
