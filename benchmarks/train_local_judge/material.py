"""Made-up cases over real code: outputs as tools print them, a question, an answer, and the lines the answer rests on.

The outputs are cut from the standard library and from installed packages under permissive licences, so nothing has to
be shipped; the same seed over the same files makes the same cases. Every case is a dictionary in the form of the
labelled outputs of `judge_bed.py`.
"""

import ast
import re
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

from msgspec import Struct

PACKAGES = (
    "anyio",
    "attr",
    "click",
    "h11",
    "httpx",
    "markdown_it",
    "msgspec",
    "mypy",
    "outcome",
    "packaging",
    "pluggy",
    "returns",
    "rich",
    "sniffio",
    "trio",
)
"""Installed packages that may be cut from (MIT, BSD, Apache-2.0); one that is missing is left out."""
SMALLEST_FILE, LARGEST_FILE = 6_000, 90_000
LEAST_OUTPUT = 4_200

Case = dict[str, Any]

_SKIPPED = re.compile(r"/(?:test|tests|idlelib|lib2to3|site-packages|pydoc_data|encodings|__pycache__)/")
_WORD = re.compile(r"\b[A-Za-z_]\w{3,}\b")
_COMMON = frozenset(
    _WORD.findall("self return else import from class except raise with True False None elif while yield")
)


class Function(Struct, frozen=True):
    first: int
    last: int
    name: str
    doc: str


class Source(Struct, frozen=True):
    path: str
    lines: tuple[str, ...]
    functions: tuple[Function, ...]
    lower: str
    """All of it in lower case, to search in."""

    @property
    def group(self) -> str:
        """What a dead end of the same topic shares with it."""
        return self.path.split("/")[1] if self.path.count("/") > 1 else self.path.split("/")[0]


def is_reserved(path: str) -> bool:
    """Whether a file is never learnt from: the project's own labelled set is cut from these."""
    return crc32(path.encode()) % 8 == 0


def is_own(path: str) -> bool:
    """Whether a file is one of those that the project's own labelled set is cut from: reserved, and part of Python."""
    return path.startswith("Lib/") and is_reserved(path)


