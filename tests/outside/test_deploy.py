"""The files that put many proxies on one store, against the schemas of the programs that read them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from context_guard_effects.cli.proxy import TOKEN
from context_guard_effects.proxy.app import HEALTH_PATH
from context_guard_effects.store.place import VARIABLE

pytestmark = pytest.mark.outside
DEPLOY = Path(__file__).resolve().parents[2] / "docs" / "deploy"
SCRIPTS = Path(sys.executable).parent


def run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_compose_takes_the_file() -> None:
    run(str(SCRIPTS / "check-jsonschema"), "--builtin-schema", "vendor.compose-spec", str(DEPLOY / "compose.yaml"))


def test_kubernetes_takes_every_resource() -> None:
    said = run(str(SCRIPTS / "kubernetes-validate"), str(DEPLOY / "kubernetes.yaml"))
    assert 3 == len(re.findall(" passed for resource (deployment|service|poddisruptionbudget)/context-guard ", said))


@pytest.mark.parametrize("name", ["compose.yaml", "kubernetes.yaml"])
def test_the_proxies_are_told_what_they_read(name: str) -> None:
    text = (DEPLOY / name).read_text()
    assert {TOKEN, VARIABLE, "PGPASSWORD", HEALTH_PATH} <= set(re.findall(r"[A-Z_]{6,}|/healthz", text))
    assert "8484" in text
