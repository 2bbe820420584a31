"""The commands that work on a store: recall by id alone, the user's word, and what is kept."""

import json
from pathlib import Path

import pytest
from build import lines
from command_line import complaint, guard

from context_guard.edit_log import LoggedPass, Omitted, Pinned, RawImage, RawOutput, Replaced, Restored, Unpinned
from context_guard.records import ItemResult, Record
from context_guard_effects.store import open_store
from context_guard_effects.testing.store_conformance import DAY, Clock, output, replaced

PNG = "iVBORw0KGgo="
LOG = lines(2_500)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's store: an output of 2,500 lines, one with two images, and one that has expired."""
    path = tmp_path / "store.db"
    monkeypatch.setenv("CONTEXT_GUARD_STORE", str(path))
    clock = Clock()
    with open_store(path, clock) as store:
        store.keep(replaced("old", session="last month"), (output("old"),))
        clock.ms += 60 * DAY
        store.purge(session="last month")
        result = ItemResult(
            entry_id="big",
            tool="bash",
            label="bash `make`",
            outcome="distilled",
            reason="chunks",
            before_chars=9_000,
            after_chars=300,
            jev=("kw.07 keep 1/9",),
        )
        record = Record(1, "run-end", "local/made-up", 8_700, 1, 9, 0.0, 3, False, (result,))
        pass_ = LoggedPass(
            witness="w", edits=(Replaced("big", ("[context-guard] short",)),), record=record, session="s", time=clock.ms
        )
        store.keep(pass_, (RawOutput(id="big", text=LOG, tool="bash", session="s"),))
        images = (RawImage("image/png", PNG), RawImage("image/jpeg", "https://a.example/b.jpg", kind="url"))
        store.keep(replaced("shot"), (output("shot", "two pictures", images),))
    return path


def log(store: Path, id: str) -> list[object]:
    with open_store(store) as opened:
        return [edit for kept in opened.find([id]) for edit in kept.edits if edit.target == id]


def test_an_id_alone_is_recalled_from_the_store(store: Path) -> None:
    """In the same pages, with the same options, and raw to the byte."""
    first = guard("recall", "big")
    assert (0, "") == (first.exit_code, first.stderr)
    assert first.stdout.splitlines()[-1].startswith("[Showing lines 1–")
    assert LOG.split("\n")[6] == guard("recall", "big", "--offset", 7, "--limit", 1).stdout.split("\n")[0]
    assert "2500: " in guard("recall", "big", "--pattern", "2499|2500").stdout
    assert LOG == guard("recall", "big", "--raw").stdout
    assert LOG == guard("recall", 'recall({"entryId":"big"})', "--raw", "--store", store).stdout


def test_images_of_a_stored_output_are_named_and_written(store: Path, tmp_path: Path) -> None:
    """As files beside one another; what lies at an address is not fetched."""
    listed = guard("recall", "shot").stdout.splitlines()
    assert ["two pictures", "[image: image/png, 9 bytes; --images DIR writes it to a file]"] == listed[:2]
    assert "[image: image/jpeg, https://a.example/b.jpg]" == listed[2]
    written = guard("recall", "shot", "--images", tmp_path / "new" / "folder").stdout.splitlines()
    assert ["two pictures", str(tmp_path / "new" / "folder" / "shot-1.png"), "https://a.example/b.jpg"] == written
    assert b"\x89PNG\r\n\x1a\n" == (tmp_path / "new" / "folder" / "shot-1.png").read_bytes()
    assert "[no images]" in guard("recall", "big", "--limit", 1, "--images", tmp_path).stdout


def test_recall_tells_expired_from_unknown(store: Path) -> None:
    """Each with what to do; so does a store that is not there, which is not made."""
    expired, unknown = guard("recall", "old"), guard("recall", "never")
    assert (3, 3) == (expired.exit_code, unknown.exit_code)
    assert "was deleted from the store on 20" in complaint(expired)
    assert "run the tool again" in complaint(expired)
    assert "knows no output 'never'" in complaint(unknown)
    missing = guard("recall", "big", "--store", store.with_name("other.db"))
    assert 3 == missing.exit_code
    assert "there is no store at" in complaint(missing)
    assert "context-guard recall SESSION big" in complaint(missing)
    why = guard("why", "big", "--store", store.with_name("other.db"))
    assert "context-guard explain SESSION big" in complaint(why)
    assert not store.with_name("other.db").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("recall", "big", "--leaf", "x"), "--leaf goes with a SESSION"),
        (("recall", "a.jsonl", "x", "--store", "y"), "--store goes without SESSION"),
        (("recall", "a.jsonl", "x", "--images", "y"), "--images goes without SESSION"),
        (("recall", __file__), "is a session"),
        (("store", "purge", "--older-than", "soon"), "'soon' is no age"),
        (("store", "purge"), "--older-than AGE"),
        (("recall", "big", "--raw", "--limit", "3"), "leave out --limit"),
        (("recall", 'recall({"id":"big"})'), "holds no entry id"),
        (("store", "prune"), "Did you mean purge?"),
        (("recall",), "context-guard recall SESSION ID"),
        (("recall", str(Path(__file__).parent)), "is a folder: give a session in it"),
        (("recall", "gone.jsonl"), "There is no file gone.jsonl"),
    ],
)
def test_what_does_not_go_together_is_a_usage_error(words: tuple[str, ...], said: str, store: Path) -> None:
    """One line says what goes where."""
    run = guard(*words)
    assert 2 == run.exit_code
    assert said in complaint(run)


