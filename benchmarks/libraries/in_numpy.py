"""Operations as one writes them in NumPy: BLAS does the products, in f32 where types are narrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..operations import Operation, narrow
from ..verifying import F8, Array


@dataclass(frozen=True)
class NumpyOperation:
    """An operation, ready to run.

    Attributes:
        dtype: that it is computed in.
    """

    operation: Operation
    inputs: Sequence[Array]
    dtype: Any

    def run(self) -> Array:
        return self.operation.compute(self.inputs, self.dtype)

    def fetch(self, result: Array) -> Array:
        return narrow(result, self.operation.output.dtype)


def prepare(operation: Operation, inputs: Sequence[Array], _threads: int) -> NumpyOperation:
    # BLAS reads how many from the environment, when it is loaded.
    short = {t.dtype for t in operation.inputs.values()} <= {"f16", "bf16", "f32", *F8}
    return NumpyOperation(operation, inputs, np.dtype(np.float32) if short else operation.exact)
