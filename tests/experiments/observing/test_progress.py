"""What a run shows, on a terminal and elsewhere."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from frontrunner.experiments.observing.displays import make_progress
from frontrunner.experiments.observing.progress import (
    Observer,
    PlainProgress,
    RichProgress,
)
from frontrunner.experiments.observing.status import RunStatus


class Clock:
    """A clock that goes as a test says."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock():
    return Clock()


def run_some(progress, clock):
    """A run of four: two improvements, two failures."""
    progress.on_phase("measuring the default")
    progress.on_baseline(400.0)
    progress.on_start(8, 60.0)
    for kind, best in [("compile_failed", None), ("ok", 200.0), ("timeout", 200.0), ("ok", 100.0)]:
        clock.now += 2.0
        progress.on_outcome(kind, best)


def rich_text(progress):
    recorder = Console(file=io.StringIO(), record=True, width=100)
    recorder.print(progress.render())
    return recorder.export_text()


def test_live_display_shows_where_the_run_stands(clock):
    progress = RichProgress(Console(file=Terminal(), force_terminal=True, width=100), clock)
    run_some(progress, clock)
    text = rich_text(progress)
    progress.close()
    assert "measuring the default" in text
    assert "4/8 candidates" in text
    assert "best 100.0 µs, 4.00x the default's speed" in text
    assert "failed: 1 compile failed, 1 timeout" in text
    # Four took 8 s, so four more take 8 s, which is less than what is left of the minute.
    assert "0:08 left" in text


def test_plain_lines_end_with_how_far_it_came(clock):
    stream = io.StringIO()
    progress = PlainProgress(stream, clock=clock)
    run_some(progress, clock)
    progress.on_outcome("timeout", 100.0)
    progress.close()
    before = stream.getvalue()
    assert before.splitlines()[-1].startswith("[5/8 candidates] best 100.0 µs, 4.00x")
    assert "left" not in before.splitlines()[-1]
    progress.close()
    assert stream.getvalue() == before


def test_live_display_without_a_limit_on_candidates(clock):
    progress = RichProgress(Console(file=Terminal(), force_terminal=True, width=100), clock)
    progress.on_start(None, 60.0)
    clock.now += 15.0
    progress.on_outcome("ok", 10.0)
    text = rich_text(progress)
    progress.close()
    assert "1 candidates" in text
    assert "0:45 left" in text


def test_live_display_without_any_limit(clock):
    progress = RichProgress(Console(file=Terminal(), force_terminal=True, width=100), clock)
    progress.on_start(None, None)
    progress.on_outcome("ok", 10.0)
    text = rich_text(progress)
    progress.close()
    assert "1 candidates" in text
    assert "left" not in text


def test_live_display_leaves_a_line_that_sums_up(clock):
    stream = Terminal()
    progress = RichProgress(Console(file=stream, force_terminal=True, width=100), clock)
    run_some(progress, clock)
    progress.close()
    progress.close()
    last = stream.getvalue().splitlines()[-1]
    assert last.endswith(
        "4/8 candidates; best 100.0 µs, 4.00x the default's speed; "
        "failed: 1 compile failed, 1 timeout"
    )
    # The cursor is shown again.
    assert stream.getvalue().count("\x1b[?25h") == 1


def test_markup_in_texts_is_shown_as_it_is(clock):
    stream = Terminal()
    progress = RichProgress(Console(file=stream, force_terminal=True, width=100), clock)
    progress.notify("[red]a [/path] with brackets")
    progress.on_phase("[bold]phase")
    text = rich_text(progress)
    progress.close()
    assert "[red]a [/path] with brackets" in stream.getvalue()
    assert "[bold]phase" in text


def test_plain_lines(clock):
    stream = io.StringIO()
    progress = PlainProgress(stream, clock=clock)
    run_some(progress, clock)
    progress.notify("done early")
    progress.close()
    best = "µs, {}x the default's speed; failed: {}; {} left"
    assert stream.getvalue().splitlines() == [
        "measuring the default",
        "default 400.0 µs",
        "[2/8 candidates] best 200.0 " + best.format("2.00", "1 compile failed", "0:12"),
        "[4/8 candidates] best 100.0 " + best.format("4.00", "1 compile failed, 1 timeout", "0:08"),
        "done early",
    ]


