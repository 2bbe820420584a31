"""The pipeline is pure, and its stages build on one another: docs/architecture.md, invariants 1, 2 and 7."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType
from typing import get_type_hints

import msgspec
import pytest

import context_guard
from context_guard.config import Config

ROOT = Path(__file__).resolve().parents[1]
PIPELINE = ROOT / "pipeline"
SOURCES = sorted((PIPELINE / "context_guard").rglob("*.py"))

ALLOWED = {
    "base64",
    "binascii",
    "bisect",
    "collections",
    "collections.abc",
    "datetime",
    "decimal",
    "difflib",
    "email.utils",
    "functools",
    "hashlib",
    "imagesize",
    "io",
    "itertools",
    "json",
    "math",
    "msgspec",
    "msgspec.structs",
    "posixpath",
    "re",
    "re2",
    "returns.result",
    "typing",
    "urllib.parse",
}
"""Modules without I/O, clock, randomness and environment; of some of them only what IMPURE does not name."""

IMPURE = {"open", "print", "input", "exec", "eval", "compile", "__import__", "breakpoint", "hash", "id"}
"""Built-ins that a pure function has no use for; `hash` of a text and `id` differ from process to process."""

IMPURE_METHODS = {
    "now",
    "today",
    "utcnow",
    "fromtimestamp",
    "localtime",
    "formatdate",
    "make_msgid",
    "FileIO",
    "open_code",
}

ORDER = (
    ("transcript",),
    ("span", "memory"),
    ("candidates", "small", "exchanges", "images", "items"),
    ("checkpoint",),
    ("chunks",),
    ("segments",),
    ("requests",),
    ("answers",),
    ("keep_sets",),
    ("holds", "past", "uses", "trims", "elisions", "gaps", "contents", "omissions", "render"),
    ("decisions",),
    ("whole",),
    ("gates",),
    ("drafts",),
    ("stages",),
)
"""The stages as they build on one another. What is not among them serves several; for those no circle is the rule."""

LEVELS = {name: level for level, names in enumerate(ORDER) for name in names}
JSON_HOLDERS = {
    "context_guard.formats.opened.Opened",
    "context_guard.formats.pi_session.PiSession",
    "context_guard.formats.pinned.Edited",
    "context_guard.formats.pinned.Pinned",
    "context_guard.cache.breakpoints.Placement",
    "context_guard.cost.prompt.Prompt",
    "context_guard.doctor.chart.Chart",
    "context_guard.doctor.chart.Shown",
}
"""What carries a host's own JSON through, at the border: frozen, but neither hashed nor passed between stages."""

HEAVY = {"trio", "httpx", "socket", "ssl", "subprocess", "rich", "click", "random", "asyncio", "re2", "imagesize"}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PIPELINE).with_suffix("").parts).removesuffix(".__init__")


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports by a relative path"
            yield node.module or ""


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_a_module_imports_nothing_with_effects(path: Path) -> None:
    """No I/O, clock, randomness or environment reaches the pipeline, and no module of the effects."""
    foreign = {name for name in imports_of(path) if name.split(".")[0] != "context_guard"}
    assert foreign <= ALLOWED


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_a_module_calls_nothing_with_effects(path: Path) -> None:
    """Nothing is opened or printed, no text is run as code, and no clock is read."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        assert not isinstance(node, ast.Global | ast.AsyncFunctionDef), f"line {node.lineno}"
        match node:
            case ast.Call(func=ast.Name(id=name)):
                assert name not in IMPURE, f"line {node.lineno}"
            case ast.Call(func=ast.Attribute(attr=name)):
                assert name not in IMPURE_METHODS, f"line {node.lineno}"


def test_a_stage_imports_only_earlier_stages() -> None:
    """A stage knows those of its own level and before, never a later one."""
    for path in SOURCES:
        stage = name_of(path).removeprefix("context_guard.")
        for name in imports_of(path):
            used = name.removeprefix("context_guard.")
            if stage in LEVELS and used in LEVELS:
                assert LEVELS[used] <= LEVELS[stage], f"{stage} imports {used}"


def test_every_stage_is_a_module() -> None:
    """The order names no module that is gone."""
    assert LEVELS.keys() <= {name_of(path).removeprefix("context_guard.") for path in SOURCES}


def test_imports_go_in_no_circle() -> None:
    """The modules of the pipeline can be put in an order in which each imports only those before it."""
    modules = {name_of(path) for path in SOURCES} - {"context_guard"}
    graph = {name_of(path): {it for it in imports_of(path) if it in modules} for path in SOURCES}
    TopologicalSorter(graph).prepare()


def test_the_pipeline_works_by_itself_and_loads_nothing_heavy() -> None:
    """With ./pipeline alone on the path, a pass runs, and no socket, process, thread pool or terminal is loaded."""
    script = (
        "import sys\n"
        "import context_guard\n"
        "from context_guard.formats import pi\n"
        "from context_guard.answers import Asked\n"
        'head = b\'{"type":"session","version":3,"id":"s","timestamp":"","cwd":"/"}\\n\'\n'
        "transcript = pi.read(head).unwrap()\n"
        "planned = context_guard.plan(transcript, context_guard.Config())\n"
        "assert context_guard.settle(planned, Asked()).drafts == ()\n"
        f"print(*sorted({HEAVY!r} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(PIPELINE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (0, "", "") == (done.returncode, done.stdout.strip(), done.stderr)


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(context_guard.__path__, "context_guard."):
        yield importlib.import_module(found.name)


def structs() -> list[type[msgspec.Struct]]:
    return sorted(
        {
            value
            for module in modules()
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, msgspec.Struct) and value is not msgspec.Struct
        },
        key=lambda struct: (struct.__module__, struct.__qualname__),
    )


@pytest.mark.parametrize("struct", structs(), ids=lambda struct: f"{struct.__module__}.{struct.__qualname__}")
def test_a_value_between_stages_is_frozen_and_comparable(struct: type[msgspec.Struct]) -> None:
    """Every struct is frozen, compared by value, and has no field that could change or could not be hashed."""
    options = struct.__struct_config__
    assert options.frozen
    assert options.eq
    hints = get_type_hints(struct)
    mutable = [name for name in struct.__struct_fields__ if holds_mutable(hints[name])]
    assert (f"{struct.__module__}.{struct.__qualname__}" in JSON_HOLDERS) == bool(mutable)


def holds_mutable(hint: object) -> bool:
    origin = getattr(hint, "__origin__", hint)
    if origin is Callable:  # what a function takes and gives is not held
        return False
    return origin in (list, dict, set, bytearray) or any(map(holds_mutable, getattr(hint, "__args__", ())))


@pytest.mark.parametrize("field", msgspec.structs.fields(Config), ids=lambda field: field.encode_name)
def test_a_threshold_has_a_description_and_a_range(field: msgspec.structs.FieldInfo) -> None:
    """Every setting says what it does, and every number in which range it may be; its default is in it."""
    hint = get_type_hints(Config, include_extras=True)[field.name]
    (meta,) = hint.__metadata__
    assert meta.description.endswith((".", ")"))
    if hint.__origin__ in (int, float):
        assert meta.ge is not None
        assert meta.le is not None
    assert field.default == msgspec.convert(field.default, hint)
