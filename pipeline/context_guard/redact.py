"""The judge's copy of a request without its secrets: masked before anything leaves the machine.

Only the copy: what is kept of an output and what recall gives back come from the transcript and stay exact.
"""

import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

from context_guard.requests import Part, Request, State
from context_guard.secret_rules import (
    BLOB,
    BLOB_LINES,
    DATA_URL,
    ENV_FILE,
    ENV_LINE,
    NAMED,
    NAMED_HINTS,
    PLACEHOLDER,
    PLACES,
    PRIVATE_KEY,
    TOKENS,
)

MASK = "[redacted {}]"

_MIXED = (re.compile("[a-z]"), re.compile("[A-Z]"), re.compile("[0-9]"))

Found = tuple[int, int, str]
"""A stretch of text and what stands in its place."""


def redact_request(request: Request) -> Request:
    """The same request with every secret masked and every base64 text as its size.

    Parts are read as one text, since an output may be cut in the middle of a key.
    """
    state = request.state
    is_env = any(ENV_FILE.search(text) for text in (state.args, *(part.tool for part in state.parts)))
    parts = state.parts
    texts = redact_pieces([part.text for part in parts], is_env)
    return msgspec.structs.replace(
        request,
        state=msgspec.structs.replace(
            map_texts(state, redact),
            parts=tuple(
                msgspec.structs.replace(_redact_part(part), text=text) for part, text in zip(parts, texts, strict=True)
            ),
        ),
    )


def redact(text: str) -> str:
    return _replace(text, _find(text, is_env=False))


def redact_pieces(texts: list[str], is_env: bool = False) -> list[str]:
    """The texts of one output, one by one; a secret that runs from one into the next is masked in both."""
    whole = "\n".join(texts)
    found = _find(whole, is_env)
    if not found:
        return texts
    redacted: list[str] = []
    start = 0
    for text in texts:
        end = start + len(text)
        own = [(max(a, start) - start, min(b, end) - start, mask) for a, b, mask in found if a < end and b > start]
        redacted.append(_replace(text, own))
        start = end + 1
    return redacted


def map_texts(state: State, change: Callable[[str], str]) -> State:
    """The state with everything in it that is not ours changed, but for its parts."""
    history = state.history
    exchanges = tuple(
        msgspec.structs.replace(item, user=change(item.user), assistant=change(item.assistant))
        for item in history.exchanges
    )
    return msgspec.structs.replace(
        state,
        history=msgspec.structs.replace(
            history,
            summary=change(history.summary),
            first_request=change(history.first_request),
            exchanges=exchanges,
        ),
        question=change(state.question),
        answer=change(state.answer),
        notes=change(state.notes),
        latest_note=change(state.latest_note),
        later_calls=None if state.later_calls is None else tuple(map(change, state.later_calls)),
        superseded=change(state.superseded),
        tool=change(state.tool),
        args=change(state.args),
    )


def _redact_part(part: Part) -> Part:
    return msgspec.structs.replace(
        part,
        tool=redact(part.tool),
        superseded=redact(part.superseded),
        reply=redact(part.reply),
        calls=tuple(map(redact, part.calls)),
    )


def _find(text: str, is_env: bool) -> list[Found]:
    """Stretches to replace, in order and apart from each other; of two that overlap the earlier, then the longer."""
    found = sorted(_candidates(text, is_env), key=lambda item: (item[0], -item[1]))
    apart: list[Found] = []
    for start, end, mask in found:
        if apart and start < apart[-1][1]:
            last_start, last_end, last_mask = apart[-1]
            apart[-1] = (last_start, max(last_end, end), last_mask)
        else:
            apart.append((start, end, mask))
    return apart


def _candidates(text: str, is_env: bool) -> Iterator[Found]:
    if len(text) < 8:
        return
    lowered = text.lower()
    if "-----begin" in lowered:
        yield from _all(PRIVATE_KEY, text, "private-key")
    for rule in (*TOKENS, *PLACES):
        if any(hint in lowered for hint in rule.hints):
            yield from _all(rule.pattern, text, rule.name)
    yield from _named(text, lowered)
    if is_env:
        yield from _all(ENV_LINE, text, "env-value")
    yield from _blobs(text)


def _all(pattern: re.Pattern[str], text: str, name: str) -> Iterator[Found]:
    has_group = "secret" in pattern.groupindex
    for match in pattern.finditer(text):
        start, end = match.span((match.lastgroup or "secret") if has_group else 0)
        if not PLACEHOLDER.match(text, start, end):
            yield start, end, MASK.format(name)


def _named(text: str, lowered: str) -> Iterator[Found]:
    """A quoted value is masked whatever it is; a bare one when it looks like no word and no code, or in an
    assignment to a name in capitals."""
    hints = [hint for hint in NAMED_HINTS if hint in lowered]
    # By line and not by place: a few characters become two in lower case.
    by_line = zip(text.split("\n"), lowered.split("\n"), strict=True) if hints else ()
    at = 0
    for line, low in by_line:
        if any(hint in low for hint in hints):
            yield from ((at + start, at + end, mask) for start, end, mask in _named_in(line))
        at += len(line) + 1


def _named_in(line: str) -> Iterator[Found]:
    for match in NAMED.finditer(line):
        group = "double" if match["double"] else "single" if match["single"] else "bare"
        start, end = match.span(group)
        value = match[group]
        if PLACEHOLDER.match(value) or len(value) < 4 or _is_search_hit(line, match):
            continue
        if group != "bare":
            masked = match["sign"] not in ("==", "===") and " " not in value
        else:
            masked = _looks_random(value) or (match["sign"] == "=" and _is_capital(line, match.start()))
        if masked:
            yield start, end, MASK.format("secret")


def _is_search_hit(text: str, match: re.Match[str]) -> bool:
    """`src/token_store.py:12:` names a file and a line."""
    return match["sign"] == ":" and "." in text[match.start() : match.start("close")]


def _looks_random(value: str) -> bool:
    letters = any(char.isalpha() for char in value)
    digits = sum(char.isdigit() for char in value)
    return len(value) >= 8 and letters and digits >= 2 and not value.endswith((".py", ".ts", ".js", ".go", ".rs"))


def _is_capital(text: str, at: int) -> bool:
    """Whether the name that ends around `at` is written like that of an environment variable."""
    return text[at].isupper() and (at == 0 or not text[at - 1].islower())


def _blobs(text: str) -> Iterator[Found]:
    if ";base64," in text:
        for match in DATA_URL.finditer(text):
            if len(match["data"]) > 40:
                start, end = match.span("data")
                yield start, end, f"[{end - start:,} characters of base64]"
    for pattern in (BLOB, BLOB_LINES):
        for match in pattern.finditer(text):
            if all(kind.search(match[0]) for kind in _MIXED):
                yield match.start(), match.end(), f"[{len(match[0]):,} characters of base64]"


def _replace(text: str, found: Iterable[Found]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end, mask in found:
        pieces += (text[at:start], mask)
        at = end
    return "".join([*pieces, text[at:]]) if at or pieces else text
