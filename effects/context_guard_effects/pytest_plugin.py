"""A pytest plugin for a host's own repository: pins what the guard makes of a pass, file by file, with syrupy.

    def test_the_build_log_is_distilled(guard_snapshot):
        distilled = trio.run(distill, my_transcript)
        guard_snapshot(distilled)

compares with `__snapshots__/<test file>/<test>[trace].txt`, `[replacement].txt` and `[record].json`;
`pytest --snapshot-update` writes them. Only a test that asks for the fixture loads anything of the guard or of syrupy.
"""

import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from context_guard.stages import Plan, Settlement
    from context_guard_effects.guard import Distilled

    GuardSnapshot = Callable[["Distilled | tuple[Plan, Settlement]"], None]

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""Syrupy's, character by character, also where no terminal is: in the log of a build nothing could be read."""

NO_SYRUPY = "guard_snapshot needs syrupy, which this environment lacks: pip install syrupy"


@pytest.fixture
def guard_snapshot(request: pytest.FixtureRequest) -> "GuardSnapshot":
    """Asserts that a pass (a `Distilled`, or a plan and its settlement) reads as its snapshots."""
    if not request.config.pluginmanager.has_plugin("syrupy"):
        pytest.fail(NO_SYRUPY, pytrace=False)
    snapshot = request.getfixturevalue("snapshot")

    def check(passed: "Distilled | tuple[Plan, Settlement]") -> None:
        changed: list[str] = []
        for name, (extension, text) in _texts(passed).items():
            pinned = snapshot(name=name, extension_class=extension)
            if text != pinned:
                changed += [f"{request.node.name}, {name}:", *(COLOUR.sub("", it) for it in pinned.get_assert_diff())]
        if changed:  # all of them at once, and without relying on rewritten asserts, which a plugin may not have
            pytest.fail("\n".join(changed), pytrace=False)

    return check


def _texts(passed: Any) -> dict[str, tuple[Any, str]]:
    from context_guard.stages import Plan, Settlement
    from context_guard.trace import record_json, replacement_text, trace_text
    from context_guard_effects.guard import Distilled
    from context_guard_effects.snapshot_files import JsonFile, TextFile

    match passed:
        case Distilled(plan=plan, settlement=settlement) | (Plan() as plan, Settlement() as settlement):
            return {
                "replacement": (TextFile, replacement_text(plan, settlement)),
                "trace": (TextFile, trace_text(plan, settlement)),
                "record": (JsonFile, record_json(settlement)),
            }
        case _:
            raise TypeError(f"guard_snapshot takes what `distill` returns, or (plan, settlement), not {type(passed)!r}")
