"""Databases with a store in a cluster of the tests' own, and its users: one role each, or two."""

import os
import time
from itertools import count
from pathlib import Path

from context_guard_effects.store import Place, Server
from context_guard_effects.store.postgres import migrate_postgres
from outside.postgres_server import PASSWORD, Cluster

APP, RETENTION = "context_guard_app", "context_guard_retention"
ROOT = Path(__file__).resolve().parents[2]


class Databases:
    """Users: `owner`; `app` and `retention` with one role each; `everyone` with both; `stranger`."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._numbers = count(1)
        for user in ("owner", "app", "retention", "everyone", "stranger"):
            cluster.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{PASSWORD}'")
        cluster.execute("ALTER ROLE owner CREATEROLE")
        cluster.execute("CREATE DATABASE model OWNER owner")
        migrate_postgres(cluster.place("owner", "model"), APP, RETENTION)
        cluster.execute(f"GRANT {APP} TO app, everyone")
        cluster.execute(f"GRANT {RETENTION} TO retention, everyone")

    def empty(self) -> str:
        """The name of a database without a store."""
        name = f"store_{next(self._numbers)}"
        self.cluster.execute(f"CREATE DATABASE {name} OWNER owner")
        return name

    def new(self) -> str:
        """The name of a database with an empty store."""
        name = f"store_{next(self._numbers)}"
        self.cluster.execute(f"CREATE DATABASE {name} TEMPLATE model OWNER owner")
        return name

    def place(self, user: str = "everyone") -> Server:
        return self.cluster.place(user, self.new())

    def drop(self, place: Server) -> None:
        self.cluster.execute(f"DROP DATABASE {name_of(place)} WITH (FORCE)")

    def wait(self, place: Place) -> None:
        """Until the server works for nobody there: it goes on for a while for a process that was killed."""
        assert isinstance(place, Server)
        query = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name_of(place)}'"
        until = time.monotonic() + 20
        while self.cluster.execute(query) != [(0,)]:
            assert time.monotonic() < until, "the server still works for somebody"
            time.sleep(0.02)


def name_of(place: Server) -> str:
    """The database."""
    return place.url.partition("?")[0].rpartition("/")[2]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "pipeline"), str(ROOT / "effects")])}
