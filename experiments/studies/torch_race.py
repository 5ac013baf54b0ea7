"""How fast torch runs a model of `make_models`, beside a variant of it that was compiled.

Both take turns, with the same inputs and as many threads: torch eagerly, and as `torch.compile`
makes it (which needs a C++ compiler), after calls that are not counted.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from ...benchmarks.measuring import median_interval
from ...benchmarks.networks import NetworkRunner
from ...core import first_line
from .make_models import MODELS

TURNS = 7
SECONDS = 2.0
WARM_UP_CALLS = 3
# Races of a few rounds each, between which torch has its turns.
ROUNDS = 3


@dataclass(frozen=True)
class Race:
    """How much faster a compiled variant is than torch: the median of the turns, and 95 %.

    Attributes:
        torch_us: median of torch's times.
    """

    speedup: float
    interval: tuple[float, float]
    torch_us: float


def race_torch(name: str, runner: NetworkRunner, default: Path, tuned: Path) -> dict[str, Race]:
    """By what torch does, `eager` and `compile`; without the latter where it cannot compile."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    network = MODELS[name]()
    module = network.module.eval()
    inputs = [torch.from_numpy(file.read()) for file in runner.setup.inputs[0]]
    peers: dict[str, Callable[[], object]] = {"eager": lambda: module(*inputs)}
    with torch.inference_mode():
        compiled = torch.compile(module)
        try:
            compiled(*inputs)
            peers["compile"] = lambda: compiled(*inputs)
        except Exception as error:  # of any of its many parts, the C++ compiler among them
            print(f"{name}: torch.compile: {first_line(error)}", file=sys.stderr)
        for peer in peers.values():
            for _ in range(WARM_UP_CALLS):
                peer()
        torch_us: dict[str, list[float]] = {title: [] for title in peers}
        tuned_us = []
        for turn in range(TURNS):
            for title, call in peers.items():
                torch_us[title].append(_median_us(call))
            tuned_us.append(runner.measure_speedup(default, tuned, turn, ROUNDS).after_us)
    return {title: _race(times, tuned_us) for title, times in torch_us.items()}


def _median_us(call: Callable[[], object]) -> float:
    times: list[float] = []
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def _race(torch_us: Sequence[float], tuned_us: Sequence[float]) -> Race:
    ratios = [theirs / ours for theirs, ours in zip(torch_us, tuned_us, strict=True)]
    return Race(statistics.median(ratios), median_interval(ratios), statistics.median(torch_us))
