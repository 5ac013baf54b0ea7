"""Bundles, whole: packed, run where only NumPy and the runtime are, killed, resumed, ingested."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import iree.runtime
import ml_dtypes
import numpy
import pandas as pd
import pytest

from frontrunner.benchmarks.bundle.archive import Bundle
from frontrunner.benchmarks.bundle.results import BundleResult, read_results
from frontrunner.benchmarks.bundle.run import run_bundle
from frontrunner.benchmarks.compiling.compiler import CompilePool
from frontrunner.benchmarks.measuring.budget import Budget
from frontrunner.benchmarks.measuring.outcome import BASELINE
from frontrunner.benchmarks.measuring.rounds import NEAR_ROUNDS, REMEASURE_RATIO
from frontrunner.core import InputError
from frontrunner.core.errors import KilledError
from frontrunner.experiments.bundling.ingest import IngestedBundle
from frontrunner.experiments.bundling.packing import PackResult, pack
from frontrunner.experiments.dataset.recording import Recording
from frontrunner.experiments.observing.progress import Observer
from frontrunner.experiments.tuning.folder import RunFolder
from frontrunner.experiments.tuning.options import TuneOptions
from frontrunner.experiments.tuning.runs import resume_run
from frontrunner.search.gpu import emitted_spaces

DATA = Path(__file__).parents[2] / "data"
COUNT = 10
# That `measured` is of.
DEVICES = ("local-task", "local-sync")
pytestmark = pytest.mark.usefixtures("brief", "warm")


def options(out: Path, **changes: Any) -> TuneOptions:
    given: dict[str, Any] = {"input": DATA / "matmul.mlir", "devices": (), "pool": 200, "jobs": 1}
    return TuneOptions(**{**given, "budget": Budget(COUNT), "out": out, **changes})


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> PackResult:
    out = tmp_path_factory.mktemp("packed") / "matmul.bundle"
    return pack(options(out), Observer())


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a machine with the IREE runtime and what that needs, and nothing else."""
    folder = tmp_path_factory.mktemp("elsewhere")
    site = folder / "site"
    (site / "iree").mkdir(parents=True)
    for package in (numpy, ml_dtypes, iree.runtime):
        installed = Path(package.__file__ or "").parent
        # Libraries that wheels bring lie beside the packages, and are found by relative paths.
        parent = site / "iree" if package is iree.runtime else site
        for path in installed.parent.iterdir():
            if path.name.startswith((installed.name, f"_{installed.name}")):
                (parent / path.name).symlink_to(path)
    venv.create(folder / "venv", symlinks=True)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    (packages / "site.pth").write_text(f"{site}\n")
    return folder / "venv" / "bin" / "python"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def stop(
    arguments: list[Any], when: str, how: signal.Signals, folder: Path
) -> tuple[list[str], int]:
    """Ends a run when it has written a line that starts so; what it wrote, and the exit code."""
    with subprocess.Popen(
        arguments, stderr=subprocess.PIPE, text=True, cwd=folder, start_new_session=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith(when):
                process.send_signal(how)
                break
        said = process.stderr.read().splitlines()
    return said, process.returncode


@pytest.mark.slow
def test_packing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    given = [options(tmp_path / name, budget=Budget(2), ranker="shuffle") for name in "ab"]
    first, second = (pack(each, Observer()) for each in given)
    assert first.digest == second.digest
    assert first.bundle.read_bytes() == second.bundle.read_bytes()
    assert (first.candidates, first.outcomes) == (2, {"ok": 2})


def test_candidates_that_do_not_compile_are_packed_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what meets the compiler's own constraints, some cannot be copied evenly."""
    monkeypatch.setattr(emitted_spaces, "even_copies", lambda *_: [])
    file = DATA / "gpu" / "matmul_2048x1280x5120.mlir"
    given = {"target": "gfx942", "ranker": "shuffle", "budget": Budget(8), "pool": 100_000}
    given["pipeline"] = "VectorDistribute"
    packed = pack(options(tmp_path / "a.bundle", input=file, **given), Observer())
    assert set(packed.outcomes) == {"ok", "compile_failed"}
    queue = Bundle(packed.bundle).manifest.queue
    assert [e.kind for e in queue].count("ok") == packed.executables
    assert all(e.reason and not e.digest for e in queue if e.kind != "ok")


@pytest.mark.slow
def test_a_bundle_runs_with_numpy_and_the_runtime_alone_and_survives_a_kill(
    packed: PackResult, elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    for module in ("frontrunner", "iree.compiler", "pandas"):
        code = f"import {module}"
        assert subprocess.run([elsewhere, "-I", "-c", code], capture_output=True).returncode
    arguments = [elsewhere, "-I", packed.bundle, "--device", "local-sync", "--out", "r.jsonl"]
    results = tmp_path / "r.jsonl"
    # A folder of the same name must not be taken for what the bundle carries.
    (tmp_path / "frontrunner").mkdir()
    (tmp_path / "frontrunner" / "__init__.py").write_text("raise SystemExit('not this one')")
    said, code = stop(arguments, "local-sync: default", signal.SIGINT, tmp_path)
    assert code == 130
    assert said[-2:] == ["error: interrupted", "hint: the same command goes on from here"]
    assert not list(temporary.rglob("*.vmfb"))
    said, code = stop(arguments, f"[8/{COUNT} candidates]", signal.SIGKILL, tmp_path)
    assert code == -signal.SIGKILL
    assert list(temporary.rglob("*.vmfb"))
    before = results.read_text()
    assert 9 <= len(lines(results)) <= 11
    results.write_text(before + '{"index": 9, "ki')

    resumed = subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert list(temporary.rglob("*")) == []
    assert results.read_text().startswith(before)
    found = read_results(results)
    assert list(found.outcomes) == list(range(COUNT))
    assert found.result is not None and found.result.candidates == COUNT
    last = resumed.stderr.splitlines()[-1]
    assert last == found.result.summary()
    assert "noise floor" in last

    after = results.read_text()
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, last)
    assert results.read_text() == after


@pytest.mark.slow
def test_a_recording_has_further_rounds(packed: PackResult, tmp_path: Path) -> None:
    results = tmp_path / "r.jsonl"

    said: list[str] = []

    def run(record: bool) -> BundleResult:
        return run_bundle(packed.bundle, (), results, Budget(), said.append, record=record)

    assert not run(False).recorded
    assert run(True).recorded  # goes on from there
    told = [line for line in said if line.endswith("candidates need more")]
    assert len(told) >= NEAR_ROUNDS and told[0].startswith("[0 further measurements]")
    frame = IngestedBundle.read(packed.bundle, results).to_recording().frame
    measured = frame[(frame.kind == "ok") & frame.same_as.isna()]
    near = measured.relative <= REMEASURE_RATIO * measured.relative.min()
    assert near.any()
    assert (measured[near].measurements == NEAR_ROUNDS).all()
    assert (measured[near].spread >= 0).all()
    before = results.read_text()
    assert run(True).recorded
    assert results.read_text() == before


def test_a_bundle_refuses_in_one_line(packed: PackResult, elsewhere: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("not results\n")
    for given, code, says in [
        (["--device", "gpu"], 2, "unknown device 'gpu'"),
        (["--out", "notes"], 2, "notes line 1"),
        (["--out", "no/such/folder"], 2, "cannot write no/such/folder"),
        (["--max-bytes", "1K"], 2, "it has more than the limit of 1 KiB"),
    ]:
        ran = subprocess.run(
            [elsewhere, "-I", packed.bundle, *given], capture_output=True, text=True, cwd=tmp_path
        )
        assert (ran.returncode, ran.stdout) == (code, "")
        assert says in ran.stderr.splitlines()[0]
        assert len(ran.stderr.splitlines()) <= 2
    assert [p.name for p in tmp_path.iterdir()] == ["notes"]


@pytest.fixture(scope="module")
def measured(packed: PackResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two devices."""
    out = tmp_path_factory.mktemp("measured") / "results.jsonl"
    run_bundle(packed.bundle, DEVICES, out, Budget(), lambda text: None)
    return out


def test_two_devices_have_baselines_of_their_own(measured: Path) -> None:
    baselines: dict[str, set[float | None]] = {"local-task": set(), "local-sync": set()}
    for index, outcome in read_results(measured).outcomes.items():
        assert outcome.device == DEVICES[index % 2]
        baselines[outcome.device].add(outcome.baseline_us)
    here, there = baselines.values()
    assert here and there and not here & there and None not in here | there


def test_results_become_a_finished_tuning_run(
    packed: PackResult, measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")
    result = IngestedBundle.read(packed.bundle, measured).write_run(folder.path)
    verdict = read_results(measured).result
    assert verdict is not None
    assert result.candidates == COUNT
    assert result.stopped == f"all {COUNT} candidates"
    assert (result.spec is not None) == (verdict.winner is not None) == folder.spec.exists()
    assert [x["index"] for x in lines(folder.journal)] == list(range(COUNT))
    # It is what `tune` would have left: complete, so that nothing is compiled or measured.
    monkeypatch.setattr("frontrunner.experiments.tuning.runs.LocalRunner", None)
    assert resume_run(folder.path, None, Observer()) == result


def test_a_winner_gets_its_spec(
    packed: PackResult, measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = lines(measured)
    baseline_us = records[-1]["finals"]["baseline_us"]
    standing = {"index": 3, "speedup": 2.0, "interval": [1.9, 2.1], "time_us": baseline_us / 2}
    records[-1]["finals"] |= {"standings": [standing], "noise_floor": 0.01}
    records[-1]["winner"] = 3
    won = tmp_path / "won.jsonl"
    won.write_text("".join(json.dumps(record) + "\n" for record in records))
    with monkeypatch.context() as patch:

        def killed(*_: object) -> None:
            raise KilledError("the compiler was killed by SIGKILL")

        patch.setattr(CompilePool, "_compile_once", killed)
        with pytest.raises(KilledError, match="the winner's spec was not compiled: the compiler"):
            IngestedBundle.read(packed.bundle, won).write_run(tmp_path / "run")
    result = IngestedBundle.read(packed.bundle, won).write_run(tmp_path / "run")
    assert (result.speedup, result.winner) == (2.0, 4)
    assert result.spec is not None
    assert "2.00x on local-task on " in result.spec.read_text()


def test_results_become_a_recording(packed: PackResult, measured: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    IngestedBundle.read(packed.bundle, measured).to_recording().write(path)
    recording = Recording.read(path)
    assert list(recording.frame["index"]) == list(range(COUNT))
    assert set(recording.frame["device"]) == {*DEVICES}
    assert tuple(recording.provenance.devices) == DEVICES
    assert recording.provenance.noise_floor is not None
    queue = pd.read_parquet(io.BytesIO(Bundle(packed.bundle).read("run/queue.parquet")))
    knobs = recording.frame[recording.knobs]
    assert knobs.equals(queue.head(COUNT)[recording.knobs])
    # A queue's head is no fair sample, unless it is of random order.
    assert set(recording.frame["origin"]) == {"top:cpu"}
    assert not recording.uniform.any()


def test_what_was_shuffled_is_a_uniform_sample(tmp_path: Path) -> None:
    bundle, results = tmp_path / "a.bundle", tmp_path / "results.jsonl"
    pack(options(bundle, budget=Budget(2), ranker="shuffle"), Observer())
    run_bundle(bundle, ("local-sync",), results, Budget(), lambda _: None)
    assert IngestedBundle.read(bundle, results).to_recording().uniform.tolist() == [True, True]


def test_a_run_that_has_not_ended_is_a_recording_only(
    packed: PackResult, measured: Path, tmp_path: Path
) -> None:
    part = tmp_path / "part.jsonl"
    part.write_text("".join(measured.read_text().splitlines(keepends=True)[:5]))
    ingested = IngestedBundle.read(packed.bundle, part)
    with pytest.raises(InputError, match="has not ended: there are 4 outcomes"):
        ingested.write_run(tmp_path / "run")
    assert not (tmp_path / "run").exists()
    recording = ingested.to_recording()
    assert len(recording.frame) == 4
    assert recording.provenance.noise_floor is None


REPEAT = {"index": 0, "time_us": 10.0, "block": 0, "device": "local-task"}


def repeated(records: list[dict[str, Any]], **changes: Any) -> None:
    records.append({"repeat": {**REPEAT, "index": BASELINE}})
    records.append({"repeat": {**REPEAT, **changes}})


EDITS: dict[str, Callable[[list[dict[str, Any]]], object]] = {
    "another bundle": lambda r: r[0].update(bundle="0" * 64),
    "candidate 0 is not of the bundle": lambda r: r[1].update(executable="0" * 16),
    "candidate 99 is beyond the queue": lambda r: r[1].update(index=99),
    "took None us": lambda r: r[1].update(time_us=None),
    "took -5 us": lambda r: r[1].update(time_us=-5),
    "time_us is 'abc', not a number": lambda r: r[1].update(time_us="abc"),
    "time_us is nan": lambda r: r[1].update(time_us=float("nan")),
    "is of device 'cuda'": lambda r: r[1].update(device="cuda"),
    "is the same as 77": lambda r: r[1].update(same_as=77),
    r"same_as is \[1\], not a whole number": lambda r: r[1].update(same_as=[1]),
    "block 1 of local-task has no baseline": lambda r: repeated(r, block=1),
    "block 0 of local-sync has no baseline": lambda r: repeated(r, device="local-sync"),
    "further measurement is of candidate 77": lambda r: repeated(r, index=77),
    r"index is \[0\], not a whole number": lambda r: repeated(r, index=[0]),
    "it is True, not a whole number": lambda r: r[1].update(index=True),
    "has an outcome already": lambda r: r[2].update(index=r[1]["index"]),
    "does not hold the results": lambda r: r[0].update(devices=[]),
    "uris is 'local-sync', not a list": lambda r: r[0].update(uris="local-sync"),
    "noise_floor is 'x', not a number": lambda r: r[-1]["finals"].update(noise_floor="x"),
    "baseline_us is None, not a number": lambda r: r[-1]["finals"].update(baseline_us=None),
    "seconds is 'x', not a number": lambda r: r[-1].update(seconds="x"),
    "is outside its interval": lambda r: r[-1]["finals"]["standings"][0].update(speedup=1e9),
    "time_us is 'x', not a number": lambda r: r[-1]["finals"]["standings"][0].update(time_us="x"),
    "does not follow from": lambda r: r[-1]["finals"]["standings"][0].update(time_us=1e-3),
    "the finals are of 3 candidates": lambda r: r[-1].update(candidates=3),
    "did not beat the default": lambda r: r[-1].update(
        winner=r[-1]["finals"]["standings"][-1]["index"],
        finals=r[-1]["finals"] | {"noise_floor": 1e9},
    ),
}


@pytest.mark.parametrize("says", EDITS)
def test_edited_results_are_refused(
    says: str, packed: PackResult, measured: Path, tmp_path: Path
) -> None:
    records = lines(measured)
    EDITS[says](records)
    edited = tmp_path / "edited.jsonl"
    edited.write_text("".join(json.dumps(record) + "\n" for record in records))
    with pytest.raises(InputError, match=says):
        IngestedBundle.read(packed.bundle, edited)
    # Who would go on from there is told the same, but of another bundle what differs.
    told = "its bundle is 0000" if says == "another bundle" else says
    with pytest.raises(InputError, match=told):
        run_bundle(packed.bundle, DEVICES, edited, Budget(), lambda _: None)


def test_a_longer_budget_continues_where_the_run_stopped(
    packed: PackResult, tmp_path: Path
) -> None:
    out = tmp_path / "r.jsonl"
    first = run_bundle(packed.bundle, (), out, Budget(3), lambda text: None)
    before = lines(out)
    assert (first.candidates, first.stopped) == (3, "budget of 3 candidates")
    second = run_bundle(packed.bundle, (), out, Budget(5), lambda text: None)
    assert (second.candidates, second.stopped) == (5, "budget of 5 candidates")
    assert lines(out)[: len(before)] == before
    assert list(read_results(out).outcomes) == [0, 1, 2, 3, 4]
    with pytest.raises(InputError, match="its uris is"):
        run_bundle(packed.bundle, ("local-sync",), out, Budget(5), lambda text: None)
