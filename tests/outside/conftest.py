"""What the tests against real Pi share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from outside.pi_driver import NpmUnreachable, Pi, PiHome, install_pi
from outside.scripted_provider import ScriptedProvider


@pytest.fixture(scope="session")
def pi() -> Pi:
    try:
        return install_pi()
    except NpmUnreachable as error:
        pytest.skip(f"real Pi is needed: {error}")


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider() as provider:
        yield provider


@pytest.fixture
def home(tmp_path: Path, pi: Pi, provider: ScriptedProvider) -> PiHome:
    return PiHome(tmp_path / "home", pi, provider.url)
