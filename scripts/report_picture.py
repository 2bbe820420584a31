"""Takes the picture of the page in docs/report.png: the example session.

    python scripts/report_picture.py [light | dark] [FILE]

Needs `pip install '.[browser]'` and a Chromium (scripts/install_browser.sh).
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[1]
SESSION = ROOT / "docs" / "examples" / "pi-search.jsonl"
WIDTH, HEIGHT = 1180, 1180


def main(scheme: Literal["light", "dark"], picture: Path) -> None:
    from click.testing import CliRunner
    from playwright.sync_api import sync_playwright

    from context_guard_effects.cli import main as guard

    found = subprocess.run([ROOT / "scripts" / "install_browser.sh"], capture_output=True, text=True, check=True)
    chromium = found.stdout.strip().removeprefix("chromium=")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "report.html"
        CliRunner().invoke(guard, ["report", str(SESSION), "-o", str(page)], catch_exceptions=False)
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-background-networking"]
        )
        opened = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme)
        opened.goto(page.as_uri())
        opened.locator("[role=option]").nth(3).click()
        opened.wait_for_timeout(200)
        opened.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "pipeline"), str(ROOT / "effects")]
    given = sys.argv[1:]
    main("dark" if given[:1] == ["dark"] else "light", Path(given[1]) if given[1:] else ROOT / "docs" / "report.png")
