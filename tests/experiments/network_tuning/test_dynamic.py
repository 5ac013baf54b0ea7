"""Models whose sizes are up to the caller, tuned for several: real compiles and measurements."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import frontrunner
from frontrunner.experiments.network_tuning import runs
from frontrunner.experiments.network_tuning.dispatches import best_specs
from frontrunner.experiments.network_tuning.plan import HotDispatch
from frontrunner.experiments.tuning import TuneResult
from frontrunner.search.linking import find_matches, link_specs
from frontrunner.search.reading import read_network

MODELS = Path(__file__).parents[2] / "data" / "models"

pytestmark = pytest.mark.usefixtures("brief", "untracked", "hasty", "all_faster")


@pytest.fixture(autouse=True)
def _all_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is measured alone counts as faster there, too."""

    def all_better(hot: HotDispatch, tuned: TuneResult | str, *rest: Any) -> list[Path]:
        assert isinstance(tuned, TuneResult)
        better = tuple(replace(s, interval=(1.1, 1.2)) for s in tuned.finalists)
        return best_specs(hot, replace(tuned, finalists=better), *rest)

    monkeypatch.setattr(runs, "best_specs", all_better)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("dynamic", ["rowsx64xf32", "64x96xf32"]),
        ("dynamic_chain", ["rowsx4x64xf32", "64x96xf32", "96x128xf32"]),
    ],
    ids=["alone", "in the model"],
)
def test_one_spec_for_all_sizes(name: str, inputs: list[str], tmp_path: Path) -> None:
    """Every candidate counts as faster, so that they end in the spec."""
    model, run = MODELS / f"{name}.mlir", tmp_path / "run"
    result = frontrunner.tune_model(
        model, inputs=inputs, dims=["rows=6,24"], options="none", minutes=0.4, pool=50,
        ranker="heuristic", out=run, quiet=True,
    )  # fmt: skip
    assert result.spec is not None
    kept = {member for row in result.dispatches if row.kept for member in row.members}
    assert kept
    matches = find_matches(read_network(model), link_specs([result.spec])).by_matcher
    assert {dispatch for found in matches.values() for dispatch in found} == kept
    plan = json.loads((run / "plan.json").read_text())
    assert [one["dynamic"] for one in plan["hot"]] == [["m"]] * len(inputs[1:])
    tried = run / "candidates.jsonl"
    assert tried.exists() is (name == "dynamic_chain")
    (run / "result.json").unlink()
    again = frontrunner.resume_model(run, quiet=True)
    assert {row.name for row in again.dispatches} == {row.name for row in result.dispatches}
