"""What the tests against real parts share."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outside.pi_driver import NpmUnreachable, Pi, PiHome, install_pi
from outside.scripted_provider import ScriptedProvider

ROOT = Path(__file__).resolve().parents[2]
UNREACHABLE = 3


@pytest.fixture(scope="session")
def frameworks() -> str:
    """An interpreter with the frameworks."""
    done = subprocess.run([ROOT / "scripts" / "install_hosts.sh"], capture_output=True, text=True, check=False)
    if done.returncode == UNREACHABLE:
        pytest.skip(f"the frameworks are needed: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().removeprefix("python=")


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


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="pip install '.[browser]'")
    done = subprocess.run([ROOT / "scripts" / "install_browser.sh"], capture_output=True, text=True, check=False)
    if done.returncode == UNREACHABLE:
        pytest.skip(f"a browser is needed: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    chromium = done.stdout.strip().removeprefix("chromium=")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-background-networking"]
        )
        yield opened
        opened.close()
