"""The site: built strictly, whole, and with no network; its start page in a browser."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import frontrunner
from frontrunner.cli.app import COMMANDS

from .reading import PAGES, ROOT

pytestmark = pytest.mark.slow

# What a page has a browser fetch; links that somebody follows are none of it.
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
RELATIONS = {"stylesheet", "icon", "preconnect", "preload", "prefetch", "dns-prefetch"}
# Luminances of text and of what it stands on, by the formula of WCAG 2.
CONTRASTS = """
() => {
  const parse = c => {
    const v = c.match(/[\\d.]+/g).map(Number);
    return [...v.slice(0, 3), v[3] ?? 1];
  };
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = c => c.slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = e => e ? over(parse(getComputedStyle(e).backgroundColor), ground(e.parentElement))
    : [255, 255, 255, 1];
  const seen = {opacityProperty: true, visibilityProperty: true};
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const text = [...e.childNodes].filter(n => n.nodeType === 3 && n.data.trim());
    if (!text.length || !e.checkVisibility(seen)) continue;
    const behind = ground(e), ink = over(parse(getComputedStyle(e).color), behind);
    const [a, b] = [light(ink), light(behind)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push(`${e.tagName} ${text[0].data.trim()}: ${ratio.toFixed(2)}`);
  }
  return found;
}
"""


class Page(HTMLParser):
    """What a page says of itself, and what it has fetched."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.language = ""
        self.title = ""
        self.fetched: list[str] = []
        self.without_alt: list[str] = []
        self._in_title = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "html":
            self.language = given.get("lang") or ""
        self._in_title = tag == "title" and not self.title
        relations = set((given.get("rel") or "").split())
        if tag in FETCHED and (tag != "link" or relations & RELATIONS):
            self.fetched.append(given.get(FETCHED[tag]) or "")
        if tag == "img" and not given.get("alt"):
            self.without_alt.append(given.get("src") or "")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make docs` does, where whatever asks for a network is refused."""
    out = tmp_path_factory.mktemp("site")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", out],
        cwd=ROOT,
        env=os.environ | nowhere | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    return {
        page.relative_to(site).as_posix(): Page(page.read_text()) for page in site.rglob("*.html")
    }


def test_every_page_is_there(pages):
    for page in PAGES:
        name = page.relative_to(ROOT).with_suffix(".html").as_posix()
        assert name.replace("README.html", "index.html") in pages
    assert {"docs/options.html", "docs/api.html"} < set(pages)


def test_pages_say_what_they_are(pages):
    assert all(page.language == "en" for page in pages.values())
    titles = {name: page.title for name, page in pages.items() if name != "404.html"}
    assert all("frontrunner" in title for title in titles.values())
    assert len(set(titles.values())) == len(titles)


def test_pictures_are_told_in_words(pages):
    assert {name: page.without_alt for name, page in pages.items() if page.without_alt} == {}


def test_nothing_is_fetched_from_elsewhere(site, pages):
    far = re.compile(r"(\w+:)?//")
    assert {n: f for n, page in pages.items() if (f := [*filter(far.match, page.fetched)])} == {}
    sheets = {p.name: re.findall(r"url\([\"']?((?:https?:)?//[^)]*)", p.read_text())
              for p in site.rglob("*.css")}  # fmt: skip
    assert len(sheets) >= 2
    assert not any(sheets.values())


def test_the_reference_has_every_command_and_function(site):
    options = (site / "docs" / "options.html").read_text()
    groups = {"generate", "bundle"}
    assert all(f'id="{name}"' in options for name in COMMANDS if name not in groups)
    assert 'id="bundle-pack"' in options
    assert "--keep-failures" in options
    api = (site / "docs" / "api.html").read_text()
    functions = [name for name in frontrunner.__all__ if not name.startswith("__")]
    shown = set(re.findall(r'<h3 id="([\w.]+)"', api))
    assert {name for name in functions if not any(s.endswith(f".{name}") for s in shown)} == set()


def test_what_it_is_built_with_is_an_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert len(project["optional-dependencies"]["docs"]) == 3


@pytest.fixture
def served(site: Path) -> Iterator[str]:
    """The address of the site on loopback."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_start_page_in_a_browser(served, browser, tmp_path, width, scheme):
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(served, wait_until="load")
    assert page.title().startswith("frontrunner") or "frontrunner" in page.title()
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.locator("h1").count() == 1
    assert page.evaluate("[...document.images].filter(i => !i.alt || !i.naturalWidth).length") == 0
    assert page.evaluate(CONTRASTS) == []
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    page.screenshot(path=tmp_path / f"start-{width}.png", full_page=True)
    assert said == []
    assert [url for url in asked if not url.startswith((served, "data:", "blob:"))] == []
    context.close()


def test_the_search_finds_something(served, browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(served)
    page.keyboard.press("/")
    page.keyboard.type("noise floor")
    page.locator(".md-search-result__item a").first.wait_for()
    context.close()