def read_sources(skip: Callable[[str], bool] = lambda path: False) -> tuple[Source, ...]:
    """Files in the order of their paths; `skip` says which are left for another purpose."""
    roots = [
        (Path(sysconfig.get_paths()["stdlib"]), "Lib", sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")))
    ]
    installed = Path(sysconfig.get_paths()["purelib"])
    for package in PACKAGES:
        if (installed / package).is_dir():
            roots.append((installed, "packages", sorted((installed / package).rglob("*.py"))))
    found: list[Source] = []
    for root, name, files in roots:
        for file in files:
            path = f"{name}/{file.relative_to(root).as_posix()}"
            if _SKIPPED.search(f"/{file.relative_to(root).as_posix()}") or skip(path):
                continue
            if SMALLEST_FILE <= file.stat().st_size <= LARGEST_FILE and (source := _read(file, path)) is not None:
                found.append(source)
    return tuple(found)


def make_cases(sources: Sequence[Source], count: int, seed: int) -> list[Case]:
    """`count` cases in which something is needed, in the shares of `_KINDS`, and half as many dead ends beside them."""
    maker = _Maker(tuple(sources), Random(seed))
    makers = [make for make, share in _KINDS for _ in range(share)]
    cases = [makers[i % len(makers)](maker, i) for i in range(count)]
    for case in cases:
        if not case["history"] and maker.random.random() < 0.3:
            other = maker.random.choice(cases)
            case["history"] = [{"user": other["question"], "assistant": other["answer"]}]
    has_failure = any(case["is_error"] for case in cases)
    return (
        cases
        + [maker.dead_end(i, cases) for i in range(count // 2)]
        + [maker.past_failure(i, cases) for i in range(count // 20 if has_failure else 0)]
    )


def _read(file: Path, path: str) -> Source | None:
    text = file.read_text(encoding="utf-8", errors="replace")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    functions = tuple(
        Function(node.lineno, node.end_lineno or node.lineno, node.name, ast.get_docstring(node) or "")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (node.end_lineno or 0) - node.lineno >= 4
    )
    return Source(path, tuple(text.split("\n")), functions, text.lower()) if len(functions) >= 4 else None


def _title(source: Source, function: Function) -> str:
    return f"tests/test_{source.path.rpartition('/')[2]}::test_{function.name}"


def _topic(case: Case) -> str:
    return "/".join(case["source"].split("/")[:2])


class _Maker:
    def __init__(self, sources: tuple[Source, ...], random: Random) -> None:
        self.sources = sources
        self.random = random

    # --- words

    def words(self, text: str, share: float = 0.7) -> str:
        return " ".join(word for word in text.split() if self.random.random() < share)

    def names(self, lines: Sequence[str]) -> list[str]:
        return [w for w in dict.fromkeys(_WORD.findall(" ".join(lines))) if w not in _COMMON]

    def style(self) -> str:
        return self.random.choices(["ident", "cite", "vague"], [5, 3, 2])[0]

    def tell(self, source: Source, f: Function, style: str) -> str:
        """What an answer says of a function: by its names, its place, or in other words only."""
        r = self.random
        body = [line.strip() for line in source.lines[f.first - 1 : f.last]]
        names, comments = self.names(body), [line.lstrip("# ") for line in body if line.startswith("#")]
        said = (
            []
            if style == "vague"
            else [
                r.choice(
                    [
                        "`{}` does that:",
                        "It happens in `{}`.",
                        "See `{}`;",
                        "{}() is where:",
                        "Das macht `{}`:",
                        "Die Logik steht in {}.",
                        "{}",
                    ]
                ).format(f.name)
            ]
        )
        if f.doc and r.random() < 0.75:
            said.append(self.words(" ".join(f.doc.split(".")[0].split()[:25])) + ".")
        elif comments:
            said.append(self.words(" ".join(comments[:2])) + ".")
        for name in r.sample(names, min(r.randint(1, 5) if style != "vague" else 0, len(names))):
            said.append(
                r.choice(
                    [
                        "It uses `{}`.",
                        "`{}` is checked.",
                        "then {} is set,",
                        "via {}",
                        "Dort wird `{}` gesetzt.",
                        "when {} is given",
                    ]
                ).format(name)
            )
        codes = [line for line in body if 15 < len(line) < 70 and "`" not in line]
        if codes and style != "vague" and r.random() < 0.3:
            said.append(f"`{r.choice(codes)}` is the relevant line.")
        if style == "vague":
            plain = [w for w in re.findall(r"[a-z]{4,}", " ".join([*body, f.doc]).lower()) if w not in _COMMON]
            said.append(" ".join(r.sample(plain, min(6, len(plain)))) + ".")
        if style == "cite":
            at = r.choice([str(r.randint(f.first, f.last)), f"{f.first}-{f.last}", str(f.first)])
            said.append(f"({r.choice([source.path, source.path.rpartition('/')[2]])}:{at})")
        return " ".join(said)

    def ask(self, name: str, doc: str = "") -> str:
        parts = " ".join(part for part in re.split(r"_|(?<=[a-z])(?=[A-Z])", name) if part)
        return self.random.choice(
            [
                "How does {} work here?",
                "What happens on {}?",
                "Where is {} handled?",
                "Why does {} fail sometimes?",
                "Explain {}.",
                "I need to change {}, what must I look at?",
                "Wo wird {} behandelt?",
                "Fix {}.",
            ]
        ).format(parts if self.random.random() < 0.6 else (self.words(doc.split(".")[0]) or parts))

    def aside(self, share: float = 0.35) -> str:
        """What a long answer says of other things."""
        said = ""
        while self.random.random() < share:
            other = self.random.choice(self.sources)
            said += " " + self.tell(other, self.random.choice(other.functions), self.style())
            share = 0.5
        return said

    def case(self, kind: str, i: int, source: str, style: str, **fields: Any) -> Case:
        return {
            "id": f"{kind}{i}",
            "source": source,
            "kind": kind,
            "tool": "bash",
            "is_error": False,
            "notes": "",
            "history": [],
            "maybe": [],
            "expect": "some",
            "style": style,
            **fields,
        }

    # --- outputs

    def read(self, i: int) -> Case:
        r = self.random
        while True:
            source = r.choice(self.sources)
            first, lines = 1, source.lines
            if len("\n".join(lines)) > 40_000 or r.random() < 0.2:
                first = r.randint(1, max(1, len(lines) - 400))
                lines = lines[first - 1 : first - 1 + r.randint(250, 600)]
            here = [
                f
                for f in source.functions
                if first <= f.first and f.last < first + len(lines) and f.last - f.first < 120
            ]
            if len(here) >= 3 and len("\n".join(lines)) >= LEAST_OUTPUT:
                break
        chosen = r.sample(here, min(r.choice([1, 1, 1, 2, 2, 3, 4]), len(here)))
        style, told, history = self.style(), chosen, []
        if len(chosen) > 1 and r.random() < 0.35:
            told = chosen[:1]
            history = [
                {
                    "user": "We are working on " + self.ask(chosen[1].name, chosen[1].doc),
                    "assistant": " ".join(self.tell(source, f, "ident") for f in chosen[1:]),
                }
            ]
        answer = " ".join(self.tell(source, f, style) for f in told) + self.aside()
        question = self.ask(chosen[0].name, chosen[0].doc)
        if r.random() < 0.4:
            question += f" ({source.path.rpartition('/')[2]})"
        args: dict[str, Any] = {"path": source.path}
        output = "\n".join(lines)
        tool = "read"
        if first > 1:
            args.update(offset=first, limit=len(lines))
        if r.random() < 0.3:
            tool, args = "Read", {"file_path": source.path}
            output = "\n".join(f"{first + k:6d}→{line}" for k, line in enumerate(lines))
        elif r.random() < 0.3:
            tool, args = "bash", {"command": f"sed -n '{first},{first + len(lines) - 1}p' {source.path}"}
        return self.case(
            "read",
            i,
            source.path,
            style,
            tool=tool,
            args=args,
            question=question,
            answer=answer,
            history=history,
            output=output,
            needed=[[f.first - first + 1, f.last - first + 1] for f in chosen],
        )

    def whole(self, i: int) -> Case:
        case = self.read(i)
        r = self.random
        source = next(each for each in self.sources if each.path == case["source"])
        names = [f.name for f in source.functions]
        task = r.choice(
            [
                "Translate every function of {} to Rust.",
                "Review {} completely.",
                "Port {} to TypeScript.",
                "Summarise what each function of {} does.",
                "List all functions of {} with a line each.",
                "Document everything in {}.",
                "Rename all the helpers of {}, one by one.",
            ]
        )
        answer = r.choice(["Done, all of them: ", "Here is the complete list: ", "Every function is covered: "])
        return {
            **case,
            "id": f"whole{i}",
            "kind": "whole",
            "expect": "whole",
            "history": [],
            "question": task.format(source.path.rpartition("/")[2]),
            "answer": answer + ", ".join(r.sample(names, min(len(names), r.randint(4, 12)))) + ".",
            "needed": [[1, case["output"].count("\n") + 1]],
        }

    def search(self, i: int) -> Case:
        r = self.random
        while True:
            start = r.choice(self.sources)
            names = [name for name in self.names(start.lines) if len(name) > 4]
            word = r.choice(names)
            near = [s for s in self.sources if s.group == start.group]
            scope = near if len(near) > 4 and r.random() < 0.5 else r.sample(self.sources, min(60, len(self.sources)))
            low = word.lower()
            hits = [
                (s.path, n, line)
                for s in scope
                if low in s.lower
                for n, line in enumerate(s.lines, 1)
                if low in line.lower()
            ]
            hits = sorted(hits[:200])
            output = "\n".join(f"{path}:{n}:{line}" for path, n, line in hits)
            places: dict[str, list[tuple[int, int, str]]] = {}
            for row, (path, n, line) in enumerate(hits, 1):
                places.setdefault(path, []).append((row, n, line))
            if len(hits) >= 35 and len(places) >= 3 and len(output) >= LEAST_OUTPUT:
                break
        style = r.choices(["cite", "ident", "vague"], [6, 3, 1])[0]
        picked = r.sample(sorted(places), min(len(places) - 1, r.choice([1, 1, 2, 2, 3])))
        needed, said = [], []
        for path in picked:
            at = r.randrange(len(places[path]))
            some = places[path][at : at + r.randint(1, 5)]
            needed.append([some[0][0], some[-1][0]])
            names = [n for _, _, line in some for n in self.names([line]) if n.lower() != word.lower()]
            text = r.choice(["`{}`", "{} is set via", "{} decides:"]).format(r.choice(names or [word]))
            if len(names) > 2 and r.random() < 0.7:
                text += " with {} and {}".format(*r.sample(names, 2))
            if style == "cite":
                text += (
                    f" ({r.choice([path, path.rpartition('/')[2]])}:"
                    + (
                        ", ".join(str(n) for _, n, _ in some[: r.randint(1, 3)])
                        if r.random() < 0.6
                        else f"{some[0][1]}-{some[-1][1]}"
                    )
                    + ")"
                )
            elif style == "ident" and r.random() < 0.6:
                text += f" in {path.rpartition('/')[2]}"
            said.append(text)
        rest = sorted(set(places) - set(picked))
        answer = ". ".join(said) + "."
        if rest and r.random() < 0.25:
            answer += f" The hits in {', '.join(r.sample(rest, min(2, len(rest))))} are unrelated."
        return self.case(
            "grep",
            i,
            start.path,
            style,
            args={"command": f"grep -rn '{word}' ."},
            question=self.ask(word),
            answer=answer + self.aside(0.2),
            output=output,
            needed=needed,
        )

    def tests(self, i: int) -> Case:
        r = self.random
        chosen: list[tuple[Source, Function]] = []
        while len(chosen) < 60:
            source = r.choice(self.sources)
            chosen += [(source, f) for f in source.functions[:30]]
        failing = sorted(r.sample(range(len(chosen)), r.choice([1, 1, 2, 3])))
        lines = [" test session starts ".center(70, "="), f"collected {len(chosen)} items", ""]
        lines += [
            f"{_title(s, f)} {'FAILED' if k in failing else 'PASSED'} [{100 * k // len(chosen):3d}%]"
            for k, (s, f) in enumerate(chosen)
        ]
        lines += ["", " FAILURES ".center(70, "=")]
        needed, said = [], []
        for k in failing:
            source, f = chosen[k]
            body = source.lines[f.first - 1 : f.first - 1 + r.randint(6, 25)]
            got, want = r.randint(100, 9_999), r.randint(100, 9_999)
            begin = len(lines) + 1
            lines += [
                f" test_{f.name} ".center(60, "_"),
                "",
                *body,
                f">       assert result == {want}",
                f"E       assert {got} == {want}",
                "",
                f"tests/test_{source.path.rpartition('/')[2]}:{f.first}: AssertionError",
            ]
            needed.append([begin, len(lines)])
            some = r.sample(self.names(body), min(3, len(self.names(body))))
            said.append(
                r.choice([f"test_{f.name} fails", f"`test_{f.name}` is red"])
                + r.choice([f": got {got} instead of {want}", f", because {' '.join(some)}", ""])
            )
        begin = len(lines) + 1
        lines += [" short test summary info ".center(70, "=")]
        lines += [f"FAILED {_title(*chosen[k])} - assert" for k in failing]
        lines += [f"{len(failing)} failed, {len(chosen) - len(failing)} passed in 3.21s"]
        needed.append([begin, len(lines)])
        return self.case(
            "testlog",
            i,
            f"log{i}",
            "ident",
            args={"command": "python -m pytest -v"},
            is_error=True,
            question=r.choice(
                [
                    "Do the tests pass?",
                    "Run the tests and tell me what is broken.",
                    "Why does CI fail?",
                    "Laufen die Tests?",
                ]
            ),
            answer=". ".join(said) + f". The other {len(chosen) - len(failing)} pass.",
            output="\n".join(lines),
            needed=needed,
        )

    def lint(self, i: int) -> Case:
        r = self.random
        rules = [
            ("E501", "line too long ({} > 88)"),
            ("F401", "`{}` imported but unused"),
            ("F841", "local variable `{}` is assigned to but never used"),
            ("B006", "mutable default for `{}`"),
            ("N802", "function name `{}` should be lowercase"),
            ("F821", "undefined name `{}`"),
        ]
        rows: list[tuple[str, int, str, str]] = []
        while len(rows) < r.randint(70, 200):
            source = r.choice(self.sources)
            for f in r.sample(source.functions, min(len(source.functions), r.randint(1, 12))):
                code, text = r.choices(rules, [8, 5, 4, 2, 3, 0])[0]
                rows.append((source.path, f.first, code, text.format(f.name)))
        at = sorted(r.sample(range(len(rows)), r.choice([1, 1, 2, 3])))
        for k in at:
            path, line, _, _ = rows[k]
            rows[k] = (path, line, "F821", rules[-1][1].format(r.choice(self.names(r.choice(self.sources).lines))))
        style = r.choice(["cite", "ident"])
        said = [
            f"{rows[k][3].replace('`', '')} "
            + (f"({rows[k][0]}:{rows[k][1]})" if style == "cite" else f"in {rows[k][0].rpartition('/')[2]}")
            for k in at
        ]
        lines = [f"{path}:{line}:{r.randint(1, 60)}: {code} {text}" for path, line, code, text in rows]
        lines.append(f"Found {len(rows)} errors.")
        return self.case(
            "lint",
            i,
            f"lint{i}",
            style,
            args={"command": "ruff check ."},
            is_error=True,
            question=r.choice(["Which findings are real bugs?", "Is anything undefined?", "Fix the real ones."]),
            answer=f"Real ones: {'; '.join(said)}. The rest is style.",
            output="\n".join(lines),
            needed=[[k + 1, k + 1] for k in at],
            maybe=[[len(lines), len(lines)]],
        )

    def build(self, i: int) -> Case:
        r = self.random
        lines = []
        for _ in range(r.randint(90, 260)):
            source = r.choice(self.sources)
            lines.append(
                r.choice(
                    [
                        "   Compiling {} v{}.{}.{}",
                        "[{}/300] cc -O2 -c {}",
                        "npm warn deprecated {}@{}.{}.{}",
                        "copying {} -> build/lib{}",
                        "Downloading {}-{}.{}.{}.tar.gz",
                    ]
                ).format(source.path.rpartition("/")[2].removesuffix(".py"), *[r.randint(0, 30) for _ in range(3)])
            )
        source = r.choice(self.sources)
        f = r.choice(source.functions)
        shown = r.choice([line for line in source.lines[f.first - 1 : f.last] if line.strip()])
        missing = r.choice(self.names(r.choice(self.sources).lines))
        block = [
            f"{source.path}:{f.first}:{r.randint(1, 40)}: error: '{missing}' was not declared in this scope",
            f"{f.first:5d} | {shown}",
            "      | " + " " * r.randint(1, 30) + "^~~~~",
            f"note: in function '{f.name}'",
            f"make[1]: *** [{source.path}.o] Error 1",
        ]
        at = r.randint(len(lines) // 3, len(lines))
        lines[at:at] = block
        lines.append("make: *** [all] Error 2")
        return self.case(
            "buildlog",
            i,
            source.path,
            "ident",
            args={"command": "make -j2"},
            is_error=True,
            question=r.choice(["Why does the build fail?", "Build it.", "Warum bricht der Build ab?"]),
            answer=r.choice(
                [
                    f"`{missing}` is not declared in `{f.name}`.",
                    f"{source.path}:{f.first} uses {missing}, which is declared nowhere.",
                    f"The build stops at {f.name}: {missing} is missing.",
                ]
            ),
            output="\n".join(lines),
            needed=[[at + 1, at + len(block)]],
            maybe=[[len(lines), len(lines)]],
        )

    def history(self, i: int) -> Case:
        r = self.random
        lines: list[str] = []
        blocks: list[tuple[int, int, Source, Function, str]] = []
        while len("\n".join(lines)) < r.randint(5_000, 20_000):
            source = r.choice(self.sources)
            f = r.choice(source.functions)
            number = f"{r.getrandbits(160):040x}"
            begin = len(lines) + 1
            title = r.choice(["Fix {}", "Make {} faster", "Let {} take more", "Rework {}", "Test {}"]).format(f.name)
            lines += [f"commit {number}", f"Date:   2026-0{r.randint(1, 9)}-1{r.randint(0, 9)}", "", f"    {title}", ""]
            if f.doc and r.random() < 0.5:
                lines += [f"    {line}" for line in f.doc.split("\n")[:4]]
            lines += [f"diff --git a/{source.path} b/{source.path}", f"@@ -{f.first},8 +{f.first},9 @@"]
            lines += [r.choice(" +-  ") + line for line in source.lines[f.first - 1 : min(f.last, f.first + 24)]]
            blocks.append((begin, len(lines), source, f, number))
        picked = r.sample(blocks, min(len(blocks), r.choice([1, 1, 2])))
        said = [
            r.choice([f"{b[4][:8]} changed it:", f"Commit `{b[4][:10]}`:", "One commit did:"])
            + " "
            + self.tell(b[2], b[3], r.choice(["ident", "vague"]))
            for b in picked
        ]
        return self.case(
            "vcs",
            i,
            picked[0][2].path,
            "ident",
            args={"command": "git log -p -30"},
            question=r.choice(["Which commit changed {}?", "When did {} break?", "Who touched {}?"]).format(
                picked[0][3].name
            ),
            answer=" ".join(said) + self.aside(0.2),
            output="\n".join(lines),
            needed=[[b[0], b[1]] for b in picked],
        )

    def listing(self, i: int) -> Case:
        r = self.random
        shown = r.sample(self.sources, min(len(self.sources), r.randint(80, 200)))
        rows = [
            f"-rw-r--r-- 1 dev dev {r.randint(200, 90_000):7d} 2026-0{r.randint(1, 9)}-{r.randint(10, 28)} "
            f"{r.randint(10, 23)}:{r.randint(10, 59)} {s.path}"
            for s in shown
        ]
        at = sorted(r.sample(range(len(rows)), r.choice([1, 2, 3])))
        said = [
            r.choice([f"{shown[k].path.rpartition('/')[2]} ({rows[k].split()[4]} bytes)", f"`{shown[k].path}`"])
            for k in at
        ]
        return self.case(
            "listing",
            i,
            f"listing{i}",
            "ident",
            args={"command": "ls -lR"},
            question=r.choice(["Which files are the odd ones?", "What changed last?", "What is the biggest?"]),
            answer=f"{', '.join(said)} stand out.",
            output="\n".join(rows),
            needed=[[k + 1, k + 1] for k in at],
        )

    def manual(self, i: int) -> Case:
        r = self.random
        lines: list[str] = []
        sections: list[tuple[int, int, Source, Function]] = []
        size = r.randint(5_000, 25_000)
        while sum(map(len, lines)) < size:
            source = r.choice(self.sources)
            told = [f for f in source.functions if len(f.doc) > 150]
            if not told:
                continue
            f = r.choice(told)
            begin = len(lines) + 1
            lines += [f"## {f.name.replace('_', ' ')}", "", *f.doc.split("\n"), ""]
            sections.append((begin, len(lines) - 1, source, f))
        picked = r.sample(sections, min(len(sections), r.choice([1, 1, 2])))
        style = r.choice(["ident", "vague"])
        said = []
        for _, _, _, f in picked:
            sentences = [part for part in re.split(r"\.\s+", f.doc) if len(part.split()) > 4]
            said.append(self.words(" ".join(r.sample(sentences, min(2, len(sentences))) or [f.doc[:200]]), 0.6) + ".")
        return self.case(
            "doc",
            i,
            picked[0][2].path,
            style,
            tool="fetch",
            args={"url": "https://example.org/manual"},
            question=self.ask(picked[0][3].name, picked[0][3].doc),
            answer=" ".join(said) + self.aside(0.2),
            output="\n".join(lines),
            needed=[[s[0], s[1]] for s in picked],
        )

    # --- nothing needed

    def dead_end(self, i: int, cases: list[Case]) -> Case:
        """An output under the question and answer of another case, half of them of the same topic."""
        r = self.random
        material = [case for case in cases if case["expect"] == "some"]
        one, other = r.sample(material, 2)
        if i % 2:
            near = [case for case in material if _topic(case) == _topic(one) and case["source"] != one["source"]]
            other = r.choice(near or [other])
        return {
            **one,
            "id": f"dead{i}",
            "question": other["question"],
            "answer": other["answer"],
            "history": other["history"],
            "needed": [],
            "expect": "none",
        }

    def past_failure(self, i: int, cases: list[Case]) -> Case:
        """A failed run that the agent got past: the answer reports another thing and that all is well now."""
        r = self.random
        failed = r.choice([case for case in cases if case["is_error"]])
        other = r.choice([case for case in cases if not case["is_error"] and case["expect"] == "some"])
        answer = r.choice(
            ["Fixed; all tests pass now.", "All checks are green now.", "It works now, every test passes."]
        )
        return {
            **failed,
            "id": f"past{i}",
            "question": other["question"],
            "needed": [],
            "expect": "none",
            "answer": f"{other['answer']} {answer}",
        }


_KINDS: tuple[tuple[Callable[[_Maker, int], Case], int], ...] = (
    (_Maker.read, 16),
    (_Maker.search, 12),
    (_Maker.tests, 4),
    (_Maker.lint, 4),
    (_Maker.build, 3),
    (_Maker.history, 4),
    (_Maker.listing, 2),
    (_Maker.manual, 5),
    (_Maker.whole, 4),
)
