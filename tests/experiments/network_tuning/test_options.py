"""Options of the compiler on a real model, with dispatches that are tuned in it: real compiles."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import frontrunner
from frontrunner.core import InputError
from frontrunner.experiments.network_tuning import choosing, dispatches, read_tried, runs
from frontrunner.experiments.network_tuning.planning import Plan
from frontrunner.search.linking import find_matches, link_specs
from frontrunner.search.reading import read_network

MODELS = Path(__file__).parents[2] / "data" / "models"
# One that there is not, one that compiles and computes something else, one that may help.
OPTIONS = """
unknown = ["--no-such-flag"]
wrong = ["--iree-global-opt-demote-contraction-inputs-type=bf16",
         "--iree-global-opt-demote-contraction-inputs-operations=all"]
plain = ["--iree-llvmcpu-debug-symbols=false"]
"""

# All are tried long before the time is up.
FEW = 4

pytestmark = pytest.mark.usefixtures("brief", "untracked")


@pytest.mark.slow
def test_what_computes_something_else_is_never_chosen_and_the_flags_compile(
    hasty: None, all_faster: None, tmp_path: Path
) -> None:
    """Every variant and candidate counts as faster: only outputs tell which may stay."""
    file = tmp_path / "options.toml"
    file.write_text(OPTIONS)
    model = shutil.copy(MODELS / "two_matmuls.mlir", tmp_path / "model.mlir")
    run = tmp_path / "run"
    result = frontrunner.tune_model(
        model, options=file, minutes=1, pool=FEW, ranker="heuristic", out=run, quiet=True
    )
    variants = {one.name: one for one in result.variants}
    assert {*variants} == {"plain", "wrong", "unknown"}
    assert variants["wrong"].reason.startswith("wrong results: output 0 on inputs 1: ")
    assert variants["unknown"].reason == "the compiler has no flag --no-such-flag"
    assert variants["plain"].speedup == 1.5
    assert result.options != "wrong"
    tried = [json.loads(line) for line in (run / "candidates.jsonl").open()]
    assert {one["dispatch"] for one in tried} == {
        row.name for row in result.dispatches if row.candidates
    }
    assert result.flags is not None
    command = [Path(sys.executable).with_name("iree-compile"), "../model.mlir", "@flags.txt"]
    spec = ["--iree-codegen-tuning-spec-path=spec.mlir"] if result.spec else []
    subprocess.run([*command, *spec, "-o", "model.vmfb"], cwd=run, check=True)
    report = (run / "report.md").read_text()
    assert "@flags.txt" in report
    assert ("--mlir-disable-threading" in report) is (result.spec is not None)
    check_that_a_file_of_options_is_asked_for_again(run, file)


@pytest.mark.slow
def test_a_few_candidates_tell_what_to_tune_with_and_are_not_tried_again(
    hasty: None, all_faster: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def try_a_few(plan: Plan, *rest: Any) -> float | None:
        left.append(dispatches.left_by_a_few(plan, *rest))
        few.append([(one.dispatch, one.candidate) for one in read_tried(rest[4].candidates)])
        return left[-1]

    left: list[float | None] = []
    few: list[list[tuple[str, int]]] = []
    monkeypatch.setattr(choosing, "left_by_a_few", try_a_few)
    monkeypatch.setattr(choosing, "RIVAL", 1e9)
    monkeypatch.setattr(choosing, "LEAST_BRIEF", 0.0)
    monkeypatch.setattr(runs, "BRIEF_SHARE", 0.2)
    file, run = tmp_path / "options.toml", tmp_path / "run"
    file.write_text('plain = ["--iree-llvmcpu-debug-symbols=false"]')
    result = frontrunner.tune_model(
        MODELS / "two_matmuls.mlir", options=file, minutes=1, pool=FEW, ranker="heuristic",
        out=run, quiet=True,
    )  # fmt: skip
    assert len(left) == 2
    assert all(one is not None and 0 < one < 1.1 for one in left)
    kept = [(one.dispatch, one.candidate) for one in read_tried(run / "candidates.jsonl")]
    assert kept[: len(few[0])] in few
    assert sum(row.candidates for row in result.dispatches) == len(set(kept)) > 0
    assert not (run / "work").exists()


@pytest.mark.slow
def test_functions_are_tuned_together(
    hasty: None, all_faster: None, all_faster_in_profiles: None, tmp_path: Path
) -> None:
    """Every spec and candidate counts as faster, so that there is one."""
    model, run = MODELS / "prefill_decode.mlir", tmp_path / "run"
    result = frontrunner.tune_model(
        model, function="prefill=1,decode=3", options="none", minutes=1, pool=2 * FEW,
        ranker="heuristic", out=run, quiet=True,
    )  # fmt: skip
    assert {member for row in result.dispatches for member in row.members} == {
        "prefill_dispatch_0_matmul_32x512x256_f32",
        "decode_dispatch_0_matmul_1x512x256_f32",
    }
    assert result.spec is not None
    kept = {member for row in result.dispatches if row.kept for member in row.members}
    assert kept
    matches = find_matches(read_network(model), link_specs([result.spec])).by_matcher
    assert {dispatch for found in matches.values() for dispatch in found} == kept
    (run / "result.json").unlink()
    again = frontrunner.resume_model(run, quiet=True)
    assert {row.name for row in again.dispatches} == {row.name for row in result.dispatches}


def check_that_a_file_of_options_is_asked_for_again(run: Path, file: Path) -> None:
    (run / "result.json").unlink()
    for other in (None, "none", "auto"):
        with pytest.raises(InputError, match="was started with the options of a file"):
            frontrunner.resume_model(run, options=other, quiet=True)
    tried = json.loads((run / "options.json").read_text())
    for elsewhere, said in (
        ({"device": "another kind of CPU"}, "another kind of CPU, and this is "),
        ({"cores": 99}, "99 cores, and this process may run on "),
    ):
        (run / "options.json").write_text(json.dumps(tried | elsewhere))
        with pytest.raises(InputError, match=f"run was begun on {said}"):
            frontrunner.resume_model(run, options=file, quiet=True)
    tried["tuned"] = "--no-such-flag"
    (run / "options.json").write_text(json.dumps(tried))
    with pytest.raises(InputError, match=r"options.json does not hold what was written there"):
        frontrunner.resume_model(run, options=file, quiet=True)
    file.write_text(OPTIONS.replace("plain", "other"))
    with pytest.raises(InputError, match=r"options.toml is not what .* was made with"):
        frontrunner.resume_model(run, options=file, quiet=True)
