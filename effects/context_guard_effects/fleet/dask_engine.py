"""The engine on Dask: a cluster of this machine, or one that the user runs.

Dask has an event loop of its own, in threads of its own. What it calls is synchronous and pure: no Trio runs in it.
"""

import logging
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from itertools import islice
from typing import Any

from context_guard_effects.fleet.engine import Batch, Done, Finished, Item, Mapped, Packed, Unreachable, run_batch
from context_guard_effects.fleet.run import own_version

WAITING = 2
"""Batches handed out ahead, for each thread of the cluster."""
RETRIES = 2
"""Times that a batch is tried again on the cluster of this machine when its worker dies."""
SECONDS = 15
"""To wait for a scheduler, and for a worker of it."""

Client = Any
"""`distributed.Client`: the package is there only with the extra."""


class DaskEngine:
    def __init__(self, client: Client) -> None:
        self._client = client

    def map(self, task: Mapped[Item, Done, Packed], batches: Iterable[Batch[Item]]) -> Finished[Item, Done, Packed]:
        suspects: list[Batch[Item]] = []
        yield from self._shared(task, iter(batches), suspects)
        for batch in suspects:
            outcomes = self._alone(task, batch)
            yield batch, outcomes, task.pack(outcomes)

    def _shared(
        self, task: Mapped[Item, Done, Packed], left: Iterator[Batch[Item]], suspects: list[Batch[Item]]
    ) -> Iterator[tuple[Batch[Item], tuple[Done, ...], Packed]]:
        """All of them, but those that lay with workers that died: what killed them is among these `suspects`."""
        from distributed import as_completed

        running = {self._submit(task, batch): batch for batch in islice(left, self._room())}
        finished = as_completed(list(running), loop=self._client.loop)
        try:
            for future in finished:
                batch = running.pop(future)
                found = _outcome(future)
                future.release()
                for more in islice(left, max(0, self._room() - len(running))):
                    following = self._submit(task, more)
                    running[following] = more
                    finished.add(following)
                if found is None:
                    suspects.append(batch)
                else:
                    yield batch, *found
        finally:
            self._client.cancel(list(running))

    def _alone(self, task: Mapped[Item, Done, Packed], batch: Batch[Item]) -> tuple[Done, ...]:
        """With nothing beside it: as a whole, then item by item."""
        found: tuple[tuple[Done, ...], Packed] | None = _outcome(self._submit(task, batch))
        if found is not None:
            return found[0]
        if len(batch) == 1:
            return (task.died(batch[0]),)
        return tuple(outcome for item in batch for outcome in self._alone(task, (item,)))

    def _submit(self, task: Mapped[Item, Done, Packed], batch: Batch[Item]) -> Any:
        return self._client.submit(run_batch, task, batch, pure=False)

    def _room(self) -> int:
        """Workers come and go."""
        threads: int = sum(self._client.nthreads().values())
        return WAITING * max(1, threads)


@contextmanager
def open_dask(scheduler: str | None, jobs: int) -> Iterator[DaskEngine]:
    """On the user's cluster, or on one that lasts as long as this. Raises Unreachable."""
    try:
        import distributed
    except ImportError as error:
        raise Unreachable("--engine dask needs Dask: pip install 'context-guard[fleet]'") from error
    with ExitStack() as stack:
        stack.enter_context(_quiet())
        if scheduler is None:
            client = stack.enter_context(_local_cluster(distributed, jobs))
        else:
            client = stack.enter_context(_connected(distributed, scheduler))
        try:
            yield DaskEngine(client)
        except (distributed.client.FutureCancelledError, distributed.comm.CommClosedError) as error:
            said = "the Dask scheduler is gone; with --out the same command goes on where this one was"
            raise Unreachable(said) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Workers that died are told by their rows, and a lost scheduler in a line: not by the logs of Dask besides."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [it.level for it in loggers]
    for it in loggers:
        it.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for it, level in zip(loggers, levels, strict=True):
            it.setLevel(level)


@contextmanager
def _local_cluster(distributed: Any, jobs: int) -> Iterator[Client]:
    """Processes on the loopback interface. Whoever may talk to a scheduler runs code as its user, and every user of
    this machine may talk to loopback: hence keys for this one run, which nobody else has."""
    import dask

    settings = {
        "distributed.scheduler.allowed-failures": RETRIES,
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        "distributed.worker.profile.enabled": False,  # its samples grow for an hour
        "distributed.worker.preload": ["context_guard_effects.fleet.worker_setup"],
    }
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            security=distributed.Security.temporary(),
            local_directory=folder,
            silence_logs=logging.CRITICAL + 1,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def _connected(distributed: Any, scheduler: str) -> Iterator[Client]:
    try:
        client = distributed.Client(scheduler, timeout=SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise Unreachable(f"no Dask scheduler answers at {scheduler}: {_said(error)}") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=SECONDS)
        except TimeoutError as error:
            raise Unreachable(
                f"the Dask scheduler at {scheduler} has no workers: start one with `dask worker`"
            ) from error
        _check_workers(client)
        yield client


def _check_workers(client: Client) -> None:
    """They run this very code, so they need the same version of it."""
    own = own_version()
    for worker, found in client.run(version, "context-guard", on_error="return").items():
        if found != own:
            told = f"has context-guard {found}" if isinstance(found, str) else "has no context-guard"
            raise Unreachable(f"the worker {worker} {told}: install {own}, as here, with the extra `fleet`")


def _outcome(future: Any) -> Any:
    """None when workers died of it, or beside it."""
    from distributed import KilledWorker

    try:
        return future.result()
    except KilledWorker:
        return None
    except ImportError as error:
        raise Unreachable(f"a worker of the cluster lacks a package: {_said(error)}") from error


def _said(error: BaseException) -> str:
    return " ".join(f"{error or type(error).__name__}".split())
