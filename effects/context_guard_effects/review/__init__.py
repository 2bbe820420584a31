"""A comparison as one page for a browser: nothing is loaded from anywhere, and nothing in a session can run."""

from context_guard.comparison_lines import Named, add_up, headline, total_lines, what_changed
from context_guard.printable import visible_line


def review_page(named: tuple[Named, ...]) -> str:
    """Jinja escapes whatever a session says; the page has no script, and forbids any."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("context_guard_effects.review", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"line": visible_line, "headline": headline}
    return (
        environment.get_template("page.html")
        .render(
            changed=list(dict.fromkeys(line for each in named for line in what_changed(each.comparison))),
            totals=list(total_lines(add_up(named))),
            sessions=[each for each in named if each.comparison.changes],
            unknown=[(each.name, entry_id) for each in named for entry_id in each.comparison.unknown],
        )
        .encode("utf-8", "backslashreplace")
        .decode()
    )
