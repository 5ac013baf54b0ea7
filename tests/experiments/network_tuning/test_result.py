"""What is said of a model's tuning, and of dispatches by themselves."""

from __future__ import annotations

from pathlib import Path

from frontrunner.benchmarks.measuring import FinalistResult
from frontrunner.experiments.network_tuning.dispatches import speedup_alone
from frontrunner.experiments.network_tuning.planning.plan import NO_TIME, TIME_UP
from frontrunner.experiments.network_tuning.planning.variants import VariantOutcome
from frontrunner.experiments.network_tuning.result import BEHIND, DispatchResult, NetworkResult
from frontrunner.experiments.tuning import TuneResult


def row(name: str, reason: str = "", candidates: int = 0) -> DispatchResult:
    spent = float(candidates)
    return DispatchResult(name, (name,), 0.2, 1.0, None, not reason, reason, candidates, spent)


def result(*rows: DispatchResult, variants: tuple[VariantOutcome, ...] = ()) -> NetworkResult:
    return NetworkResult(
        speedup=1.5, speedup_ci=(1.4, 1.6), noise_floor=0.01, measured=1.5, baseline_us=3e3,
        best_us=2e3, spec=Path("spec.mlir"), dispatches=rows, also=(), unmatched=(),
        run=Path("run"), seconds=60.0, variants=variants,
    )  # fmt: skip


def test_what_a_later_session_tried_is_told_where_it_found_nothing_better() -> None:
    cold = row("cold", "less than 1 % of the time")
    first = result(row("kept", candidates=8), row("late", NO_TIME), row("later", TIME_UP), cold)
    tried = (VariantOutcome("O3", "--iree-opt-level=O3", 1.1),)
    second = result(
        row("kept", "slower", 12), row("late", "slower", 20), row("later", "", 5), variants=tried
    )
    found = first.with_tries_of(second)
    assert [one.reason for one in found.dispatches] == ["", "slower", BEHIND, cold.reason]
    assert [one.candidates for one in found.dispatches] == [12, 20, 5, 0]
    assert [one.kept for one in found.dispatches] == [True, False, False, False]
    assert found.variants == tried
    assert found.speedup == first.speedup
    assert any("for lack of time" in line for line in first.summary_lines())
    assert not any("for lack of time" in line for line in found.summary_lines())


def test_the_winner_is_tried_first_in_the_model() -> None:
    """It is verified, and measured by itself; what led the heats may have lost there."""
    finalists = (
        FinalistResult(4, 1.02, (1.01, 1.03), 98.0),
        FinalistResult(2, 1.06, (1.05, 1.07), 94.0),
        FinalistResult(7, 0.99, (0.98, 1.01), 101.0),
    )
    tuned = TuneResult(
        speedup=1.06, speedup_ci=(1.05, 1.07), noise_floor=0.03, spec=None, baseline_us=100.0,
        best_us=94.0, outcomes={}, candidates=8, winner=3, near_best=3, finalists=finalists,
        run=Path("run"), stopped="", seconds=1.0,
    )  # fmt: skip
    assert speedup_alone(tuned) == 1.06
