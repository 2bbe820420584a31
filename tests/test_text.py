"""How texts are counted, clipped and printed: the same as the original prints them, on every platform."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_guard.labels import tool_label
from context_guard.text import (
    WHITESPACE,
    clip,
    collapse,
    estimate_tokens,
    format_chars,
    format_probability,
    one_line,
    plural,
    shorten,
    trim,
    without_lone_surrogates,
)

QUICK = settings(deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow])
TEXTS = st.text(st.characters(exclude_categories=()), max_size=60)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (1_250, "1.3k"),
        (1_350, "1.4k"),
        (8_000, "8.0k"),
        (12_345, "12.3k"),
        (999_950, "1000.0k"),
        (1_000_000, "1.0M"),
        (1_250_000, "1.3M"),
    ],
)
def test_a_count_has_one_decimal_and_ties_go_up(count: int, expected: str) -> None:
    """1,250 is 1.3k, as JavaScript's toFixed has it, where Python would round to even."""
    assert expected == format_chars(count)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, ".00"), (0.05, ".05"), (0.125, ".13"), (0.995, ".99"), (0.999, "1.00"), (1.0, "1.00"), (None, "?")],
)
def test_a_probability_has_two_decimals_and_no_leading_zero(value: float | None, expected: str) -> None:
    """Ties are those of the binary number: 0.125 is one, 0.995 lies below its own."""
    assert expected == format_probability(value)


def test_tokens_are_a_quarter_of_the_characters_rounded_half_up() -> None:
    """Two characters are one token by the rule of thumb, ten are three."""
    assert [0, 0, 1, 1, 3] == [estimate_tokens(count) for count in (0, 1, 2, 4, 10)]


def test_one_is_singular() -> None:
    """0 lines, 1 line, 2 lines."""
    assert ["0 lines", "1 line", "2 lines"] == [plural(count, "line") for count in (0, 1, 2)]


def test_a_clip_keeps_the_head_and_the_tail() -> None:
    """70 % of the room is the head's; the mark between them is not counted."""
    assert "0123456\n[…]\n789" == clip("0123456" + "x" * 99 + "789", 10)
    assert "0123456789" == clip("0123456789", 10)


@QUICK
@given(TEXTS, st.integers(1, 40))
def test_a_clip_never_splits_a_character(text: str, limit: int) -> None:
    """Head and tail are slices of the text, and together they fill the room exactly."""
    clipped = clip(text, limit)
    if len(text) <= limit:
        assert text == clipped
    else:
        head = limit * 7 // 10
        assert text[:head] + "\n[…]\n" + text[len(text) - limit + head :] == clipped


@QUICK
@given(TEXTS, st.integers(1, 40))
def test_shortening_stays_within_its_limit(text: str, limit: int) -> None:
    """The ellipsis is counted, and stands only where something was cut."""
    short = shorten(text, limit)
    assert len(short) <= limit
    assert text == short or (short[-1] == "…" and text.startswith(short[:-1]))


@QUICK
@given(TEXTS)
def test_one_line_is_one_safe_line(text: str) -> None:
    """No line break and no control character is left, no white space at the ends; a second time changes nothing."""
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert not any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in line)
    assert line == trim(line) == one_line(line)


def test_white_space_is_the_originals() -> None:
    """A byte order mark is white space, the separators U+001C to U+001F are not: they show as �."""
    assert "" == trim("\ufeff\u00a0\u3000\r\n")
    assert "a b\ufffdc" == collapse("a \t\r\n\u2028b\x1cc")
    assert len(WHITESPACE) == len(set(WHITESPACE)) == 25


@QUICK
@given(TEXTS)
def test_what_leaves_for_a_model_can_be_encoded(text: str) -> None:
    """Half a surrogate pair becomes U+FFFD, and nothing else changes."""
    safe = without_lone_surrogates(text)
    safe.encode()
    expected = "".join("\ufffd" if 0xD800 <= ord(char) < 0xE000 else char for char in text)
    assert expected == safe


@pytest.mark.parametrize(
    ("tool", "args", "expected"),
    [
        ("bash", '{"command": "npm   test\\n"}', "bash `npm test`"),
        ("bash", '{"command": "", "cmd": "ls"}', "bash `ls`"),
        ("read", '{"path": "src/a.py", "pattern": "x"}', "read src/a.py"),
        ("Read", '{"file_path": "src/a`b.py"}', "Read src/a'b.py"),
        ("grep", '{"query": "a`b"}', "grep `a'b`"),
        ("todo\nlist", "{}", "todo list"),
        ("bash", '{"command": 7}', "bash"),
        ("bash", "", "bash"),
        ("bash", '{"command": "' + "x" * 81 + '"}', "bash `" + "x" * 79 + "…`"),
        ("bash", '{"command": "' + "😀" * 81 + '"}', "bash `" + "😀" * 79 + "…`"),
    ],
)
def test_a_label_is_the_tool_and_what_it_was_called_with(tool: str, args: str, expected: str) -> None:
    """The command, else the path, else the pattern, on one line of at most 80 characters, backticks disarmed."""
    assert expected == tool_label(tool, args)
