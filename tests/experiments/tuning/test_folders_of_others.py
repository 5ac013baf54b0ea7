"""Run folders and bundles that somebody else made: nothing runs, nothing is written elsewhere, and
nothing is believed unchecked. A finished run is edited in one place, and then resumed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from frontrunner.benchmarks.bundle.run import run_bundle
from frontrunner.benchmarks.measuring.budget import Budget
from frontrunner.benchmarks.runners import ReplayRunner
from frontrunner.experiments.bundling.packing import pack
from frontrunner.experiments.observing.progress import Observer
from frontrunner.experiments.tuning import runs, session
from frontrunner.experiments.tuning.journal import Journal
from frontrunner.experiments.tuning.options import TuneOptions
from frontrunner.experiments.tuning.runs import resume_run, start_run

from ...conftest import Ran

MATMUL = Path(__file__).parents[2] / "data" / "matmul.mlir"
COUNT = 6


@pytest.fixture(scope="module", autouse=True)
def _untracked(brief: None, warm: None) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session.Tracker, "_write", lambda self, run: {"run_id": "none"})
        yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished") / "run"
    start_run(TuneOptions(MATMUL, out, Budget(COUNT), pool=64, jobs=1), Observer())
    return out


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.fixture
def refused(frontrunner: Callable[..., Ran]) -> Callable[..., str]:
    """Runs a command that is to end with exit code 2 and one line; gives that line."""

    def check(*arguments: object) -> str:
        ran = frontrunner(*arguments)
        (line,) = [s for s in ran.err.splitlines() if s.startswith("error: ")]
        assert ran.code == 2, ran.err
        assert "internal" not in line
        assert len(line) < 1000
        return line

    return check


def edit(path: Path, change: Callable[[Any], Any]) -> None:
    data = json.loads(path.read_text())
    changed = change(data)
    path.write_text(json.dumps(data if changed is None else changed))


def edit_log(run: Path, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    log = run / "outcomes.jsonl"
    records = [json.loads(line) for line in log.read_text().splitlines()]
    change(records)
    log.write_text("".join(json.dumps(record) + "\n" for record in records))


def put(*keys: Any, value: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        for key in keys[:-1]:
            data = data[key]
        data[keys[-1]] = value

    return change


def test_as_it_was_it_is_resumed(run: Path) -> None:
    assert resume_run(run, None, Observer()).candidates == COUNT


# Item 1: shell commands.


def canary(tmp_path: Path) -> tuple[Path, str]:
    planted = tmp_path / "planted"
    return planted, f"--iree-llvmcpu-embedded-linker-path=$(touch {planted})"


def test_flags_of_a_run_folder_run_nothing(
    run: Path, tmp_path: Path, refused: Callable[..., str]
) -> None:
    planted, flag = canary(tmp_path)

    def older(data: Any) -> None:
        target = data["dispatch"]["target"]
        del target["name"]
        target["flags"] = [
            "--iree-hal-target-device=local",
            "--iree-hal-local-target-device-backends=llvm-cpu",
            "--iree-llvmcpu-target-cpu=host",
            flag,
        ]

    edit(run / "run.json", older)
    assert "its flags are those of no target" in refused("tune", "--resume", run, "--budget", 9)
    for name in (f"host {flag}", "$(id)"):
        edit(run / "run.json", put("options", "target", value=name))
        assert "unknown target" in refused("tune", "--resume", run, "--budget", 9)
    assert not planted.exists()


def test_flags_of_a_bundle_run_nothing(
    tmp_path: Path, frontrunner: Callable[..., Ran], refused: Callable[..., str]
) -> None:
    planted, flag = canary(tmp_path)
    bundle, results = tmp_path / "m.bundle", tmp_path / "results.jsonl"
    pack(TuneOptions(MATMUL, bundle, Budget(2), devices=(), pool=64, jobs=1), Observer())
    honest = shutil.copy(bundle, tmp_path / "honest.bundle")
    made_again(bundle, "run/run.json", put("dispatch", "target", "flags", value=[flag]))
    for one in (honest, bundle):
        results.unlink(missing_ok=True)
        run_bundle(one, ("local-sync",), results, Budget(), lambda _: None)
    # Not even with checksums that were made again.
    assert "flags are those of no target" in refused(
        "bundle", "ingest", bundle, results, "--out", tmp_path / "run"
    )
    assert not planted.exists()
    assert not (tmp_path / "run").exists()


def made_again(bundle: Path, name: str, change: Callable[[Any], None]) -> None:
    """Edits a member of a bundle, and all checksums with it."""
    with zipfile.ZipFile(bundle) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    data = json.loads(members[name])
    change(data)
    members[name] = json.dumps(data).encode()
    manifest = json.loads(members["manifest.json"])
    manifest["members"][name] = hashlib.sha256(members[name]).hexdigest()
    members["manifest.json"] = json.dumps(manifest).encode()
    digest = hashlib.sha256(members["manifest.json"]).hexdigest()
    with zipfile.ZipFile(bundle, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
        archive.comment = f"frontrunner bundle, format 1, manifest sha256 {digest}".encode()


def test_a_module_that_writes_files_is_not_compiled(
    run: Path, tmp_path: Path, refused: Callable[..., str]
) -> None:
    source, planted = run / "source.mlir", tmp_path / "planted.o"
    text = source.read_text().replace("embedded-elf-x86_64", "static")
    entry = f'{{link_embedded = false, static_library_output = "{planted}", cpu = '
    source.write_text(text.replace("{cpu = ", entry))
    assert "does more than compute" in refused("tune", "--resume", run, "--budget", 9)
    assert not planted.exists()


def test_an_executable_that_lies_in_the_folder_is_not_run(run: Path) -> None:
    (run / "work").mkdir()
    for index in range(COUNT):
        (run / "work" / f"{index:05d}.vmfb").write_bytes(b"planted")
    (run / "result.json").unlink()
    assert resume_run(run, None, Observer()).finalists  # compiled anew: those would not load
    assert not (run / "work").exists()


# Item 2: writes outside the folder.


@pytest.mark.parametrize("name", ["outcomes.jsonl", "work", "logs", "failures", "spec.mlir"])
@pytest.mark.parametrize("folder", [False, True])
def test_links_are_refused_and_what_they_point_to_stays(
    name: str, folder: bool, run: Path, tmp_path: Path, refused: Callable[..., str]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir() if folder else outside.write_text("mine")
    path = run / name
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(outside)
    assert f"{path} is no file of its own" in refused("tune", "--resume", run, "--budget", 9)
    assert list(outside.iterdir()) == [] if folder else outside.read_text() == "mine"


def test_hard_links_and_pipes_are_refused(
    run: Path, tmp_path: Path, refused: Callable[..., str]
) -> None:
    os.link(run / "outcomes.jsonl", tmp_path / "mine")
    assert "has another name elsewhere" in refused("tune", "--resume", run)
    (tmp_path / "mine").unlink()
    os.mkfifo(run / "pipe")
    assert "pipe is no file of its own" in refused("tune", "--resume", run)


def test_a_report_goes_where_the_command_says_not_the_file(run: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    edit(run / "run.json", put("options", "keep_failures", value=str(elsewhere)))
    fail = {"index": COUNT, "kind": "compile_failed", "reason": "no", "stage": "compile"}
    edit_log(run, lambda records: records.append(fail))
    resume_run(run, Budget(COUNT + 1), Observer())
    assert not elsewhere.exists()
    assert (run / "failures" / "README.md").exists()


# Item 4: what is resumed is checked.

LOG: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "has an outcome already": lambda r: r.append(dict(r[0])),
    "took -1.0 us": lambda r: r[0].update(kind="ok", time_us=-1.0, baseline_us=1.0),
    "time_us is nan": lambda r: r[0].update(time_us=float("nan")),
    "time_us is \\[5\\]": lambda r: r[0].update(time_us=[5]),
    "time_us is '5'": lambda r: r[0].update(time_us="5"),
    "baseline_us is None|the default None": lambda r: r[0].update(
        kind="ok", time_us=1.0, baseline_us=None
    ),
    "candidate 77777 is beyond the queue": lambda r: r[0].update(index=77777),
    "is of device 'local-sync'": lambda r: r[0].update(device="local-sync"),
    "is the same as 55": lambda r: r[0].update(same_as=55),
    "is the same as 0": lambda r: r[1].update(same_as=0, executable="another"),
    "compile_s is None": lambda r: r[0].update(compile_s=None),
    "no candidate": lambda r: r[0].update(kind="splendid"),
}


@pytest.mark.parametrize("says", LOG)
def test_impossible_outcomes_are_refused_and_the_rest_can_be_kept(
    says: str, run: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal(run / "outcomes.jsonl", COUNT, ["local-task"]) as journal:
        known = dict(journal.outcomes)
    # What is left out is taken again, and comes out as it did.
    monkeypatch.setattr(
        runs, "make_usual_runner", lambda *_, **__: ReplayRunner(known, {"local-task": 10.0})
    )
    edit_log(run, LOG[says])
    damaged = (run / "outcomes.jsonl").read_bytes()
    line = refused("tune", "--resume", run)
    assert re.search(says, line), line
    assert f"{run / 'outcomes.jsonl'} line" in line
    assert (run / "outcomes.jsonl").read_bytes() == damaged  # nothing is lost
    notes: list[str] = []
    observer = Observer()
    observer.notify = notes.append  # type: ignore[method-assign]
    result = resume_run(run, None, observer, keep_valid=True)
    assert result.candidates == COUNT
    assert (run / "outcomes.jsonl.damaged-1").read_bytes() == damaged
    assert "left out, the first: line" in notes[0]
    resume_run(run, None, Observer())  # as any other


def test_a_queue_without_a_knob_is_refused(run: Path, refused: Callable[..., str]) -> None:
    path = run / "queue.parquet"
    queue = pd.read_parquet(path)
    queue.drop(columns="vec_n").to_parquet(path, index=False)
    assert "the queue has no column vec_n" in refused("tune", "--resume", run)
    queue.assign(odd=1).to_parquet(path, index=False)
    assert "the queue has a column odd, which is no knob" in refused("tune", "--resume", run)
    queue.assign(vec_n=0).to_parquet(path, index=False)
    assert "vec_n of candidate 0 is 0" in refused("tune", "--resume", run)
    queue.assign(pipeline="None").to_parquet(path, index=False)
    assert "candidates of a pipeline None" in refused("tune", "--resume", run)
    queue.head(COUNT - 1).to_parquet(path, index=False)
    assert "beyond the queue of 5" in refused("tune", "--resume", run)


RESULT: dict[str, Callable[[dict[str, Any]], Any]] = {
    "speedup 3": lambda r: r.update(speedup=3.0, speedup_ci=[2.9, 3.1]),
    "does not follow from": lambda r: r.update(baseline_us=40.4 * r["baseline_us"]),
    "are not 7 candidates": lambda r: r.update(candidates=7),
    "its outcomes are not those": lambda r: r.update(outcomes={"crashed": COUNT}),
    "there is no outcome 'splendid'": lambda r: r.update(outcomes={"splendid": COUNT}),
    "does not hold what was written": lambda r: [],
    "finalists is 5, not a list": lambda r: r.update(finalists=5),
    "place is not that of its index": lambda r: r["finalists"][0].update(candidate=99),
    "its knobs are not those of candidate": lambda r: r["finalists"][-1].update(knobs={}),
    "noise_floor is None": lambda r: r.update(noise_floor=None),
    "there is no more": lambda r: r.update(more=1),
}


@pytest.mark.parametrize("says", RESULT)
def test_a_result_that_does_not_follow_is_refused(
    says: str, run: Path, refused: Callable[..., str]
) -> None:
    edit(run / "result.json", RESULT[says])
    line = refused("tune", "--resume", run)
    assert says in line
    assert str(run / "result.json") in line


def test_a_spec_that_is_not_the_winners_is_refused(run: Path, refused: Callable[..., str]) -> None:
    result = json.loads((run / "result.json").read_text())
    if result["spec"] is None:  # made to have won
        (first, *_) = result["finalists"]
        half = first | {
            "speedup": 2.0,
            "interval": [1.9, 2.1],
            "time_us": result["baseline_us"] / 2,
            "baseline_us": result["baseline_us"],
            "ratios": [1.8, 2.0, 2.2],
        }
        won = {"speedup": 2.0, "speedup_ci": [1.9, 2.1], "best_us": half["time_us"], "spec": "x"}
        won |= {"winner": first["index"] + 1, "finalists": [half], "noise_floor": 0.1}
        edit(run / "result.json", lambda r: r.update(won))
    (run / "spec.mlir").write_text("module {}\n")
    edit(run / "result.json", RESULT["does not follow from"])
    assert "a default of" in refused("tune", "--resume", run)
    edit(run / "result.json", lambda r: r.update(baseline_us=r["baseline_us"] / 40.4))
    other = {"pipeline": "DoubleTilingExpert", "knobs": {"vec_n": 3}}
    edit(run / "result.json", lambda r: r.update(configuration=other))
    assert "its knobs are not those of candidate" in refused("tune", "--resume", run)
    edit(run / "result.json", lambda r: r.update(configuration=None))
    assert "spec.mlir is not the winner's" in refused("tune", "--resume", run)
    (run / "spec.mlir").unlink()
    assert "spec.mlir is missing" in refused("tune", "--resume", run)


# Item 5: no internal errors.


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: {}, "format"),
        (lambda d: [], "a value is of another type"),
        (put("options", "jobs", value=10**30), "jobs"),
        (put("options", "jobs", value=0), "jobs must be from 1"),
        (put("options", "pool", value=10**12), "pool must be from 1"),
        (put("options", "seed", value=-1), "seed must be from 0"),
        (put("options", "more", value=1), "there is no options.more"),
        (put("options", "devices", value="local-task"), "options.devices is 'local-task'"),
        (put("options", "devices", value=["tcp://x"]), "unknown device 'tcp://x'"),
        (put("options", "extras", value={"x": "y"}), "extras"),
        (put("options", "input", value=None), "options.input is None"),
        (put("options", value=None), "a value is of another type"),
        (put("budget", "candidates", value=-4), "the budget's candidates must be more"),
        (put("budget", "seconds", value="9"), "budget.seconds is '9'"),
        (put("looks_back", value="yes"), "looks_back is 'yes'"),
        (put("looks_back", value=True), "ranker 'cpu' keeps its order"),
        (put("devices", value=None), "devices is None"),
        (put("versions", value=None), "a value is of another type"),
        (put("dispatch", value={}), "target"),
        (put("dispatch", "problem", "dims", value=[]), "its dims are none"),
        (put("dispatch", "problem", "dims", 0, "size", value=10**30), "size"),
        (put("dispatch", "target", "cores", value=0), "cores is 0"),
        (put("dispatch", "inputs", 0, "shape", value=["x"]), "shape"),
        (put("dispatch", "indexing_maps", value=5), "indexing_maps is 5"),
    ],
)
def test_a_run_json_of_another_shape_is_one_line(
    change: Callable[[Any], Any], says: str, run: Path, refused: Callable[..., str]
) -> None:
    edit(run / "run.json", change)
    assert says in refused("tune", "--resume", run)


def test_deep_and_damaged_files_are_one_line(run: Path, refused: Callable[..., str]) -> None:
    deep = "[" * 100_000
    for name in ("result.json", "outcomes.jsonl", "run.json", "queue.parquet"):
        (run / name).write_text(f"{deep}\n")
        assert str(run) in refused("tune", "--resume", run)
    (run / "run.json").write_bytes(b"\xff\xfe")
    assert str(run) in refused("tune", "--resume", run)
    (run / "run.json").unlink()
    assert "is not the folder of a tuning run" in refused("tune", "--resume", run)


# Item 2, elsewhere: folders that other commands write into.


def test_generated_files_stay_in_the_folder(tmp_path: Path, refused: Callable[..., str]) -> None:
    out, outside = tmp_path / "out", tmp_path / "outside"
    for folder in (out, outside):
        folder.mkdir()
    name = "matmul_16x16x16_f32_f32_f32"
    (out / name).symlink_to(outside)
    line = refused("generate", "matmul", "--m", 16, "--n", 16, "--k", 16, "--out", out)
    assert f"leads out of {out}" in line
    assert list(outside.iterdir()) == []


def test_what_a_profile_and_a_recording_keep_stays_in_the_folder(
    tmp_path: Path, refused: Callable[..., str]
) -> None:
    folder, outside = tmp_path / "d", tmp_path / "outside"
    for path in (folder, outside):
        path.mkdir()
    shutil.copy(MATMUL, folder)
    for name in ("profile.jsonl", "profile-failures"):
        link = folder / name
        link.symlink_to(outside / "new" if name.endswith("l") else outside)
        assert str(link) in refused("profile", folder, "--providers", "none")
        link.unlink()
    (folder / ".matmul.work").symlink_to(outside)
    ran = refused("record", MATMUL, "--out", folder, "--candidates", 2)
    assert f"leads out of {folder}" in ran
    assert list(outside.iterdir()) == []
