"""From the values of a page to HTML. Nothing that a session says can act in it.

Three locks, each enough by itself: Jinja escapes every value; the script builds what it shows from text nodes and never
from markup; and the page's own policy allows the one script and the one style sheet whose hashes it names, no other
source, and no markup from text.
"""

import base64
import hashlib
from functools import cache
from importlib.resources import files

import msgspec
from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from context_guard.report import Page, page_values
from context_guard.text import format_chars, format_probability

TEMPLATE = "page.html.jinja"


def render_page(page: Page) -> str:
    style, script = _own("page.css"), _own("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    values = page_values(page)
    return _environment().get_template(TEMPLATE).render(page=values, style=style, script=script, policy=policy)


@cache
def _environment() -> Environment:
    found = Environment(
        loader=DictLoader({TEMPLATE: _own(TEMPLATE)}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.policies["json.dumps_function"] = _json
    found.filters |= {"chars": format_chars, "p": format_probability}
    return found


def _json(value: object, **_: object) -> str:
    """Of values without lone surrogates; Jinja then escapes what HTML could read."""
    return msgspec.json.encode(value).decode()


@cache
def _own(name: str) -> Markup:
    """A file of this package, which is markup as it stands."""
    return Markup((files("context_guard_effects.report") / name).read_text(encoding="utf-8"))


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
