"""Dispatches that are tuned in the model: the order in which their candidates are tried."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from frontrunner.benchmarks.measuring import OK, Outcome, QueueOrder
from frontrunner.core import WorkError
from frontrunner.experiments.network_tuning import dispatches
from frontrunner.experiments.network_tuning.planning.folder import NetworkFolder
from frontrunner.experiments.network_tuning.planning.options import NetworkOptions
from frontrunner.experiments.network_tuning.planning.plan import HotDispatch, Plan
from frontrunner.experiments.network_tuning.planning.variants import PLAIN
from frontrunner.experiments.network_tuning.queued import (
    InModelOutcome,
    QueuedDispatch,
    queue_dispatches,
    read_logs,
)
from frontrunner.experiments.queue import AdaptiveOrder
from frontrunner.search.reading import read_dispatch

MATMUL = Path(__file__).parents[2] / "data" / "matmul.mlir"


@pytest.mark.parametrize(
    ("ranker", "kind"), [("heuristic", QueueOrder), ("adaptive", AdaptiveOrder)]
)
def test_a_ranker_that_looks_back_orders_anew(ranker: str, kind: type) -> None:
    hot = HotDispatch("matmul", "a problem", ("matmul",), MATMUL, 100.0, 1.0, 100.0)
    options = NetworkOptions(MATMUL, pool=64, jobs=1)
    target = read_dispatch(MATMUL).target
    (queued,), failed = queue_dispatches([hot], target, options, ranker, lambda _: None)
    assert failed == {}
    assert isinstance(queued.order, kind)
    known = {at: Outcome(OK, 1.0 + at % 7, 4.0) for at in queued.order.next({}, 8)}
    following = queued.order.next(known, 8)
    assert len({*known, *following}) == 16
    assert max(following) < queued.count
    assert (following == list(range(8, 16))) is (kind is QueueOrder)


def test_a_session_orders_by_the_ranker_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By now there may be another predictor, or none is found from another folder."""
    target = read_dispatch(MATMUL).target
    folder = NetworkFolder(tmp_path)
    folder.save_plan(Plan((), ()))
    predictor = tmp_path / "mine.predictor"
    predictor.touch()
    usual = iter((str(predictor), "cpu"))
    monkeypatch.setattr(dispatches, "usual_ranker", lambda *_: next(usual))
    for _ in range(2):
        name = dispatches._kept_ranker(folder, target, "a device", lambda _: None)
        assert name == str(predictor)
    predictor.unlink()
    assert dispatches._kept_ranker(folder, target, "a device", lambda _: None) == "cpu"
    plan = folder.plan()
    assert plan is not None and plan.ranker == "cpu"


def test_candidates_in_another_order_are_told_of_once() -> None:
    """In the session that tries them anew, and in none after it."""
    hot = HotDispatch("a", "a problem", ("a",), MATMUL, 100.0, 1.0, 100.0)
    one = QueuedDispatch(hot, 9, QueueOrder(9), "new", lambda at: None)  # type: ignore[arg-type, return-value]
    log, said = [InModelOutcome("a", 0, 1.5, queue="old")], []
    read_logs(log, {"a": one}, said.append)
    assert said == ["a has candidates in another order by now, and is tuned anew"]
    said.clear()
    found = read_logs([*log, InModelOutcome("a", 1, 1.2, queue="new")], {"a": one}, said.append)
    assert (found["a"].best(), said) == ([1], [])


def test_what_tuning_leaves_is_told_by_the_best_of_a_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hot(name: str, time_us: float) -> HotDispatch:
        share, half = time_us / 100.0, time_us / 2
        return HotDispatch(
            name, "a problem", (name,), MATMUL, time_us, share, 1.0, expected_us=half
        )

    def log(*outcomes: InModelOutcome) -> None:
        lines = [json.dumps(asdict(one)) + "\n" for one in outcomes]
        NetworkFolder(tmp_path).candidates.write_text("".join(lines))

    def left() -> float | None:
        maker: Any = SimpleNamespace(options=NetworkOptions(MATMUL), notify=said.append)
        plan, base = Plan((hot("a", 60.0), hot("b", 20.0)), ()), SimpleNamespace(variant=PLAIN)
        folder, rest = NetworkFolder(tmp_path), ("a device", 1.0)
        return dispatches.left_by_a_few(plan, base, maker, None, MATMUL, folder, *rest)  # type: ignore[arg-type]

    said: list[str] = []
    monkeypatch.setattr(dispatches, "tune_in_model", lambda *_: None)
    monkeypatch.setattr(dispatches, "MORE_TUNED", 1.0)
    assert left() is None
    log(
        InModelOutcome("a", 0, 1.5),
        InModelOutcome("a", 1, 3.0),
        InModelOutcome("a", 2, None, "crashed"),
        InModelOutcome("b", 0, 0.5),  # the default stays
    )
    assert left() == pytest.approx(0.6)
    monkeypatch.setattr(dispatches, "FEW", 1)  # of the other one, 10 of 20 are expected to go
    assert left() == pytest.approx(0.5)
    monkeypatch.setattr(dispatches, "FEW", 6)

    def fail(*_: object) -> None:
        raise WorkError("the model cannot be profiled")

    monkeypatch.setattr(dispatches, "tune_in_model", fail)
    assert left() == pytest.approx(0.6)
    assert said == [f"no candidate was tried with {PLAIN.name}: the model cannot be profiled"]
