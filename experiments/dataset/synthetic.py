"""Synthetic recordings whose best candidate is known, to see what a search does and does not find.

Each kind is one shape of what tuners meet: knobs that matter each on its own, knobs that matter
together with noise over them, a region where everything fails, and a space with holes. Devices are
alike, not the same: what a knob costs differs by a fifth or so, and one knob is best one value on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...benchmarks.measuring import CRASHED, OK
from .foreign import ForeignResult, build_foreign_recording
from .origins import UNIFORM
from .provenance import ForeignKernel
from .recording import Recording

SEPARABLE, RUGGED, FAILING, CONSTRAINED = KINDS = ("separable", "rugged", "failing", "constrained")
# How many values each knob has: 960 candidates where none is left out.
SIZES = (8, 6, 5, 4)
BEST_US = 100.0
# What a candidate is slower by, as a logarithm: a knob at its far end, two of them, and noise.
REACH, PAIRS, NOISE = 0.4, 0.6, 0.2
# Shares of the space that fail, or are left out.
FAIL_SHARE, HOLE_SHARE = 0.3, 0.4
# What compiling and measuring one candidate takes.
COMPILE_S, MEASURE_S = 1.0, 0.5

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Synthetic:
    """A synthetic recording.

    Attributes:
        best: the row of its best candidate, which takes `BEST_US`; all others take longer.
    """

    recording: Recording
    best: int


def make_synthetic(kind: str, device: int = 0, seed: int = 0) -> Synthetic:
    """A recording of a synthetic kernel on one of its devices.

    Args:
        kind: one of `KINDS`.
        device: those of one seed are alike.
        seed: of the kernel.

    Raises:
        ValueError: there is no such kind.
    """
    kernel = np.random.default_rng([KINDS.index(kind), seed])
    own = np.random.default_rng([KINDS.index(kind), seed, device])
    points = np.array(list(product(*map(range, SIZES))))
    best = kernel.integers(0, SIZES)
    reach = REACH * kernel.dirichlet(np.ones(len(SIZES))) * len(SIZES)
    together = PAIRS * kernel.random((len(SIZES), len(SIZES)))
    edge = kernel.permutation(len(SIZES))[:2]
    if device:
        reach = reach * own.uniform(0.8, 1.2, len(SIZES))
        knob = int(own.integers(len(SIZES)))
        best[knob] += 1 if best[knob] + 1 < SIZES[knob] else -1
    away = np.abs(points - best) / (np.array(SIZES) - 1)
    logs = away @ reach
    if kind == RUGGED:
        logs = logs + np.einsum("ni,ij,nj->n", away, together, away)
        logs = logs + NOISE * own.random(len(points))
    is_best = (points == best).all(axis=1)
    logs = np.where(is_best, 0.0, np.maximum(logs, 0.01))
    # What is far out along two knobs fails, or is no candidate.
    far = away[:, edge].sum(axis=1)
    fails = (kind == FAILING) & (far > np.quantile(far, 1 - FAIL_SHARE))
    there = (kind != CONSTRAINED) | (far <= np.quantile(far, 1 - HOLE_SHARE))
    times = BEST_US * np.exp(np.where(fails, np.nan, logs))
    taken = [
        _result(kind, point, time)
        for point, time in zip(points[there].tolist(), times[there].tolist(), strict=True)
    ]
    name = f"synthetic_{kind}" + (f"_{seed}" if seed else "")
    recording = build_foreign_recording(
        ForeignKernel(name), f"synthetic {device}", taken, "frontrunner", "a formula"
    )
    return Synthetic(recording, int(np.flatnonzero(is_best[there])[0]))


def write_synthetic(folder: Path, devices: int = 2, seeds: Sequence[int] = (0,)) -> list[Path]:
    """Writes a recording of every kind, on so many devices, for each seed.

    Raises:
        WorkError: one cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for seed, kind, device in product(seeds, KINDS, range(devices)):
        path = folder / f"synthetic_{kind}_{seed}_{device}.parquet"
        make_synthetic(kind, device, seed).recording.write(path)
        paths.append(path)
    return paths


def _result(kind: str, point: list[int], time: float) -> ForeignResult:
    failed = math.isnan(time)
    return ForeignResult(
        # Kinds have knobs of their own, for what is learned of one says nothing of another.
        knobs={f"{kind}_{place}": 2**value for place, value in enumerate(point)},
        kind=CRASHED if failed else OK,
        time_us=time,
        reason="made to fail" if failed else "",
        stage="run" if failed else "",
        runs=(),
        compile_s=COMPILE_S,
        measure_s=MEASURE_S,
        origin=UNIFORM,
    )