def test_plain_lines_come_at_intervals_and_at_the_end(clock):
    stream = io.StringIO()
    progress = PlainProgress(stream, every=3, clock=clock)
    progress.on_baseline(400.0)
    progress.on_start(7, None)
    for _ in range(7):
        progress.on_outcome("crashed", None)
    _, *lines = stream.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["[3/7", "[6/7", "[7/7"]
    assert "no candidate has run yet; failed: 7 crashed" in lines[-1]


def test_what_an_earlier_session_did_took_no_time(clock):
    """Of which "0:00 left" had been said throughout."""
    status = RunStatus(clock)
    status.start(10, None, known=4)
    for _ in range(4):
        status.add("ok", 1.0)
    assert status.describe_left() == ""
    clock.now += 3.0
    status.add("ok", 1.0)
    assert (status.describe_count(), status.describe_left()) == ("5/10 candidates", "0:15 left")


def test_each_part_of_the_work_counts_from_the_start(clock):
    """Of which "[608/502 candidates] 0:00 left" had been said."""
    status = RunStatus(clock)
    status.start(2, None)
    status.add("ok", 1.0)
    status.add("crashed", 1.0)
    status.start(4, None)
    assert (status.describe_count(), status.describe_left()) == ("0/4 candidates", "")
    assert (status.describe_failures(), status.best_us) == ("", None)
    clock.now += 2.0
    status.add("ok", None)
    assert (status.describe_count(), status.describe_left()) == ("1/4 candidates", "0:06 left")


def test_where_nothing_is_measured_nothing_is_said_of_times(clock):
    stream = io.StringIO()
    progress = PlainProgress(stream, clock=clock)
    progress.on_start(2, None)
    progress.on_outcome("ok", None)
    progress.on_outcome("timeout", None)
    assert stream.getvalue().splitlines() == ["[2/2 candidates] failed: 1 timeout"]


def test_devices_have_a_line_each(clock):
    stream = io.StringIO()
    plain = PlainProgress(stream, every=100, clock=clock)
    live = RichProgress(Console(file=Terminal(), force_terminal=True, width=100), clock)
    for progress in (plain, live):
        progress.on_start(200, None)
        progress.on_device("a/cuda://0", 0, "measuring")
    for number in range(1, 4):
        clock.now += 20.0
        for progress in (plain, live):
            progress.on_device("a/cuda://0", number, "measuring")
            progress.on_outcome("ok", None)
    assert stream.getvalue().splitlines() == ["a/cuda://0: 2 candidates, 3 a minute, measuring"]
    assert "a/cuda://0: 3 candidates, 3 a minute, measuring" in rich_text(live)
    for number in range(20):
        live.on_device(f"b/cuda://{number}", 0, "starting")
    text = rich_text(live)
    live.close()
    assert "b/cuda://14: 0 candidates, 0 a minute, starting" in text
    assert "and 5 more devices" in text


def test_plain_lines_hold_no_control_characters(clock):
    stream = io.StringIO()
    run_some(PlainProgress(stream, clock=clock), clock)
    assert all(c.isprintable() or c == "\n" for c in stream.getvalue())


@pytest.mark.parametrize(
    ("total", "seconds", "left"),
    [(10, None, 40.0), (None, 30.0, 20.0), (10, 30.0, 20.0), (3, 30.0, 5.0), (None, None, None)],
)
def test_time_left_is_that_of_the_first_limit(clock, total, seconds, left):
    standing = RunStatus(clock)
    standing.start(total, seconds)
    clock.now += 10.0
    standing.add("ok", 5.0)
    standing.add("ok", 5.0)
    assert standing.left() == left


def test_duplicates_count_as_done_but_not_as_failures(clock):
    standing = RunStatus(clock)
    assert standing.add("ok", 5.0)
    assert not standing.add("duplicate", 5.0)
    assert not standing.add("wrong_result", 5.0)
    assert standing.done == 3
    assert standing.describe_failures() == "failed: 1 wrong result"


def test_what_was_killed_is_told_on_its_own(clock):
    standing = RunStatus(clock)
    standing.add("killed", None)
    assert (standing.done, standing.describe_failures()) == (1, "killed: 1")
    standing.add("crashed", None)
    standing.add("killed", None)
    assert standing.describe_failures() == "failed: 1 crashed; killed: 2"


def test_the_display_fits_the_stream(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(make_progress(Terminal()), RichProgress)
    assert isinstance(make_progress(io.StringIO()), PlainProgress)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert isinstance(make_progress(io.StringIO()), PlainProgress)
    monkeypatch.delenv("FORCE_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(make_progress(Terminal()), PlainProgress)


def test_no_display(clock, capsys):
    run_some(Observer(), clock)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
