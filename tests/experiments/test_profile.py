"""Profiles: real compiles, real runs, results compared with NumPy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from frontrunner.benchmarks.operations import (
    Attention,
    Conv,
    Matmul,
    Operation,
    Types,
    parse_types,
)
from frontrunner.benchmarks.operations.presets import PRESETS
from frontrunner.benchmarks.providers import installed
from frontrunner.experiments import bench
from frontrunner.experiments.bench import ProfileOptions
from frontrunner.experiments.configurations import Choice
from frontrunner.experiments.generate import generate
from frontrunner.experiments.generated import find_generated
from frontrunner.experiments.libraries import Libraries
from frontrunner.experiments.profile import profile
from frontrunner.experiments.profile_log import ProfileLog, Row
from frontrunner.experiments.profile_table import frame_of, write_tables
from frontrunner.experiments.progress import NullProgress
from frontrunner.search import InputError

HALF, SHORT = Types("f16", "f32"), Types("i8", "i32")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are not looked at."""
    monkeypatch.setattr(bench, "SECONDS", 0.001)


def made(folder: Path, *operations: Operation, choice: Choice | None = None) -> Path:
    generate(operations, folder, choice, NullProgress())
    return folder


def run(folder: Path, libraries: tuple[str, ...] = (), verify: bool = True) -> list[Row]:
    options = ProfileOptions(folder / "failures", verify=verify, libraries=libraries)
    with ProfileLog(folder / "profile.jsonl", {"verify": verify}) as log:
        return profile(find_generated(folder), options, log, NullProgress())


def test_all_presets_are_right_at_reduced_sizes(tmp_path):
    every = [o.shrunk(16) for operations in PRESETS.values() for o in operations]
    rows = run(made(tmp_path, *dict.fromkeys(every)))
    assert len(rows) > 60
    assert {row.outcome for row in rows} == {"ok"}
    assert {row.verification for row in rows} == {"passed"}
    assert not (tmp_path / "failures").exists()
    assert all(row.gflops and row.time_us and row.runs >= 3 for row in rows)
    assert {row.kind for row in rows} == {"matmul", "batch_matmul", "splitk", "conv", "attention"}


def test_all_types_and_steps_are_right(tmp_path):
    types = [parse_types(t) for t in ("f16", "f16,f16,f16", "bf16", "i8", "i16", "i32")]
    floats = [t for t in types if not t.whole]
    every: list[Operation] = [
        *(Matmul(24, 40, 64, t, transposed=("lhs", "rhs")) for t in types),
        *(Matmul(8, 12, 16, t, batch=3, transposed=("lhs",)) for t in types),
        *(Matmul(8, 12, 64, t, slices=4, steps=("bias",)) for t in types),
        *(Conv(6, 8, 8, 12, (3, 3), types=t, steps=("bias", "relu")) for t in types),
        *(Matmul(8, 16, 32, t, steps=("bias", "gelu", "residual")) for t in floats),
        *(Attention(2, 16, 24, 16, dtype) for dtype in ("f16", "bf16", "f32")),
        Matmul(16, 32, 64, SHORT, steps=("bias", "relu", "quantize")),
        Conv(6, 8, 8, 12, (3, 3), types=SHORT, steps=("bias", "quantize")),
        Matmul(16, 32, 64, HALF, steps=("bias", "gelu_tanh", "relu6", "truncate")),
        *(
            Conv(5, 6, 8, 8, (3, 2), 2, (2, 1), (1, 2), groups, layout, steps=("bias", "residual"))
            for layout in ("nhwc", "nchw", "nhwc_fhwc")
            for groups in (1, 2, 8)
        ),
    ]
    rows = run(made(tmp_path, *every))
    assert [row for row in rows if row.verification != "passed"] == []
    assert {row.types for row in rows} >= {"i16,i16,i32", "bf16,bf16,f32", "f16,f16,f16"}


def planted(folder: Path, before: str, after: str) -> Path:
    (path,) = folder.rglob("*.mlir")
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))
    return folder


ONE_MORE = ("_zero = arith.constant 0.0", "_zero = arith.constant 1.0")


