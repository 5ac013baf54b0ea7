"""Verification: real compiles, real runs, results compared with NumPy's and other libraries'."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from frontrunner.benchmarks.libraries.providers import installed_libraries
from frontrunner.benchmarks.operations import (
    Attention,
    Conv,
    Conv3d,
    Matmul,
    Operation,
    Types,
    parse_types,
)
from frontrunner.benchmarks.operations.presets import PRESETS
from frontrunner.benchmarks.verifying import F8
from frontrunner.experiments.profiling.configurations import ConfigurationOptions
from frontrunner.experiments.profiling.folder import find_generated
from frontrunner.experiments.profiling.libraries import Libraries

HALF, SHORT = Types("f16", "f32"), Types("i8", "i32")


@pytest.mark.slow
def test_all_presets_are_right_at_reduced_sizes(made, profiled, tmp_path):
    every = [o.scaled_down(16) for operations in PRESETS.values() for o in operations]
    rows = profiled(made(tmp_path, *dict.fromkeys(every)))
    assert len(rows) > 60
    assert {row.outcome for row in rows} == {"ok"}
    assert {row.verification for row in rows} == {"passed"}
    assert not (tmp_path / "failures").exists()
    assert all(row.gflops and row.time_us and row.runs >= 3 for row in rows)
    assert {row.kind for row in rows} == {"matmul", "batch_matmul", "splitk", "conv", "attention"}


@pytest.mark.slow
def test_all_types_and_steps_are_right(made, profiled, tmp_path):
    types = [parse_types(t) for t in ("f16", "f16,f16,f16", "bf16", "i8", "i16", "i32")]
    floats = [t for t in types if not t.is_integer]
    every: list[Operation] = [
        *(Matmul(24, 40, 64, t, transposed=("lhs", "rhs")) for t in types),
        *(Matmul(8, 12, 16, t, batch=3, transposed=("lhs",)) for t in types),
        *(Matmul(8, 12, 64, t, slices=4, steps=("bias",)) for t in types),
        *(Conv(6, 8, 8, 12, (3, 3), types=t, steps=("bias", "relu")) for t in types),
        *(Matmul(8, 16, 32, t, steps=("bias", "gelu", "residual")) for t in floats),
        *(Attention(2, 16, 24, 16, dtype) for dtype in ("f16", "bf16", "f32")),
        Matmul(16, 32, 64, SHORT, steps=("bias", "relu", "quantize")),
        Conv(6, 8, 8, 12, (3, 3), types=SHORT, steps=("bias", "quantize")),
        *(
            Conv3d(
                3, 4, 5, 6, 8, (2, 1, 3), 2, (1, 2, 1), (1, 1, 2), layout, steps=("bias", "relu")
            )
            for layout in ("ndhwc", "ncdhw")
        ),
        Conv3d(3, 4, 5, 6, 8, (2, 1, 3), types=parse_types("f16"), steps=("truncate",)),
        *(Matmul(16, 24, 32, parse_types(name), steps=("bias",)) for name in (*F8, "f64")),
        Matmul(16, 32, 64, HALF, steps=("bias", "gelu_tanh", "relu6", "truncate")),
        *(
            Conv(5, 6, 8, 8, (3, 2), 2, (2, 1), (1, 2), groups, layout, steps=("bias", "residual"))
            for layout in ("nhwc", "nchw", "nhwc_fhwc")
            for groups in (1, 2, 8)
        ),
    ]
    rows = profiled(made(tmp_path, *every))
    assert [row for row in rows if row.verification != "passed"] == []
    assert {row.types for row in rows} >= {"i16,i16,i32", "bf16,bf16,f32", "f16,f16,f16"}


def planted(folder: Path, before: str, after: str) -> Path:
    (path,) = (p for p in folder.rglob("*.mlir") if not p.name.endswith(".spec.mlir"))
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
def test_wrong_dispatches_are_caught(made, profiled, tmp_path, operation, before, after):
    (row,) = profiled(planted(made(tmp_path, operation), before, after))
    assert (row.outcome, row.verification, row.time_us) == ("wrong_result", "failed", None)
    assert row.failed
    assert "expected" in row.reason
    folder = tmp_path / "failures" / f"{operation.name}--default"
    assert row.reason in (folder / "reason.txt").read_text()
    script = (folder / "reproduce.sh").read_text()
    assert "made with seed 0" in script
    assert "spec.mlir" not in script


def test_one_wrong_element_is_the_one_that_is_named(made, profiled, tmp_path):
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
    (row,) = profiled(planted(made(tmp_path, operation), "return %result :", insert))
    assert "element [17, 17] is 1000.0, expected" in row.reason


def reproduce(folder: Path) -> subprocess.CompletedProcess[str]:
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", folder / "reproduce.sh"],
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": tools},
    )


def test_a_wrong_result_is_reproduced(made, profiled, tmp_path):
    (row,) = profiled(planted(made(tmp_path, Matmul(16, 16, 32)), *ONE_MORE))
    folder = tmp_path / "failures" / f"{row.operation}--default"
    ran = reproduce(folder)
    assert ran.returncode != 0
    assert "[FAILED]" in ran.stdout + ran.stderr


@pytest.mark.slow
def test_a_configuration_with_its_spec_is_reproduced(made, profiled, tmp_path):
    made(tmp_path, Matmul(16, 32, 64), choice=ConfigurationOptions(1, ranker="heuristic", pool=50))
    (one,) = find_generated(tmp_path)
    planted(tmp_path / one.name, *ONE_MORE)
    default, configured = profiled(tmp_path)
    assert [default.outcome, configured.outcome] == ["wrong_result", "wrong_result"]
    folder = tmp_path / "failures" / f"{one.name}--{configured.configuration}"
    spec = one.spec(one.configurations[0]).read_text()
    assert (folder / "spec.mlir").read_text() == spec
    ran = reproduce(folder)
    assert "[FAILED]" in ran.stdout + ran.stderr
    # What is right again leaves nothing.
    (path,) = (tmp_path / one.name).glob(f"{one.name}.mlir")
    path.write_text(one.operation.mlir())
    assert {row.verification for row in profiled(tmp_path)} == {"passed"}
    assert list((tmp_path / "failures").iterdir()) == []


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


@pytest.mark.parametrize("library", installed_libraries())
def test_libraries_compute_the_same(tmp_path, library):
    with Libraries([library], 2) as libraries:
        for operation in LIKE_MODELS:
            assert libraries.time(library, operation, 1, 0.001, verify=True), operation
