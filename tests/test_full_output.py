"""The file of a full output as the better source of a recall."""

import pytest
from pi_sessions import calling, result, session_bytes, user

from context_guard.formats.pi import read
from context_guard.full_output import full_output_path, with_full_output
from context_guard.recall import recall
from context_guard.transcript import Transcript

FULL = "".join(f"line {number}\n" for number in range(900))
TAIL = FULL[-3_000:].rstrip("\n")
NOTICE = "[Showing lines 600-900 of 900 (50.0KB limit). Full output: /tmp/x.log]"


def transcript(text: str) -> Transcript:
    data = session_bytes(user("u"), calling("a", "c"), result("r", "c", text, details={"fullOutputPath": "/tmp/x.log"}))
    return read(data).unwrap()


def test_the_file_gives_what_the_session_lacks() -> None:
    """The stored part is the end of the file, so the file is the output."""
    stored = transcript(f"{TAIL}\n\n{NOTICE}")
    assert full_output_path(stored, "r") == "/tmp/x.log"
    assert recall(with_full_output(stored, "r", FULL), "r").unwrap().raw == FULL


@pytest.mark.parametrize("spilled", ["", "another file\n" * 900, FULL + "more\n", FULL.replace("line 899", "line X")])
def test_a_file_that_is_another_one_by_now_is_not_used(spilled: str) -> None:
    """Then the session's own part is what there is."""
    stored = transcript(f"{TAIL}\n\n{NOTICE}")
    assert with_full_output(stored, "r", spilled) is stored


def test_a_short_end_proves_nothing() -> None:
    stored = transcript(f"ok\n\n{NOTICE}")
    assert with_full_output(stored, "r", "all of /etc/passwd\nok\n") is stored


def test_entries_without_a_file_have_no_path() -> None:
    assert full_output_path(transcript("x"), "u") is None
    assert full_output_path(transcript("x"), "zz") is None
