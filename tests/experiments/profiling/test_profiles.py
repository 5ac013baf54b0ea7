"""Which rows a profile has, which it makes again, and what becomes of them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from frontrunner.benchmarks.compiling.compiler import CompilePool
from frontrunner.benchmarks.measuring.device import Device, RunFailed
from frontrunner.benchmarks.measuring.outcome import TIMEOUT
from frontrunner.benchmarks.operations import Conv, Matmul, Types
from frontrunner.core import InputError
from frontrunner.core.errors import CompilerCrashedError, KilledError
from frontrunner.experiments.observing.progress import Observer
from frontrunner.experiments.profiling import bench, modules, profiles
from frontrunner.experiments.profiling.configurations import ConfigurationOptions
from frontrunner.experiments.profiling.folder import find_generated
from frontrunner.experiments.profiling.libraries import Libraries
from frontrunner.experiments.profiling.log import ProfileLog, Row
from frontrunner.experiments.profiling.options import ProfileOptions
from frontrunner.experiments.profiling.profiles import (
    check_profile,
    current_rows,
    make_missing_rows,
    planned_rows,
)
from frontrunner.experiments.profiling.tables import frame_of, table, write_tables

LIBRARIES = ("numpy", "onnxruntime")
CHOICE = ConfigurationOptions(2, ranker="heuristic", pool=300)


@pytest.fixture(scope="module")
def configured(made, profiled, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Row]]:
    """Two dispatches with configurations, of which one does not fit, beside libraries."""
    folder = tmp_path_factory.mktemp("configured")
    made(folder, Matmul(32, 64, 128), Conv.square(8, 8, 16, 3), choice=CHOICE)
    path = next(folder.glob("matmul*/c002*.spec.mlir"))
    path.write_text(path.read_text().replace("[32]", "[31]"))
    return folder, profiled(folder, *LIBRARIES)


def test_configurations_are_beside_the_default(configured):
    folder, rows = configured
    by_key = {row.key: row for row in rows}
    names = [c.name for c in find_generated(folder)[0].configurations]
    conv = next(row.operation for row in rows if row.kind == "conv")
    assert [row.configuration for row in rows[:3]] == ["default", *names]
    for name in ("default", *names):
        row = by_key[(conv, name, "iree")]
        assert (row.outcome, row.verification) == ("ok", "passed")
        assert bool(row.knobs) == (name != "default")


def test_a_spec_that_does_not_fit_is_told(configured):
    _, rows = configured
    (row,) = [row for row in rows if row.failed]
    assert row.outcome == "not_applied"
    assert row.configuration.startswith("c002_")


def test_libraries_are_rows_and_columns_for_people(configured):
    _, rows = configured
    for library in ("numpy", "onnxruntime"):
        found = [row for row in rows if row.provider == library]
        assert [row.outcome for row in found] == ["ok", "ok"]
        assert [row.verification for row in found] == ["passed", "passed"]
    frame = frame_of(rows)
    assert not [name for name in frame if name.startswith(("numpy", "onnxruntime"))]
    titles, cells = table(rows)
    assert titles[-2:] == ["#numpy", "#onnxruntime"]
    assert all(row[-1].endswith("µs") == (row[2] == "iree") for row in cells)


def test_tables_open_elsewhere(configured, tmp_path):
    _, rows = configured
    write_tables(rows, tmp_path / "t.csv", {"host": "here", "threads": 2})
    table = pd.read_csv(tmp_path / "t.csv")
    assert len(table) == len(rows)
    assert (set(table.host), set(table.threads)) == ({"here"}, {2})
    matmul = table[table.kind == "matmul"].iloc[0]
    assert (matmul.m, matmul.n, matmul.k, matmul.types) == (32, 64, 128, "f32,f32,f32")
    assert {"dist_m", "roofline_share", "peak_share", "noise", "gflops"} <= {*table.columns}
    first = table.operation == matmul.operation
    default = table[first & (table.configuration == "default") & (table.provider == "iree")]
    (default_us,) = default.time_us
    assert default.speedup.eq(1).all()
    assert table[first].speedup.dropna().tolist() == pytest.approx(
        (default_us / table[first].time_us.dropna()).tolist()
    )
    assert set(table[table.provider == "numpy"].version) == {np.__version__}
    flops = 2 * 32 * 64 * 128
    assert matmul.gflops == pytest.approx(flops / matmul.time_us / 1e3)
    assert pd.read_parquet(tmp_path / "t.parquet").shape == table.shape


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """For each dispatch that is worked on: how many configurations, and how many libraries."""
    found: list[tuple[int, int]] = []
    inner = bench.Bench.run

    def run(self, chunk):
        found.extend((len(one.names), len(one.libraries)) for one in chunk)
        inner(self, chunk)

    monkeypatch.setattr(bench.Bench, "run", run)
    return found


def test_what_is_there_is_not_done_again(configured, profiled, asked, tmp_path):
    folder = shutil.copytree(configured[0], tmp_path / "copy")
    lines = (folder / "profile.jsonl").read_text()
    assert profiled(folder, *LIBRARIES) == configured[1]
    assert (folder / "profile.jsonl").read_text() == lines
    assert asked == []
    # As a kill leaves it: the last row, and half of the one before, are lost.
    kept = lines.splitlines(keepends=True)
    (folder / "profile.jsonl").write_text("".join(kept[:-2]) + kept[-2][:40])
    again = profiled(folder, *LIBRARIES)
    assert [row.key for row in again] == [row.key for row in configured[1]]
    assert sum(names for names, _ in asked) == 0
    assert sum(libraries for _, libraries in asked) == 2


def test_of_many_configurations_those_that_were_measured_are_kept(
    made, profiled, asked, monkeypatch, tmp_path
):
    made(tmp_path, Matmul(8, 8, 8), choice=CHOICE)
    monkeypatch.setattr(profiles, "CHUNK", 1)
    monkeypatch.setattr(profiles, "usable_cores", lambda: 2)
    inner = bench.Bench.run

    def once(self, chunk):
        if asked:
            raise KeyboardInterrupt
        inner(self, chunk)

    with monkeypatch.context() as patch:
        patch.setattr(bench.Bench, "run", once)
        with pytest.raises(KeyboardInterrupt):
            profiled(tmp_path)
    profiled(tmp_path)
    assert asked == [(2, 0), (1, 0)]


@pytest.mark.slow
def test_what_changed_is_done_again(configured, made, profiled, asked, tmp_path):
    folder = shutil.copytree(configured[0], tmp_path / "copy")
    # Libraries do not read the dispatch.
    path = next(folder.glob("conv*/conv*.mlir"))
    path.write_text(path.read_text() + "\n")
    profiled(folder, *LIBRARIES)
    assert asked == [(3, 0)]
    asked.clear()
    spec = next(folder.glob("matmul*/c001*.spec.mlir"))
    spec.write_text(spec.read_text() + "\n")
    profiled(folder, *LIBRARIES)
    assert asked == [(1, 0)]
    # More configurations are more rows; those that are there stay.
    asked.clear()
    made(tmp_path / "more", Matmul(32, 64, 128), choice=CHOICE)
    profiled(tmp_path / "more")
    made(tmp_path / "other", Matmul(32, 64, 128), choice=replace(CHOICE, count=3))
    shutil.copytree(tmp_path / "other", tmp_path / "more", dirs_exist_ok=True)
    profiled(tmp_path / "more", "numpy")
    assert asked == [(3, 0), (1, 1)]


def test_a_machines_bad_moments_are_not_final(made, profiled, asked, monkeypatch, tmp_path):
    made(tmp_path, Matmul(8, 8, 8))
    compiled = []
    inner = CompilePool._compile_once

    def hangs(self, child, job):
        compiled.append(job.name)
        return replace(inner(self, child, job), kind=TIMEOUT, reason="compiling took over 60 s")

    with monkeypatch.context() as patch:
        patch.setattr(CompilePool, "_compile_once", hangs)
        (row,) = profiled(tmp_path)
    assert (row.outcome, row.verification, len(compiled)) == ("timeout", "not run", 2)
    (row,) = profiled(tmp_path)
    assert row.outcome == "ok"
    assert asked == [(1, 0), (1, 0)]


def test_what_was_killed_is_neither_final_nor_kept(made, profiled, monkeypatch, tmp_path):
    made(tmp_path, Matmul(8, 8, 8))
    with monkeypatch.context() as patch:

        def killed(self, child, job):
            raise KilledError("the compiler was killed by SIGKILL")

        patch.setattr(CompilePool, "_compile_once", killed)
        (row,) = profiled(tmp_path)
    assert (row.outcome, row.verification) == ("killed", "not run")
    assert row.reason == "the compiler was killed by SIGKILL, twice"
    with monkeypatch.context() as patch:

        def no_room(self, *_):
            raise KilledError("device local-task cannot hold the inputs: killed by SIGKILL, twice")

        patch.setattr(Device, "switch_dispatch", no_room)
        (row,) = profiled(tmp_path)
    assert (row.outcome, "cannot hold the inputs" in row.reason) == ("killed", True)
    with monkeypatch.context() as patch:

        def samples(self, request):
            raise RunFailed("killed", "the kernel's process was killed by SIGKILL, twice")

        patch.setattr(Device, "measure_samples", samples)
        (row,) = profiled(tmp_path)
    assert (row.outcome, row.verification, row.failed) == ("killed", "not run", True)
    assert not (tmp_path / "failures").exists()
    (row,) = profiled(tmp_path)
    assert row.outcome == "ok"


def test_a_reader_that_is_killed_keeps_no_other_from_being_profiled(
    made, profiled, monkeypatch, tmp_path
):
    made(tmp_path, Matmul(8, 8, 8), Matmul(16, 8, 8))
    inner, read = modules.read_dispatch, []

    def killed(path, *given, **options):
        read.append(path)
        if "16x8x8" in path.name:
            raise KilledError(f"the compiler was killed by SIGKILL while it read {path}")
        return inner(path, *given, **options)

    monkeypatch.setattr(modules, "read_dispatch", killed)
    rows = {row.operation: row for row in profiled(tmp_path, "numpy")}
    outcomes = sorted((row.outcome, row.reason) for row in rows.values())
    assert outcomes == [
        ("killed", "the compiler was killed by SIGKILL while it read it"),
        ("ok", ""),
    ]
    assert len(read) == 3
    assert not (tmp_path / "failures").exists()


def test_what_libraries_lack_is_no_failure(made, profiled, tmp_path):
    operation = Matmul(8, 8, 8, Types("bf16", "f32"))
    row = profiled(made(tmp_path, operation), "onnxruntime")[-1]
    assert (row.provider, row.outcome, row.reason) == ("onnxruntime", "unsupported", "no bf16")
    assert not row.failed


def test_other_peoples_dispatches(made, profiled, tmp_path):
    matmul = Matmul(8, 8, 8).mlir()
    (tmp_path / "mine.mlir").write_text(matmul)
    # A copy beside the generated one, of the same function.
    made(tmp_path, Matmul(8, 8, 8))
    (tmp_path / "broken.mlir").write_text(matmul.replace("linalg.matmul", "linalg.mathmul"))
    (tmp_path / "odd.mlir").write_text(
        "func.func @odd(%x: tensor<4xi4>) -> tensor<4xi4> {\n  return %x : tensor<4xi4>\n}\n"
    )
    broken, ours, numpy, mine, odd = profiled(tmp_path, "numpy")
    assert [ours.verification, numpy.verification] == ["passed", "passed"]
    assert odd.outcome == "refused"
    assert (mine.outcome, mine.verification) == ("ok", "no reference")
    assert broken.outcome == "refused"
    assert "custom op 'linalg.mathmul' is unknown" in broken.reason


def test_what_crashes_the_reader_is_kept(profiled, monkeypatch, tmp_path):
    def crashes(path: Path, *_: object, **options: object) -> None:
        raise CompilerCrashedError(f"the compiler crashed while reading {path} (SIGSEGV)")

    monkeypatch.setattr(modules, "read_dispatch", crashes)
    (tmp_path / "bytecode.mlir").write_bytes(b"ML\xef\x52\xff")
    for _ in range(2):  # it is not final, and kept anew
        (row,) = profiled(tmp_path)
        assert (row.outcome, "SIGSEGV" in row.reason) == ("refused", True)
        folder = tmp_path / "failures" / "bytecode--default"
        assert (folder / "source.mlir").read_bytes() == b"ML\xef\x52\xff"
        assert "iree-compile source.mlir" in (folder / "reproduce.sh").read_text()


def test_what_takes_other_operands_than_described_is_refused(made, profiled, tmp_path):
    made(tmp_path, Matmul(8, 8, 12))
    (path,) = tmp_path.glob("*/*.mlir")
    path.write_text(path.read_text().replace("8x12x", "24x12x").replace("8x8x", "24x8x"))
    (row,) = profiled(tmp_path)
    assert row.outcome == "refused"
    assert row.reason == "it does not compute matmul_8x8x12_f32_f32_f32: it was edited"


def test_what_cannot_be_tuned_is_run_all_the_same(made, profiled, tmp_path):
    # The compiler drops a dim of one channel, and takes the rest for a convolution of none.
    (row,) = profiled(made(tmp_path, Conv.square(7, 1, 4, 7, stride=2)))
    assert (row.outcome, row.verification) == ("ok", "passed")
    assert row.gflops == pytest.approx(2 * 7 * 7 * 4 * 49 / row.time_us / 1e3)


def test_a_library_that_crashes_hangs_or_is_killed(monkeypatch, tmp_path):
    text = "import os, signal\ndef killed(trial):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    (tmp_path / "killed_for_tests.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    operation = Matmul(8, 8, 8)
    with Libraries(["numpy"], 1) as libraries:
        assert libraries.time("numpy", operation, 0, 0.001, verify=True)
        monkeypatch.setattr("frontrunner.experiments.profiling.libraries.LIBRARY_TIMEOUT", 0.0)
        with pytest.raises(RunFailed) as late:
            libraries.time("numpy", operation, 0, 5.0, verify=False)
        monkeypatch.setattr("frontrunner.experiments.profiling.libraries.LIBRARY_TIMEOUT", 60.0)
        with pytest.raises(RunFailed) as bad:
            libraries.time("numpy", operation, -1, 0.001, verify=False)
        assert libraries.time("numpy", operation, 0, 0.001, verify=True)
        libraries._children["numpy"].handler = "killed_for_tests:killed"
        libraries._children["numpy"].close()
        with pytest.raises(RunFailed, match=r"numpy was killed by SIGKILL \(.*\), twice") as killed:
            libraries.time("numpy", operation, 0, 0.001, verify=True)
    found = [late.value.kind, bad.value.kind, killed.value.kind]
    assert found == ["timeout", "crashed", "killed"]


def test_configurations_of_another_target(made, tmp_path):
    made(tmp_path, Matmul(8, 8, 8), choice=ConfigurationOptions(1, target="znver3", pool=50))
    with pytest.raises(InputError, match="are for znver3, not host"):
        check_profile(find_generated(tmp_path), ProfileOptions(tmp_path))


@pytest.mark.parametrize(
    ("devices", "speedup"), [(("", ""), 2.0), (("a", "a"), 2.0), (("a", "b"), np.nan)]
)
def test_times_of_two_devices_are_not_compared(devices, speedup):
    default = Row("mm", "matmul", "default", "iree", "d", "passed", "ok", time_us=8.0)
    rows = [
        replace(default, measured_on=devices[0]),
        replace(default, configuration="c001", time_us=4.0, measured_on=devices[1]),
    ]
    assert frame_of(rows).speedup.tolist() == pytest.approx([1.0, speedup], nan_ok=True)


class FakeDevice:
    """Takes as long for whatever it is asked."""

    def __init__(self, name):
        self.name = name

    def switch_dispatch(self, call, operation): ...

    def measure_samples(self, request):
        return (1.0, 1.0, 1.0)

    def close(self): ...


def test_all_configurations_of_a_dispatch_are_measured_on_one_device(made, tmp_path):
    made(tmp_path, Matmul(8, 8, 8), Matmul(16, 8, 8), choice=CHOICE)
    cluster = SimpleNamespace(
        names=("a", "b"),
        compilers=lambda: [],
        connect=lambda name, call, baseline, seed: FakeDevice(name),
    )
    every = planned_rows(find_generated(tmp_path), ())
    with ProfileLog(tmp_path / "profile.jsonl", {}) as log:
        options = ProfileOptions(tmp_path / "failures", cluster=cluster)
        make_missing_rows(every, options, log, Observer())
        timed = [row for row in current_rows(every, log) if row.time_us]
    places = {(row.operation, row.measured_on) for row in timed}
    assert len(timed) > len(places) == 2
    assert {place for _, place in places} <= {"a", "b"}
    assert frame_of(timed).speedup.eq(1).all()


def test_a_profile_goes_on_where_it_was_with_as_many_cores(tmp_path):
    here, there, other = (
        check_profile([], ProfileOptions(tmp_path, cluster=cluster))
        for cluster in (
            None,
            SimpleNamespace(kind="local-task on a chip", cores=2),
            SimpleNamespace(kind="local-task on a chip", cores=4),
        )
    )
    path = tmp_path / "profile.jsonl"
    with ProfileLog(path, there) as log:
        log.append(Row("mm", "matmul", "default", "iree", "d", "passed", "ok", time_us=8.0))
    for given, says in (
        ({**here, "device": there["device"]}, "another place: a cluster, not this machine"),
        (other, "another device_cores: 2, not 4"),
    ):
        with pytest.raises(InputError, match=says):
            ProfileLog(path, given)
