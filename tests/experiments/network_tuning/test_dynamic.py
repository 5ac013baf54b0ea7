"""Models whose sizes are up to the caller, tuned for several: real compiles and measurements."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import frontrunner
from frontrunner.experiments.network_tuning import NetworkResult, queued
from frontrunner.search.linking import find_matches, link_specs
from frontrunner.search.reading import read_network

MODELS = Path(__file__).parents[2] / "data" / "models"

pytestmark = pytest.mark.usefixtures(
    "brief", "untracked", "hasty", "all_faster", "all_faster_in_profiles"
)


@pytest.mark.slow
def test_one_spec_for_all_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every candidate that runs counts as faster, so that there is a spec."""
    monkeypatch.setattr(queued, "LEAST_SPEEDUP", 0.0)
    model, run = MODELS / "dynamic_chain.mlir", tmp_path / "run"
    inputs = ["rowsx4x64xf32", "64x96xf32", "96x128xf32"]
    result = frontrunner.tune_model(
        model, inputs=inputs, dims=["rows=6,24"], options="none", minutes=3, pool=4,
        ranker="heuristic", out=run, quiet=True,
    )  # fmt: skip
    plan = json.loads((run / "plan.json").read_text())
    assert [one["dynamic"] for one in plan["hot"]] == [["m"]] * 2
    tried = [json.loads(line) for line in (run / "candidates.jsonl").open()]
    assert any(one["speedup"] for one in tried)
    check_that_what_is_kept_is_matched(result, model)
    (run / "result.json").unlink()
    check_that_what_is_kept_is_matched(frontrunner.resume_model(run, quiet=True), model)


def check_that_what_is_kept_is_matched(result: NetworkResult, model: Path) -> None:
    """In the model as it is, whose sizes are not known."""
    kept = {member for row in result.dispatches if row.kept for member in row.members}
    assert kept
    assert result.spec is not None
    matches = find_matches(read_network(model), link_specs([result.spec])).by_matcher
    assert {dispatch for found in matches.values() for dispatch in found} == kept
