"""The page of `report` in a real Chromium: it shows, keys alone drive it, and nothing of a session acts in it."""

from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from command_line import guard
from pi_sessions import message, result, session_bytes, user

from outside.conftest import ROOT

pytestmark = pytest.mark.outside

EXAMPLE = ROOT / "docs" / "examples" / "pi-search.jsonl"
MANY = 2_000
OPENS_WITHIN_MS = 10_000
"""Of 2,000 outputs; about a second on a machine that does nothing else."""
EVIL = """</script><script>window.acted = 1</script><img src=x onerror="window.acted = 2">
<svg onload="window.acted = 3">
<iframe src="data:text/html,<script>parent.acted = 4</script>"></iframe><a href="javascript:window.acted = 5">x</a>
<!-- <script> ]]> {{ 7 * 7 }} <style>* { display: none }</style>
<meta http-equiv=refresh content="0;url=http://127.0.0.1:9/">
<link rel=stylesheet href=http://127.0.0.1:9/x.css><base href=http://127.0.0.1:9/> " autofocus onfocus="window.acted = 6
user\u202etxt.exe half \ud83d"""


class Opened:
    """A page of the report, and what it asked for and complained about while it was open."""

    def __init__(self, browser: Any, path: Path, **how: Any) -> None:
        self.requests: list[str] = []
        self.said: list[str] = []
        self.page = browser.new_page(viewport={"width": 1400, "height": 1000}, **how)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        start = perf_counter()
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("#detail .rows", timeout=OPENS_WITHIN_MS)
        self.seconds = perf_counter() - start
        self.address = path.as_uri()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.page.wait_for_timeout(50)

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).inner_text())

    def focused(self) -> str:
        return str(self.page.evaluate("document.activeElement.id || document.activeElement.tagName"))

    def close_quiet(self) -> None:
        """Nothing was asked for but the file itself, nothing was complained about, nothing acted."""
        assert [self.address] == self.requests
        assert [] == self.said
        assert None is self.page.evaluate("window.acted ?? null")
        self.page.close()


def report(folder: Path, session: Path | bytes, *options: str) -> Path:
    path, page = folder / "session.jsonl", folder / "report.html"
    path.write_bytes(session if isinstance(session, bytes) else session.read_bytes())
    run = guard("report", path, "-o", page, *options)
    assert 0 == run.exit_code, run.output
    return page


def calling(number: int, command: str) -> dict[str, Any]:
    call = {"type": "toolCall", "id": f"c{number}", "name": "bash", "arguments": {"command": command}}
    return message(f"a{number}", {"role": "assistant", "content": [call], "stopReason": "toolUse"})


def finished(texts: list[str], ask: str = "Where is it?", command: str = "cat log") -> bytes:
    """One run with these outputs."""
    turns = [
        entry
        for number, text in enumerate(texts)
        for entry in (
            calling(number, f"{command} {number}"),
            result(f"r{number}", f"c{number}", [{"type": "text", "text": text}]),
        )
    ]
    said = {"role": "assistant", "content": [{"type": "text", "text": f"There. {ask}"}], "stopReason": "stop"}
    return session_bytes(user("p", ask), *turns, message("z", said))


def test_a_page_is_read_with_keys_alone(browser: Any, tmp_path: Path) -> None:
    """Tab order, `/` for search, arrows to choose, Enter to read, Escape back; Space switches an outcome off."""
    opened = Opened(browser, report(tmp_path, EXAMPLE))
    assert "grep" in opened.text("#detail h2")
    opened.press("Tab")
    assert "search" == opened.focused()
    opened.press("Tab", "Tab")
    assert "BUTTON" == opened.focused()
    opened.press("Space")
    assert "false" == opened.page.locator(".kinds button").first.get_attribute("aria-pressed")
    assert "4 of 7 outputs" == opened.text("#status")
    opened.press("Space", "Tab", "Tab", "Tab")
    assert "list" == opened.focused()
    opened.press("Home")
    first = opened.text("#detail h2")
    opened.press("ArrowDown")
    assert first != opened.text("#detail h2")
    assert opened.page.locator("#list").get_attribute("aria-activedescendant") == opened.page.locator(
        "[aria-selected=true]"
    ).get_attribute("id")
    opened.press("Enter")
    assert "detail" == opened.focused()
    opened.press("Escape")
    assert "list" == opened.focused()
    opened.press("/")
    assert "search" == opened.focused()
    opened.page.keyboard.type("keep_whole_threshold")
    opened.press("Enter")
    assert "list" == opened.focused()
    assert "of 7 outputs" in opened.text("#status")
    assert "config.py" in "".join(opened.page.locator("[role=option]:visible").all_inner_texts())
    assert opened.page.evaluate("CSS.highlights.get('found').size") > 0
    opened.press("/", "Escape")
    assert "7 outputs" == opened.text("#status")
    opened.close_quiet()


