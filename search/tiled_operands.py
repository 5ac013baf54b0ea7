"""Products of operands that come in tiles, as `--iree-global-opt-data-tiling` lays them out.

The compiler packs each operand into tiles that fill its registers: of 16 rows and of 16 columns of
f32 on AVX-512. What is left to choose is how many tiles a workgroup takes, and how many each step.
"""

from __future__ import annotations

from .problem import Problem

PIPELINE = "Mmt4dTilingExpert"
OPS = ("linalg.mmt4d", "linalg.batch_mmt4d")


def has_tiled_operands(problem: Problem) -> bool:
    return problem.op in OPS


def inner_loops(problem: Problem) -> tuple[str, ...]:
    """The names of the loops within a tile of the operands: the second of rows, columns, terms."""
    return tuple(problem.by_role(role)[-1].name for role in ("m", "n", "k"))
