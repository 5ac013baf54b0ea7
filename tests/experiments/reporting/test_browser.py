"""Pages in a browser: all is drawn, nothing is asked of a network, and no planted script runs."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from frontrunner.experiments.reporting import report
from frontrunner.experiments.watching import served

from .test_run import plant

pytestmark = pytest.mark.slow
OLD = Path(__file__).parents[2] / "data" / "old"
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"


@pytest.fixture
def page(run, tmp_path):
    return report(run, out=tmp_path / "page.html").page


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_all_is_drawn_at_any_width(page, opened, tmp_path, width, dark):
    seen = opened(page, width, dark=dark)
    assert seen.said == []
    assert seen.asked == [page.as_uri()]
    assert seen.page.evaluate(OVERFLOW) <= 0
    marks = seen.page.evaluate(
        "[...document.querySelectorAll('[data-chart]')].map(c =>"
        " c.querySelectorAll('svg path, svg line').length)"
    )
    assert len(marks) > 8
    assert min(marks) > 5
    picture = seen.page.screenshot(path=tmp_path / f"page-{width}.png", full_page=True)
    assert len(picture) > 50_000


def test_every_chart_says_in_words_what_it_shows(page, opened):
    seen = opened(page)
    labels = seen.page.evaluate(
        "[...document.querySelectorAll('[data-chart]')].map(c => c.getAttribute('aria-label'))"
    )
    assert len(set(labels)) == len(labels)
    assert all(len(label) > 30 for label in labels)


def test_colours_follow_the_system(page, opened):
    seen = opened(page)
    for words in ({"color_scheme": "dark"}, {"media": "print"}, {"media": "screen"}):
        seen.page.emulate_media(**words)
        ink = seen.page.evaluate("getComputedStyle(document.body).color")
        in_ink = seen.page.locator(f"[data-chart] svg text[fill='{as_hex(ink)}']")
        in_ink.first.wait_for(state="attached")
    assert seen.said == []


def as_hex(colour: str) -> str:
    """Such as `#1c2128`, of what a browser calls `rgb(28, 33, 40)`."""
    return "#" + "".join(f"{int(part):02x}" for part in re.findall(r"\d+", colour))


def test_tables_are_sorted_with_the_keyboard(page, opened):
    seen = opened(page, 1280)
    heads = seen.page.locator("table", has_text="in the queue").first.locator("th")
    column = (
        "[...document.querySelectorAll('table')].find(t => t.textContent.includes('in the queue'))"
    )
    places = f"[...{column}.tBodies[0].rows].map(r => Number(r.cells[1].textContent))"
    before = seen.page.evaluate(places)
    heads.nth(1).locator("button").focus()
    seen.page.keyboard.press("Enter")
    assert seen.page.evaluate(places) == sorted(before)
    assert heads.nth(1).get_attribute("aria-sort") == "ascending"
    seen.page.keyboard.press("Enter")
    assert seen.page.evaluate(places) == sorted(before, reverse=True)


def test_the_first_stop_of_the_keyboard_leads_to_the_content(page, opened):
    seen = opened(page)
    seen.page.keyboard.press("Tab")
    assert seen.page.evaluate("document.activeElement.getAttribute('href')") == "#main"


def test_commands_are_copied(page, opened):
    seen = opened(page)
    seen.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = seen.page.locator(".code", has_text="To go on with this run").locator("button")
    button.click()
    seen.page.get_by_text("Copied", exact=True).wait_for()
    copied = seen.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("frontrunner tune --resume ")


def test_no_planted_script_runs(run, opened, tmp_path):
    plant(run)
    seen = opened(report(run, out=tmp_path / "page.html").page)
    assert seen.page.evaluate("window.planted") is None
    assert seen.page.evaluate("document.querySelectorAll('img').length") == 0
    assert seen.said == []


def test_a_script_that_came_in_would_be_refused(page, opened):
    html = page.read_text()
    page.write_text(html.replace("<main", "<script>window.planted = 1</script><main", 1))
    seen = opened(page)
    assert seen.page.evaluate("window.planted") is None
    assert "Content Security Policy" in seen.said[0]


@pytest.mark.parametrize("name", ["run", "compiled"])
def test_old_folders_are_drawn(name, opened, tmp_path):
    folder = shutil.copytree(OLD / name, tmp_path / name)
    seen = opened(report(folder).page)
    assert seen.said == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("kind", ["model", "evaluation", "profile", "recording", "recordings"])
def test_other_pages_are_drawn(kind, width, folders, opened, tmp_path):
    seen = opened(report(folders[kind], out=tmp_path / "page.html").page, width)
    assert seen.said == []
    assert seen.page.evaluate(OVERFLOW) <= 0
    assert seen.page.locator("[data-chart]").count() > 0
    seen.page.screenshot(path=tmp_path / f"{kind}-{width}.png", full_page=True)


def test_a_page_that_is_served_is_loaded_again(run, browser):
    result = (run / "result.json").read_bytes()
    (run / "result.json").unlink()
    context = browser.new_context()
    said: list[str] = []
    with served(run, every=0) as address:
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.goto(address)
        page.get_by_text("Live: the page follows its folder.").wait_for()
        page.get_by_text("The run is not finished").wait_for()
        (run / "result.json").write_bytes(result)
        page.get_by_text("The run is not finished").wait_for(state="detached")
        page.locator("[data-chart]:not([data-drawn])").first.wait_for(state="detached")
        assert [words for words in said if "favicon" not in words] == []
    page.get_by_text("No longer followed").wait_for()
    context.close()


def test_several_are_drawn_below_each_other(run, folders, opened, tmp_path):
    page = report([run, folders["model"], folders["profile"]], out=tmp_path / "page.html").page
    seen = opened(page)
    assert seen.said == []
    assert seen.page.locator("article").count() == 4
