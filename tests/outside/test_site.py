"""The documentation site is built without a warning, asks nobody else for anything, and can be read and searched."""

import functools
import http.server
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from outside.conftest import ROOT, UNREACHABLE

pytestmark = pytest.mark.outside

LOADS = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("form", "action")}
ELSEWHERE = re.compile(r"(?i)(?:[a-z][a-z0-9+.-]*:)?//")
FETCHED = re.compile(r"url\([\"']?(?:https?:)?//[^)]*|@import[^;]*")
NARROW, WIDE = {"width": 390, "height": 844}, {"width": 1400, "height": 900}


@pytest.fixture(scope="module")
def site() -> Path:
    done = subprocess.run(
        [ROOT / "scripts" / "build_site.sh"],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == UNREACHABLE:
        pytest.skip(f"Zensical is needed: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip().removeprefix("site=")).parent


class Page(HTMLParser):
    """What a page loads, where its links lead, and what in it can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            if (tag, name) in LOADS and value:
                self.loads.append(value)
            if (tag, name) == ("a", "href") and value:
                self.leads.append(value)


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    """No script, style, font, picture or frame has an address of its own; nor have the style sheets."""
    pages = sorted(site.glob("*.html"))
    assert len(pages) == len(list(ROOT.glob("docs/*.md"))) + 1  # and the one for what is not found
    loads = {load for path in pages for load in Page(path).loads}
    assert loads
    assert [load for load in loads if ELSEWHERE.match(load)] == []
    styles = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    assert [found for text in styles for found in FETCHED.findall(text)] == []


def test_links_of_the_built_pages_lead_somewhere(site: Path) -> None:
    pages = {path.name: Page(path) for path in site.glob("*.html") if path.name != "404.html"}
    broken = []
    for name, page in pages.items():
        for lead in page.leads:
            if ELSEWHERE.match(lead):
                continue
            file, _, anchor = lead.partition("#")
            target = (site / (file or name)).resolve()
            target = target / "index.html" if target.is_dir() else target
            ids = pages[target.name].ids if target.name in pages else set()
            if not target.is_file() or (anchor and anchor not in ids):
                broken.append((name, lead))
    assert broken == []


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["narrow", "wide"])
def test_a_browser_asks_this_host_alone(
    browser: Any, address: str, site: Path, scheme: str, size: dict[str, int]
) -> None:
    """For every page; no line on its console, the scheme of the system, and nothing that is wider than the window."""
    context = browser.new_context(viewport=size, color_scheme=scheme)
    page = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    for path in sorted(site.glob("*.html")):
        page.goto(f"{address}/{path.name}", wait_until="networkidle")
        colours = page.evaluate("getComputedStyle(document.body).backgroundColor")
        red = int(re.findall(r"\d+", colours)[0])
        assert (red > 128) == (scheme == "light"), (path.name, colours)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], path.name
    context.close()
    assert [url for url in asked if not url.startswith(address)] == []
    assert said == []


def test_a_setting_is_found_by_search(browser: Any, address: str) -> None:
    page = browser.new_page(viewport=WIDE)
    page.goto(f"{address}/index.html", wait_until="networkidle")
    page.keyboard.press("/")
    page.keyboard.type("rerunStepsPer1KTokens", delay=20)
    page.wait_for_selector("a[href*='configuration.html']:has-text('pays')", timeout=10_000)
    page.close()
