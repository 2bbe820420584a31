"""Sessions and tables in S3, served on loopback by moto."""

import json
import os
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

s3fs = pytest.importorskip("s3fs", reason="pip install -e '.[fleet,object-stores]'")
moto_server = pytest.importorskip("moto.server", reason="pip install -e '.[fleet,object-stores]'")

pytestmark = [
    pytest.mark.outside,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]

TURNS = (Turn("Where is it?", (("ls", "a\nb"),), "Two files."),)
ENGINES = (("--jobs", "1"), ("--jobs", "2"), ("--engine", "dask", "--jobs", "1"))
BUCKET = "s3://sessions"


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """With one bucket, found as a user's would be: by the environment."""
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
    s3fs.S3FileSystem.clear_instance_cache()
    files = s3fs.S3FileSystem()
    files.mkdir(BUCKET)
    yield files
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.mark.parametrize(
    "engine", [("--jobs", "1"), ("--jobs", "2"), ("--engine", "dask", "--jobs", "1")], ids=" ".join
)
def test_a_bucket_is_audited_as_a_folder_is(engine: tuple[str, ...], s3: Any, tmp_path: Path) -> None:
    """By this process, by others and by a cluster. The table goes there too; the same command finds it done, and audits
    what has changed since."""
    folder = tmp_path / "in"
    folder.mkdir()
    count = write_all(folder, TURNS)
    (folder / "cut.json").write_text('{"messages": [{"role": "us')
    s3.put(f"{folder}/", f"{BUCKET}/in/", recursive=True)
    here = json.loads(guard("audit", folder, "--jobs", 1, "--json").stdout)
    words = ("audit", f"{BUCKET}/in", *engine, "--json", "--out", f"{BUCKET}/out")
    there = json.loads(run(*words))
    assert (count, here["groups"]) == (there["total"]["sessions"], there["groups"])
    assert [f"{BUCKET}/in/cut.json"] == [it["path"] for it in there["broken"]]
    table = s3.cat_file(f"{BUCKET}/out/audit.parquet")
    assert count == sum(it["outcome"] == "audited" for it in read_rows(table))
    written = {it: s3.info(it)["LastModified"] for it in s3.find(f"{BUCKET}/out/parts")}
    assert there["sessions"] == json.loads(run(*words))["sessions"]
    s3.invalidate_cache()
    assert written == {it: s3.info(it)["LastModified"] for it in s3.find(f"{BUCKET}/out/parts")}
    assert table == s3.cat_file(f"{BUCKET}/out/audit.parquet")
    s3.pipe_file(f"{BUCKET}/in/more.jsonl", codex(TURNS))
    assert count + 1 == json.loads(run(*words))["total"]["sessions"]


def test_a_bucket_that_is_not_there_is_told(s3: Any) -> None:
    found = guard("audit", "s3://nobody/in")
    assert 3 == found.exit_code
    assert "s3://nobody/in" in found.output


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
