"""Tuning whole models: real compiles, real measurements, a real kill."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from frontrunner.benchmarks.compiling.compiler import CompileJob, CompilePool, Compiler
from frontrunner.benchmarks.measuring.budget import Budget
from frontrunner.benchmarks.measuring.outcome import CompileOutcome
from frontrunner.benchmarks.networks import profiling
from frontrunner.benchmarks.networks import runner as model_runner
from frontrunner.core import InputError
from frontrunner.core.decoding import decode
from frontrunner.core.errors import KilledError
from frontrunner.core.files import lock_folder
from frontrunner.experiments.network_tuning import (
    bases,
    choosing,
)
from frontrunner.experiments.network_tuning import (
    dispatches as hot_runs,
)
from frontrunner.experiments.network_tuning import (
    runs as tune_model,
)
from frontrunner.experiments.network_tuning import (
    trial as trying,
)
from frontrunner.experiments.network_tuning.bases import Base
from frontrunner.experiments.network_tuning.finishing import CompiledModel, Finish
from frontrunner.experiments.network_tuning.planning.folder import NetworkFolder, open_new_folder
from frontrunner.experiments.network_tuning.planning.options import NetworkOptions
from frontrunner.experiments.network_tuning.planning.plan import HotDispatch, Plan, SkippedDispatch
from frontrunner.experiments.network_tuning.planning.variants import (
    PLAIN,
    OptionVariant,
    VariantOutcome,
)
from frontrunner.experiments.network_tuning.result import DispatchResult, NetworkResult
from frontrunner.experiments.network_tuning.trial import DispatchChoice, TrialResult
from frontrunner.experiments.observing.progress import Observer
from frontrunner.search import Target, TuningSpec
from frontrunner.search.reading import networks as model

MODELS = Path(__file__).parents[2] / "data" / "models"
SMALL = "dispatch_0_matmul_32x512x256_f32"
LARGE = "dispatch_1_matmul_32x1024x512_f32"


def nothing(_: str) -> None:
    """Is told what is done."""


def quicken(patch: pytest.MonkeyPatch) -> None:
    """A few candidates, and measurements that are short rather than right."""
    patch.setattr(hot_runs, "Budget", lambda **limits: Budget(4, **limits))
    patch.setattr(model_runner, "TURN_SECONDS", 0.01)
    patch.setattr(trying, "PROFILE_ROUNDS", 2)
    patch.setattr(trying, "RACE_PATIENCE", 0.0)
    patch.setattr(hot_runs, "MAX_TRIED", 2)
    patch.setattr(profiling, "PROFILE_SECONDS", 0.01)
    # Which configurations win is left to chance, but not whether any is tried.
    patch.setattr(
        tune_model.NetworkRunner,
        "measure_speedup",
        _sure(model_runner.NetworkRunner.measure_speedup),
    )


def take_all_for_faster(patch: pytest.MonkeyPatch) -> None:
    """The best of the candidates counts as faster, for all to be tried in the model."""
    specs = hot_runs.best_specs

    def all_better(hot: HotDispatch, tuned: Any, *rest: Any) -> list[TuningSpec]:
        better = tuple(replace(s, interval=(1.1, 1.2)) for s in tuned.finalists)
        return specs(hot, replace(tuned, finalists=better), *rest)

    patch.setattr(tune_model, "best_specs", all_better)


def _sure(measure: Callable[..., Any]) -> Callable[..., Any]:
    """Takes times as they are measured, and the second variant of two that differ for faster."""

    def gain(self: Any, before: Path, after: Path, *rest: Any, **more: Any) -> Any:
        found = measure(self, before, after, *rest, **more)
        if before == after:
            return found
        if "without" in after.name:  # on some machines it is faster so, and left out
            return replace(found, speedup=0.9, interval=(0.8, 1.0), noise_floor=0.01)
        faster = {
            "speedup": 1.5,
            "interval": (1.4, 1.6),
            "ratios": (1.3, 1.5, 1.7),
            "after_us": found.before_us / 1.5,
        }
        return replace(found, **faster, noise_floor=0.01)

    return gain


def _keep_tracked(_: object, run: dict[str, Any]) -> dict[str, str]:
    """Instead of MLflow, which takes half a minute: see `test_tracking.py`."""
    Path("tracked.json").write_text(json.dumps(run))
    return {"run_id": "none"}


@pytest.fixture(scope="module")
def finished(
    tmp_path_factory: pytest.TempPathFactory, warm: None, brief: None
) -> Iterator[tuple[NetworkResult, Path]]:
    """A model's tuning that was killed on the way, and then finished."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        quicken(patch)
        patch.chdir(folder)
        patch.setattr(tune_model.Tracker, "_write", _keep_tracked)
        take_all_for_faster(patch)
        patch.setattr(trying, "LEAST_GAIN", 0.0)
        patch.setattr(choosing, "choose_base", lambda *_, **__: pytest.fail("profiled again"))
        copy = Path(shutil.copy(MODELS / "two_matmuls.mlir", folder))
        run, measured = _killed(copy, folder)
        before = measured.read_text()
        plan = (run / "plan.json").read_text()
        assert not (run / "result.json").exists()
        result = tune_model.resume_network_run(Path("run"), Observer, nothing, copy)
        assert measured.read_text().startswith(before)
        assert (run / "plan.json").read_text() == plan
        yield replace(result, run=run, spec=run / "spec.mlir", flags=run / "flags.txt"), run


