"""The documents as values: their examples, who runs each, their headings and their links.

A comment directly above an example says who runs it: `<!-- run by: FILE -->`, or `<!-- by hand: WHY -->` where nobody
does. Without one, `python` and `sh` run in `test_docs.py` as they stand.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[1]
PAGES = tuple(
    str(path.relative_to(ROOT))
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(ROOT.glob("docs/*.md")))
)
MARK = re.compile(r"<!-- (run by|by hand): (.+?) -->\s*$")
OUTSIDE = ("http://", "https://", "mailto:")


class Example(NamedTuple):
    page: str
    line: int
    """Of the page, counted from 1, on which the code begins."""
    language: str
    code: str
    run_by: str
    """A file of the repository; empty where the base suite runs it as it stands."""
    by_hand: str
    """Why nobody runs it; empty where somebody does."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


class Link(NamedTuple):
    page: str
    target: str
    """As written: a file, an anchor, or both."""


@cache
def tokens(page: str) -> tuple[Token, ...]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return tuple(MarkdownIt("commonmark").enable("table").parse(text))


def examples(page: str) -> Iterator[Example]:
    above = ""
    for token in tokens(page):
        if token.type == "fence" and token.map is not None:
            mark = MARK.search(above)
            kind, said = (mark[1], mark[2]) if mark else ("", "")
            yield Example(
                page,
                token.map[0] + 2,
                token.info,
                token.content,
                said if kind == "run by" else "",
                said if kind == "by hand" else "",
            )
        above = token.content if token.type == "html_block" else ""


def links(page: str) -> Iterator[Link]:
    """To files of the repository and to anchors, pictures as well; addresses elsewhere are left out."""
    for token in tokens(page):
        for child in token.children or ():
            target = child.attrs.get("href", child.attrs.get("src", ""))
            if isinstance(target, str) and target and not target.startswith(OUTSIDE):
                yield Link(page, target)


def anchors(page: str) -> frozenset[str]:
    """Of its headings, as far as the code host and the site agree on them."""
    titles = [_plain(token) for above, token in pairwise(tokens(page)) if above.type == "heading_open"]
    return frozenset(_numbered(map(_of_code_host, titles))) & frozenset(_numbered(map(_of_site, titles)))


def _plain(heading: Token) -> str:
    return "".join(child.content for child in heading.children or () if child.type in ("text", "code_inline"))


def _of_code_host(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _of_site(title: str) -> str:
    ascii_ = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_).strip().lower())


def _numbered(names: Iterator[str]) -> Iterator[str]:
    """Of headings of one name the first alone: the others are numbered in two ways."""
    return iter(dict.fromkeys(names))
