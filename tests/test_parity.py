"""Every chunking, segmentation and rendering of the original in ../shared/parity, equal under `Config.original()`.

Exceptions are the cases that a listed defect of the original reaches; each is named below with the right value.
"""

import gzip
import json
from functools import cache
from typing import Any

import msgspec
import pytest
from golden import spread
from shared_data import SHARED, needs_shared

from context_guard.candidates import Candidate
from context_guard.chunks import Cut, cut_chunks
from context_guard.config import Config
from context_guard.labels import tool_label
from context_guard.render import Rendering, render
from context_guard.segments import pack_segments

pytestmark = needs_shared

TIMESTAMPS = ("log-1-ansi", "log-3-blank", "log-4-ansi-crlf-blank", "log-6-huge")
"""Logs whose lines start with a time, which the original takes for search output."""

FILE_PATH = ("read-10-trailingnl",)
"""Reads called with `file_path`, which the original does not look at."""

Json = dict[str, Any]


@cache
def cases() -> dict[str, Json]:
    if not SHARED.is_dir():
        return {}
    with gzip.open(SHARED / "parity" / "cases.jsonl.gz", "rt", encoding="ascii") as file:
        return {case["name"]: case for case in map(spread, map(json.loads, file))}


@pytest.mark.parametrize("name", [name for name in cases() if name not in TIMESTAMPS])
def test_chunks_and_segments_are_the_originals(name: str) -> None:
    """Borders, texts and files of every chunk, and the chunks of every segment, are the original's."""
    for run in cases()[name]["runs"]:
        cut = cut_of(name, run)
        assert run["chunks"] == [
            {"index": it.index, "start": it.start, "end": it.end, "text": it.text, "files": list(it.files)}
            for it in cut.chunks
        ]
        assert run["segments"] == [list(it.chunks) for it in pack_segments(cut, config_of(run))]


@pytest.mark.parametrize("name", [name for name in cases() if name not in (*TIMESTAMPS, *FILE_PATH)])
def test_renderings_are_the_originals(name: str) -> None:
    """Every replacement, with its line counts, is the original's to the byte."""
    for run in cases()[name]["runs"]:
        for wanted in run["renders"]:
            ours = rendering_of(name, run, wanted)
            assert wanted["result"] == {
                "text": ours.text,
                "keptLines": ours.kept_lines,
                "totalLines": ours.total_lines,
            }


@pytest.mark.parametrize("name", TIMESTAMPS)
def test_a_log_is_no_search_output(name: str) -> None:
    """Defect timestamp-grep: lines that start with a time are cut in windows, and a gap names output lines."""
    for run in cases()[name]["runs"]:
        cut = cut_of(name, run)
        assert not cut.is_grep
        assert cases()[name]["text"] == "\n".join(chunk.text for chunk in cut.chunks)
        assert {()} == {chunk.files for chunk in cut.chunks}
        last = cut.chunks[-1]
        text = render(candidate_of(name, "bash", None), cut, (last.index,), config_of(run), "run-end").text
        gap = text.split("\n")[1]
        assert f"[… {last.start} line{'s' * (last.start != 1)} omitted (output lines 1–{last.start}) …]" == gap


@pytest.mark.parametrize("name", FILE_PATH)
def test_a_read_by_file_path_names_the_lines_of_its_file(name: str) -> None:
    """Defect file-path-read: `file_path` is the path too; but for that the rendering is the original's."""
    for run in cases()[name]["runs"]:
        for wanted in run["renders"]:
            args, result = wanted["candidate"].get("args") or {}, wanted["result"]
            by_file_path = "file_path" in args and "path" not in args
            expected = "\n".join(
                line.replace("(output lines ", "(lines ").replace(") …]", f" of {args['file_path']}) …]")
                if by_file_path and line.startswith("[… ") and "(output lines " in line
                else line
                for line in result["text"].split("\n")
            )
            ours = rendering_of(name, run, wanted)
            assert (expected, result["keptLines"], result["totalLines"]) == (
                ours.text,
                ours.kept_lines,
                ours.total_lines,
            )


def test_every_exception_is_needed() -> None:
    """A case that is equal to the original is not among the exceptions."""
    for name in TIMESTAMPS:
        assert any(
            [it["files"] for it in run["chunks"]] != [list(it.files) for it in cut_of(name, run).chunks]
            for run in cases()[name]["runs"]
        ), name
    for name in FILE_PATH:
        assert any(
            wanted["result"]["text"] != rendering_of(name, run, wanted).text
            for run in cases()[name]["runs"]
            for wanted in run["renders"]
        ), name


def rendering_of(name: str, run: Json, wanted: Json) -> Rendering:
    given = wanted["candidate"]
    candidate = candidate_of(name, given["toolName"], given.get("args"), given["entryId"])
    return render(candidate, cut_of(name, run), tuple(wanted["keep"]), config_of(run), "run-end")


def cut_of(name: str, run: Json) -> Cut:
    return cut_chunks(candidate_of(name, "bash", None), config_of(run))


def candidate_of(name: str, tool: str, args: Json | None, entry_id: str = "e") -> Candidate:
    printed = "" if args is None else json.dumps(args, ensure_ascii=False)
    return Candidate(
        entry_id=entry_id,
        tool=tool,
        args=printed,
        label=tool_label(tool, printed),
        text=cases()[name]["text"],
        is_error=False,
        turn=None,
    )


def config_of(run: Json) -> Config:
    max_chars, max_chunks = run["segmentArgs"]
    options = run["chunkOptions"]
    cuts = (
        {}
        if options is None
        else {
            "max_chunks": options["maxChunks"],
            "min_chunk_chars": options["minTargetChars"],
            "max_chunk_chars": options["maxTargetChars"],
        }
    )
    return msgspec.structs.replace(
        Config.original(), max_segment_chars=max_chars, max_chunks_per_segment=max_chunks, **cuts
    )
