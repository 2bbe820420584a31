"""Sessions and tables in S3 and Google Cloud Storage, each served on loopback by an emulator."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from command_line import guard
from proxy_program import ENV
from recorded_sessions import Turn, codex, write_all

from context_guard_effects.fleet.table import read_rows

os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"  # gcsfs would ask over gRPC too, which the emulator has not
NEEDED = "pip install -e '.[fleet,object-stores]'"
fsspec = pytest.importorskip("fsspec", reason=NEEDED)
pytest.importorskip("s3fs", reason=NEEDED)
pytest.importorskip("gcsfs", reason=NEEDED)
moto_server = pytest.importorskip("moto.server", reason=NEEDED)
emulator = pytest.importorskip("gcp_storage_emulator.server", reason=NEEDED)

pytestmark = [
    pytest.mark.outside,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]

TURNS = (Turn("Where is it?", (("ls", "a\nb"),), "Two files."),)
ENGINES = (("--jobs", "1"), ("--jobs", "2"), ("--engine", "dask", "--jobs", "1"))


@pytest.fixture(params=["s3", "gs"])
def bucket(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of one, found as a user's would be: by the environment."""
    serve = {"s3": s3, "gs": gs}[request.param]
    yield from serve(monkeypatch)


def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    httpx.post(f"http://{host}:{port}/moto-api/reset", trust_env=False)  # what it holds outlives a server
    for name, value in (
        ("AWS_ENDPOINT_URL_S3", f"http://{host}:{port}"),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    yield from made("s3://sessions")
    server.stop()


def gs(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = emulator.create_server("127.0.0.1", port, in_memory=True)
    server.start()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
    yield from made("gs://sessions")
    server.stop()


def made(url: str) -> Iterator[str]:
    protocol, _, name = url.partition("://")
    kind = fsspec.get_filesystem_class(protocol)
    kind.clear_instance_cache()
    fsspec.filesystem(protocol).mkdir(name)
    yield url
    kind.clear_instance_cache()


@pytest.mark.parametrize("engine", ENGINES, ids=" ".join)
def test_a_bucket_is_audited_as_a_folder_is(engine: tuple[str, ...], bucket: str, tmp_path: Path) -> None:
    """By this process, by others and by a cluster. The table goes there too; the same command finds it done, and audits
    what has changed since."""
    files: Any = fsspec.url_to_fs(bucket)[0]
    folder = tmp_path / "in"
    folder.mkdir()
    count = write_all(folder, TURNS)
    (folder / "cut.json").write_text('{"messages": [{"role": "us')
    files.put(f"{folder}/", f"{bucket}/in/", recursive=True)
    here = json.loads(guard("audit", folder, "--jobs", 1, "--json").stdout)
    words = ("audit", f"{bucket}/in", *engine, "--json", "--out", f"{bucket}/out")
    there = json.loads(run(*words))
    assert (count, here["groups"]) == (there["total"]["sessions"], there["groups"])
    assert [f"{bucket}/in/cut.json"] == [it["path"] for it in there["broken"]]
    table = files.cat_file(f"{bucket}/out/audit.parquet")
    assert count == sum(it["outcome"] == "audited" for it in read_rows(table))
    written = {it: files.modified(it) for it in files.find(f"{bucket}/out/parts")}
    assert there["sessions"] == json.loads(run(*words))["sessions"]
    files.invalidate_cache()
    assert written == {it: files.modified(it) for it in files.find(f"{bucket}/out/parts")}
    assert table == files.cat_file(f"{bucket}/out/audit.parquet")
    files.pipe_file(f"{bucket}/in/more.jsonl", codex(TURNS))
    assert count + 1 == json.loads(run(*words))["total"]["sessions"]


def test_a_bucket_that_is_not_there_is_told(bucket: str) -> None:
    missing = bucket.replace("sessions", "nobody") + "/in"
    found = guard("audit", missing)
    assert 3 == found.exit_code
    assert missing in found.output


def run(*words: str) -> str:
    """As a program: the test's own process has the server's threads."""
    done = subprocess.run(
        [sys.executable, "-m", "context_guard_effects", *words],
        env={**os.environ, "PYTHONPATH": ENV["PYTHONPATH"]},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, 3), done.stderr
    return done.stdout
