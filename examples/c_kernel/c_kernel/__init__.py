"""A kernel in C with a compiler of its own, tuned against what IREE makes of the same product.

Install the package, and ask for the pipeline by name:

    pip install examples/c_kernel
    frontrunner space examples/matmul_skinny.mlir --pipeline CKernel
    frontrunner tune examples/matmul_skinny.mlir --pipeline CKernel

What wins is a module for IREE's runtime, `winner.vmfb` in the run's folder.
"""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

import z3
from iree.compiler import compile_str

from frontrunner.search import Constraint, Dispatch, ExecutablePipeline, Knob, Problem, Target

HERE = Path(__file__).parent
FLOAT_BYTES = 4
FLAGS = "-O3 -ffreestanding -fPIC -fno-stack-protector -fno-asynchronous-unwind-tables".split()

tile_m, tile_n, rows, vectors = z3.Ints("tile_m tile_n rows vectors")


class CKernel(ExecutablePipeline):
    """Workgroups of `tile_m` by `tile_n`, in register tiles of `rows` by `vectors` vectors."""

    name = "CKernel"
    backend = "llvm-cpu"

    def knobs(self, problem: Problem, target: Target) -> Sequence[Knob]:
        if problem.op != "linalg.matmul" or problem.fused or platform.machine() != "x86_64":
            return ()
        if any(operand.dtype != "f32" for operand in problem.operands):
            return ()
        m, n, _ = (dim.size for dim in problem.dims)
        width = target.vector_bytes // FLOAT_BYTES
        if n % width:
            return ()
        return (
            Knob("tile_m", _divisors(m, 1, 128)),
            Knob("tile_n", _divisors(n, width, 1024)),
            Knob("rows", tuple(range(1, 15))),
            Knob("vectors", (1, 2, 3, 4, 6, 8)),
        )

    def constraints(self, problem: Problem, target: Target) -> Sequence[Constraint]:
        width = target.vector_bytes // FLOAT_BYTES
        return (
            Constraint("register tiles divide the tile's rows", tile_m % rows == 0),
            Constraint("register tiles divide its columns", tile_n % (width * vectors) == 0),
            Constraint(
                "sums, a row of B and one value of A stay in registers",
                rows * vectors + vectors + 1 <= target.registers,
            ),
        )

    def derived(self, problem: Problem, target: Target) -> Sequence[tuple[str, z3.ArithRef]]:
        """In the words of the backend's own spaces, so that rankers know what they see."""
        m, n, k = (dim.name for dim in problem.dims)
        width = target.vector_bytes // FLOAT_BYTES
        return (
            (f"dist_{m}", tile_m), (f"dist_{n}", tile_n),
            (f"vec_{m}", rows), (f"vec_{n}", vectors * width), (f"vec_{k}", z3.IntVal(1)),
        )  # fmt: skip

    def build(self, dispatch: Dispatch, candidate: Mapping[str, int], executable: Path) -> None:
        target = dispatch.target
        m, n, k = (dim.size for dim in dispatch.problem.dims)
        sizes = {"M": m, "N": n, "K": k}
        width = target.vector_bytes // FLOAT_BYTES
        defined = {**sizes, "WIDTH": width, **{name.upper(): v for name, v in candidate.items()}}
        cpu = "native" if target.name == "host" else target.arch
        # Named alike for all candidates: the module's bytes hold the name, and identical
        # executables are measured once.
        folder = executable.with_suffix("")
        folder.mkdir(exist_ok=True)
        options = [f"-D{name}={value}" for name, value in defined.items()]
        command = ["cc", *FLAGS, f"-march={cpu}", *options, "-c", f"{HERE / 'kernel.c'}"]
        subprocess.run(
            [*command, "-o", f"{folder / 'kernel.o'}"], check=True, capture_output=True, text=True
        )
        module = Template((HERE / "module.mlir").read_text()).substitute(
            sizes,
            function=dispatch.function,
            object="kernel.o",
            rows=m // candidate["tile_m"],
            columns=n // candidate["tile_n"],
        )
        # As text, not as a file: its bytes would hold where that was, which on another host is
        # another place, and the same candidate would seem to be another kernel.
        compile_str(
            module,
            output_file=f"{executable}",
            extra_args=[f"--iree-hal-executable-object-search-path={folder}"],
        )


def _divisors(size: int, least: int, most: int) -> tuple[int, ...]:
    return tuple(t for t in range(least, min(size, most) + 1) if size % t == 0)