@pytest.mark.parametrize(
    ("operation", "before", "after"),
    [
        (Matmul(32, 48, 64), *ONE_MORE),
        (Matmul(32, 48, 64, Types("f16", "f16")), *ONE_MORE),
        (Matmul(32, 48, 64, SHORT), "arith.constant 0", "arith.constant 1"),
        (Matmul(32, 32, 32, batch=4), "ins(%lhs, %rhs", "ins(%rhs, %lhs"),
        (Matmul(32, 48, 64, slices=4), "linalg.yield %more", "linalg.yield %product"),
        (Matmul(32, 48, 64, steps=("bias", "gelu")), "0.70710678", "0.5"),
        (Matmul(32, 48, 64, SHORT, steps=("quantize",)), "math.roundeven", "math.floor"),
        (Conv.square(8, 8, 16, 3), *ONE_MORE),
        (Conv.square(8, 8, 16, 3, steps=("bias", "relu")), "arith.maximumf", "arith.minimumf"),
        (Attention(2, 32, 64, 32), "arith.constant 0.17677", "arith.constant 0.25"),
    ],
)  # fmt: skip
def test_wrong_dispatches_are_caught(tmp_path, operation, before, after):
    (row,) = run(planted(made(tmp_path, operation), before, after))
    assert (row.outcome, row.verification, row.time_us) == ("wrong_result", "failed", None)
    assert row.failed
    assert "expected" in row.reason
    folder = tmp_path / "failures" / f"{operation.name}--default"
    assert row.reason in (folder / "reason.txt").read_text()
    script = (folder / "reproduce.sh").read_text()
    assert "made with seed 0" in script
    assert "spec.mlir" not in script


def test_one_wrong_element_is_the_one_that_is_named(tmp_path):
    operation = Matmul(32, 48, 64)
    # By a select, since the compiler of today writes more than one element for `tensor.insert`.
    lines = (
        "%at = arith.constant 17 : index",
        "%odd = arith.constant 1.0e3 : f32",
        "%worse = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>],",
        '    iterator_types = ["parallel", "parallel"]} outs(%result : tensor<32x48xf32>) {',
        "^bb0(%x: f32):",
        "  %i = linalg.index 0 : index",
        "  %j = linalg.index 1 : index",
        "  %k = arith.muli %i, %j : index",
        "  %square = arith.muli %at, %at : index",
        "  %here = arith.cmpi eq, %k, %square : index",
        "  %y = arith.select %here, %odd, %x : f32",
        "  linalg.yield %y : f32",
        "} -> tensor<32x48xf32>",
        "return %worse :",
    )
    insert = "\n  ".join(lines)
    (row,) = run(planted(made(tmp_path, operation), "return %result :", insert))
    assert "element [17, 17] is 1000.0, expected" in row.reason