def _killed(file: Path, folder: Path) -> tuple[Path, Path]:
    """A tuning that was killed while it measured the first dispatch, and that one's outcomes."""
    arguments = [
        *(sys.executable, "-m", "frontrunner", "tune-model", file.name, "--out", "run"),
        *("--pool", "200", "--seed", "3", "--ranker", "shuffle", "--options", "none"),
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        arguments, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment
    ) as process:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("default "):
                break
        process.send_signal(signal.SIGKILL)
        said += process.stderr.readlines()
    assert process.returncode == -signal.SIGKILL, "".join(said)
    # Which one comes first follows from times that were measured, and may be off where all stalls.
    (measured,) = (folder / "run" / "runs").glob("*/outcomes.jsonl")
    return folder / "run", measured


def _files_and_figures(finished: tuple[NetworkResult, Path]) -> None:
    result, run = finished
    found = {str(p.relative_to(run)) for p in run.rglob("*")}
    files = {"model.json", "options.json", "plan.json", "result.json", "report.md", "spec.mlir"}
    assert {*files, "flags.txt"} < found
    assert {f"dispatches/{name}.mlir" for name in (SMALL, LARGE)} < found
    assert {f"runs/{name}/outcomes.jsonl" for name in (SMALL, LARGE)} < found
    assert "work" not in found
    content = json.loads((run / "result.json").read_text())
    assert content["speedup"] == result.speedup == 1.5
    assert content["speedup_ci"] == [1.4, 1.6]
    assert content["spec"] == "run/spec.mlir"
    rows = {row["name"]: row for row in content["dispatches"]}
    assert set(rows) == {SMALL, LARGE}
    assert sum(row["share"] for row in rows.values()) == pytest.approx(1.0)
    assert all(row["candidates"] >= 4 for row in rows.values())
    assert any(row["kept"] for row in rows.values())
    assert all(row["kept"] == (row["reason"] == "") for row in rows.values())
    assert NetworkResult.read(run / "result.json") == result


def _the_spec_applies_to_the_model(finished: tuple[NetworkResult, Path]) -> None:
    result, run = finished
    text = (run / "spec.mlir").read_text()
    assert text.startswith("// Expected speedup of the model: 1.50x on ")
    read = model.read_network(MODELS / "two_matmuls.mlir")
    # Not in this process: the compiler's threads may wait for each other for ever.
    with CompilePool(run.parent, 1, tries=2) as pool:
        (compiled,) = pool.compile_jobs(
            [CompileJob("applied", read.source, read.target.flags, text)]
        )
    kept = {m for row in result.dispatches if row.kept for m in row.members}
    assert set(compiled.applied) == kept
    assert result.also == result.unmatched == ()


def _the_report_is_a_table(finished: tuple[NetworkResult, Path]) -> None:
    result, run = finished
    lines = (run / "report.md").read_text().splitlines()
    assert lines[0] == "# two_matmuls.mlir"
    rows = [line for line in lines if line.startswith("| dispatch_")]
    assert len(rows) == len(result.dispatches)
    assert {line.count("|") for line in lines if line.startswith("|")} == {10}
    assert any(line.startswith("speedup      1.50x (95 %: 1.40 to 1.60)") for line in lines)


