"""Runs the peers that are installed, and says which are not."""

import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from tempfile import TemporaryDirectory

from benchmarks.quality.peers.adapters import PEERS, Cut, Peer
from benchmarks.quality.peers.survivors import Survivors, find_survivors
from benchmarks.quality.peers.task import Task
from msgspec import Struct

OFFLINE = {"HEADROOM_OFFLINE": "1", "HF_HUB_OFFLINE": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
HOMES = ("HOME", "DISTIL_HOME", "HEADROOM_WORKSPACE_DIR")
"""Where peers would write what they remember: an empty folder for the time of the run."""


class Run(Struct, frozen=True):
    """What one setting of a peer leaves of one task."""

    outputs: dict[str, Survivors]
    error: str = ""
    """What the peer raised; everything counts as left whole then."""


def installed(peers: Sequence[Peer] = PEERS) -> tuple[Peer, ...]:
    return tuple(peer for peer in peers if find_spec(peer.module))


def told(peers: Sequence[Peer] = PEERS) -> Iterator[str]:
    """A line for each peer: its version, or that it is not there."""
    for peer in peers:
        try:
            yield f"{peer.package} {version(peer.package)}"
        except PackageNotFoundError:
            yield f"{peer.package}: not installed (pip install {peer.package})"


def run_peers(peers: Sequence[Peer], tasks: Sequence[Task]) -> list[dict[str, Run]]:
    """For each task what every setting leaves, by the name of its row."""
    if not peers:
        return [{} for _ in tasks]
    cuts = {name: cut for peer in peers for name, cut in peer.rows.items()}
    with _apart(), ProcessPoolExecutor(2, initializer=_quiet) as pool:
        return list(pool.map(partial(run_task, cuts), tasks, chunksize=4))


def run_task(cuts: dict[str, Cut], task: Task) -> dict[str, Run]:
    return {name: _run(cut, task) for name, cut in cuts.items()}


def _run(cut: Cut, task: Task) -> Run:
    try:
        pairs = zip(task.outputs, cut(task), strict=True)
        return Run({output.id: find_survivors(output.text, text) for output, text in pairs})
    except Exception as error:
        return Run({output.id: Survivors(None) for output in task.outputs}, f"{type(error).__name__}: {error}")


@contextmanager
def _apart() -> Iterator[None]:
    """No network by the peers' own switches, and nothing written but into a folder that goes again."""
    before = dict(os.environ)
    with TemporaryDirectory() as folder:
        os.environ.update(OFFLINE, **dict.fromkeys(HOMES, folder))
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def _quiet() -> None:
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
