"""Fits the embedded judge and writes its data file.

    python -m benchmarks.train_local_judge [--bench FOLDER] [--folds FILE] [--seed N] [--cases N]

Made-up cases over the standard library and installed permissive packages are always used; real sessions only where a
folder with labels of later use is given, and without one the rates of later use stay as they are in the data file.
`--folds` also writes five models that each leave out a fifth of the sessions, for honest figures on them.
Wanted beside the project: `pip install -e '.[benchmarks]'`.
"""

import argparse
import hashlib
import json
import textwrap
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import msgspec
from benchmarks.given import file_to_write, later_use_folder
from benchmarks.quality.later_use import Item, load_items
from benchmarks.train_local_judge.learn import Model, learn
from benchmarks.train_local_judge.material import Case, is_reserved, make_cases, read_sources
from benchmarks.train_local_judge.rows import FOLDS, Row, later_use_rows, made_up_rows

DATA = Path(__file__).resolve().parents[2] / "pipeline" / "context_guard" / "local_judge" / "learnt"
SEED, CASES = 7, 1_100


def main() -> None:
    ask = argparse.ArgumentParser(description="Fits the embedded judge.")
    ask.add_argument("--bench", type=later_use_folder, help="folder with items.jsonl.gz and gold.jsonl.gz")
    ask.add_argument("--folds", type=file_to_write, help="where to write the models of the cross-validation")
    ask.add_argument("--seed", type=int, default=SEED)
    ask.add_argument("--cases", type=int, default=CASES)
    given = ask.parse_args()
    cases = make_cases(read_sources(skip=is_reserved), given.cases, given.seed)
    items, gold = load_items(given.bench) if given.bench else ([], {})
    with ProcessPoolExecutor(2) as pool:
        made_up = [row for rows in pool.map(_made_up, _slices(cases, 25)) for row in rows]
        pairs = [(item, gold[item["id"]]) for item in items]
        real = [
            (item["setting"], row)
            for item, rows in zip(items, pool.map(_real, pairs, chunksize=8), strict=True)
            for row in rows
        ]
    end, mid = ([row for setting, row in real if setting == name] for name in ("run-end", "mid-run"))
    print(f"{len(cases)} made-up cases, {len(items)} real items: {len(made_up)}, {len(end)} and {len(mid)} segments")
    model = learn(made_up, end, mid)
    command = f"python -m benchmarks.train_local_judge --seed {given.seed} --cases {given.cases}"
    made = {
        "command": command + (" --bench <later-use sessions>" if items else ""),
        "seed": given.seed,
        "made_up_cases": len(cases),
        "real_items": len(items),
        "data": _fingerprint(cases, items),
    }
    write_modules(DATA, made, model)
    if given.folds and items:
        folds = []
        for fold in range(FOLDS):
            folds.append(learn(made_up, *([row for row in rows if row.fold != fold] for rows in (end, mid))))
            print(f"fold {fold + 1} of {FOLDS}", flush=True)
        given.folds.write_text(json.dumps(folds), encoding="utf-8")


def _made_up(cases: list[Case]) -> list[Row]:
    return list(made_up_rows(cases))


def _real(pair: tuple[Item, Item]) -> list[Row]:
    return list(later_use_rows(*pair))


def _slices(cases: list[Case], size: int) -> Iterable[list[Case]]:
    return (cases[i : i + size] for i in range(0, len(cases), size))


def _fingerprint(cases: list[Case], items: list[Item]) -> str:
    """SHA-256 of everything that was learnt from."""
    digest = hashlib.sha256()
    for each in (*cases, *items):
        digest.update(json.dumps(each, sort_keys=True, ensure_ascii=True).encode())
    return digest.hexdigest()


def write_modules(folder: Path, made: Model, model: Model) -> None:
    """One module a model. The rates of later need stay as they are where nothing was there to learn them from."""
    answer = {"made": made, **{name: value for name, value in model.items() if name in ("part", "none")}}
    modules = {"answer": ("What the answer rests on; `made` says how all of it was learnt.", answer)}
    for name, told in (
        ("later_mid", "What the rest of a run needs, part by part."),
        ("stay", "What later runs need of an output, by where it stands in its run."),
    ):
        if name in model:
            modules[name] = (told, model[name])
    for name, (told, value) in modules.items():
        (folder / f"{name}.py").write_text(_module(name, told, value), encoding="utf-8")


def _module(name: str, told: str, value: Model) -> str:
    text = msgspec.json.encode(value).decode().replace("],[", "], [").replace(",", ", ").replace(",  ", ", ")
    rows = textwrap.wrap(text, 118, break_long_words=False, break_on_hyphens=False)
    return f'"""{told}"""\n\n{name.upper()} = r"""\n' + "\n".join(rows) + '\n"""\n'


if __name__ == "__main__":
    main()
