"""`context-guard proxy` as a program, on loopback."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
from proxy_world import Provider, body_of

ROOT = Path(__file__).resolve().parents[1]
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "pipeline"), str(ROOT / "effects")])}


@contextlib.contextmanager
def started(
    provider: Provider, *more: str, env: Mapping[str, str] = ENV
) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """The process, and a client of it."""
    command = [sys.executable, "-m", "context_guard_effects", "proxy", "--listen", "127.0.0.1:0"]
    command += ["--upstream", f"fake={provider.url}", "--set", "runEndBreakEven=false", *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with httpx.Client(base_url=address, timeout=30, trust_env=False) as client:
            yield process, client
    finally:
        process.terminate()
        process.communicate(timeout=30)


def send(client: httpx.Client, messages: list[dict[str, Any]]) -> httpx.Response:
    return client.post("/fake/v1/messages", json=body_of("anthropic", messages))


def judged(client: httpx.Client) -> list[Any]:
    found: list[Any] = client.get("/context-guard/status").json()["judged"]
    return found
