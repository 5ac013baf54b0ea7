"""Elementwise work on a result, as models have it: in MLIR, and the same in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...core import InputError
from ...search import TensorType
from ..verifying import INTEGER_LIMITS
from .types import Types, Values

NOTHING, CHANNELS, WHOLE = "", "channels", "whole"


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        lines: MLIR that computes `%{n}` from `{x}`; `{t}` is its element type, `{with}` the element
            of a further operand, `{scale}` what results are scaled by to fit into 8 bits.
        compute: the same, of values, the operand's and the scale.
        takes: what further operand it takes: none, one value for each channel, or one for each
            value.
        on: which element types it works on: `f`, `i` or both.
        last: whether it changes the element type, and no further step can follow.
    """

    lines: tuple[str, ...]
    compute: Callable[[Values, Values, float], Values]
    takes: str = NOTHING
    on: str = "fi"
    last: bool = False


def _added(x: Values, other: Values, _: float) -> Values:
    return np.asarray(x + other)


def _gelu(x: Values, _: Values, __: float) -> Values:
    from scipy.special import erf  # takes 0.25 s, and is rarely needed

    return np.asarray(x * 0.5 * (1 + erf(x * 0.70710678)))


def _gelu_tanh(x: Values, _: Values, __: float) -> Values:
    return np.asarray(x * 0.5 * (1 + np.tanh(0.79788456 * (x + 0.044715 * x**3))))


def _quantized(x: Values, _: Values, scale: float) -> Values:
    # In f32, as the dispatch does it: an i32 may be rounded.
    return np.asarray(np.clip(np.rint(x.astype(np.float32) * np.float32(scale)), -128, 127))


STEPS = {
    "bias": Step(("%{n} = {add} {x}, {with} : {t}",), _added, CHANNELS),
    "residual": Step(("%{n} = {add} {x}, {with} : {t}",), _added, WHOLE),
    "relu": Step(
        ("%zero_{n} = arith.constant {zero} : {t}", "%{n} = {max} {x}, %zero_{n} : {t}"),
        lambda x, _, __: np.maximum(x, 0),
    ),
    "relu6": Step(
        (
            "%zero_{n} = arith.constant 0.0 : {t}",
            "%six_{n} = arith.constant 6.0 : {t}",
            "%above_{n} = arith.maximumf {x}, %zero_{n} : {t}",
            "%{n} = arith.minimumf %above_{n}, %six_{n} : {t}",
        ),
        lambda x, _, __: np.clip(x, 0, 6),
        on="f",
    ),
    "gelu": Step(
        (
            "%half_{n} = arith.constant 0.5 : {t}",
            "%one_{n} = arith.constant 1.0 : {t}",
            "%root_{n} = arith.constant 0.70710678 : {t}",
            "%scaled_{n} = arith.mulf {x}, %root_{n} : {t}",
            "%erf_{n} = math.erf %scaled_{n} : {t}",
            "%sum_{n} = arith.addf %erf_{n}, %one_{n} : {t}",
            "%part_{n} = arith.mulf {x}, %half_{n} : {t}",
            "%{n} = arith.mulf %part_{n}, %sum_{n} : {t}",
        ),
        _gelu,
        on="f",
    ),
    # As GPU libraries approximate it.
    "gelu_tanh": Step(
        (
            "%half_{n} = arith.constant 0.5 : {t}",
            "%one_{n} = arith.constant 1.0 : {t}",
            "%inner_{n} = arith.constant 0.044715 : {t}",
            "%outer_{n} = arith.constant 0.79788456 : {t}",
            "%square_{n} = arith.mulf {x}, {x} : {t}",
            "%cube_{n} = arith.mulf %square_{n}, {x} : {t}",
            "%small_{n} = arith.mulf %cube_{n}, %inner_{n} : {t}",
            "%bent_{n} = arith.addf {x}, %small_{n} : {t}",
            "%scaled_{n} = arith.mulf %bent_{n}, %outer_{n} : {t}",
            "%tanh_{n} = math.tanh %scaled_{n} : {t}",
            "%sum_{n} = arith.addf %tanh_{n}, %one_{n} : {t}",
            "%part_{n} = arith.mulf {x}, %half_{n} : {t}",
            "%{n} = arith.mulf %part_{n}, %sum_{n} : {t}",
        ),
        _gelu_tanh,
        on="f",
    ),
    # Sums of 8-bit products, as 8 bits again: what quantised models do between their layers.
    "quantize": Step(
        (
            "%float_{n} = arith.sitofp {x} : {t} to f32",
            "%scale_{n} = arith.constant {scale} : f32",
            "%scaled_{n} = arith.mulf %float_{n}, %scale_{n} : f32",
            "%even_{n} = math.roundeven %scaled_{n} : f32",
            "%least_{n} = arith.constant -128.0 : f32",
            "%most_{n} = arith.constant 127.0 : f32",
            "%above_{n} = arith.maximumf %even_{n}, %least_{n} : f32",
            "%within_{n} = arith.minimumf %above_{n}, %most_{n} : f32",
            "%{n} = arith.fptosi %within_{n} : f32 to i8",
        ),
        _quantized,
        on="i",
        last=True,
    ),
    # Sums kept in f32, as 16 bits again.
    "truncate": Step(
        ("%{n} = arith.truncf {x} : {t} to {narrow}",), lambda x, _, __: x, on="f", last=True
    ),
}
_FLOATS = {"add": "arith.addf", "max": "arith.maximumf", "zero": "0.0"}
_WHOLE = {"add": "arith.addi", "max": "arith.maxsi", "zero": "0"}


