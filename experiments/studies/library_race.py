"""How fast torch and ONNX Runtime run a model of `make_models`, beside a variant that was compiled.

All take turns, with the same inputs and as many threads: torch eagerly, and as `torch.compile`
makes it (which needs a C++ compiler), and ONNX Runtime (if it is installed) with the model as torch
exports it, each after calls that are not counted. Memory is kept between calls, as of the variant.
"""

from __future__ import annotations

import ctypes
import io
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from ...benchmarks.measuring import TURN_SECONDS, median_interval, time_runs
from ...benchmarks.networks import NetworkRunner
from ...core import first_line
from .make_models import MODELS

TURNS = 7
WARM_UP_CALLS = 3
# Of a turn: the median of so many rounds, of each the fastest call, for all alike.
ROUNDS = 3

# Of glibc's `mallopt`: what `KEEP_MEMORY` sets for new processes, for this one.
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
MOST_KEPT = 2**31 - 1

Call = Callable[[], object]
Tensors = Sequence[torch.Tensor]


@dataclass(frozen=True)
class Race:
    """How much faster a compiled variant is than a library: the median of the turns, and 95 %.

    Attributes:
        library_us: median of the library's times.
    """

    speedup: float
    interval: tuple[float, float]
    library_us: float


def race_libraries(name: str, runner: NetworkRunner, default: Path, tuned: Path) -> dict[str, Race]:
    """By the names in `LIBRARIES`; without those that do not run the model here."""
    _keep_memory()
    torch.set_num_threads(_cores())
    module = MODELS[name]().module.eval()
    inputs = [torch.from_numpy(file.read()) for file in runner.setup.calls[0].inputs[0]]
    calls: dict[str, Call] = {}
    library_us: dict[str, list[float]] = {}
    tuned_us = []
    with torch.inference_mode():
        for title, prepare in LIBRARIES.items():
            try:
                call = prepare(module, inputs)
                for _ in range(WARM_UP_CALLS):
                    call()
            except Exception as error:  # of any of its many parts, a C++ compiler among them
                print(f"{name}: {title}: {first_line(error)}", file=sys.stderr)
            else:
                calls[title], library_us[title] = call, []
        for turn in range(TURNS):
            for title, call in calls.items():
                library_us[title].append(_turn_us(call))
            tuned_us.append(runner.measure_speedup(default, tuned, turn, ROUNDS).after_us)
    return {title: _race(times, tuned_us) for title, times in library_us.items()}


def _eager(module: torch.nn.Module, inputs: Tensors) -> Call:
    return lambda: module(*inputs)


def _compiled(module: torch.nn.Module, inputs: Tensors) -> Call:
    compiled = torch.compile(module)
    return lambda: compiled(*inputs)


def _in_onnxruntime(module: torch.nn.Module, inputs: Tensors) -> Call:
    import onnxruntime as ort  # of another extra

    exported = io.BytesIO()
    # The older exporter: the newer one needs a package more.
    torch.onnx.export(module, tuple(inputs), exported, dynamo=False)
    options = ort.SessionOptions()
    options.intra_op_num_threads = _cores()
    session = ort.InferenceSession(exported.getvalue(), options, providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]
    fed = {name: given.numpy() for name, given in zip(names, inputs, strict=True)}
    return lambda: session.run(None, fed)


LIBRARIES: dict[str, Callable[[torch.nn.Module, Tensors], Call]] = {
    "torch eager": _eager,
    "`torch.compile`": _compiled,
    "ONNX Runtime": _in_onnxruntime,
}


def _keep_memory() -> None:
    library = ctypes.CDLL(None)
    library.mallopt(M_MMAP_MAX, 0)
    library.mallopt(M_TRIM_THRESHOLD, MOST_KEPT)


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _turn_us(call: Call) -> float:
    rounds = (time_runs(call, TURN_SECONDS, least=1).samples_us for _ in range(ROUNDS))
    return statistics.median(map(min, rounds))


def _race(library_us: Sequence[float], tuned_us: Sequence[float]) -> Race:
    ratios = [theirs / ours for theirs, ours in zip(library_us, tuned_us, strict=True)]
    return Race(statistics.median(ratios), median_interval(ratios), statistics.median(library_us))
