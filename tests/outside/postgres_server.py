"""A PostgreSQL cluster of the tests' own: made, started, stopped, thrown away. On a Unix socket and on loopback."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import psycopg

from context_guard_effects.store import Server

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "s3cret/p@ss:w%rd?"
"""With everything that an address has to escape."""
QUOTED = "s3cret%2Fp%40ss%3Aw%25rd%3F"
UNREACHABLE = 3
ROOM_BYTES = 3_000_000_000


class Missing(Exception):
    """No server could be installed; why."""


class Cluster:
    """Superuser `postgres` without a password on the socket; everybody else by password over TCP."""

    def __init__(self, folder: Path, bin: Path, settings: str) -> None:
        self.folder, self._bin = folder, bin
        self.data, self.certificate = folder / "data", folder / "server.crt"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._run("initdb", "-D", str(self.data), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C")
        (self.data / "pg_hba.conf").write_text("local all postgres trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(f"port = {self.port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '{folder}'\n")
            file.write(f"max_connections = 60\n{settings}\n")

    def start(self) -> None:
        self._run("pg_ctl", "start", "-w", "-D", str(self.data), "-l", str(self.folder / "log"))

    def stop(self, mode: str = "fast") -> None:
        """`immediate` is a crash: the next start recovers from the log."""
        self._run("pg_ctl", "stop", "-w", "-D", str(self.data), "-m", mode)

    @property
    def is_running(self) -> bool:
        return (self.data / "postmaster.pid").exists()

    def use_tls(self) -> None:
        """With a certificate of its own for 127.0.0.1; before it starts."""
        key = self.folder / "server.key"
        make_certificate(self.certificate, key)
        self.give(key)
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(f"ssl = on\nssl_cert_file = '{self.certificate}'\nssl_key_file = '{key}'\n")

    def give(self, file: Path) -> None:
        """To the user that the server runs as, and to nobody else."""
        file.chmod(0o600)
        if os.getuid() == 0:
            shutil.chown(file, "postgres", "postgres")

    def admin(self, database: str = "postgres") -> "psycopg.Connection[tuple[Any, ...]]":
        return psycopg.connect(host=str(self.folder), port=self.port, user="postgres", dbname=database, autocommit=True)

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        with self.admin(database) as db:
            found = db.execute(statement.encode())
            return found.fetchall() if found.description else []

    def place(self, user: str, database: str, query: str = "") -> Server:
        """Over TCP, with the password."""
        return Server(f"postgresql://{user}:{QUOTED}@127.0.0.1:{self.port}/{database}{query}")

    @cached_property
    def _environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC"}

    def _run(self, program: str, *arguments: str) -> None:
        user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
        with tempfile.TemporaryFile() as said:  # a server that stays would hold a pipe open
            done = subprocess.run(
                [str(self._bin / program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=self._environment,
                cwd=self.folder,
                check=False,
                **user,  # type: ignore[call-overload]
            )
            said.seek(0)
            assert done.returncode == 0, said.read().decode()


@contextmanager
def running_cluster(tls: bool = False) -> Iterator[Cluster]:
    """For tests: in memory where there is room, and without fsync; what it has written outlives its processes. Raises
    Missing."""
    memory = Path("/dev/shm")
    in_memory = memory.is_dir() and shutil.disk_usage(memory).free > ROOM_BYTES
    with _cluster(str(memory) if in_memory else None, "fsync = off") as cluster:
        if tls:
            cluster.use_tls()
        cluster.start()
        yield cluster


@contextmanager
def durable_cluster(folder: str | None) -> Iterator[Cluster]:
    """For figures: on the disk, with the settings that PostgreSQL comes with. Raises Missing."""
    with _cluster(folder, "") as cluster:
        cluster.start()
        yield cluster


@contextmanager
def _cluster(folder: str | None, settings: str) -> Iterator[Cluster]:
    """Not started. In a short path: that of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="cg-pg-", dir=folder) as name:
        own = Path(name)
        if os.getuid() == 0:
            shutil.chown(own, "postgres", "postgres")
        cluster = Cluster(own, find_programs(), settings)
        try:
            yield cluster
        finally:
            if cluster.is_running:
                cluster.stop("immediate")


def find_programs() -> Path:
    done = subprocess.run([ROOT / "scripts" / "install_postgres.sh"], capture_output=True, text=True, check=False)
    if done.returncode == UNREACHABLE:
        raise Missing(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip().removeprefix("bin="))


def make_certificate(certificate: Path, key: Path) -> None:
    """Signed by itself, for 127.0.0.1."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, "-keyout", key, "-out", certificate], capture_output=True, check=True)
