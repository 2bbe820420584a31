"""Text as the whole pipeline counts, clips and prints it.

A character is a Python code point. Lone surrogates (half of a pair, as real sessions hold them) may come in; nothing
that leaves the pipeline for a model may hold one, see `without_lone_surrogates`.
"""

import json
import re
from decimal import ROUND_HALF_UP, Decimal
from math import floor
from typing import Any

MARKER = "[context-guard]"
"""First characters of every text that the guard writes into a model's context."""

RECALL = "recall"
"""Name of the tool with which a model gets back what was taken out."""

SHELL = "shell"
"""In place of a tool's name: the host has no such tool, but a shell."""

WHITESPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What trimming and collapsing treat as white space: the same set in every place, whatever Python's version."""

CUT = "\n[…]\n"

_RUN_OF_WHITESPACE = re.compile(f"[{WHITESPACE}]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SHELL_WORD = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


def trim(text: str) -> str:
    return text.strip(WHITESPACE)


def collapse(text: str) -> str:
    """White space collapsed to single spaces, control characters shown as �: safe inside one line."""
    return _CONTROL.sub("\ufffd", _RUN_OF_WHITESPACE.sub(" ", text))


def one_line(text: str) -> str:
    """The same, trimmed."""
    return trim(collapse(text))


def without_lone_surrogates(text: str) -> str:
    """The same text with every lone surrogate as U+FFFD: what a provider accepts."""
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def clip(text: str, limit: int) -> str:
    """The head (70 %) and the tail of a text over `limit` characters, with a cut mark between them.

    The result has at most `limit` characters and the five of the mark.
    """
    if len(text) <= limit:
        return text
    head = floor(limit * 0.7)
    return text[:head] + CUT + text[len(text) - (limit - head) :]


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, the last one an ellipsis where something was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def round_half_up(value: float, digits: int = 0) -> str:
    """`value` with a fixed number of decimals, exact ties upwards (1.25 → 1.3), as the original prints them."""
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP))


def format_chars(count: int) -> str:
    """A count of characters or tokens for people: 999, 8.0k, 1.2M."""
    if count >= 1_000_000:
        return f"{round_half_up(count / 1_000_000, 1)}M"
    if count >= 1_000:
        return f"{round_half_up(count / 1_000, 1)}k"
    return str(count)


def format_probability(value: float | None) -> str:
    """Two decimals without a leading zero (`.05`, `1.00`); `?` for a missing one."""
    if value is None:
        return "?"
    printed = round_half_up(value, 2)
    return printed[1:] if printed.startswith("0") else printed


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def recall_hint(what: str, entry_id: str, way: str = RECALL) -> str:
    """The sentence that tells the model how to get back what was taken out. `way`: as `Config.recall_with` has it."""
    return f"{what}: {recall_call(entry_id, way)}."


def recall_call(entry_id: str, way: str = RECALL) -> str:
    """The call of the tool, the command for a shell, or both."""
    tool, _, shell = ("", "", SHELL) if way == SHELL else way.partition("+")
    call = f'{tool}({{"entryId":{json.dumps(entry_id)}}})'
    command = f"`context-guard {RECALL} {shell_word(entry_id)}` in a shell"
    return " or ".join([*([call] if tool else []), *([command] if shell else [])])


def shell_word(text: str) -> str:
    """Quoted where a shell would not take it as it is."""
    return text if _SHELL_WORD.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'"


def estimate_tokens(chars: int) -> int:
    """Tokens by the rule of thumb that hosts use, four characters each; never a measured figure."""
    return floor(chars / 4 + 0.5)


def compact_json(value: Any) -> str:
    """JSON without spaces, non-ASCII as it is, keys in their order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
