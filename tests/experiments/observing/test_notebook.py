"""What a notebook shows of a run, and of results."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from frontrunner.experiments.observing import notebook
from frontrunner.experiments.observing.displays import make_notify, make_progress, progress_bar
from frontrunner.experiments.observing.progress import PlainProgress
from frontrunner.experiments.observing.status import RunStatus
from frontrunner.experiments.readable import Readable


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def shown():
    return []


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def progress(shown, clock):
    return notebook.NotebookProgress(shown.append, RunStatus(clock))


def test_a_run_is_a_bar_with_words(progress, shown, clock):
    progress.on_phase("measuring <the default>")
    progress.on_baseline(400.0)
    progress.on_start(8, None)
    for kind, best in (("compile_failed", None), ("ok", 200.0)):
        clock.now += 1.0
        progress.on_outcome(kind, best)
    assert 'value="0.250"' in shown[-1]
    for words in (
        *("measuring &lt;the default&gt;", "2/8 candidates", "best 200.0 µs, 2.00x"),
        *("failed: 1 compile failed", "0:06 left", "default 400.0 µs"),
    ):
        assert words in shown[-1]


def test_what_comes_in_quick_succession_is_shown_once(progress, shown, clock):
    progress.on_start(100, None)
    clock.now += 1.0
    before = len(shown)
    for _ in range(50):
        progress.on_outcome("ok", 200.0)
    assert len(shown) == before + 1


def test_in_the_end_no_bar_is_left_but_what_it_came_to(progress, shown):
    progress.on_phase("measuring")
    progress.on_start(1, None)
    progress.on_outcome("ok", 200.0)
    progress.notify("something to read")
    progress.close()
    progress.close()
    assert "<progress" not in shown[-1]
    assert "1/1 candidates; best 200.0 µs" in shown[-1]
    assert "something to read" in shown[-1]
    assert "left" not in shown[-1]


def test_old_remarks_make_room(progress, shown):
    for number in range(9):
        progress.notify(f"remark {number}")
    assert shown[-1].count("remark") == notebook.MOST_REMARKS
    assert "remark 8" in shown[-1]


@pytest.fixture
def in_notebook(monkeypatch, shown):
    """As in a kernel: what is displayed is kept."""
    handle = SimpleNamespace(update=shown.append)
    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1))
    display = SimpleNamespace(HTML=str, display=lambda html, display_id: handle)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return ipython


def test_a_notebook_is_noticed(in_notebook, shown):
    assert isinstance(make_progress(), notebook.NotebookProgress)
    assert not isinstance(make_progress(quiet=True), notebook.NotebookProgress)
    with progress_bar("replaying") as bar:
        bar(1, 4)
        assert 'value="0.250"' in shown[-1]
        bar(0, 1)
        assert "<progress" not in shown[-1]  # a bar at 0 % until the end says nothing
    assert shown[-1] == ""
    make_notify()("something <to> read")
    assert shown[-1] == "<div>something &lt;to&gt; read</div>"


def test_ipython_on_a_terminal_is_none(in_notebook):
    in_notebook.get_ipython = lambda: SimpleNamespace()
    assert isinstance(make_progress(), PlainProgress)


class Result(Readable):
    def summary_lines(self) -> list[str]:
        return ["3 candidates", "speedup      2.00x (95 %: <1 to 3>)"]


def test_results_are_tables():
    html = Result()._repr_html_()
    assert '<td colspan="2">3 candidates</td>' in html
    assert '<th scope="row">speedup</th><td>2.00x (95 %: &lt;1 to 3&gt;)</td>' in html
