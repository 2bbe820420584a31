"""The benchmarks run in a fresh clone, and say in one line what they miss."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmarks.cost import __main__ as cost
from benchmarks.quality.curve import at_size
from benchmarks.quality.own import own_cases
from benchmarks.quality.peers.adapters import PEERS, Peer
from benchmarks.quality.peers.run import installed, run_task, told
from benchmarks.quality.peers.survivors import Survivors, find_survivors
from benchmarks.quality.peers.task import Task, chat, task_of_case, task_of_item, texts_of

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([".", "pipeline", "effects"])},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_quality_benchmark_runs_on_few_cases() -> None:
    """With no optional package and however few cases: a row for each method, and docs/ left alone."""
    before = (ROOT / "docs" / "benchmark.md").read_bytes()
    done = run("-m", "benchmarks.quality", "--cases", "2", "--no-peers")
    assert (0, "") == (done.returncode, done.stderr)
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    assert {"| keep all", "| BM25, whitespace", "| this judge", "| the original's rules, same judge"} < {
        row[0] for row in rows
    }
    assert len({len(row) for row in rows}) == 1
    assert before == (ROOT / "docs" / "benchmark.md").read_bytes()


@pytest.mark.parametrize("count", [1, 3, 24])
def test_any_number_of_own_cases_can_be_made(count: int) -> None:
    assert len([case for case in own_cases(count) if case["expect"] != "none"]) == count


@pytest.mark.parametrize(
    "command",
    [
        ["-m", "benchmarks.cost", "nowhere.jsonl"],
        ["-m", "benchmarks.cost", "README.md"],
        ["-m", "benchmarks.quality", "--bench", "nowhere"],
        ["-m", "benchmarks.quality", "--bench", "docs"],
        ["-m", "benchmarks.quality", "--folds", "nowhere.json"],
        ["-m", "benchmarks.quality", "--plot", "nowhere/plot.png"],
        ["benchmarks/judge_bed.py", "nowhere"],
        ["benchmarks/judge_bed.py", "docs"],
    ],
    ids=" ".join,
)
def test_what_is_missing_is_said_in_one_line(command: Sequence[str]) -> None:
    """A path that is not there, or not what is wanted, is no traceback."""
    done = run(*command)
    assert (1, 1) == (done.returncode, len(done.stderr.splitlines()))
    assert command[-1] in done.stderr


def test_a_clone_alone_has_no_short_session(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the sessions beside the project the quick part of the cost benchmark says that nothing is there."""
    monkeypatch.setattr(cost, "SHARED", tmp_path)
    assert cost.main(["--quick"]) == 0
    assert "Nothing to replay" in capsys.readouterr().out


def test_a_line_survives_as_it_was() -> None:
    """Markers and cut lines are changed text; equal lines are told apart by their neighbours; a whole text is whole."""
    text = "a\n  b = 1\n}\nc\n}\nd"
    assert find_survivors(text, "a\n[2 lines]\nc\n}\nd") == Survivors((0, 3, 4, 5), changed=10)
    assert find_survivors(text, "b = 1\n}") == Survivors((1, 2))
    assert find_survivors(text, text.replace("b = 1", "b…")) == Survivors((0, 2, 3, 4, 5), changed=3)
    assert find_survivors(text, text + "\n").lines is None
    assert find_survivors(text, "") == Survivors(())


def test_a_match_survives_below_the_heading_of_its_file() -> None:
    """What search output says stays where only the path has moved; the heading itself is changed text."""
    text = "x.py:1: foo\nx.py:2:bar\ny.py:1:foo"
    assert find_survivors(text, "x.py\n1: foo\n2: bar") == Survivors((0, 1), changed=5)


def test_between_two_settings_lies_a_straight_line() -> None:
    assert at_size([(0.2, 0.5), (0.4, 0.9)], 0.3) == pytest.approx(0.7)
    assert at_size([(0.2, 0.5)], 0.1) == pytest.approx(0.25)
    assert at_size([(0.2, 0.5)], 0.6) == pytest.approx(0.75)
    assert at_size([(0.2, 0.5)], 1.0) == 1.0


def test_a_peer_that_is_not_there_is_named() -> None:
    """Not installed is a line, never a crash."""
    absent = Peer("no-such-package", "no_such_module", {})
    assert installed([absent]) == ()
    assert list(told([absent])) == ["no-such-package: not installed (pip install no-such-package)"]


def test_a_peer_that_fails_leaves_its_input_whole() -> None:
    """So does one that loses an output; a peer is never given less than it kept."""

    def fails(task: Task) -> list[str]:
        raise ValueError("no")

    task = task_of_case(own_cases(1)[0])
    found = run_task({"fails": fails, "loses one": lambda task: [], "keeps": lambda task: [task.outputs[0].text]}, task)
    assert [run.outputs[task.outputs[0].id].lines for run in found.values()] == [None] * 3
    assert [bool(run.error) for run in found.values()] == [True, True, False]


def test_a_peer_is_given_the_outputs_and_what_was_said() -> None:
    """Each output behind its call, the query last; the answer of the future is not told in the middle of a run."""
    item = {
        "setting": "mid-run",
        "question": "Why?",
        "answer": "Because.",
        "entries": [
            {"role": "assistant", "text": "I look.", "tool_calls": [{"id": "c1", "name": "bash", "arguments": {}}]},
            {"role": "tool", "id": "e1", "tool_call_id": "c1", "text": "one\ntwo", "candidate": True},
        ],
    }
    task = task_of_item(item)
    assert (task.answer, task.query) == ("", "Why?\n\nI look.")
    assert ["user", "assistant", "tool", "assistant", "user"] == [message["role"] for message in chat(task)]
    assert texts_of(chat(task)) == ["one\ntwo"]
    assert "Because." not in json.dumps(chat(task))


def test_every_row_of_a_peer_has_a_name_of_its_own() -> None:
    names = [name for peer in PEERS for name in peer.rows]
    assert len(names) == len(set(names))