def test_both_sides_and_the_thresholds_are_seen(browser: Any, tmp_path: Path) -> None:
    """Kept text stands on both sides, a gap beside what went; every bar of the judge has the threshold on it."""
    opened = Opened(browser, report(tmp_path, EXAMPLE))
    kept = opened.page.locator(".row:not(.gone):not(.first):has(.bar)").first
    assert kept.locator(".said").inner_text() == kept.locator(".read").inner_text()
    assert "lines omitted" in opened.page.locator(".row.gone .read").first.inner_text()
    assert opened.page.locator(".votes line").count() == 1
    assert opened.page.locator(".row .bar").count() == opened.page.locator(".row .bar i").count() > 10
    box = opened.page.locator(".timeline svg").bounding_box()
    assert box["width"] > 1_000
    assert box["height"] > 100
    opened.close_quiet()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [420, 1400])
def test_texts_can_be_read_in_light_and_dark(browser: Any, scheme: str, width: int, tmp_path: Path) -> None:
    """At least 4.5 : 1 of every text against what is behind it; nothing wider than the window."""
    opened = Opened(browser, report(tmp_path, EXAMPLE), color_scheme=scheme)
    opened.page.set_viewport_size({"width": width, "height": 900})
    assert [] == opened.page.evaluate(CONTRASTS)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    opened.close_quiet()


CONTRASTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const paint = (colours) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => rgb.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const poor = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.checkVisibility()) continue;
    if (node.closest("script, noscript, option, title")) continue;
    const behind = [];
    for (let at = node; at; at = at.parentElement) behind.unshift(getComputedStyle(at).backgroundColor);
    const own = getComputedStyle(node);
    const colour = node instanceof SVGElement ? own.fill : own.color;
    const [one, other] = [light(paint(behind)), light(paint([...behind, colour]))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    if (ratio < 4.5) poor.add(`${node.className.baseVal ?? node.className}: ${ratio.toFixed(2)}`);
  }
  return [...poor];
}"""


def test_a_hostile_session_is_inert(browser: Any, tmp_path: Path) -> None:
    """Markup, addresses, templates, a turned text and a line of ten million characters are texts and nothing else."""
    texts = ["\n".join([EVIL] * 20), "x" * 10_000_000, EVIL]
    opened = Opened(browser, report(tmp_path, finished(texts, EVIL, EVIL)))
    opened.press("/")
    opened.page.keyboard.type("user")
    opened.press("Enter")
    for _ in texts:
        assert r"</script>" in opened.text("#detail")
        opened.press("ArrowDown")
    opened.press("/", "Escape", "Home")
    assert r"user\u202etxt.exe half \ud83d" in opened.text("#detail .rows")
    opened.press("ArrowDown")
    assert "characters in between are not on this page" in opened.page.locator("#detail .rows").text_content()
    counts = opened.page.evaluate(
        "'script style img iframe link base a'.split(' ').map((it) => document.getElementsByTagName(it).length)"
    )
    assert [1 + len(texts), 1, 0, 0, 0, 0, 0] == counts
    assert "not-allowed" == opened.page.evaluate(
        "(() => { try { document.body.innerHTML = '<b>x</b>'; return 'allowed' } catch { return 'not-allowed' } })()"
    )
    opened.said = [line for line in opened.said if "TrustedHTML" not in line and "trusted" not in line.lower()]
    opened.close_quiet()


def test_two_thousand_outputs_scroll_and_are_searched(browser: Any, tmp_path: Path) -> None:
    """The page is there, jumps to its end, finds one output by its text and sorts, each within a second or few."""
    filler = "\n".join(f"src/pool_{line}.py:{line}: the line says something about workers" for line in range(60))
    texts = [f"{filler}\nneedle-{number}-" for number in range(MANY)]
    options = ("--set", "minResultChars=100000", "--set", "smallResultMinChars=0", "--set", "minRunChars=0")
    page = report(tmp_path, finished(texts), *options)
    opened = Opened(browser, page)
    print(f"{page.stat().st_size / 1e6:.1f} MB, opened in {opened.seconds:.1f} s")
    assert "2,000 outputs" == opened.text("#status")
    opened.page.locator("#list").focus()
    opened.press("End")
    assert "cat log 1999" in opened.text("#detail h2")
    assert opened.page.evaluate("document.getElementById('list').scrollTop") > 50_000
    opened.press("Home", "PageDown")
    assert "cat log 10`" in opened.text("#detail h2")
    opened.press("/")
    opened.page.keyboard.type("needle-1234-")
    opened.page.get_by_text("1 of 2,000 outputs", exact=True).wait_for(timeout=5_000)
    assert "cat log 1234" in opened.text("#detail h2")
    opened.press("Escape")
    opened.page.locator("#order").select_option("saved")
    assert "2,000 outputs" == opened.text("#status")
    opened.close_quiet()
