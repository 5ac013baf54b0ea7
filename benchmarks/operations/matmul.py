"""Products of matrices: one, or many at once, or one whose sums are split into slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ...core import InputError
from ...search import TensorType
from ..verifying import Tolerance
from .operation import Operation, Product, joined, zeros
from .steps import FusedSteps, tensor
from .types import F32, Types, Values, unsupported, widen

OPERANDS = ("lhs", "rhs")


@dataclass(frozen=True)
class Matmul(Product):
    """A product of matrices.

    Attributes:
        batch: how many there are side by side; 0 for one, without a dim for it.
        transposed: operands whose last two dims are swapped, of `OPERANDS`.
        steps: elementwise work on the result; see `frontrunner.benchmarks.operations.steps`.
        slices: how many parts the sums are split into, and then added up; 0 for none.
    """

    SIZES: ClassVar = ("m", "n", "k")

    m: int
    n: int
    k: int
    types: Types = F32
    batch: int = 0
    transposed: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    slices: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if other := set(self.transposed) - set(OPERANDS):
            raise InputError(f"{other.pop()!r} cannot be transposed", "lhs and rhs can")
        if self.slices and self.k % self.slices:
            raise InputError(
                f"k = {self.k} cannot be split into {self.slices} equal slices",
                "give a number of slices that divides k",
            )
        if self.slices and (self.batch or self.transposed):
            raise InputError("split sums have no batch and no transposed operand", "leave it out")
        _ = self.fused_steps  # refuses steps that cannot follow

    @property
    def kind(self) -> str:
        return "splitk" if self.slices else "batch_matmul" if self.batch else "matmul"

    @property
    def name(self) -> str:
        head = f"splitk{self.slices}" if self.slices else self.kind
        types = self.types.short if self.batch else "_".join(self.types.words)
        sizes = joined(*([self.batch] if self.batch else []), self.m, self.n, self.k)
        swapped = ["transposed", *self.transposed] if self.transposed else []
        return "_".join([head, sizes, types, *swapped, *self.steps])

    @property
    def inputs(self) -> dict[str, TensorType]:
        batch = (self.batch,) if self.batch else ()
        shapes = {"lhs": (self.m, self.k), "rhs": (self.k, self.n)}
        found = {
            name: TensorType(
                (*batch, *(shape[::-1] if name in self.transposed else shape)), self.types.operands
            )
            for name, shape in shapes.items()
        }
        return {**found, **self.fused_steps.operands}

    @property
    def sizes(self) -> dict[str, int]:
        extra = {"batch": self.batch, "slices": self.slices}
        return {**{name: size for name, size in extra.items() if size}, **super().sizes}

    @property
    def reduction(self) -> int:
        return self.k

    def compute(self, inputs: Sequence[Values], dtype: np.dtype[Any]) -> Values:
        dtypes = [t.dtype for t in self.inputs.values()]
        lhs, rhs, *rest = widen(inputs, dtypes, dtype)
        if "lhs" in self.transposed:
            lhs = np.swapaxes(lhs, -1, -2)
        if "rhs" in self.transposed:
            rhs = np.swapaxes(rhs, -1, -2)
        return self.fused_steps.compute(np.matmul(lhs, rhs), rest)

    def scaled_down(self, factor: int) -> Self:
        # What is split stays so.
        parts = max(1, self.slices)
        m, n, per = (max(1, size // factor) for size in (self.m, self.n, self.k // parts))
        return replace(self, m=m, n=n, k=parts * per)

    def body(self) -> list[str]:
        product = self._split() if self.slices else self._product()
        result = "fused" if self.steps else "result"
        return [*product, *self.fused_steps.mlir(), f"return %{result} : {tensor(self.output)}"]

    def _product(self) -> list[str]:
        lhs, rhs = (self.inputs[name] for name in OPERANDS)
        op = "linalg.batch_matmul" if self.batch else "linalg.matmul"
        return [
            *zeros(self._sums),
            f"%result = {op} {self._maps()} ins(%lhs, %rhs : {tensor(lhs)}, {tensor(rhs)})"
            f" outs(%init : {tensor(self._sums)}) -> {tensor(self._sums)}",
        ]

    def _maps(self) -> str:
        """Which dims are swapped; nothing where none are."""
        if not self.transposed:
            return ""
        dims = {"lhs": ["m", "k"], "rhs": ["k", "n"], "out": ["m", "n"]}
        batch = ["b"] if self.batch else []
        loops = ", ".join([*batch, "m", "n", "k"])
        maps = []
        for name, used in dims.items():
            results = [*batch, *(used[::-1] if name in self.transposed else used)]
            maps.append(f"affine_map<({loops}) -> ({', '.join(results)})>")
        return f"indexing_maps = [{', '.join(maps)}]"

    def _split(self) -> list[str]:
        """A product for each slice, and their sum."""
        slices, part = self.slices, self.k // self.slices
        lhs, rhs = (self.inputs[name] for name in OPERANDS)
        left = tensor(TensorType((self.m, slices, part), lhs.dtype))
        right = tensor(TensorType((slices, part, self.n), rhs.dtype))
        partial = TensorType((slices, self.m, self.n), self.types.sums)
        a, b, c = self.types.words
        kind = "i" if self.types.is_integer else "f"
        wider = "arith.extsi" if self.types.is_integer else "arith.extf"
        widen = [f"  %{x}w = {wider} %{x} : {a} to {c}" for x in ("x", "y")] if a != c else []
        x, y = ("xw", "yw") if widen else ("x", "y")
        loops = "affine_map<(s, m, n, k) -> "
        sums = tensor(self._sums)
        return [
            f"%left = tensor.expand_shape %lhs [[0], [1, 2]]"
            f" output_shape [{self.m}, {slices}, {part}] : {tensor(lhs)} into {left}",
            f"%right = tensor.expand_shape %rhs [[0, 1], [2]]"
            f" output_shape [{slices}, {part}, {self.n}] : {tensor(rhs)} into {right}",
            *zeros(partial, "none"),
            f"%partial = linalg.generic {{indexing_maps = [{loops}(m, s, k)>, {loops}(s, k, n)>,"
            f" {loops}(s, m, n)>],",
            '    iterator_types = ["parallel", "parallel", "parallel", "reduction"]}',
            f"  ins(%left, %right : {left}, {right}) outs(%none : {tensor(partial)}) {{",
            f"^bb0(%x: {a}, %y: {b}, %sum: {c}):",
            *widen,
            f"  %product = arith.mul{kind} %{x}, %{y} : {c}",
            f"  %more = arith.add{kind} %sum, %product : {c}",
            f"  linalg.yield %more : {c}",
            f"}} -> {tensor(partial)}",
            *zeros(self._sums),
            f"%result = linalg.reduce ins(%partial : {tensor(partial)}) outs(%init : {sums})"
            " dimensions = [0]",
            f"  (%x: {c}, %sum: {c}) {{",
            f"    %more = arith.add{kind} %x, %sum : {c}",
            f"    linalg.yield %more : {c}",
            "  }",
        ]

    @property
    def _sums(self) -> TensorType:
        return TensorType((*([self.batch] if self.batch else []), self.m, self.n), self.types.sums)

    @property
    def fused_steps(self) -> FusedSteps:
        shape = self._sums.shape
        return FusedSteps(self.steps, self.types, shape, (len(shape) - 1,), self.k)


@dataclass(frozen=True)
class Matvec(Operation):
    """A matrix times a vector, in f32."""

    SIZES: ClassVar = ("m", "k")

    m: int
    k: int

    @property
    def kind(self) -> str:
        return "matvec"

    @property
    def name(self) -> str:
        return f"matvec_{self.m}x{self.k}_f32"

    @property
    def inputs(self) -> dict[str, TensorType]:
        return {"lhs": TensorType((self.m, self.k), "f32"), "rhs": TensorType((self.k,), "f32")}

    @property
    def output(self) -> TensorType:
        return TensorType((self.m,), "f32")

    @property
    def type_text(self) -> str:
        return "f32,f32,f32"

    @property
    def reduction(self) -> int:
        return self.k

    @property
    def tolerance(self) -> Tolerance:
        return Tolerance("f32", self.k)

    def with_types(self, types: Types) -> Self:
        if types != F32:
            raise unsupported(",".join(types.words))
        return self

    def compute(self, inputs: Sequence[Values], dtype: np.dtype[Any]) -> Values:
        lhs, rhs = widen(inputs, ["f32", "f32"], dtype)
        return np.asarray(lhs @ rhs)

    def body(self) -> list[str]:
        lhs, rhs = (tensor(t) for t in self.inputs.values())
        out = tensor(self.output)
        return [
            *zeros(self.output),
            f"%result = linalg.matvec ins(%lhs, %rhs : {lhs}, {rhs}) outs(%init : {out}) -> {out}",
            f"return %result : {out}",
        ]
