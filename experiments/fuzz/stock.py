"""One good file or folder of each kind, made by the commands themselves, of a tiny product."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from .changes import make_model, make_npy, make_safetensors

PRODUCT = """\
func.func @mm(%a: tensor<32x64xf32>, %b: tensor<64x64xf32>) -> tensor<32x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x64xf32>) -> tensor<32x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<32x64xf32>, tensor<64x64xf32>)
      outs(%init : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}
"""
# The same, of a weight that is in an archive.
_WEIGHTED = """\
util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<64x64xf32>
func.func @main(%a: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %zero = arith.constant 0.0 : f32
  %w = util.global.load @w : tensor<64x64xf32>
  %empty = tensor.empty() : tensor<32x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x64xf32>) -> tensor<32x64xf32>
  %r = linalg.matmul ins(%a, %w : tensor<32x64xf32>, tensor<64x64xf32>)
      outs(%init : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}
"""
_COMMANDS = """\
MIOpenDriver conv -n 1 -c 8 -H 9 -W 9 -k 8 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -F 1
rocblas-bench -f gemm_ex -m 32 -n 64 -k 64 --a_type f32_r --b_type f32_r
"""
_ORDERS = ("(0, 1, 2)", "(2, 0, 1)", "(1, 2, 0)")
# What the columns of a table of anybody's are.
_COLUMNS = """\
time = ["first", "second"]
unit = "us"
knobs = ["tile", "order", "mode"]
permutations = ["order"]
categorical = ["mode"]
[problem]
name = "gemm"
[device]
column = "gpu"
[status]
column = "ended"
ok = [true]
timeout = ["slow"]
"""
# No queue is longer than the pool: a mutation that lifts the budget ends all the same.
_POOL = "--budget 2 --pool 6"
_DONE = ".complete"
RECORD = "record mm.mlir --candidates 2 --top 1 --rankers heuristic --adaptive 0"

# Runs a command line in the stock's folder.
Run = Callable[[str], None]


def make_stock(stock: Path, run: Run) -> None:
    """Fills a folder, unless it was."""
    if (stock / _DONE).exists():
        return
    shutil.rmtree(stock, ignore_errors=True)
    stock.mkdir()
    (stock / "mm.mlir").write_text(PRODUCT)
    (stock / "model.mlir").write_text(PRODUCT)
    (stock / "model.onnx").write_bytes(make_model())
    (stock / "cache.json").write_text(json.dumps(make_cache(), indent=1))
    (stock / "map.toml").write_text(_COLUMNS)
    for name, lines in _tables().items():
        (stock / name).write_text("\n".join(lines) + "\n")
    (stock / "ktt.json").write_text(json.dumps(_ktt_results(), indent=1))
    (stock / "commands.txt").write_text(_COMMANDS)
    (stock / "a.npy").write_bytes(make_npy("(32, 64)", "<f4", bytes(4 * 32 * 64)))
    (stock / "b.npy").write_bytes(make_npy("(64, 64)", "<f4", bytes(4 * 64 * 64)))
    (stock / "weighted.mlir").write_text(_WEIGHTED)
    (stock / "w.safetensors").write_bytes(make_safetensors("w", 64, 64))
    with ThreadPoolExecutor() as threads:
        for made in [threads.submit(make, stock, run) for make in (_make_measured, _make_others)]:
            made.result()
    (stock / _DONE).touch()


def _make_measured(stock: Path, run: Run) -> None:
    _make_runs(stock, run)
    _make_recordings(stock, run)


def _make_others(stock: Path, run: Run) -> None:
    _make_compiled(stock, run)
    _make_models(stock, run)
    run("generate matmul --m 32 --n 64 --k 64 --configurations 1 --out generated")
    run("profile generated --providers none")
    for name in ("spec.mlir", "other.mlir"):
        shutil.copy(next(stock.glob("generated/*/*.spec.mlir")), stock / name)


def _make_runs(stock: Path, run: Run) -> None:
    run(f"bundle pack mm.mlir {_POOL} --out mm.bundle")
    run("bundle run mm.bundle --out results.jsonl")
    _win(stock / "results.jsonl")
    run("bundle ingest mm.bundle results.jsonl --out run")
    shutil.copytree(stock / "run", stock / "begun")
    _interrupt(stock / "begun")


def _make_compiled(stock: Path, run: Run) -> None:
    run(f"tune mm.mlir {_POOL} --compile-only --out compiled")
    shutil.copytree(stock / "compiled", stock / "uncompiled")
    _interrupt(stock / "uncompiled")


def _make_recordings(stock: Path, run: Run) -> None:
    run(f"{RECORD} --out recordings --format t4")
    shutil.copy(stock / "recordings" / "mm.parquet", stock)
    _begin_recording(stock, run)
    shutil.move(stock / "recordings" / "mm.t4.json", stock / "mm.t4.json")
    packed = gzip.compress((stock / "mm.t4.json").read_bytes(), mtime=0)
    (stock / "mm.t4.json.gz").write_bytes(packed)
    run("train mm.parquet --ranker forest --set trees=3 --out forest.predictor")
    shipped = Path(__file__).parents[2] / "models" / "data" / "cpu.predictor"
    shutil.copy(shipped, stock / "shipped.predictor")


def _begin_recording(stock: Path, run: Run) -> None:
    """A recording whose candidates are compiled and measured, but for its further rounds."""
    work = stock / "recording" / ".mm.work"
    results = work / "results.jsonl"
    # What cannot be a log is found when all is compiled.
    results.mkdir(parents=True)
    with suppress(RuntimeError):
        run(f"{RECORD} --out recording")
    results.rmdir()
    folder = work.relative_to(stock)
    run(f"bundle run {folder}/candidates.bundle --out {folder}/results.jsonl")


def _make_models(stock: Path, run: Run) -> None:
    run("tune-model model.mlir --minutes 0.01 --pool 6 --out model")
    (hot,) = stock.glob("model/dispatches/*.mlir")
    run(f"tune {hot.relative_to(stock)} {_POOL} --out model/runs/{hot.stem}")
    shutil.copytree(stock / "model", stock / "model-begun")
    (stock / "model-begun" / "result.json").unlink()


def _interrupt(folder: Path) -> None:
    """Makes a run one that was ended after its first outcome."""
    (folder / "result.json").unlink()
    (folder / "spec.mlir").unlink(missing_ok=True)
    log = folder / "outcomes.jsonl"
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])


def _win(results: Path) -> None:
    """Has the first finalist win, so that its spec is compiled: times are noise here."""
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    finals = lines[-1]["finals"]
    first, *others = finals["standings"]
    time_us = finals["baseline_us"] / 2
    first |= {"speedup": 2.0, "interval": [1.9, 2.1], "time_us": time_us}
    first |= {"ratios": [1.8, 2.0, 2.2]}
    for other in others:
        other |= {"speedup": 1.0, "interval": [0.9, 1.1]}
        other |= {"time_us": finals["baseline_us"], "ratios": [0.8, 1.0, 1.2]}
    finals["noise_floor"] = 0.05
    lines[-1]["winner"] = first["index"]
    for line in lines[1:-1]:
        faster = 2 if line["index"] == first["index"] else 1
        line["time_us"] = line["baseline_us"] / faster
    results.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _tables() -> dict[str, list[str]]:
    """Tables with twelve candidates each, in the forms of other tuners."""
    candidates = [(tile, order) for tile in (4, 8, 16, 32) for order in _ORDERS]
    return {
        "table.csv": [
            "gpu,tile,order,mode,first,second,ended",
            *(
                f"{gpu},{x},{order[1:-1].replace(', ', '-')},{x % 3},{x + slower},,true"
                for slower, gpu in enumerate(("A100", "H100"))
                for x, order in candidates
            ),
            "A100,64,0-1-2,1,,,slow",
        ],
        "spmm_2630.csv": [
            "chunk_size,omp_scheduling_type,permutation,compute_time,iterations,wait_after_run",
            *(f'{x},{x % 3},"{order}",{x / 8},10,0' for x, order in candidates),
        ],
        "2080-add_output.csv": [
            "Kernel name,Computation duration (us),Global size,Local size,TILE,AT,Registers count",
            *(f"add,{x / 8 + at},1024,{x},{x},{at},12" for at in range(3) for x in (4, 8, 16, 32)),
        ],
    }


def _ktt_results() -> dict[str, Any]:
    """Results of KTT, of twelve candidates."""
    overheads = ("Compilation", "DataMovement", "Profiling", "Searcher", "Validation")
    results = [
        {
            "KernelName": "add",
            "Configuration": [
                {"Name": name, "Value": value, "ValueType": "UnsignedInt"}
                for name, value in (("TILE", x), ("AT", at))
            ],
            "ComputationResults": [],
            "Status": "Ok" if x < 32 else "ComputationFailed",
            "TotalDuration": x / 8 + at,
            **{f"{name}Overhead": 9.5 for name in overheads},
        }
        for at in range(3)
        for x in (4, 8, 16, 32)
    ]
    about = {"Device": "A GPU", "KttVersion": "2.2.0", "TimeUnit": "Microseconds"}
    return {"Metadata": about, "Results": results}


def make_cache(device: str = "A chip", slower: float = 1.0) -> dict[str, Any]:
    """A cache of Kernel Tuner, of a space of twelve, one of which fails.

    Args:
        slower: by how much times are longer.
    """
    sizes = [(x, y) for x in (16, 32, 64, 128) for y in (1, 2, 4)]
    entries: dict[str, dict[str, Any]] = {}
    for x, y in sizes:
        time = slower * (1.0 + abs(x - 64) / 64 + y / 8)
        entries[f"{x},{y}"] = {
            "block_size_x": x, "tile_y": y, "time": time, "times": [time] * 3,
            "compile_time": 300.0, "verification_time": 0, "benchmark_time": 4.0, "GFLOP/s": 9.0,
            "strategy_time": 0, "framework_time": 1.0, "timestamp": "2024-01-01 00:00:00+00:00",
        }  # fmt: skip
    entries["128,4"]["time"] = "RuntimeFailedConfig"
    return {
        "device_name": device,
        "kernel_name": "convolution",
        "problem_size": [64, 64],
        "tune_params_keys": ["block_size_x", "tile_y"],
        "tune_params": {"block_size_x": [16, 32, 64, 128], "tile_y": [1, 2, 4]},
        "objective": "time",
        "cache": entries,
    }