def test_a_reproducer_reproduces(tmp_path):
    (row,) = run(planted(made(tmp_path, Matmul(16, 16, 32)), *ONE_MORE))
    folder = tmp_path / "failures" / f"{row.operation}--default"
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["sh", folder / "reproduce.sh"],
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": tools},
    )
    assert ran.returncode != 0
    assert "[FAILED]" in ran.stdout + ran.stderr


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[Row]]]:
    """Two dispatches with configurations, of which one does not fit, beside libraries."""
    folder = tmp_path_factory.mktemp("configured")
    choice = Choice(2, ranker="heuristic", pool=300)
    made(folder, Matmul(32, 64, 128), Conv.square(8, 8, 16, 3), choice=choice)
    path = next(folder.glob("matmul*/c2*.spec.mlir"))
    path.write_text(path.read_text().replace("[32, 64]", "[7, 7]").replace("[32]", "[31]"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "SECONDS", 0.001)
        yield folder, run(folder, ("numpy", "onnxruntime"))


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
    assert row.configuration.startswith("c2")


def test_libraries_are_rows_and_columns(configured):
    _, rows = configured
    for library in ("numpy", "onnxruntime"):
        found = [row for row in rows if row.provider == library]
        assert [row.outcome for row in found] == ["ok", "ok"]
        assert [row.verification for row in found] == ["passed", "passed"]
    frame = frame_of(rows)
    assert frame["numpy_us"].notna().all()
    assert frame.set_index("operation")["onnxruntime_us"].groupby(level=0).nunique().eq(1).all()


def test_tables_open_elsewhere(configured, tmp_path):
    _, rows = configured
    write_tables(rows, tmp_path / "t.csv")
    table = pd.read_csv(tmp_path / "t.csv")
    assert len(table) == len(rows)
    matmul = table[table.kind == "matmul"].iloc[0]
    assert (matmul.m, matmul.n, matmul.k, matmul.types) == (32, 64, 128, "f32,f32,f32")
    assert {"dist_m", "roofline_share", "peak_share", "noise", "gflops"} <= {*table.columns}
    flops = 2 * 32 * 64 * 128
    assert matmul.gflops == pytest.approx(flops / matmul.time_us / 1e3)
    assert pd.read_parquet(tmp_path / "t.parquet").shape == table.shape


def test_what_is_there_is_not_done_again_unless_it_changed(configured, monkeypatch, tmp_path):
    folder = shutil.copytree(configured[0], tmp_path / "copy")
    asked = []
    inner = bench.Bench.run
    monkeypatch.setattr(
        bench.Bench, "run", lambda self, chunk: [asked.extend(chunk), inner(self, chunk)][1]
    )
    lines = (folder / "profile.jsonl").read_text()
    assert run(folder, ("numpy", "onnxruntime")) == configured[1]
    assert (folder / "profile.jsonl").read_text() == lines
    assert asked == []
    # As a kill leaves it: the last row, and half of the one before, are lost.
    kept = lines.splitlines(keepends=True)
    (folder / "profile.jsonl").write_text("".join(kept[:-2]) + kept[-2][:40])
    again = run(folder, ("numpy", "onnxruntime"))
    assert [row.key for row in again] == [row.key for row in configured[1]]
    assert [(len(one.names), len(one.libraries)) for one in asked] in ([(0, 2)], [(0, 1), (0, 1)])
    # An edited dispatch is measured again, with all of its configurations.
    asked.clear()
    path = next(folder.glob("conv*/conv*.mlir"))
    path.write_text(path.read_text() + "\n")
    run(folder, ("numpy", "onnxruntime"))
    assert [(len(one.names), len(one.libraries)) for one in asked] == [(3, 2)]


LIKE_MODELS: tuple[Operation, ...] = (
    Matmul(24, 40, 64, transposed=("lhs", "rhs"), steps=("bias", "gelu", "residual")),
    Matmul(24, 40, 64, HALF, batch=3, steps=("gelu_tanh", "truncate")),
    Matmul(24, 40, 64, SHORT, steps=("bias", "quantize")),
    Matmul(1, 40, 64, slices=4, steps=("relu",)),
    *(
        Conv(6, 5, 8, 8, (3, 2), 2, (2, 1), (1, 2), groups, layout, steps=("bias", "residual"))
        for layout in ("nhwc", "nchw", "nhwc_fhwc")
        for groups in (1, 2, 8)
    ),
    Conv(6, 5, 8, 8, layout="nchw", steps=("relu6",)),
    Attention(2, 16, 24, 16),
)


@pytest.mark.parametrize("library", installed())
def test_libraries_compute_the_same(tmp_path, library):
    with Libraries([library]) as libraries:
        for operation in LIKE_MODELS:
            assert libraries.time(library, operation, 1, 0.001, verify=True), operation


def test_what_libraries_lack_is_no_failure(tmp_path):
    operation = Matmul(8, 8, 8, Types("bf16", "f32"))
    row = run(made(tmp_path, operation), ("onnxruntime",))[-1]
    assert (row.provider, row.outcome, row.reason) == ("onnxruntime", "unsupported", "no bf16")
    assert not row.failed


def test_other_peoples_dispatches(tmp_path):
    matmul = Matmul(8, 8, 8).mlir()
    (tmp_path / "mine.mlir").write_text(matmul)
    (tmp_path / "broken.mlir").write_text(matmul.replace("linalg.matmul", "linalg.mathmul"))
    broken, mine = run(tmp_path, ("numpy",))
    assert (mine.outcome, mine.verification) == ("ok", "no reference")
    assert broken.outcome == "refused"
    assert "custom op 'linalg.mathmul' is unknown" in broken.reason


def test_configurations_of_another_target(tmp_path):
    made(tmp_path, Matmul(8, 8, 8), choice=Choice(1, target="znver3", pool=50))
    with pytest.raises(InputError, match="are for znver3, not host"):
        run(tmp_path)


def test_a_damaged_description(tmp_path):
    made(tmp_path, Matmul(8, 8, 8))
    (path,) = tmp_path.glob("*/operation.json")
    for text in ("{", "[]", '{"operation": "sort"}', json.dumps({"operation": "matmul", "m": 0})):
        path.write_text(text)
        with pytest.raises(InputError, match="does not hold what was written there"):
            find_generated(tmp_path)
