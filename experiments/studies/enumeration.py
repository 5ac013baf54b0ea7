"""Enumerating GPU spaces: our joins beside Z3 with blocking clauses, on the same constraints.

python -m frontrunner.experiments.studies.enumeration
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

import z3

from ...benchmarks.operations import Conv, Matmul, Operation, Types
from ...search import Space, build_spaces
from ...search.enumeration import count, enumerate_space, sample
from ...search.gpu import EXTRA_KNOBS
from ...search.reading import read_dispatch

HALF = Types("f16", "f32")
CASES = (
    (Matmul(2048, 1280, 5120, HALF, transposed=("rhs",)), "gfx942"),
    (Matmul(2048, 1280, 5120, HALF, transposed=("rhs",)), "sm_80"),
    (Conv.square(64, 640, 640, 3, images=2, types=HALF), "gfx942"),
)
# Z3 needs minutes to hours for a whole space; its rate only falls as clauses pile up.
Z3_SECONDS = 10.0


def spaces_of(case: Operation, target: str, **options: object) -> tuple[Space, ...]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{case.name}.mlir"
        path.write_text(case.mlir())
        return build_spaces(read_dispatch(path, target), **options)  # type: ignore[arg-type]


def z3_rate(space: Space, seconds: float) -> float:
    """Solutions per second by solving, blocking the solution, and solving again."""
    solver = z3.Solver()
    solver.add(*(c.formula for c in space.constraints))
    found, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds and solver.check() == z3.sat:
        model = solver.model()
        solver.add(z3.Or([k.var != model.eval(k.var, True) for k in space.knobs]))
        found += 1
    return found / (time.perf_counter() - started)


def main() -> None:
    print(f"{'dispatch':44} {'pipeline':20} {'solutions':>10} {'s':>6} {'ours/s':>9} {'Z3/s':>6}")
    for case, target in CASES:
        for space in spaces_of(case, target):
            started = time.perf_counter()
            rows = len(enumerate_space(space))
            seconds = time.perf_counter() - started
            z3s = z3_rate(space, Z3_SECONDS)
            print(
                f"{case.name:44} {space.pipeline:20} {rows:10,} {seconds:6.2f} "
                f"{rows / seconds:9,.0f} {z3s:6.0f}"
            )
    (space,) = spaces_of(
        Conv.square(240, 960, 960, 3, images=16, types=HALF),
        "gfx942",
        pipeline="TileAndFuse",
        extras=EXTRA_KNOBS,
    )
    started = time.perf_counter()
    drawn = len(sample(space, 10_000, seed=0))
    seconds = time.perf_counter() - started
    print(f"{drawn:,} uniform candidates of {count(space).value:,}: {seconds:.2f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"peak memory: {peak // 1024} MiB")


if __name__ == "__main__":
    main()
