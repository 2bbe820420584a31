"""Appending to a session file of Pi: all or nothing, and never to a file that somebody else is using."""

import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pi_sessions import NOW, RECORD, calling, result, session_bytes, user

from context_guard.drafts import Append, Draft, Omit, Replace
from context_guard.formats.pi import to_transcript
from context_guard.transcript import text_of
from context_guard_effects.hosts.errors import HostError
from context_guard_effects.hosts.pi import Appended, append_drafts, lock_path, now_iso, random_ids, read_session

OLD = 1_700_000_000_123_456_789
DRAFTS: tuple[Draft, ...] = (Replace("r", ("short",)), Omit("u"), Append(RECORD))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(session_bytes(user("u"), calling("a", "c"), result("r", "c", "long " * 99)))
    os.utime(path, ns=(OLD, OLD))
    return path


def append(path: Path, *, meanwhile: Callable[[], object] = lambda: None) -> Appended:
    file = read_session(path)
    meanwhile()
    return append_drafts(file, DRAFTS, map("{:08x}".format, count(1)), NOW)


def refusal(path: Path, *, meanwhile: Callable[[], object] = lambda: None) -> str:
    """The one line of a refusal, which names the file and leaves its bytes and its time as they were."""
    with pytest.raises(HostError) as caught:
        append(path, meanwhile=meanwhile)
    assert "\n" not in caught.value.message
    assert str(path) in caught.value.message
    return caught.value.message


def assert_untouched(path: Path, before: bytes) -> None:
    assert before == path.read_bytes()
    assert path.stat().st_mtime_ns == OLD


def test_drafts_go_behind_the_last_line(path: Path) -> None:
    """Every byte before stays, the new entries hang on the last one; the file is as old and as private as it was."""
    path.chmod(0o600)
    before = path.read_bytes()
    appended = append(path)
    after = path.read_bytes()
    assert before == after[: len(before)]
    added = [json.loads(line) for line in after[len(before) :].splitlines()]
    assert [(entry["parentId"], entry["id"]) for entry in added] == list(
        zip(("r", *appended.ids), appended.ids, strict=False)
    )
    assert (path.stat().st_mtime_ns, path.stat().st_mode & 0o777) == (OLD, 0o600)
    transcript = to_transcript(read_session(path).session)
    assert [text_of(entry.visible) for entry in transcript.entries[:3]] == ["", "", "short"]
    assert [stored.record for stored in transcript.records] == [RECORD]


def test_a_missing_final_newline_is_added(path: Path) -> None:
    """A last line that is whole but not ended is ended before ours begin."""
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    append(path)
    assert read_session(path).session.broken_lines == ()


def test_a_link_is_followed(path: Path, tmp_path: Path) -> None:
    """Appending through a link changes the file behind it and leaves the link."""
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    append(link)
    assert link.is_symlink()
    assert len(read_session(path).session.entries) == 6


def test_nothing_to_write_touches_nothing(path: Path) -> None:
    """Without drafts the file is not even opened for writing."""
    path.chmod(0o444)
    assert append_drafts(read_session(path), (), random_ids(), now_iso()) == Appended(())


def test_made_ids_and_times_have_the_form_of_pi() -> None:
    """Eight hex digits; UTC to the millisecond with a Z."""
    assert len(bytes.fromhex(next(random_ids()))) == 4
    assert len(NOW) == len(now_iso())
    assert now_iso().endswith("Z")


def change_same_size(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"long", b"LONG"))
    os.utime(path, ns=(OLD, OLD))


def replace_file(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(OLD, OLD))
    other.replace(path)


@pytest.mark.parametrize("change", [change_same_size, replace_file, lambda path: path.write_bytes(b"")])
def test_a_session_that_changed_meanwhile_is_left_alone(path: Path, change: Callable[[Path], object]) -> None:
    """What was judged is no longer what the file holds: run again."""
    assert "has changed since it was read: run again" in refusal(path, meanwhile=lambda: change(path))


@pytest.mark.parametrize("pid", [str(os.getpid()), "1", ""], ids=["ours", "another", "unreadable"])
def test_a_session_that_a_live_pi_has_open_is_left_alone(path: Path, pid: str) -> None:
    """Pi would neither see the lines nor go on behind them; a lock that names nobody counts too."""
    before = path.read_bytes()
    lock_path(path).write_text(pid)
    assert str(lock_path(path)) in refusal(path)
    assert_untouched(path, before)


def test_a_lock_of_a_dead_process_is_stale(path: Path) -> None:
    """A bridge that was killed leaves its lock behind, which holds nobody up."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    lock_path(path).write_text(f"{ended.pid}\n")
    assert len(append(path).ids) == 3


def test_two_guards_do_not_write_at_once(path: Path) -> None:
    """While another guard holds the file's lock, this one gives up."""
    fcntl = pytest.importorskip("fcntl")
    before = path.read_bytes()
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert "Another program is writing" in refusal(path)
    assert_untouched(path, before)


def test_a_full_disk_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the system writes a part or refuses all, the file ends up with the bytes it had."""
    before = path.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:40]))
    assert "free some disk space" in refusal(path)
    assert_untouched(path, before)

    def refuse(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", refuse)
    assert "no space left on device" in refusal(path)
    assert_untouched(path, before)


def test_a_real_limit_changes_nothing(path: Path) -> None:
    """The same with a limit that the system itself enforces, in the middle of our lines."""
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, limits[1]))
    try:
        assert "free some disk space" in refusal(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert_untouched(path, before)


def test_what_failed_on_the_way_to_the_disk_is_taken_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that the disk refuses only when it is flushed leaves nothing behind either."""

    def fail(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", fail)
    assert "input/output error" in refusal(path)
    assert_untouched(path, before)


@pytest.mark.parametrize("theirs_first", [True, False])
def test_lines_of_another_writer_are_never_lost(
    path: Path, monkeypatch: pytest.MonkeyPatch, theirs_first: bool
) -> None:
    """A line that slips in during our write stays; ours, on a parent that is no longer the last, goes if it can."""
    theirs = b'{"type":"label","id":"t","parentId":"r","targetId":"u"}\n'
    before = path.read_bytes()
    write = os.write

    def interleave(fd: int, data: bytes) -> int:
        parts = [theirs, data] if theirs_first else [data, theirs]
        for part in parts:
            write(fd, part)
        return len(data)

    monkeypatch.setattr(os, "write", interleave)
    assert ("run again" if theirs_first else "could not be taken back") in refusal(path)
    assert theirs in path.read_bytes()
    assert before == path.read_bytes()[: len(before)]
    assert read_session(path).session.broken_lines == ()
    assert (before + theirs == path.read_bytes()) is theirs_first


def test_files_that_cannot_be_used_are_named_in_one_line(path: Path, tmp_path: Path) -> None:
    """A directory, a missing file, a pipe, a read-only file, no session: each says what to do."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "notes.txt").write_text("hello")
    assert "is a directory: give one of" in refusal(tmp_path)
    assert "There is no file" in refusal(tmp_path / "missing.jsonl")
    assert "not a directory" in refusal(path / "below.jsonl")
    assert "is not a file" in refusal(tmp_path / "pipe")
    assert "no line of it is JSON" in refusal(tmp_path / "notes.txt")
    before = path.read_bytes()
    path.chmod(0o444)
    assert "is read-only" in refusal(path)
    assert_untouched(path, before)


def test_a_file_of_somebody_else(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system does not allow is said in plain words."""

    def deny(*args: Any) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    before = path.read_bytes()
    monkeypatch.setattr(os, "open", deny)
    assert "Not allowed to write to" in refusal(path)
    assert_untouched(path, before)
