"""Dispatches that are tuned in the model: the order in which their candidates are tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontrunner.benchmarks.measuring import OK, Outcome, QueueOrder
from frontrunner.experiments.network_tuning.options import NetworkOptions
from frontrunner.experiments.network_tuning.plan import HotDispatch
from frontrunner.experiments.network_tuning.queued import queue_dispatches
from frontrunner.experiments.queue import AdaptiveOrder
from frontrunner.search.reading import read_dispatch

MATMUL = Path(__file__).parents[2] / "data" / "matmul.mlir"


@pytest.mark.parametrize(
    ("ranker", "kind"), [("heuristic", QueueOrder), ("adaptive", AdaptiveOrder)]
)
def test_a_ranker_that_looks_back_orders_anew(ranker: str, kind: type) -> None:
    hot = HotDispatch("matmul", "a problem", ("matmul",), MATMUL, 100.0, 1.0, 100.0)
    options = NetworkOptions(MATMUL, ranker=ranker, pool=64, jobs=1)
    target = read_dispatch(MATMUL).target
    (queued,), failed = queue_dispatches([hot], target, options, "a device", lambda _: None)
    assert failed == {}
    assert isinstance(queued.order, kind)
    known = {at: Outcome(OK, 1.0 + at % 7, 4.0) for at in queued.order.next({}, 8)}
    following = queued.order.next(known, 8)
    assert len({*known, *following}) == 16
    assert max(following) < queued.count
    assert (following == list(range(8, 16))) is (kind is QueueOrder)