def _it_is_tracked_with_its_dispatches(finished: tuple[NetworkResult, Path]) -> None:
    result, run = finished
    tracked = json.loads((run.parent / "tracked.json").read_text())
    assert (tracked["name"], tracked["status"]) == ("run", "FINISHED")
    assert tracked["tags"]["mode"] == "tune_model"
    assert tracked["params"]["coverage"] == "0.9"
    assert {name: value for name, value, *_ in tracked["metrics"]}["speedup"] == 1.5
    names = [Path(path).name for path in tracked["artifacts"]]
    assert names == ["flags.txt", "spec.mlir", "result.json", "report.md"]
    assert [child["name"] for child in tracked["children"]] == [r.name for r in result.dispatches]
    for row, child in zip(result.dispatches, tracked["children"], strict=True):
        figures = {name: value for name, value, *_ in child["metrics"]}
        assert figures["share"] == row.share
        assert figures["kept"] == row.kept


def _what_is_finished_is_not_done_again(
    finished: tuple[NetworkResult, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    result, run = finished
    monkeypatch.setattr(tune_model, "read_network", lambda *_: pytest.fail("read again"))
    assert tune_model.resume_network_run(run, Observer, nothing) == result
    given = MODELS / "two_matmuls.mlir"
    assert tune_model.resume_network_run(run, Observer, nothing, given) == result


def _a_folder_that_was_moved_still_knows_its_dispatches(
    finished: tuple[NetworkResult, Path], tmp_path: Path
) -> None:
    moved = Path(shutil.copytree(finished[1], tmp_path / "moved"))
    plan = NetworkFolder(moved).plan()
    assert plan
    assert all(hot.file.parent == moved / "dispatches" for hot in plan.hot)
    assert all(hot.file.exists() for hot in plan.hot)
    # What is finished is told from any folder, and without the model.
    found = tune_model.resume_network_run(moved, Observer, nothing)
    there = {"spec": moved / "spec.mlir", "flags": moved / "flags.txt"}
    assert found == replace(finished[0], run=moved, **there)


def _a_damaged_folder_is_never_finished(
    finished: tuple[NetworkResult, Path], tmp_path: Path
) -> None:
    """Neither what is damaged nor what another process has is left out for good."""
    folder = Path(shutil.copytree(finished[1], tmp_path / "damaged"))
    result, plan = folder / "result.json", folder / "plan.json"
    hot = NetworkFolder(folder).run_of(HOT).path.with_name(LARGE)

    def refused(path: Path, text: str) -> str:
        before = path.read_text()
        path.write_text(text)
        with pytest.raises(InputError) as why:
            tune_model.resume_network_run(folder, Observer, nothing, MODELS / "two_matmuls.mlir")
        assert (folder / "result.json").exists() == (path == result)
        path.write_text(before)
        return str(why.value)

    for text in ("", "[]", '{"dispatches": null}', result.read_text().replace("speedup", "x", 1)):
        assert "result.json does not hold what was written there" in refused(result, text)
    result.unlink()
    with lock_folder(folder), pytest.raises(InputError, match="another process is working in"):
        tune_model.resume_network_run(folder, Observer, nothing, MODELS / "two_matmuls.mlir")
    for text in ("{", "[]", "{}"):
        assert "plan.json does not hold what was written there" in refused(plan, text)
    assert "result.json does not hold" in refused(hot / "result.json", "[]")
    (hot / "result.json").unlink()
    assert "is not the folder of a tuning run" in refused(hot / "run.json", "{")


def _resuming_refuses_what_does_not_fit(
    finished: tuple[NetworkResult, Path], tmp_path: Path
) -> None:
    _, run = finished
    with pytest.raises(InputError, match=r"softmax.mlir is not what .* was made with"):
        tune_model.resume_network_run(run, Observer, nothing, MODELS / "softmax.mlir")
    with pytest.raises(InputError, match="is not the folder of a model's tuning"):
        tune_model.resume_network_run(tmp_path, Observer, nothing)
    content = json.loads((run / "model.json").read_text())
    content["versions"]["iree-base-compiler"] = "1.0"
    (tmp_path / "model.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"was made with .*1\.0.*, this is"):
        tune_model.resume_network_run(tmp_path, Observer, nothing)
    (tmp_path / "model.json").write_text("{")
    with pytest.raises(InputError, match="is not the folder of a model's tuning"):
        tune_model.resume_network_run(tmp_path, Observer, nothing)


@pytest.mark.slow
def test_a_model_that_was_killed_and_finished(
    finished: tuple[NetworkResult, Path],
    warm: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # One test, for each worker of xdist would make a run of its own.
    _files_and_figures(finished)
    _the_spec_applies_to_the_model(finished)
    _the_report_is_a_table(finished)
    _it_is_tracked_with_its_dispatches(finished)
    _a_folder_that_was_moved_still_knows_its_dispatches(finished, tmp_path)
    _a_damaged_folder_is_never_finished(finished, tmp_path)
    _resuming_refuses_what_does_not_fit(finished, tmp_path)
    _more_time_is_gone_on_with(finished, tmp_path, monkeypatch)
    _what_is_lost_is_missed(finished, tmp_path)
    _what_is_finished_is_not_done_again(finished, monkeypatch)


def _more_time_is_gone_on_with(
    finished: tuple[NetworkResult, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(finished[1], tmp_path / "more"))
    (log,) = (copy / "runs").glob(f"{LARGE}*/outcomes.jsonl")
    measured = log.read_text()
    with monkeypatch.context() as patch:
        quicken(patch)
        patch.setattr(hot_runs, "Budget", lambda **limits: Budget(6, **limits))
        patch.setattr(tune_model, "is_behind", lambda *_: False)
        patch.setattr(tune_model.Tracker, "_write", lambda *_: {"run_id": "none"})
        found = tune_model.resume_network_run(copy, Observer, nothing, minutes=1.0)
    tried = {row.name: row.candidates for row in found.dispatches}
    assert tried[LARGE] == 6
    assert log.read_text().startswith(measured)
    assert log.read_text().count("\n") > measured.count("\n")
    assert NetworkResult.read(copy / "result.json") == found
    # What is worse does not replace it.
    files = [copy / name for name in ("spec.mlir", "flags.txt", "result.json", "report.md")]
    before = [file.read_bytes() for file in files]
    with monkeypatch.context() as patch:
        quicken(patch)
        patch.setattr(tune_model.Tracker, "_write", lambda *_: {"run_id": "none"})
        patch.setattr(tune_model, "finish", lambda *_: Finish(None, None))
        again = tune_model.resume_network_run(copy, Observer, nothing, minutes=0.1)
    assert again == found
    assert [file.read_bytes() for file in files] == before
    # Nor does what cannot be written.
    with monkeypatch.context() as patch:
        quicken(patch)
        patch.setattr(tune_model, "is_behind", lambda *_: False)
        patch.setattr(tune_model, "report", lambda *_: (copy / "missing" / "file").write_text(""))
        with pytest.raises(FileNotFoundError):
            tune_model.resume_network_run(copy, Observer, nothing, minutes=0.1)
    assert [file.read_bytes() for file in files] == before


def _what_is_lost_is_missed(finished: tuple[NetworkResult, Path], tmp_path: Path) -> None:
    for name in ("spec.mlir", "flags.txt"):
        copy = shutil.copytree(finished[1], tmp_path / f"without-{name}")
        (copy / name).unlink()
        with pytest.raises(InputError, match=f"does not follow from the run: {name} is missing"):
            tune_model.resume_network_run(copy, Observer, nothing)


HOT = HotDispatch("mm", "a problem", ("main$mm", "main$mm2"), Path("mm.mlir"), 80.0, 0.8, 80.0)
PLAN = Plan((HOT,), (SkippedDispatch("softmax", 0.2, "computes softmax"),))


TARGET = Target("llvm-cpu", "znver4", "host", 1, 32, 16, (1, 2, 3))
PLAIN_BASE = Base(
    PLAIN, model.Network(TARGET, "", (), (), ()), CompileOutcome("ok", Path("default.vmfb"))
)


def build(
    trial: TrialResult,
    tuned: Any,
    variants: Sequence[VariantOutcome] = (),
    plan: Plan = PLAN,
    made_with: OptionVariant = PLAIN,
) -> NetworkResult:
    winner = None
    if trial.spec is not None:
        winner = CompiledModel(PLAIN_BASE, Path("tuned.vmfb"), trial.spec, trial.applied)
    return NetworkResult.build(
        plan, {"mm": tuned}, trial, Finish(winner, trial.gain), variants, made_with,
        baseline_us=2000.0, run=Path("r"), seconds=1.0,
    )  # fmt: skip


def test_a_dispatch_whose_run_is_killed_is_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For good, that would be; resuming goes on with it."""

    def killed(*_: object, **__: object) -> None:
        raise KilledError("the compiler's default was not compiled: killed by SIGKILL, twice")

    monkeypatch.setattr(hot_runs, "start_run", killed)
    hot = HotDispatch("a", "a problem", ("a",), tmp_path / "a.mlir", 10.0, 1.0, 10.0)
    folder = NetworkFolder(tmp_path / "run")
    given = ((hot,), (hot,), folder, NetworkOptions(MODELS / "x.mlir", tmp_path / "run"))
    with pytest.raises(KilledError, match="killed by SIGKILL, twice"):
        hot_runs.tune_hot_dispatches(*given, float("inf"), Observer, nothing)


@pytest.mark.parametrize("starter", [None, "module {}"])
def test_a_compiler_that_is_killed_is_no_bad_model(
    starter: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KilledError("the compiler was killed by SIGKILL")

    monkeypatch.setattr(CompilePool, "_compile_once", killed)
    target = Target("llvm-cpu", "znver4", "host", 1, 32, 16, (1, 2, 3))
    small = model.Network(target, "module {}", (), (), ())
    with (
        Compiler(small, tmp_path, 1) as compiler,
        pytest.raises(KilledError, match=r"was not compiled: the compiler was killed .*, twice"),
    ):
        bases.compile_default(compiler, starter)


def test_what_was_not_measured_is_not_told() -> None:
    result = build(
        TrialResult((DispatchChoice(HOT, reason="x"),), None, None, ()), "no time was left for it"
    )
    assert (result.speedup, result.spec, result.noise_floor) == (1.0, None, None)
    assert result.summary_lines() == [
        "the model stays as it is",
        "speedup      1.00x (the default, 2.0 ms)",
        "not tried    1 of the dispatches, for lack of time: "
        "frontrunner tune-model --resume r --minutes M goes on, with the same --iree-flag, "
        "--cluster and --options FILE, if any",
        "spec         none",
    ]
    assert [row.reason for row in result.dispatches] == [
        "no time was left for it",
        "computes softmax",
    ]
    assert [row.kept for row in result.dispatches] == [False, False]


def test_what_else_a_spec_configures_is_told() -> None:
    gain = model_runner.Speedup(1.2, (1.1, 1.3), 2000.0, 1700.0, 0.02, ())
    trial = TrialResult((DispatchChoice(HOT, Path("s"), 1.4),), "spec", gain, ("main$mm", "other"))
    result = build(trial, "kept all the same")
    assert result.also == ("other",)
    assert result.unmatched == ("main$mm2",)
    assert result.summary_lines() == [
        "the spec configures other, too, of the same problems",
        "the spec does not match main$mm2",
        "speedup      1.20x (95 %: 1.10 to 1.30), 2.0 ms -> 1.7 ms",
        "noise floor  2.0%",
        "options      the usual options",
        "flags        r/flags.txt",
        "spec         r/spec.mlir",
    ]
    (first, second) = result.dispatches
    assert (first.speedup, first.kept, second.kept) == (1.4, True, False)


def test_what_is_left_of_each_dispatch_is_told_and_how_near_the_peak_that_is() -> None:
    # Of 80 us, 20 would be needed at the machine's peak.
    hot = replace(HOT, least_us=20.0)
    plan = Plan((hot,), PLAN.rest)
    gain = model_runner.Speedup(1.2, (1.1, 1.3), 100.0, 70.0, 0.02, ())

    def dispatches(spec: str | None) -> Sequence[DispatchResult]:
        trial = TrialResult((DispatchChoice(hot, Path("s"), 1.6),), spec, gain, ("main$mm",))
        return build(trial, "tuned", plan=plan).dispatches

    tuned, other = dispatches("spec")
    assert (tuned.left_us, tuned.roofline) == (pytest.approx(50), pytest.approx(0.4))
    assert (other.left_us, other.roofline) == (pytest.approx(20), None)
    # Whatever it reached in a trial: the model stays as it was.
    as_it_was, _ = dispatches(None)
    assert (as_it_was.left_us, as_it_was.roofline) == (80, 0.25)


def test_a_spec_that_is_used_with_other_options_than_it_was_made_with_says_so() -> None:
    gain = model_runner.Speedup(1.4, (1.3, 1.5), 2000.0, 1400.0, 0.02, ())
    trial = TrialResult((DispatchChoice(HOT, Path("s"), 1.6),), "spec", gain, ("main$mm",))
    assert build(trial, "tuned").remark == ""
    remark = "the spec was made with tiled, and configures 1 dispatches with the usual options"
    result = build(trial, "tuned", made_with=OptionVariant("tiled"))
    assert remark in result.summary_lines()


def test_small_dispatches_that_nothing_was_tried_of_are_one_row() -> None:
    rest = tuple(SkippedDispatch(f"d{n}", s, "why") for n, s in enumerate([0.2, 5e-3, 4e-3]))
    trial = TrialResult((DispatchChoice(HOT, None),), None, None, ())
    first, large, others = build(trial, "no time", plan=Plan((HOT,), rest)).rows()
    assert (first[0], large[0], large[-1]) == (HOT.name, "d0", "why")
    assert others[:3] == ("2 others", "2", "0.9%")
    assert others[-1] == "not tuned: less than 1% each"


def test_a_measured_model_that_is_not_faster_has_no_spec() -> None:
    gain = model_runner.Speedup(1.01, (0.99, 1.03), 2000.0, 1980.0, 0.02, ())
    trial = TrialResult((DispatchChoice(HOT, Path("s"), 1.4),), None, gain, ())
    result = build(trial, "tuned")
    assert (result.speedup, result.speedup_ci, result.spec) == (1.0, (1.0, 1.0), None)
    assert result.measured == 1.01
    assert "not faster than the default beyond noise (measured: 1.01x)" in result.summary_lines()[0]
    assert not result.dispatches[0].kept


def test_options_there_and_back(tmp_path: Path) -> None:
    given = NetworkOptions(
        Path("m.mlir"),
        tmp_path,
        3.0,
        0.5,
        "main",
        ("nxf32",),
        ("n=2,4",),
        (("model", Path("w")),),
        (Path("s"),),
    )
    assert decode(NetworkOptions, json.loads(json.dumps(asdict(given), default=str))) == given


def test_options_are_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("m.mlir", "w.irpa", "s.mlir", "x.npy", "mine.predictor"):
        (tmp_path / name).touch()
    given = NetworkOptions(
        Path("m.mlir"),
        Path("out"),
        inputs=("2xf32=1", "@x.npy", "2xf32=@x.npy"),
        parameters=(("model", Path("w.irpa")),),
        starter=(Path("s.mlir"),),
        ranker="mine.predictor",
    )
    found = given.absolute()
    assert found.inputs == ("2xf32=1", f"@{tmp_path}/x.npy", f"2xf32=@{tmp_path}/x.npy")
    names = ["m.mlir", "w.irpa", "s.mlir", "x.npy", "x.npy", "mine.predictor"]
    assert found.files == [tmp_path / name for name in names]
    assert replace(given, ranker="shuffle").absolute().ranker == "shuffle"


def test_what_a_run_was_made_with_is_still_the_same(tmp_path: Path) -> None:
    for name in ("m.mlir", "s.mlir"):
        (tmp_path / name).write_text(name)
    options = NetworkOptions(tmp_path / "m.mlir", tmp_path / "out", starter=(tmp_path / "s.mlir",))
    with open_new_folder(options) as folder:
        pass
    assert folder.load(None) == options
    (tmp_path / "s.mlir").write_text("edited")
    with pytest.raises(InputError, match=r"s.mlir is not what .*out was made with"):
        folder.load(None)
    # A folder that is somebody else's may leave digests out.
    content = json.loads((folder.path / "model.json").read_text())
    (folder.path / "model.json").write_text(json.dumps(content | {"digests": []}))
    with pytest.raises(InputError, match=r"m.mlir is not what .*out was made with"):
        folder.load(None)
    (folder.path / "model.json").write_text(json.dumps(content))
    # What is finished needs no files to be shown, but to be gone on with.
    folder.result.touch()
    assert folder.load(None) == options
    with pytest.raises(InputError, match=r"s.mlir is not what .*out was made with"):
        folder.load(None, further=True)


def test_what_is_finished_is_gone_on_with_by_flags_that_are_given(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text("a model")
    flags = ("--iree-opt-level=O3",)
    with open_new_folder(
        NetworkOptions(tmp_path / "m.mlir", tmp_path / "out", iree_flags=flags)
    ) as folder:
        pass
    folder.result.touch()
    assert folder.load(None).iree_flags == flags  # shown
    for wrong in ({"iree_flags": ("--b",)}, {"cluster": "local:1"}, {"variants": "none"}):
        with pytest.raises(InputError, match=r"was (compiled|measured|started)"):
            folder.load(None, **wrong)
    with pytest.raises(InputError, match="flags"):
        folder.load(None, further=True)
    assert folder.load(None, iree_flags=flags, further=True).iree_flags == flags
