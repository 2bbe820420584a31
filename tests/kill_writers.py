"""Two processes write to one store and are killed at random points, again and again.

    kill_writers(folder, kills=200, seed=1)
    kill_writers(folder, kills=200, seed=1, stores=Stores(make, wait))

A writer notes in a ledger of its own what it is about to keep, and then that it was kept. After `LIVES` kills the store
has to hold every pass that was noted as kept, and whole every pass that is there at all; then a new one is begun, whose
making is interrupted too.
"""

import json
import os
import random
import subprocess
import sys
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct

from context_guard.edit_log import LoggedEdit, LoggedPass, Omitted, RawImage, RawOutput, Replaced
from context_guard.records import ItemResult, Record
from context_guard_effects.store import Place, Store, given_as, open_store

ROOT = Path(__file__).resolve().parents[1]
LIVES = 10
PAUSE = 0.08
"""Most seconds between a writer's start and its end: some twenty passes, or none."""


class Tally(Struct):
    kills: int = 0
    stores: int = 0
    passes: int = 0
    """That were noted as kept, every one found."""
    unnoted: int = 0
    """That were found whole although their writer died before it could note them."""
    undone: int = 0
    """That were begun and of which nothing was found."""
    outputs: int = 0
    """That came back with the SHA-256 they had."""


class Stores(Struct, frozen=True):
    """Where the stores are, other than in files."""

    make: Callable[[int], Place]
    """The place of the next one, empty."""
    wait: Callable[[Place], None]
    """Until nothing works any more for writers that are dead."""
    pause: float = PAUSE


def kill_writers(folder: Path, kills: int, seed: int, stores: Stores | None = None) -> Tally:
    """Raises AssertionError with the first thing that was lost."""
    stores = stores or Stores(lambda number: folder / f"store-{number}", lambda _: None)
    tally = Tally()
    dice = random.Random(seed)
    while tally.kills < kills:
        place = stores.make(tally.stores)
        names = [(name, folder / f"{tally.stores}-{name}.jsonl") for name in ("one", "two")]
        tally.stores += 1
        writers = [_Writer(place, name, ledger, dice.getrandbits(32)) for name, ledger in names]
        try:
            _start(writers)
            for _ in range(min(LIVES, kills - tally.kills)):
                victims = dice.choice((writers[:1], writers[1:], writers))
                time.sleep(dice.uniform(0, stores.pause))
                for writer in victims:
                    writer.kill()
                tally.kills += 1
                _start(victims)
        finally:
            for writer in writers:
                writer.kill()
        stores.wait(place)
        _check(place, writers, tally)
    return tally


def _start(writers: "list[_Writer]") -> None:
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.wait()


class _Writer:
    def __init__(self, place: Place, name: str, ledger: Path, seed: int) -> None:
        self.place, self.name, self.ledger, self.seed = place, name, ledger, seed
        self.lives = 0

    def start(self) -> None:
        self.lives += 1
        life = f"{self.name}-{self.lives}"
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(self.ledger), life, str(self.seed)],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(ROOT / "pipeline"), str(ROOT / "effects")]),
                "CONTEXT_GUARD_STORE": given_as(self.place),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def wait(self) -> None:
        """Until it begins to write."""
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == b"ready", self.process.communicate()[1].decode()

    def kill(self) -> None:
        self.process.kill()
        _, said = self.process.communicate()
        assert not said, f"{self.name} failed by itself: {said.decode()}"


def _check(place: Place, writers: list[_Writer], tally: Tally) -> None:
    begun: dict[str, dict[str, str]] = {}
    kept: dict[str, int] = {}
    for writer in writers:
        for line in writer.ledger.read_bytes().split(b"\n")[:-1] if writer.ledger.exists() else ():
            noted = json.loads(line)
            if "seq" in noted:
                kept[noted["witness"]] = noted["seq"]
            else:
                begun[noted["witness"]] = noted["outputs"]
    with open_store(place) as store:
        assert () == store.check()
        found = {pass_.witness: pass_ for pass_ in store.find([id for outputs in begun.values() for id in outputs])}
        assert kept == {witness: pass_.seq for witness, pass_ in found.items() if witness in kept}
        assert found.keys() <= begun.keys()
        assert store.status().passes == len(found)
        assert max(Counter(pass_.seq for pass_ in found.values()).values(), default=1) == 1
        for witness, outputs in begun.items():
            if witness in found:
                assert {edit.target for edit in found[witness].edits if isinstance(edit, Replaced)} <= outputs.keys()
                assert outputs == {id: _digest(store, id) for id in outputs}
                tally.outputs += len(outputs)
            else:
                assert [None] * len(outputs) == [store.raw(id) for id in outputs]
                tally.undone += 1
    tally.passes += len(kept)
    tally.unnoted += len(found) - len(kept)


def _digest(store: Store, id: str) -> str | None:
    raw = store.raw(id)
    return _sum(raw) if isinstance(raw, RawOutput) else None


def _sum(raw: RawOutput) -> str:
    parts = [raw.text, *(image.data for image in raw.images)]
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _write_for_ever(store: Store, ledger: int, life: str, dice: random.Random) -> None:
    number = 0
    while True:
        number += 1
        raws = tuple(_output(f"{life}-{number}-{n}", dice) for n in range(dice.randint(1, 3)))
        pass_ = _pass(f"{life}-{number}", raws)
        _note(ledger, {"witness": pass_.witness, "outputs": {raw.id: _sum(raw) for raw in raws}})
        kept = store.keep(pass_, raws)
        _note(ledger, {"witness": kept.witness, "seq": kept.seq})


def _output(id: str, dice: random.Random) -> RawOutput:
    """Small and large ones, some of which do not compress; some contents come again under other ids."""
    lines = dice.choice((0, 1, 40, 400, 4_000))
    text = "".join(f"{n}: {dice.choice(('ok', 'failed', 'half ' + chr(0xD83D)))}\n" for n in range(lines))
    image = RawImage("image/png", b64encode(dice.randbytes(dice.choice((100, 60_000)))).decode())
    return RawOutput(id=id, text=text, images=(image,) * dice.choice((0, 0, 0, 1)), session=id.partition("-")[0])


def _pass(witness: str, raws: tuple[RawOutput, ...]) -> LoggedPass:
    edits: tuple[LoggedEdit, ...] = tuple(Replaced(raw.id, (f"[context-guard] {raw.text[:2_000]!r}",)) for raw in raws)
    member = f"{raws[0].id}-member"
    result = ItemResult(entry_id=raws[0].id, kind="exchange", outcome="removed", omitted=(member,))
    record = Record(1, "run-end", "local/made-up", 1, 1, 1, 0.0, 1, False, (result,))
    return LoggedPass(witness=witness, edits=(*edits, Omitted(member)), record=record, session=witness[:3])


def _note(ledger: int, line: dict[str, Any]) -> None:
    """In one write, which outlives the process."""
    os.write(ledger, json.dumps(line).encode() + b"\n")


def main() -> None:
    ledger, life, seed = sys.argv[1:]
    print("ready", flush=True)
    noted = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    with open_store() as store:
        _write_for_ever(store, noted, life, random.Random(f"{seed}-{life}"))


if __name__ == "__main__":
    main()
