"""Which problems are the same, and which are of one family: what is left out together."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from itertools import pairwise, permutations

from ...search import Operand, Problem
from ..dataset import ForeignKernel

# Kinds that sum products of two operands, which may be swapped.
PRODUCTS = ("contraction", "convolution")
CONVOLUTION, DEPTHWISE = "convolution", "depthwise"
MATMUL, BATCH_MATMUL, MATVEC = "matmul", "batch_matmul", "matvec"

# For each dim of a tensor, the loops that it is indexed by, as pairs (loop, stride).
Index = tuple[tuple[tuple[int, int], ...], ...]


def family_of(problem: Problem | ForeignKernel) -> str:
    """The family of a problem: `convolution`, `depthwise`, `attention`, `matvec`, ...

    It tells what is computed, not how it is written nor of which types: a convolution whose window
    is one pixel is a `matmul`, and a product with one row or one column a `matvec`, also where it
    is batched. Problems of another kind are of a family of its name, and somebody else's kernel is
    one of its own.
    """
    if isinstance(problem, ForeignKernel):
        return problem.name
    if problem.kind not in PRODUCTS:
        return problem.kind
    if dict(problem.traits).get("depthwise"):
        return DEPTHWISE
    dims = [dim for o in problem.operands for dim in _without_unit_loops(problem, o)]
    if any(len(terms) > 1 or terms[0][1] > 1 for terms in dims):
        return CONVOLUTION
    roles = {d.role for d in problem.dims if d.size > 1}
    if not {"m", "n"} <= roles:
        return MATVEC
    return BATCH_MATMUL if "batch" in roles else MATMUL


def problem_name(problem: Problem | ForeignKernel) -> str:
    """A name that exactly the problems have which are the same computation on the same memory.

    Loops of one iteration are dropped, loops over adjacent dims are one, and the operands of a
    product are in no order: a matrix-vector product is the matrix product with one row, and a
    convolution with one pixel at a time is the matrix product over its pixels. What is transposed
    is another problem, as is what has other types. What is fused to the root op makes no
    difference: the best candidates of a convolution, and of the same one with a bias, are nearly
    the same. Nor does what a generic op computes: sums and maxima of rows are one problem.
    """
    if isinstance(problem, ForeignKernel):
        return problem.label
    swapped = problem.kind in PRODUCTS
    orders = list(permutations(problem.inputs)) if swapped else [problem.inputs]
    form = min(_Form.of(problem, inputs) for inputs in orders)
    # Those of products are seen from their indices; what is fused does not count.
    traits = [t for t in problem.traits if t[0] not in ("math", "fused_row") and not swapped]
    digest = hashlib.sha256(json.dumps([form.indices, traits]).encode()).hexdigest()
    sizes = "x".join(map(str, form.sizes))
    return "_".join([family_of(problem), sizes, *form.types, digest[:6]])


@dataclass(frozen=True, order=True)
class _Form:
    """How a problem is written with its inputs in a given order.

    Attributes:
        sizes: of the loops, in the order in which the output's dims and then the inputs' name them.
        types: of the inputs and the output.
        indices: of the output and the inputs, by loops in this order.
    """

    sizes: tuple[int, ...]
    types: tuple[str, ...]
    indices: tuple[Index, ...]

    @classmethod
    def of(cls, problem: Problem, inputs: tuple[Operand, ...]) -> _Form:
        sizes = {i: d.size for i, d in enumerate(problem.dims)}
        indices = [_without_unit_loops(problem, o) for o in (problem.output, *inputs)]
        for first, second in permutations(sizes, 2):
            if _are_one(first, second, indices):
                sizes[second] *= sizes[first]
                indices = [tuple(d for d in i if d != ((first, 1),)) for i in indices]
        used = [loop for index in indices for terms in index for loop, _ in terms]
        loops = {loop: place for place, loop in enumerate(dict.fromkeys(used))}
        return cls(
            tuple(sizes[loop] for loop in loops),
            tuple(o.dtype for o in (*inputs, problem.output)),
            tuple(
                tuple(tuple(sorted((loops[loop], n) for loop, n in terms)) for terms in index)
                for index in indices
            ),
        )


def _without_unit_loops(problem: Problem, operand: Operand) -> Index:
    """An operand's index without loops of one iteration, and without dims that only they index."""
    kept = (
        tuple((loop, stride) for loop, stride in terms if problem.dims[loop].size > 1)
        for terms in operand.index
    )
    return tuple(terms for terms in kept if terms)


def _are_one(first: int, second: int, indices: list[Index]) -> bool:
    """Whether wherever one of two loops is, the first is alone in its dim, and the second next."""
    pair = (((first, 1),), ((second, 1),))
    uses = [[loop for terms in i for loop, _ in terms if loop in (first, second)] for i in indices]
    return any(uses) and all(
        used == [first, second] and pair in pairwise(index)
        for used, index in zip(uses, indices, strict=True)
        if used
    )
