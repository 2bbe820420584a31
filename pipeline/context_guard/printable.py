"""Text and values for people's eyes and terminals: nothing in them acts, hides or breaks a line."""

import json
import re
from typing import Any

_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e007f]"
)
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def visible(text: str) -> str:
    """The text with control, invisible and lone surrogate characters as symbols or escapes; newlines and tabs stay."""
    return _UNPRINTABLE.sub(_symbol, text)


def visible_line(text: str) -> str:
    """The same for a text that has to stay on one line."""
    return visible(text).replace("\n", "␊").replace("\t", "␉")


def pretty_json(value: Any) -> str:
    """JSON for people, non-ASCII as it is; lone surrogates, which UTF-8 cannot hold, as escapes."""
    printed = json.dumps(value, ensure_ascii=False, indent=2)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", printed) + "\n"


def _symbol(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
