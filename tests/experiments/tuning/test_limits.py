"""Limits of a run that goes on: which of the earlier ones stay."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from frontrunner.benchmarks.measuring import DEFAULT_BUDGET, Budget
from frontrunner.experiments.tuning.manifest import RunManifest
from frontrunner.experiments.tuning.options import TuneOptions
from frontrunner.experiments.tuning.runs import _with_limits

USUAL = TuneOptions(Path("mm.mlir"), None, Budget(DEFAULT_BUDGET, patience=9), usual_budget=True)


@pytest.mark.parametrize(("usual", "left"), [(True, None), (False, 64), (None, None)])
def test_a_number_that_was_asked_for_stays_where_a_time_is_given(
    usual: bool | None, left: int | None
) -> None:
    started = replace(USUAL, usual_budget=usual)
    assert _with_limits(started, Budget(patience=3)).budget == Budget(64, patience=3)
    later = _with_limits(started, Budget(seconds=60))
    assert later.budget == Budget(left, 60, 9)
    # A limit that was asked for later is not the usual one, even if it is the same number.
    asked = _with_limits(started, Budget(DEFAULT_BUDGET))
    assert _with_limits(asked, Budget(seconds=60)).budget == Budget(64, 60, 9)


def test_a_manifest_keeps_whether_the_number_was_asked_for() -> None:
    written = json.loads(json.dumps(RunManifest(USUAL, "ab", ()).to_dict(), default=str))
    assert RunManifest.from_dict(written, Path("run")).options.usual_budget
    del written["options"]["usual_budget"]
    assert RunManifest.from_dict(written, Path("run")).options.usual_budget is None
