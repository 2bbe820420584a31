"""Stage 3 by the kind of material: a small sample of each, and the borders that a reader would draw."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_invariants import FAST, OUTPUTS, candidate

from context_guard.chunks import Cut, cut_chunks, join_chunks
from context_guard.config import Config
from context_guard.cuts.diagnostics import find_messages
from context_guard.cuts.diffs import find_hunks
from context_guard.cuts.json_lines import find_records
from context_guard.cuts.kinds import Kind
from context_guard.cuts.listings import find_rows
from context_guard.cuts.logs import find_entries
from context_guard.cuts.long_lines import find_stops
from context_guard.cuts.markdown import find_sections, section_lines
from context_guard.cuts.outline import find_outline
from context_guard.cuts.pieces import Piece
from context_guard.cuts.testlogs import find_failures
from context_guard.cuts.tracebacks import find_traces

PYTEST = """\
============================= test session starts ==============================
tests/test_a.py::test_one PASSED                                         [ 25%]
tests/test_a.py::test_two FAILED                                         [ 50%]
tests/test_b.py::test_three PASSED                                       [ 75%]

=================================== FAILURES ===================================
___________________________________ test_two ___________________________________

    def test_two():
>       assert total([1, 2]) == 4
E       assert 3 == 4

tests/test_a.py:9: AssertionError
_________________________________ test_four ____________________________________
E   KeyError: 'pool'
=========================== short test summary info ============================
FAILED tests/test_a.py::test_two - assert 3 == 4
========================= 2 failed, 2 passed in 0.12s ==========================
"""

GO = """\
=== RUN   TestAdd
--- PASS: TestAdd (0.00s)
=== RUN   TestPool
    pool_test.go:12: got 4, want 3
--- FAIL: TestPool (0.01s)
    pool_test.go:14: closed twice
FAIL
exit status 1
"""

TRACE = """\
reading settings
Traceback (most recent call last):
  File "a.py", line 3, in <module>
    run()
KeyError: 'pool'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 5, in <module>
    raise RuntimeError("no pool")
RuntimeError: no pool
after it
"""

MESSAGES = """\
error[E0308]: mismatched types
 --> src/pool.rs:7:5
  |
7 |     4
  |     ^ expected `()`, found integer

warning: unused variable: `x`
 --> src/main.rs:2:9

src/a.c:4:2: error: expected ';'
    4 |  return 1
      |         ^
src/a.c:9:1: warning: control reaches end
src/b.c:1:1: error: unknown type name
"""

DIFF = """\
commit 1234567
diff --git a/src/a.py b/src/a.py
index 1..2 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,2 +1,2 @@
-one
+two
@@ -9 +9 @@
-three
+four
diff --git a/b.txt b/b.txt
--- a/b.txt
+++ b/b.txt
@@ -1 +1 @@
-x
+y
"""

SOURCE = """\
import os

# What the pool holds.
@frozen
class Pool:
    size: int

    def close(self):
        pass

def main():
    if os.environ:
        return 1
    else:
        return 2
"""

DATA = """\
{
  "name": "pool",
  "servers": [
    {"host": "a"},
    {"host": "b"}
  ],
  "size": 4
}
"""

LOG = """\
2026-11-30 10:00:00 INFO one
  more of one
