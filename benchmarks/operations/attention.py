"""Scaled dot-product attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ...core import InputError
from ...search import TensorType
from ..verifying import ATTENTION_ROUNDINGS, Tolerance
from .operation import Operation, joined
from .steps import tensor
from .types import SUMS, Types, Values, narrow, widen

DTYPES = ("f16", "bf16", "f32")


@dataclass(frozen=True)
class Attention(Operation):
    """Attention of many heads at once.

    Attributes:
        width: of a head: of queries, keys and values.
    """

    dialect: ClassVar = "iree_linalg_ext"
    SIZES: ClassVar = ("heads", "queries", "keys", "width")

    heads: int
    queries: int
    keys: int
    width: int
    dtype: str = "f32"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dtype not in DTYPES:
            raise InputError(
                f"attention in {self.dtype} is not supported", f"use one of: {', '.join(DTYPES)}"
            )

    @property
    def kind(self) -> str:
        return "attention"

    @property
    def name(self) -> str:
        return f"attention_{joined(self.heads, self.queries, self.keys, self.width)}_{self.dtype}"

    @property
    def inputs(self) -> dict[str, TensorType]:
        keys = TensorType((self.heads, self.keys, self.width), self.dtype)
        return {"q": self.output, "k": keys, "v": keys}

    @property
    def output(self) -> TensorType:
        return TensorType((self.heads, self.queries, self.width), self.dtype)

    @property
    def type_text(self) -> str:
        return self.dtype

    @property
    def reduction(self) -> int:
        return self.width + self.keys

    @property
    def flops(self) -> int:
        return 4 * self.heads * self.queries * self.keys * self.width

    @property
    def tolerance(self) -> Tolerance:
        return Tolerance(self.dtype, self.reduction, "f32", ATTENTION_ROUNDINGS)

    def with_types(self, types: Types) -> Self:
        if types.sums != SUMS[types.operands][0]:
            raise InputError(
                f"attention in {','.join(types.words)} is not supported",
                f"its sums are in {SUMS[types.operands][0]}: give --dtypes {types.operands}",
            )
        return replace(self, dtype=types.operands)

    def compute(self, inputs: Sequence[Values], dtype: np.dtype[Any]) -> Values:
        """Head by head: the weights of all of SDXL's would take gigabytes."""
        every = zip(*widen(inputs, [self.dtype] * 3, dtype), strict=True)
        scale = self._scale.astype(dtype)
        found = []
        for query, key, value in every:
            scores = query @ key.T * scale
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            found.append(weights / weights.sum(axis=1, keepdims=True) @ value)
        return np.stack(found)

    @property
    def _scale(self) -> Values:
        """As the dispatch has it: in the operands' type."""
        rounded = narrow(np.array([self.width**-0.5]), self.dtype)
        return widen([rounded], [self.dtype], np.dtype(np.float64))[0]

    def body(self) -> list[str]:
        q, kv = tensor(self.inputs["q"]), tensor(self.inputs["k"])
        loops = "affine_map<(b, m, n, k1, k2) -> "
        results = ("b, m, k1", "b, k2, k1", "b, k2, n", "", "b, m, n")
        maps = ", ".join(f"{loops}({dims})>" for dims in results)
        return [
            f"%scale = arith.constant {self._scale[0]:.8f} : {self.dtype}",
            f"%empty = tensor.empty() : {q}",
            f"%result = iree_linalg_ext.attention <{{indexing_maps = [{maps}]}}>",
            f"  ins(%q, %k, %v, %scale : {q}, {kv}, {kv}, {self.dtype}) outs(%empty : {q}) {{",
            "^bb0(%score: f32):",
            "  iree_linalg_ext.yield %score : f32",
            f"}} -> {q}",
            f"return %result : {q}",
        ]
