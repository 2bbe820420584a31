"""What is there without a judge: keep all, head and tail, and rankings of windows by the words of the answer."""

from collections import Counter
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from math import log

from benchmarks.train_local_judge.material import Case

WINDOW = 800
BUDGET = 0.3

Lines = tuple[int, ...] | None
Method = Callable[[Case], Lines]


def keep_all(case: Case) -> Lines:
    return None


def head_tail(case: Case) -> Lines:
    lines = case["output"].split("\n")
    room = len(case["output"]) * BUDGET / 2
    head, tail = _fill(lines, range(len(lines)), room), _fill(lines, reversed(range(len(lines))), room)
    return tuple(sorted({*head, *tail}))


def bm25_words(case: Case) -> Lines:
    """BM25 over words between white space."""
    windows = _windows(case["output"].split("\n"))
    texts = [text.split() for _, _, text in windows]
    return _best(case, windows, _bm25(texts, set(_query(case).split())))


def bm25s(case: Case) -> Lines:
    """The package of that name, with its own tokenizer and English stop words."""
    package = import_module("bm25s")
    windows = _windows(case["output"].split("\n"))
    ranking = package.BM25()
    ranking.index(
        package.tokenize([text for _, _, text in windows], stopwords="en", show_progress=False), show_progress=False
    )
    words = package.tokenize([_query(case)], stopwords="en", show_progress=False, return_ids=False)[0]
    scores = ranking.get_scores(words) if words else [0.0] * len(windows)
    return _best(case, windows, [float(score) for score in scores])


def methods() -> dict[str, Method]:
    found: dict[str, Method] = {"keep all": keep_all, "head and tail": head_tail, "BM25, whitespace": bm25_words}
    if find_spec("bm25s"):
        found["bm25s"] = bm25s
    return found


def _query(case: Case) -> str:
    return f"{case['question']} {case['answer']}"


def _fill(lines: list[str], order: Iterable[int], room: float) -> list[int]:
    taken: list[int] = []
    for at in order:
        room -= len(lines[at]) + 1
        if room < 0:
            break
        taken.append(at)
    return taken


def _windows(lines: list[str]) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    start = 0
    while start < len(lines):
        stop, size = start + 1, len(lines[start])
        while stop < len(lines) and size + len(lines[stop]) < WINDOW:
            size += len(lines[stop]) + 1
            stop += 1
        found.append((start, stop, "\n".join(lines[start:stop])))
        start = stop
    return found


def _bm25(texts: list[list[str]], query: set[str]) -> list[float]:
    counts = [Counter(text) for text in texts]
    holding = Counter(word for count in counts for word in count)
    mean = sum(map(len, texts)) / len(texts) or 1.0
    scores = []
    for text, count in zip(texts, counts, strict=True):
        norm = 1.2 * (0.25 + 0.75 * len(text) / mean)
        hits = sorted(query & count.keys())
        idf = [log(1 + (len(texts) - holding[word] + 0.5) / (holding[word] + 0.5)) for word in hits]
        scores.append(sum(i * count[word] * 2.2 / (count[word] + norm) for i, word in zip(idf, hits, strict=True)))
    return scores


def _best(case: Case, windows: list[tuple[int, int, str]], scores: list[float]) -> Lines:
    room = len(case["output"]) * BUDGET
    kept: set[int] = set()
    for at in sorted(range(len(windows)), key=lambda at: -scores[at]):
        start, stop, text = windows[at]
        if not kept or len(text) <= room:
            kept |= set(range(start, stop))
            room -= len(text) + 1
    return tuple(sorted(kept))