2026-11-30 10:00:01 INFO two
2026-11-30 10:05:00 INFO three
2026-11-30 10:05:01 ERROR four
"""

LISTING = """\
NAME      READY   STATUS    AGE
web-1     1/1     Running   3d
db-0      0/1     Pending   1d
"""

TEXT = """\
# Pool
One sentence.
## Closing
```sh
# not a heading
```
### Late
"""


def parts(text: str, pieces: list[Piece]) -> list[tuple[str, str]]:
    """Role, first line and number of lines of each piece, for a person to read."""
    lines = text.split("\n")
    assert [0, *(piece.end for piece in pieces)] == [*(piece.start for piece in pieces), len(lines)]
    return [(piece.role, f"{lines[piece.start].strip()} +{piece.end - piece.start - 1}") for piece in pieces]


def test_a_failure_with_its_assertion_is_one_piece() -> None:
    """pytest: passes are runs, each failure block is a piece, so are the summary lines."""
    found = parts(PYTEST, find_failures(PYTEST.split("\n")))
    assert ("failure", f"{'_' * 35} test_two {'_' * 35} +6") in found
    assert ("failure", f"{'_' * 33} test_four {'_' * 36} +1") in found
    assert ("pass", "tests/test_a.py::test_one PASSED                                         [ 25%] +0") in found
    assert [role for role, _ in found][-1] == "summary"
    assert all(role != "failure" for role, first in found if "short test summary" in first)


def test_a_run_that_fails_is_one_piece_from_its_first_line() -> None:
    """go test -v: what a test printed before its verdict belongs to the failure, a passed one is no failure."""
    assert [
        ("pass", "=== RUN   TestAdd +0"),
        ("pass", "--- PASS: TestAdd (0.00s) +0"),
        ("failure", "=== RUN   TestPool +3"),
        ("summary", "FAIL +2"),
    ] == parts(GO, find_failures(GO.split("\n")))


def test_a_chain_of_exceptions_is_one_piece() -> None:
    """From the first traceback to the exception of the last one."""
    lines = TRACE.split("\n")
    (piece,) = find_traces(lines, TRACE)
    assert ("Traceback (most recent call last):", "RuntimeError: no pool") == (lines[piece.start], lines[piece.end - 1])
    assert piece.role == "failure"


def test_a_text_without_a_trace_is_not_searched_line_by_line() -> None:
    """An error that is only spoken of is no trace."""
    assert [] == find_traces(["ValueError: as the docs say", "    more"], "ValueError: as the docs say\n    more")


def test_a_message_keeps_the_code_that_it_shows() -> None:
    """rustc: the message up to the next one; gcc: all messages about one file together."""
    pieces = find_messages(MESSAGES.split("\n"))
    assert [("src/pool.rs",), ("src/main.rs",), ("src/a.c",), ("src/b.c",)] == [piece.files for piece in pieces]
    assert [
        ("", "error[E0308]: mismatched types +5"),
        ("", "warning: unused variable: `x` +2"),
        ("", "src/a.c:4:2: error: expected ';' +3"),
        ("", "src/b.c:1:1: error: unknown type name +1"),
    ] == parts(MESSAGES, pieces)


def test_a_hunk_is_a_piece_and_knows_its_file() -> None:
    """The header of a file is a piece of its own: it stays with any hunk that stays."""
    pieces = find_hunks(DIFF.split("\n"))
    assert [
        ("", "commit 1234567 +0"),
        ("header", "diff --git a/src/a.py b/src/a.py +3"),
        ("", "@@ -1,2 +1,2 @@ +2"),
        ("", "@@ -9 +9 @@ +2"),
        ("header", "diff --git a/b.txt b/b.txt +2"),
        ("", "@@ -1 +1 @@ +3"),
    ] == parts(DIFF, pieces)
    assert [(), *[("src/a.py",)] * 3, *[("b.txt",)] * 2] == [piece.files for piece in pieces]


def test_a_definition_is_not_torn_from_its_decorators() -> None:
    """Comments and decorators go with what they stand above; `else` goes with its `if`."""
    assert [
        ("", "import os +1"),
        ("", "# What the pool holds. +4"),
        ("", "def close(self): +2"),
        ("", "def main(): +0"),
        ("", "if os.environ: +4"),
    ] == parts(SOURCE, find_outline(SOURCE.split("\n"), 70))


def test_line_numbers_in_front_do_not_hide_the_indentation() -> None:
    """A file that was printed with numbers has the same borders."""
    numbered = "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(SOURCE.split("\n"), 1))
    plain = [(piece.start, piece.end) for piece in find_outline(SOURCE.split("\n"), 260)]
    assert plain == [(piece.start, piece.end) for piece in find_outline(numbered.split("\n"), 390)]


def test_printed_json_falls_apart_at_its_keys() -> None:
    """The top level first, then what is still too large."""
    assert [
        ("", "{ +1"),
        ("", '"servers": [ +0'),
        ("", '{"host": "a"}, +0'),
        ("", '{"host": "b"} +1'),
        ("", '"size": 4 +2'),
    ] == parts(DATA, find_outline(DATA.split("\n"), 30))


def test_a_record_is_a_line() -> None:
    """JSON lines: no record is cut."""
    assert 3 == len(find_records(['{"a": 1}', '{"a": 2}', '{"a": 3}']))


def test_an_entry_keeps_the_lines_under_it_and_ends_where_time_passes() -> None:
    """A log: five minutes without an entry are a border, a second is none."""
    assert [
        ("", "2026-11-30 10:00:00 INFO one +2"),
        ("", "2026-11-30 10:05:00 INFO three +2"),
    ] == parts(LOG, find_entries(LOG.split("\n"), 140))


def test_the_header_of_a_table_is_a_piece() -> None:
    """So that it can stay with any row."""
    assert [("header", "NAME      READY   STATUS    AGE +0"), ("", "web-1     1/1     Running   3d +2")] == parts(
        LISTING, find_rows(LISTING.split("\n"))
    )


def test_a_section_begins_at_its_heading() -> None:
    """Markdown: a comment inside a code block is no heading."""
    assert [("", "# Pool +1"), ("", "## Closing +3"), ("", "### Late +1")] == parts(
        TEXT, find_sections(TEXT.split("\n"))
    )


def test_a_document_without_a_heading_outside_its_code_has_no_sections() -> None:
    """Headings that stand in a fenced block, as a quoted log has them, are none: every line is without one."""
    assert section_lines(["```", "# one", "# two", "- a"]) == [-1] * 4


def test_a_huge_line_is_cut_behind_what_ends_there() -> None:
    """Minified code: behind a semicolon or a brace, never inside a pair of surrogates."""
    line = "function a(){return 1};var b=2;" * 40
    stops = [stop for stop, _ in find_stops(line, 200)]
    assert all(line[stop - 1] in ";}" for stop in stops)
    assert stops[-1] == len(line)
    assert all(one < other <= one + 250 for one, other in pairwise([0, *stops]))
    pairs = "\ud83d\ude00" * 500
    assert all(stop % 2 == 0 for stop, _ in find_stops(pairs, 101))


def test_encoded_data_is_one_part() -> None:
    """However long it is; what stands around it is not part of it."""
    line = '{"image": "data:image/png;base64,' + "iVBORw0KGgo" * 900 + '", "size": 4}'
    assert [("", 33), ("blob", 9_900), ("", 13)] == [
        (role, stop - start) for (start, _), (stop, role) in pairwise([(0, ""), *find_stops(line, 500)])
    ]


SAMPLES: dict[str, tuple[Kind, str, str]] = {
    "pytest": ("tests", PYTEST, "pytest -v"),
    "go": ("tests", GO, "go test -v ./..."),
    "cargo": ("diagnostics", "\n".join([MESSAGES] * 3), "cargo build"),
    "diff": ("diff", DIFF, "git diff"),
    "source": ("source", SOURCE * 3, "cat pool.py"),
    "json": ("json", DATA, "curl api"),
    "json lines": ("json lines", '{"a": 1}\n{"a": 2}\n{"a": 3}\n', "cat a.jsonl"),
    "log": ("log", LOG * 3, "tail app.log"),
    "ls": ("listing", "total 8\n" + "-rw-r--r-- 1 a a 9 Nov 30 19:00 a.txt\n" * 20, "ls -la"),
    "git status": ("listing", " M src/a.py\n?? b.txt\n" * 6, "git status --short"),
    "table": ("listing", LISTING + "web-2     1/1     Running   3d\n" * 9, "kubectl get pods"),
    "markdown": ("markdown", "# Pool\n\nSee [this](a).\n\n- one\n- two\n\n## Closing\n\nWell.\n- three\n", "cat notes"),
    "search": ("search", "src/a.py:1:pool\n" * 5, "rg pool"),
    "prose": ("text", "Nothing of the kind.\n" * 20, "man pool"),
    "dates": ("log", "10:15:01 request\n" * 20, "docker logs web"),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_kind_is_recognised(name: str) -> None:
    """By its lines and the call that made it."""
    kind, text, command = SAMPLES[name]
    assert kind == cut_of(text, command).kind


def test_an_unknown_kind_is_cut_as_ever() -> None:
    """Prose: the windows of before, to the line."""
    text = "\n".join(f"Sentence number {number}, which is of no kind at all." for number in range(400))
    config = Config(cut_by_kind=False)
    assert cut_chunks(candidate(text), config).chunks == cut_of(text, "man x").chunks


def test_the_cuts_of_before_are_a_setting() -> None:
    """`originalCuts`, and `cutByKind` turned off, cut in windows and never inside a line."""
    text = "\n".join([PYTEST] * 20 + ["x" * 40_000])
    for config in (Config.original(), Config(cut_by_kind=False)):
        cut = cut_chunks(candidate(text, args={"command": "pytest"}), config)
        assert cut.kind == "text"
        assert not any(chunk.joined or chunk.role for chunk in cut.chunks)


def test_a_large_failure_stays_one_piece_up_to_a_limit() -> None:
    """A failure of some thousand characters is one chunk; parts of a larger one know that they go on."""
    small = PYTEST.replace("E       assert 3 == 4", "E   line\n" * 300)
    chunks = cut_of(small, "pytest").chunks
    assert ["test_two" in chunk.text for chunk in chunks if chunk.role == "failure" and len(chunk.text) > 2_500] == [
        True
    ]
    large = cut_of(PYTEST.replace("E       assert 3 == 4", "E   line\n" * 3_000), "pytest").chunks
    assert [chunk.index for chunk in large if chunk.continued]


def mixtures() -> st.SearchStrategy[str]:
    """Samples of all kinds and random lines, one after the other, with huge lines among them."""
    kinds = st.sampled_from([text for _, text, _ in SAMPLES.values()])
    huge = st.sampled_from(
        ["a;b}" * 900, '{"k": "' + "QUJD" * 900 + '"}', "😀" * 2_000, "\ud83d\ude00" * 900, "x\r" * 900]
    )
    texts = st.lists(st.one_of(kinds, kinds, OUTPUTS, huge), min_size=1, max_size=5).map("\n".join)
    return st.one_of(texts, texts.map(lambda text: text.replace("\n", "\r\n")))


CONFIGS = st.builds(
    Config,
    max_chunks=st.sampled_from([5, 120]),
    min_chunk_chars=st.sampled_from([100, 300]),
    max_chunk_chars=st.sampled_from([100, 4_000]),
    cut_by_kind=st.just(True),
)


@FAST
@given(mixtures(), CONFIGS, st.sampled_from(["pytest", "cat a.py", "cat a.md", "git diff"]))
def test_joined_chunks_are_the_input_for_every_mixture(text: str, config: Config, command: str) -> None:
    """Whatever is recognised, nothing is lost, doubled or moved; no cut falls inside a character or a line end."""
    cut = cut_chunks(candidate(text, args={"command": command}), config)
    assert text == join_chunks(cut.chunks)
    assert [*range(len(cut.chunks))] == [chunk.index for chunk in cut.chunks]
    for chunk in cut.chunks:
        assert chunk.text == text[chunk.offset : chunk.stop]
        assert chunk.start == text.count("\n", 0, chunk.offset)
        assert chunk.end == text.count("\n", 0, chunk.stop) + 1
    for one, other in pairwise(cut.chunks):
        if other.joined:
            assert not one.text.endswith("\r") or other.text != ""
            assert not ("\ud800" <= one.text[-1] <= "\udbff" and "\udc00" <= other.text[0] <= "\udfff")
        else:
            assert text[one.stop : other.offset] == "\n"


@pytest.mark.parametrize("name", SAMPLES)
def test_cutting_takes_linear_work(name: str) -> None:
    """Ten times the text makes about ten times the chunks."""
    kind, text, command = SAMPLES[name]
    config = Config(max_chunks=10_000)
    dice = Random(0)
    lines = (
        [line for line in text.split("\n") for _ in range(1 + dice.randrange(2))]
        if kind == "text"
        else text.split("\n")
    )
    small = cut_chunks(candidate("\n".join(lines * 40), args={"command": command}), config)
    large = cut_chunks(candidate("\n".join(lines * 400), args={"command": command}), config)
    assert len(large.chunks) <= 20 * len(small.chunks)


def cut_of(text: str, command: str) -> Cut:
    return cut_chunks(candidate(text, args={"command": command}), Config(cut_by_kind=True))