@dataclass(frozen=True)
class FusedSteps:
    """Steps that follow an operation of some types.

    Args:
        shape: of the result.
        channels: which of its dims are channels.
        reduction: how many products are summed up in each value.

    Raises:
        InputError: there is no such step, or it cannot follow.
    """

    steps: tuple[str, ...]
    types: Types
    shape: tuple[int, ...]
    channels: tuple[int, ...]
    reduction: int

    def __post_init__(self) -> None:
        for place, name in enumerate(self.steps):
            step = STEPS.get(name)
            if step is None:
                raise InputError(f"no step {name!r} can be fused", f"there are: {', '.join(STEPS)}")
            if name in self.steps[:place]:
                raise InputError(f"{name} is fused twice", "name each step once")
            if not _works(step, self.types):
                raise InputError(
                    f"{name} cannot be fused to sums in {self.types.sums}", _able(self.types)
                )
            if step.last and place < len(self.steps) - 1:
                raise InputError(f"{name} comes last, got {','.join(self.steps)}", "reorder them")
        if "truncate" in self.steps and self.types.operands == self.types.sums:
            raise InputError(
                f"truncate needs sums that are wider than {self.types.operands}",
                "such as --dtypes f16,f16,f32",
            )

    @property
    def output(self) -> TensorType:
        last = self.steps[-1] if self.steps else ""
        changed = {"quantize": "i8", "truncate": self.types.operands}
        return TensorType(self.shape, changed.get(last, self.types.sums))

    @property
    def operands(self) -> dict[str, TensorType]:
        """Further inputs, by the step that takes them."""
        channels = tuple(self.shape[d] for d in self.channels)
        shapes = {CHANNELS: channels, WHOLE: self.shape}
        return {
            name: TensorType(shapes[STEPS[name].takes], self.types.sums)
            for name in self.steps
            if STEPS[name].takes
        }

    @property
    def scale(self) -> float:
        """A power of two by which sums of products of inputs fill 8 bits.

        A product of two of i8 has a standard deviation of 21 times 2 to the 8.
        """
        bits = np.log2(INTEGER_LIMITS.get(self.types.operands, 8) / 8)
        return float(2.0 ** -(2 * bits + round(np.log2(max(1, self.reduction)) / 2)))

    def compute(self, values: Values, operands: Sequence[Values]) -> Values:
        """What the steps make of a result, given the further operands in order."""
        rest = iter(operands)
        for name in self.steps:
            step = STEPS[name]
            other = next(rest) if step.takes else np.zeros(())
            if step.takes == CHANNELS:
                dims = [n if d in self.channels else 1 for d, n in enumerate(self.shape)]
                other = other.reshape(dims)
            values = step.compute(values, other, self.scale)
        return values

    def mlir(self) -> list[str]:
        """Lines that make `%fused` of `%result`."""
        if not self.steps:
            return []
        dims = [f"d{i}" for i in range(len(self.shape))]
        loops = f"affine_map<({', '.join(dims)}) -> "
        whole = f"{loops}({', '.join(dims)})>"
        channels = f"{loops}({', '.join(dims[d] for d in self.channels)})>"
        used = list(self.operands)
        maps = [whole, *(channels if STEPS[s].takes == CHANNELS else whole for s in used), whole]
        values = ", ".join(["%result", *(f"%{s}" for s in used)])
        sums, out = tensor(TensorType(self.shape, self.types.sums)), tensor(self.output)
        kinds = ", ".join([sums, *(tensor(self.operands[s]) for s in used)])
        scalars = [f"%{n}: {self.types.sums}" for n in ("in", *(f"of_{s}" for s in used))]
        parallel = ", ".join(['"parallel"'] * len(dims))
        return [
            f"%target = tensor.empty() : {out}",
            f"%fused = linalg.generic {{indexing_maps = [{', '.join(maps)}],",
            f"    iterator_types = [{parallel}]}}",
            f"  ins({values} : {kinds}) outs(%target : {out}) {{",
            f"^bb0({', '.join([*scalars, f'%old: {self.output.dtype}'])}):",
            *(f"  {line}" for line in self._body()),
            f"  linalg.yield %after_{self.steps[-1]} : {self.output.dtype}",
            f"}} -> {out}",
        ]

    def _body(self) -> list[str]:
        words = _WHOLE if self.types.is_integer else _FLOATS
        value, lines = "%in", []
        for name in self.steps:
            fields = {
                **words,
                "x": value,
                "n": f"after_{name}",
                "t": self.types.sums,
                "with": f"%of_{name}",
                "scale": repr(self.scale),
                "narrow": self.types.operands,
            }
            lines += [line.format(**fields) for line in STEPS[name].lines]
            value = f"%after_{name}"
        return lines


def tensor(of: TensorType) -> str:
    """The MLIR of a tensor's type."""
    return f"tensor<{'x'.join(map(str, of.shape))}x{of.dtype}>"


def _works(step: Step, types: Types) -> bool:
    return ("i" if types.is_integer else "f") in step.on


def _able(types: Types) -> str:
    return f"these can: {', '.join(name for name, step in STEPS.items() if _works(step, types))}"
