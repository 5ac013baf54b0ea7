"""Whether a recording makes sense: files are edited, cut and made by others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...benchmarks.measuring import OK
from ...core import MAX_EXACT_INT
from ...search import DERIVED, ELEMENT_BYTES, PIPELINE, Problem, Target, kind_of, known_kinds

ROLES = ("batch", "m", "n", "k")
# Knobs that say how large something is; others may be 0.
SIZES = tuple(f"{word}_" for word in "dist cache vec wg sg red thread lanes subgroups".split())


def check_problem(problem: Problem) -> None:
    """Checks that there is something to compute, of types and sizes that exist.

    Raises:
        ValueError: naming what is wrong.
    """
    dims, operands = problem.dims, problem.operands
    names = [dim.name for dim in dims]
    _one_of("kind", problem.kind, known_kinds())
    if not dims or len(set(names)) < len(names):
        raise ValueError(f"its dims are {', '.join(names) or 'none'}")
    for dim in dims:
        _one_of(f"the role of {dim.name}", dim.role, ROLES)
        _between(f"the size of {dim.name}", dim.size, 1)
    _between("the number of its points", problem.points, 1)
    if missing := set(kind_of(problem).excluded_loops) - {"", *names}:
        raise ValueError(f"its dims are {', '.join(names)}, without {min(missing)}")
    outputs = [operand for operand in operands if operand.output]
    if len(outputs) != 1 or len(operands) < 2:
        raise ValueError(f"{len(outputs)} of its {len(operands)} operands are outputs")
    if not outputs[0].index:
        raise ValueError(f"{outputs[0].name} has no dims")
    for operand in operands:
        _one_of(f"the type of {operand.name}", operand.dtype, ELEMENT_BYTES)
        for at, stride in (term for entry in operand.index for term in entry):
            _between(f"a loop of {operand.name}", at, 0, len(dims) - 1)
            _between(f"a stride of {operand.name}", stride, 1)
    for name, value in problem.traits:
        _between(name, value, 0)


def check_target(target: Target) -> None:
    """Checks that a target has what features divide by.

    Raises:
        ValueError: naming what is wrong.
    """
    for name in ("cores", "vector_bytes", "registers"):
        _between(name, getattr(target, name), 1)
    for size in target.cache_bytes:
        _between("cache_bytes", size, 0)
    if (gpu := target.gpu) is None:
        return
    if not gpu.subgroup_sizes:
        raise ValueError("there are no subgroup_sizes")
    for size in gpu.subgroup_sizes:
        _between("subgroup_sizes", size, 1)
    for name in ("max_threads", "shared_bytes", "simds", "register_bits", "load_bits", "banks"):
        _between(name, getattr(gpu, name), 1)
    for intrinsic in gpu.intrinsics:
        _between(intrinsic.name, min(intrinsic.m, intrinsic.n, intrinsic.k), 1)


def check_rows(frame: pd.DataFrame) -> None:
    """Checks that every row has an outcome, and a time exactly where its outcome says so.

    Raises:
        ValueError: naming the first value that is wrong.
    """
    default, relative, time = (
        frame[name].to_numpy() for name in ("baseline_us", "relative", "time_us")
    )
    ok = frame["kind"].eq(OK).fillna(False).to_numpy(bool)
    compared = ~np.isnan(default)
    for name, due in (("time_us", ok), ("baseline_us", compared), ("relative", ok & compared)):
        values = frame[name].to_numpy()
        right = np.where(due, np.isfinite(values) & (values > 0), np.isnan(values))
        if (row := _first(~right)) is not None:
            kind = frame["kind"].iloc[row]
            raise ValueError(f"{name} of row {row}, {kind}, is {values[row]}")
    differs = ok & compared & ~np.isclose(relative * default, time, rtol=1e-6, atol=0)
    if (row := _first(differs)) is not None:
        raise ValueError(
            f"time_us of row {row} is {time[row]:g}, but relative * baseline_us is "
            f"{relative[row] * default[row]:g}"
        )
    if (row := _first(frame[PIPELINE].isna())) is not None:
        raise ValueError(f"{PIPELINE} of row {row} is missing")
    if (row := _first(frame["index"].duplicated())) is not None:
        raise ValueError(f"index {frame['index'].iloc[row]} is in two rows")


def check_knobs(frame: pd.DataFrame, knobs: Sequence[str]) -> None:
    """Checks that knobs could be those of a dispatch, and no candidate is there twice.

    Raises:
        ValueError: naming the first value that is wrong.
    """
    for name in [*knobs, *(c for c in map(str, frame) if c.startswith(DERIVED))]:
        numbers = pd.to_numeric(frame[name], errors="coerce").to_numpy(np.float64, na_value=np.nan)
        whole = (np.abs(numbers) <= MAX_EXACT_INT) & (np.floor(numbers) == numbers)
        least = 1 if name.startswith(SIZES) else 0
        missing = frame[name].isna().to_numpy() & (name in knobs)
        for right, what in ((whole, "no whole number"), (numbers >= least, f"less than {least}")):
            if (row := _first(~(right | missing))) is not None:
                raise ValueError(f"{name} is {frame[name].iloc[row]}, {what}")
    if (row := _first(frame[[PIPELINE, *knobs]].duplicated())) is not None:
        raise ValueError(f"row {row} is the same candidate as one before it")


def _first(wrong: pd.Series | NDArray[np.bool_]) -> int | None:
    """The first row that is wrong."""
    rows = np.flatnonzero(wrong)
    return int(rows[0]) if len(rows) else None


def _one_of(what: str, found: str, known: Iterable[str]) -> None:
    if found not in known:
        raise ValueError(f"{what} is {found!r}, not one of {', '.join(known)}")


def _between(what: str, found: int, least: int, most: int = MAX_EXACT_INT) -> None:
    if not least <= found <= most:
        raise ValueError(f"{what} is {found}, not from {least} to {most}")
