"""What a generated dispatch computes: in MLIR, and the same in NumPy."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from ...core import InputError
from ...search import TensorType
from ..verifying import Tolerance
from .steps import FusedSteps, tensor
from .types import Types, Values, narrow

# Of a size: what takes more is no dispatch, and tables have columns of 64 bits.
MAX_SIZE = 2**31 - 1


@dataclass(frozen=True)
class Operation(ABC):
    """A dispatch, by its sizes and types.

    Raises:
        InputError: a size is not one, or types cannot be combined.
    """

    # Of the op that it is written as.
    dialect: ClassVar[str] = "linalg"
    # The fields that a smaller operation of the kind has less of.
    SIZES: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        for name, size in self.sizes.items():
            if not 1 <= size <= MAX_SIZE:
                raise InputError(
                    f"{name} must be at least 1 and at most {MAX_SIZE:,}, got {size}",
                    "give another size",
                )

    @property
    @abstractmethod
    def kind(self) -> str:
        """What the command line calls it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Tells it from all others; names the function and the file."""

    @property
    @abstractmethod
    def inputs(self) -> dict[str, TensorType]: ...

    @property
    @abstractmethod
    def output(self) -> TensorType: ...

    @property
    def sizes(self) -> dict[str, int]:
        """For tables."""
        return {name: getattr(self, name) for name in self.SIZES}

    @property
    @abstractmethod
    def type_text(self) -> str:
        """Element types of the operands and of their sums, as users write them."""

    @property
    def fused(self) -> tuple[str, ...]:
        """Elementwise steps on the result."""
        return ()

    @property
    @abstractmethod
    def reduction(self) -> int:
        """How many products are summed up in each value of the result."""

    @property
    def flops(self) -> int:
        """Operations of the products alone: two for each."""
        return 2 * math.prod(self.output.shape) * self.reduction

    @abstractmethod
    def compute(self, inputs: Sequence[Values], dtype: np.dtype[Any]) -> Values:
        """The result in NumPy, not yet rounded to its element type.

        Args:
            inputs: as they are given to the dispatch; bf16 as bits.
            dtype: what to compute in.
        """

    @property
    def exact(self) -> np.dtype[Any]:
        """The NumPy type in which the reference is computed."""
        return np.dtype(np.float64)

    @abstractmethod
    def body(self) -> list[str]:
        """Lines of MLIR, the last of which returns the result."""

    def reference(self, inputs: Sequence[Values]) -> Values:
        """What is right: computed in NumPy, as exactly as can be, and rounded once."""
        return narrow(self.compute(inputs, self.exact), self.output.dtype)

    @property
    @abstractmethod
    def tolerance(self) -> Tolerance:
        """How far results may differ from the reference, whose sums are exact: the order of the
        dispatch's sums, on which they depend, is the compiler's choice."""

    def mlir(self) -> str:
        arguments = ", ".join(f"%{name}: {tensor(t)}" for name, t in self.inputs.items())
        lines = "".join(f"  {line}\n" for line in self.body())
        return f"func.func @{self.name}({arguments}) -> {tensor(self.output)} {{\n{lines}}}\n"

    def scaled_down(self, factor: int) -> Self:
        """The same with sizes divided, for trying things out."""
        return replace(self, **{n: max(1, getattr(self, n) // factor) for n in self.SIZES})

    @abstractmethod
    def with_types(self, types: Types) -> Self:
        """The same in other element types."""

    def to_dict(self) -> dict[str, Any]:
        return {"operation": type(self).__name__.lower(), **asdict(self)}


class Product(Operation):
    """Products that are summed up, of some types, with elementwise work on the result.

    Attributes:
        steps: by name; see `frontrunner.benchmarks.operations.steps`.
    """

    types: Types
    steps: tuple[str, ...]

    @property
    @abstractmethod
    def fused_steps(self) -> FusedSteps:
        """The elementwise work."""

    @property
    def output(self) -> TensorType:
        return self.fused_steps.output

    @property
    def type_text(self) -> str:
        return ",".join(self.types.words)

    @property
    def fused(self) -> tuple[str, ...]:
        return self.steps

    @property
    def exact(self) -> np.dtype[Any]:
        return self.types.exact

    @property
    def tolerance(self) -> Tolerance:
        return Tolerance(self.output.dtype, self.reduction, self.types.sums)

    def with_types(self, types: Types) -> Self:
        return replace(self, **{"types": types})  # which the subclasses are dataclasses of


def zeros(of: TensorType, name: str = "init") -> list[str]:
    """Lines that make a tensor of zeros."""
    zero = "0" if of.dtype.startswith("i") else "0.0"
    kind = tensor(of)
    return [
        f"%{name}_zero = arith.constant {zero} : {of.dtype}",
        f"%{name}_empty = tensor.empty() : {kind}",
        f"%{name} = linalg.fill ins(%{name}_zero : {of.dtype})"
        f" outs(%{name}_empty : {kind}) -> {kind}",
    ]


def joined(*sizes: int) -> str:
    return "x".join(map(str, sizes))


def write_operations(folder: Path, operations: Sequence[Operation]) -> list[Path]:
    """Writes a file of MLIR for each."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{operation.name}.mlir" for operation in operations]
    for path, operation in zip(paths, operations, strict=True):
        path.write_text(operation.mlir())
    return paths
