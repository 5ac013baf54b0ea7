"""What a dispatch computes where it is sums of products alone, in float64, of a sample of outputs.

The compiler's default rounds as its candidates do, and may be wrong itself; this knows better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .inputs import NUMPY_TYPES, Array, to_bf16
from .tolerance import ATTENTION_ROUNDINGS, Floats, Positions, Tolerance, as_float

# For each dim of a tensor, the loops that it is indexed by, with their strides.
Index = tuple[tuple[tuple[int, int], ...], ...]

# Fewer outputs are sampled where each has many products.
MOST_OUTPUTS, LEAST_OUTPUTS, MOST_PRODUCTS = 1024, 16, 1 << 20


@dataclass(frozen=True)
class Formula:
    """Sums of products of two inputs; or attention, of three.

    Attributes:
        sizes: trip counts of the loops.
        inputs: of the function, in its order.
        output: each dim of it is a loop.
        sums: for each product, the loops that it sums over, the last product first: attention sums
            over keys, and for their weights over the width of a head.
    """

    sizes: tuple[int, ...]
    inputs: tuple[Index, ...]
    output: tuple[int, ...]
    sums: tuple[tuple[int, ...], ...]

    @property
    def terms(self) -> int:
        """How many products an output takes."""
        return math.prod(self.sizes[d] for loops in self.sums for d in loops)

    def sample(self, inputs: Sequence[Array], dtypes: Sequence[str], seed: int) -> Sample:
        """Outputs that are drawn at random, and at the ends of each dim.

        Args:
            dtypes: of the inputs.
        """
        terms = [math.prod(self.sizes[d] for d in loops) for loops in self.sums]
        count = max(LEAST_OUTPUTS, MOST_PRODUCTS // self.terms)
        points = self._points(min(MOST_OUTPUTS, count), seed)
        # One axis for the outputs, one for each sum.
        axes = np.ix_(np.arange(len(points)), *map(np.arange, terms))
        loops = {d: points[axes[0], at] for at, d in enumerate(self.output)}
        for axis, summed in zip(axes[1:], self.sums, strict=True):
            steps = np.unravel_index(axis, tuple(self.sizes[d] for d in summed))
            loops |= dict(zip(summed, steps, strict=True))
        read = [
            as_float(values[_where(index, loops)], dtype)
            for values, index, dtype in zip(inputs, self.inputs, dtypes, strict=True)
        ]
        at = tuple(points.T)
        if len(self.sums) > 1:
            query, key, value = read
            return Sample(at, _attend(query, key, value, dtypes[0]), ATTENTION_ROUNDINGS)
        lhs, rhs = read
        return Sample(at, _sum_products(lhs, rhs), 1)

    def _points(self, count: int, seed: int) -> Positions:
        """Positions in the output; the first ones lie at the ends of a dim."""
        sizes = np.array([self.sizes[d] for d in self.output])
        points = np.random.default_rng(seed).integers(0, sizes, (count, len(sizes)))
        for dim, size in enumerate(sizes):
            points[2 * dim % count, dim], points[(2 * dim + 1) % count, dim] = 0, size - 1
        return points


@dataclass(frozen=True)
class Sample:
    """Some outputs, and what they have to be.

    Attributes:
        at: their positions, a column for each dim.
        roundings: how often a dispatch rounds to its element type on the way; see `Tolerance`.
    """

    at: tuple[Positions, ...]
    expected: Floats
    roundings: int

    def find_mismatch(self, outputs: Array, tolerance: Tolerance) -> str | None:
        """None if outputs agree, else where they differ most."""
        return tolerance.find_mismatch(outputs, self.expected, self.at)


def _where(index: Index, loops: Mapping[int, Positions]) -> tuple[Positions, ...]:
    """Where a tensor is read."""
    return tuple(np.asarray(sum(loops[d] * step for d, step in terms)) for terms in index)


def _sum_products(lhs: Floats, rhs: Floats) -> Floats:
    return np.asarray(np.einsum("sk,sk->s", lhs, rhs))


def _attend(query: Floats, key: Floats, value: Floats, dtype: str) -> Floats:
    """Attention whose scores are scaled by the root of their width, in the inputs' type."""
    root = np.array([query.shape[2] ** -0.5], np.float32)
    rounded = to_bf16(root) if dtype == "bf16" else root.astype(NUMPY_TYPES[dtype])
    scores = np.einsum("sjk,sjk->sj", query, key) * as_float(rounded, dtype)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(np.einsum("sj,sj->s", weights, value[:, :, 0]) / weights.sum(axis=1))
