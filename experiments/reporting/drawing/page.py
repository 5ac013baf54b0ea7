"""A page as one file of HTML that asks no network for anything.

Names, messages and knobs come from files that anyone may have made: the template escapes all of
them, and a policy in the page lets no script run but those that are named by their digests.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from .... import __version__
from .blocks import Article, Chart, Spec

_HERE = files(__package__)
# What would end a script, or begin a comment in it, if a name held it.
_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def render(articles: Sequence[Article], title: str, subtitle: str, live: str = "") -> str:
    """The page's HTML.

    Args:
        articles: one, or several below each other.
        live: the version of a page that is served, and asks for others; of a file, nothing.
    """
    templates = str(_HERE / "templates")
    environment = Environment(
        loader=FileSystemLoader(templates), autoescape=True, undefined=StrictUndefined
    )
    specs: list[Spec] = []

    def place(chart: Chart) -> int:
        specs.append({**chart.spec, "description": chart.said})
        return len(specs) - 1

    library, script = _text("assets/vega-lite.js"), _text("templates/page.js")
    live_script = _text("templates/live.js") if live else ""
    scripts = filter(None, (library, script, live_script))
    page: str = environment.get_template("page.html").render(
        articles=articles,
        title=title,
        subtitle=subtitle,
        heading="h3" if len(articles) > 1 else "h2",
        version=__version__,
        style=Markup(_text("templates/page.css")),
        library=Markup(library),
        script=Markup(script),
        live=live,
        live_script=Markup(live_script),
        script_hashes=Markup(" ".join(map(_hash, scripts))),
        place=place,
        charts=lambda: Markup(safe_json(specs)),
    )
    return page


def safe_json(data: object) -> str:
    """JSON that can stand in a script element, whatever its texts hold."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character, escaped in _ESCAPES.items():
        text = text.replace(character, escaped)
    return text


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """How a page's policy names a script."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"
