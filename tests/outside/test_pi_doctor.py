"""Broken sessions in real Pi: it fails with them as the doctor says, and goes on with them once they are repaired."""

from pathlib import Path

import pytest
from broken_sessions import FAULTS, Fault, broken
from command_line import guard

from context_guard.validate import Problem, validate_anthropic
from context_guard_effects.cli.exits import OK
from outside.pi_driver import PiFailed, PiHome
from outside.processes import processes_with
from outside.scripted_provider import ScriptedProvider, Turn

pytestmark = pytest.mark.outside

MENDED = {fault.kind: fault for fault in FAULTS.values() if fault.is_mended}
"""One session for each kind that can be mended."""

BRICKED = {kind: fault for kind, fault in MENDED.items() if fault.brick and "picture" not in kind}
"""Pi's model here reads no pictures, so Pi sends none."""
QUESTION = "And now?"


def asked(session: Path, home: PiHome, provider: ScriptedProvider) -> tuple[Problem, ...]:
    """What the provider would refuse of the request that Pi sends with the next prompt. Raises PiFailed."""
    provider.play(Turn("Nothing."))
    project = home.folder / "project"
    project.mkdir(exist_ok=True)
    before = len(provider.requests)
    said = home.ask_once(project, QUESTION, session)
    assert processes_with(home.environment()) == []
    if len(provider.requests) == before or "Nothing." not in said:
        raise PiFailed("no request was sent")
    return validate_anthropic(provider.requests[-1].messages)


def is_bricked(session: Path, home: PiHome, provider: ScriptedProvider) -> bool:
    try:
        return asked(session, home, provider) != ()
    except PiFailed:
        return True


def placed(fault: Fault, home: PiHome) -> Path:
    session = home.sessions / "broken.jsonl"
    session.write_bytes(broken(fault).replace(b"/home/user/context-guard", str(home.folder / "project").encode()))
    return session


@pytest.mark.parametrize("fault", MENDED.values(), ids=MENDED.keys())
def test_pi_goes_on_with_a_repaired_session(fault: Fault, home: PiHome, provider: ScriptedProvider) -> None:
    """Pi opens it, and the provider would take the next request."""
    session = placed(fault, home)
    before = session.read_bytes()

    assert guard("doctor", session, "--repair").exit_code == OK

    assert asked(session, home, provider) == ()
    assert session.read_bytes().startswith(before)


@pytest.mark.parametrize("fault", BRICKED.values(), ids=BRICKED.keys())
def test_pi_does_not_go_on_with_what_bricks(fault: Fault, home: PiHome, provider: ScriptedProvider) -> None:
    """Pi fails, or sends what its provider would refuse."""
    assert is_bricked(placed(fault, home), home, provider)
