"""The pytest plugin of the package, in runs of pytest of their own, found by its entry point."""

import os
import tomllib
from pathlib import Path

import pytest
from doc_pages import examples

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[1]

HOST = """
import trio
from context_guard.answers import Answers
from context_guard_effects.guard import distill
from context_guard_effects.testing import KeepJudge, answer, call, prompt, result, transcript

OUTPUT = "\\n".join(f"line {number} of the build log" for number in range(1, 600))

def test_the_build_log(guard_snapshot):
    talk = transcript(prompt("Does it build?"), call("bash", {"command": "make"}), result(OUTPUT), answer("{ANSWER}"))
    guard_snapshot(trio.run(distill, talk))
"""


@pytest.fixture
def host(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A repository in whose environment the package is installed."""
    site = pytester.mkdir("site")
    info = site / "context_guard-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: context-guard\nVersion: 0.1.0\n")
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    (info / "entry_points.txt").write_text("[pytest11]\n" + "".join(f"{it} = {to}\n" for it, to in points.items()))
    paths = [str(site), str(ROOT / "pipeline"), str(ROOT / "effects")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    return pytester


def test_the_example_of_reviewing_md_is_a_test(host: pytest.Pytester) -> None:
    """With a conversation of the host's own before it, it pins that."""
    (block,) = [it.code for it in examples("docs/reviewing.md") if it.language == "python"]
    before = HOST.split("def test_the_build_log")[0] + 'my_transcript = transcript(prompt("Why?"), answer("So."))\n'
    host.makepyfile(test_host=before + block)
    host.runpytest_subprocess("--snapshot-update").assert_outcomes(passed=1)


def test_a_host_pins_its_replacements(host: pytest.Pytester) -> None:
    """No snapshot is a failure; it is written when asked, then compared; a difference is shown as lines."""
    host.makepyfile(test_host=HOST.replace("{ANSWER}", "Line 300 says so."))
    missing = host.runpytest_subprocess()
    missing.assert_outcomes(failed=1)
    host.runpytest_subprocess("--snapshot-update").assert_outcomes(passed=1)
    files = sorted(path.name for path in (host.path / "__snapshots__" / "test_host").iterdir())
    assert files == [
        "test_the_build_log[record].json",
        "test_the_build_log[replacement].txt",
        "test_the_build_log[trace].txt",
    ]
    host.runpytest_subprocess().assert_outcomes(passed=1)
    host.makepyfile(test_host=HOST.replace("{ANSWER}", "See line 17."))
    changed = host.runpytest_subprocess()
    changed.assert_outcomes(failed=1)
    changed.stdout.fnmatch_lines(
        ["test_the_build_log, trace:", "- *answer: Line 300 says so.", "+ *answer: See line 17."]
    )


def test_without_syrupy_it_says_what_to_install(host: pytest.Pytester) -> None:
    """A test that asks for the fixture fails with one sentence; all others run as ever."""
    host.makepyfile(
        test_host="def test_other():\n    pass\n\ndef test_pinned(guard_snapshot):\n    guard_snapshot(None)\n"
    )
    run = host.runpytest_subprocess("-p", "no:syrupy")
    run.assert_outcomes(passed=1, errors=1)
    run.stdout.fnmatch_lines(["*guard_snapshot needs syrupy*pip install syrupy*"])


def test_unused_it_loads_nothing(host: pytest.Pytester) -> None:
    """Neither the pipeline nor trio nor any other part of the package."""
    host.makepyfile(
        test_host="import sys\n\ndef test_nothing():\n"
        "    ours = [name for name in sys.modules if name.startswith('context_guard')]\n"
        "    assert sorted(ours) == ['context_guard_effects', 'context_guard_effects.pytest_plugin']\n"
        "    assert not {'trio', 'msgspec', 'httpx'} & set(sys.modules)\n"
    )
    host.runpytest_subprocess("-p", "no:returns", "-p", "no:anyio").assert_outcomes(passed=1)


def test_it_may_be_named_as_well(host: pytest.Pytester) -> None:
    """`-p` beside the entry point is the same plugin, not a second one."""
    host.makepyfile(test_host="def test_nothing():\n    pass\n")
    host.runpytest_subprocess("-p", "context_guard_effects.pytest_plugin").assert_outcomes(passed=1)


def test_what_is_no_pass_is_refused(host: pytest.Pytester) -> None:
    host.makepyfile(test_host="def test_pinned(guard_snapshot):\n    guard_snapshot('text')\n")
    run = host.runpytest_subprocess()
    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines(["*guard_snapshot takes what `distill` returns*"])