def test_the_word_of_the_user_goes_into_the_log(store: Path) -> None:
    """Each holds wherever the output is; what is so already is not said again."""
    assert "Pinned" in guard("pin", "big").stdout
    assert "pinned already" in guard("pin", "big").stdout
    assert "Unpinned" in guard("unpin", "big").stdout
    assert "not pinned" in guard("unpin", "big").stdout
    assert "Restored" in guard("restore", "big").stdout
    assert "No edit hides big" in guard("restore", "big").stdout
    replaced_ = Replaced("big", ("[context-guard] short",))
    assert [replaced_, Pinned("big"), Unpinned("big"), Restored("big")] == log(store, "big")
    with open_store(store) as opened:
        last = opened.find(["big"])[-1]
    assert ("", None, "") == (last.witness, last.record, last.session)
    assert last.time > 1_700_000_000_000


@pytest.mark.parametrize("word", ["pin", "unpin", "restore", "why"])
def test_a_word_about_an_unknown_output_is_an_error(word: str, store: Path) -> None:
    """Most likely the id is mistyped; nothing is written."""
    run = guard(word, "bog")
    assert 3 == run.exit_code
    assert "knows no output 'bog'" in complaint(run)
    assert [] == log(store, "bog")


def test_an_expired_output_cannot_be_restored(store: Path) -> None:
    """It is told when it was deleted; its edit went with it, so nothing hides it."""
    run = guard("restore", "old")
    assert 0 == run.exit_code
    assert run.stdout.startswith("No edit hides old: with its original it was deleted on 20")


def test_why_shows_each_pass_and_each_word(store: Path) -> None:
    """Outcome, sizes, reason, the judge's trace, and what the user said since."""
    guard("pin", "big")
    judged, item, trace, edit, user, pinned = guard("why", "big").stdout.splitlines()
    assert judged.endswith("run-end by local/made-up, session s")
    assert item.split() == ["distilled", "large", "9.0k", "→", "300", "big", "bash", "`make`", "(chunks)"]
    assert ("      judge: kw.07 keep 1/9", "  edit: shown as 21 characters") == (trace, edit)
    assert user.endswith(" the user")
    assert "  edit: pinned" == pinned
    assert "deleted on 20" in guard("why", "old").stdout


def test_status_sessions_path_and_check_say_what_is_there(store: Path) -> None:
    """In lines, and as JSON for programs."""
    place, outputs, passes, expired = guard("store", "status").stdout.splitlines()
    assert str(store) == place
    assert outputs.startswith("2 outputs, ")
    assert passes.startswith("2 passes in 1 session, kept on 20")
    assert "1 output expired: only the id and the time are left." == expired
    assert 2 == json.loads(guard("store", "status", "--json").stdout)["outputs"]
    assert guard("store", "sessions").stdout.endswith("  2 passes, 2 outputs  s\n")
    assert "s" == json.loads(guard("store", "sessions", "--json").stdout)[0]["session"]
    assert f"{store}\n" == guard("store", "path").stdout
    assert f"{store}: everything is as it was kept\n" == guard("store", "check").stdout


def test_check_names_what_is_damaged(store: Path) -> None:
    """With exit code 1."""
    import sqlite3

    db = sqlite3.connect(store)
    db.execute("UPDATE output SET digest = x'00' WHERE id = CAST('big' AS BLOB)")
    db.commit()
    db.close()
    run = guard("store", "check")
    assert (1, "output big: its content is damaged\n") == (run.exit_code, run.stdout)
    recalled = guard("recall", "big")
    assert 3 == recalled.exit_code
    assert "damaged" in complaint(recalled)


def test_purge_says_first_what_would_go(store: Path) -> None:
    """Only with --yes it goes; afterwards the ids are expired and the edits gone."""
    told = guard("store", "purge", "--older-than", "1d")
    assert told.stdout.startswith("Would delete 2 passes and 2 outputs (")
    assert told.stdout.endswith("Nothing was changed; add --yes to delete.\n")
    assert 0 == guard("recall", "big").exit_code
    done = guard("store", "purge", "--older-than", "1d", "--yes")
    assert done.stdout.startswith("Deleted 2 passes and 2 outputs (")
    assert "was deleted" in complaint(guard("recall", "big"))
    assert [] == log(store, "big")
    assert "Nothing to delete.\n" == guard("store", "purge", "--session", "s", "--yes").stdout


def test_a_foreign_store_stops_every_command(store: Path) -> None:
    """With exit code 3 and the file as it was."""
    store.write_text("not a store")
    for words in (("recall", "big"), ("pin", "big"), ("why", "big"), ("store", "status"), ("store", "check")):
        run = guard(*words)
        assert 3 == run.exit_code
        assert "is not a store of context-guard" in complaint(run)
    assert "not a store" == store.read_text()


def test_an_omitted_exchange_says_so_for_each_member(tmp_path: Path) -> None:
    """`why` of a member shows the exchange that it went with."""
    path = tmp_path / "s.db"
    exchange = ItemResult(entry_id="p", kind="exchange", outcome="removed", reason="unrelated", omitted=("m",))
    record = Record(1, "run-end", "local", 1, 1, 1, 0.0, 1, False, (exchange,))
    with open_store(path) as opened:
        edits = (Replaced("p", ("[context-guard] Omitted",)), Omitted("m"))
        opened.keep(LoggedPass(witness="w", edits=edits, record=record), (output("p"),))
    said = guard("why", "m", "--store", path).stdout
    assert "removed   exchange" in said
    assert said.endswith("  edit: omitted\n")
