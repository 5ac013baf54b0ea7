"""Results files: what comes back, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from frontrunner.benchmarks.bundle.archive import QueueEntry
from frontrunner.benchmarks.bundle.results import BundleResult, Header, Results, read_results
from frontrunner.benchmarks.measuring.finals import FinalistResult, Finals
from frontrunner.benchmarks.measuring.outcome import Outcome
from frontrunner.core import InputError

HEADER = Header("ab" * 32, ("cuda://0",), ("cuda://0 on H100 (GPU-1)",), "3.13.0")
OUTCOMES = {
    0: Outcome("ok", 12.5, 25.0, executable="abc", device="cuda://0"),
    3: Outcome("compile_failed", reason="no", stage="compile"),
}
QUEUE = (
    QueueEntry(0, "ok", "abc"),
    QueueEntry(1, "ok", "def"),
    QueueEntry(2, "ok", "def"),
    QueueEntry(3, "compile_failed", reason="no"),
)
WINNER = FinalistResult(0, 2.0, (1.9, 2.1), 12.5)
VERDICT = BundleResult(Finals((WINNER,), 25.0, 0.01), WINNER, 2, "all 2 candidates", 3.5)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "results.jsonl"
    with Results(path, HEADER, QUEUE) as results:
        for index, outcome in OUTCOMES.items():
            results.append(index, outcome)
        results.finish(VERDICT)
    return path


def test_everything_comes_back(path: Path) -> None:
    found = read_results(path, QUEUE)
    assert (found.header, found.outcomes, found.result) == (HEADER, OUTCOMES, VERDICT)
    with Results(path, HEADER, QUEUE) as results:
        assert results.outcomes == OUTCOMES
        assert results.result == VERDICT


def test_a_torn_line_is_dropped_and_written_over(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])
    assert read_results(path, QUEUE).result is None
    with Results(path, HEADER, QUEUE) as results:
        assert results.outcomes == OUTCOMES
        assert results.result is None
        results.finish(VERDICT)
    assert read_results(path, QUEUE).result == VERDICT


def test_a_torn_first_line_is_written_anew(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:30])
    with Results(path, HEADER, QUEUE) as results:
        assert not results.outcomes
    assert read_results(path, QUEUE).header == HEADER


def test_what_is_not_ours_is_not_written_over(path: Path) -> None:
    path.write_text("notes without an end")
    with pytest.raises(InputError, match="does not hold the results"):
        Results(path, HEADER, QUEUE)
    assert path.read_text() == "notes without an end"
    with pytest.raises(InputError, match="not a regular file"):
        Results(Path("/dev/null"), HEADER, QUEUE)


def test_finals_of_fewer_candidates_are_not_the_last_word(path: Path) -> None:
    with Results(path, HEADER, QUEUE) as results:
        results.append(1, Outcome("crashed", stage="run", executable="def", device="cuda://0"))
    assert read_results(path, QUEUE).result is None


@pytest.mark.parametrize(
    "change",
    [{"bundle": "cd" * 32}, {"devices": ("cuda://0 on H100 (GPU-2)",)}, {"runtime": "3.12.0"}],
)
def test_results_of_something_else_are_refused_and_kept(
    change: dict[str, object], path: Path
) -> None:
    before = path.read_bytes()
    other = replace(HEADER, **change)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=f"its {next(iter(change))} is"):
        Results(path, other, QUEUE)
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["", "notes to myself", "[1]\n", '{"format": 9}\n', "{}\n"])
def test_a_file_of_something_else_is_refused_and_kept(text: str, tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text(text)
    with pytest.raises(InputError, match="notes"):
        read_results(path, QUEUE)
    if text:
        with pytest.raises(InputError, match="notes"):
            Results(path, HEADER, QUEUE)
        assert path.read_text() == text


@pytest.mark.parametrize(
    "line",
    [
        '{"index": 0}',
        '{"index": -1, "kind": "ok"}',
        '{"index": 1, "kind": "splendid"}',
        '{"index": 1, "kind": "ok", "extra": 1}',
        '{"finals": {}}',
        "[" * 100_000,
    ],
)
def test_an_edited_line_is_named(line: str, path: Path) -> None:
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(InputError, match="line 5"):
        read_results(path, QUEUE)


def test_a_second_process_is_refused(path: Path) -> None:
    with Results(path, HEADER, QUEUE), pytest.raises(InputError, match="another process"):
        Results(path, HEADER, QUEUE)
