"""What the store takes, in time and on disk, for the tool outputs of Pi sessions.

    python benchmarks/store.py [--recalls 10000] SESSION...

Each output is kept by a pass of its own, as a run end keeps one or several. Wall times; the disk is that of --folder.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "pipeline"), str(ROOT / "effects")]

from context_guard.edit_log import LoggedPass, RawOutput, Replaced  # noqa: E402
from context_guard.formats import pi  # noqa: E402
from context_guard.recall import recall_output  # noqa: E402
from context_guard.transcript import images_of, text_of  # noqa: E402
from context_guard_effects.store import SqliteStore, open_store  # noqa: E402

SMALLEST = 400
"""Characters; what is shorter is never edited (`smallResultMinChars`)."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--recalls", type=int, default=10_000)
    arguments.add_argument("--folder", help="where the store is made; by default where temporary files are")
    arguments.add_argument("sessions", type=Path, nargs="+")
    given = arguments.parse_args()
    outputs = [output for path in given.sessions for output in read_outputs(path)]
    size = sum(len(output.text.encode("utf-8", "surrogatepass")) for output in outputs)
    print(f"{len(outputs)} outputs of {SMALLEST} characters and more, {size / 1e6:.2f} MB")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder, open_store(Path(folder) / "store.db") as store:
        tell("keep one output", [timed(partial(keep, store, output)) for output in outputs])
        status = store.status()
        ids = [output.id for output in outputs]
        rounds = [ids[n % len(ids)] for n in range(given.recalls)]
        tell("raw(id)", [timed(partial(store.raw, id)) for id in rounds])
        tell("recall of a first page", [timed(partial(page, store, id)) for id in rounds])
        tell("find(all ids), first time", [timed(partial(store.find, ids))])
        tell("find(all ids), again", [timed(partial(store.find, ids)) for _ in range(100)])
        store.close()
        on_disk = sum(file.stat().st_size for file in Path(folder).iterdir())
    print(f"raw {status.raw_size / 1e6:.2f} MB, on disk {on_disk / 1e6:.2f} MB: {on_disk / status.raw_size:.0%}")


def read_outputs(path: Path) -> list[RawOutput]:
    transcript = pi.read(path.read_bytes()).unwrap()
    return [
        RawOutput(id=f"{path.stem}-{entry.id}", text=text, session=transcript.session)
        for entry in transcript.entries
        if entry.role == "tool" and len(text := text_of(entry.raw)) >= SMALLEST and not images_of(entry.raw)
    ]


def keep(store: SqliteStore, output: RawOutput) -> None:
    edit = Replaced(output.id, (f"[context-guard] {output.text[:1_000]}",))
    store.keep(LoggedPass(witness="w", edits=(edit,), session=output.session), (output,))


def page(store: SqliteStore, id: str) -> None:
    raw = store.raw(id)
    assert isinstance(raw, RawOutput)
    recall_output(raw).unwrap()


def timed(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def tell(name: str, seconds: list[float]) -> None:
    print(f"{name:28} {len(seconds):6} x median {median(seconds) * 1e3:7.3f} ms, all {sum(seconds):6.2f} s")


if __name__ == "__main__":
    main()
