"""Generic ops of models, to record: reductions, elementwise ops, transposes, copied windows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ...benchmarks.operations import tensor
from ...search import TensorType

LOWEST = "0xFF800000"  # minus infinity


@dataclass(frozen=True)
class GenericOp:
    """A `linalg.generic` that is all that a dispatch computes.

    Attributes:
        loops: in order, such as `ijk`.
        inputs: how each is indexed, such as `i, j`, and its type.
        output: as those.
        lines: MLIR that computes `%y` from `%x0`, `%x1` and so on, and from `%sum` if it reduces.
        reduced: the loops that sum up, or look for the largest.
        start: what a reduction starts with.
    """

    name: str
    loops: str
    inputs: tuple[tuple[str, TensorType], ...]
    output: tuple[str, TensorType]
    lines: tuple[str, ...]
    reduced: str = ""
    start: str = "0.0"

    def mlir(self) -> str:
        index, type_ = self.output
        dtype, out = type_.dtype, tensor(type_)
        maps = [
            f"affine_map<({_list(self.loops)}) -> ({i})>" for i, _ in (*self.inputs, (index, 0))
        ]
        loops = ['"reduction"' if loop in self.reduced else '"parallel"' for loop in self.loops]
        kinds = [tensor(t) for _, t in self.inputs]
        names = [f"%in{n}" for n in range(len(kinds))]
        values = [f"%x{n}: {t.dtype}" for n, (_, t) in enumerate(self.inputs)]
        lines = [f"%empty = tensor.empty() : {out}"]
        if self.reduced:
            lines += [
                f"%start = arith.constant {self.start} : {dtype}",
                f"%init = linalg.fill ins(%start : {dtype}) outs(%empty : {out}) -> {out}",
            ]
        lines += [
            "%result = linalg.generic",
            f"  {{indexing_maps = [{_list(maps)}], iterator_types = [{_list(loops)}]}}",
            f"  ins({_list(names)} : {_list(kinds)})",
            f"  outs({'%init' if self.reduced else '%empty'} : {out}) {{",
            f"^bb0({_list(values)}, %sum: {dtype}):",
            *(f"  {line}" for line in self.lines),
            f"  linalg.yield %y : {dtype}",
            f"}} -> {out}",
            f"return %result : {out}",
        ]
        arguments = _list(f"{name}: {kind}" for name, kind in zip(names, kinds, strict=True))
        body = "".join(f"  {line}\n" for line in lines)
        return f"func.func @{self.name}({arguments}) -> {out} {{\n{body}}}\n"


def _list(words: Iterable[str]) -> str:
    return ", ".join(words)


def _f32(*shape: int) -> TensorType:
    return TensorType(shape, "f32")


ADDED = ("%y = arith.addf %x0, %sum : f32",)
LARGEST = ("%y = arith.maximumf %x0, %sum : f32",)
SQUARES = ("%square = arith.mulf %x0, %x0 : f32", "%y = arith.addf %square, %sum : f32")
EXPONENTIALS = (
    "%less = arith.subf %x0, %x1 : f32",
    "%power = math.exp2 %less : f32",
    "%y = arith.addf %power, %sum : f32",
)
SCALED = ("%scaled = arith.mulf %x0, %x1 : f32", "%y = arith.addf %scaled, %x2 : f32")
SQUARED = ("%y = arith.mulf %x0, %x0 : f32",)
NEGATED = ("%y = arith.negf %x0 : f32",)  # what only copies is another op

GENERIC_OPS = (
    # Sums and maxima of rows: RegNet's and MobileNet's pooling, what softmax and norms begin with.
    GenericOp("sum_48x3136", "ij", (("i, j", _f32(48, 3136)),), ("i", _f32(48)), ADDED, "j"),
    GenericOp("sum_1280x49", "ij", (("i, j", _f32(1280, 49)),), ("i", _f32(1280)), ADDED, "j"),
    GenericOp(
        "square_sum_1024x512", "ij", (("i, j", _f32(1024, 512)),), ("i", _f32(1024)), SQUARES, "j"
    ),
    GenericOp(
        "max_2364x197", "ij", (("i, j", _f32(2364, 197)),), ("i", _f32(2364)), LARGEST, "j",
        LOWEST,
    ),
    GenericOp(
        "exp_sum_1500x500", "ij", (("i, j", _f32(1500, 500)), ("i", _f32(1500))),
        ("i", _f32(1500)), EXPONENTIALS, "j",
    ),
    # The same of columns: pooling where channels come last, norms where they come first.
    GenericOp(
        "sum_3136x96_columns", "ij", (("i, j", _f32(3136, 96)),), ("j", _f32(96)), ADDED, "i"
    ),
    GenericOp(
        "sum_49x1280_columns", "ij", (("i, j", _f32(49, 1280)),), ("j", _f32(1280)), ADDED, "i"
    ),
    GenericOp(
        "square_sum_96x3136_columns", "ij", (("i, j", _f32(96, 3136)),), ("j", _f32(3136)),
        SQUARES, "i",
    ),
    GenericOp(
        "max_1024x256_columns", "ij", (("i, j", _f32(1024, 256)),), ("j", _f32(256)), LARGEST, "i",
        LOWEST,
    ),
    # Elementwise ops: activations, residuals, norms, what is widened or dequantised.
    GenericOp(
        "exp_500x1536", "ij", (("i, j", _f32(500, 1536)),), ("i, j", _f32(500, 1536)),
        ("%y = math.exp2 %x0 : f32",),
    ),
    GenericOp(
        "add_relu_64x56x56", "ijk", (("i, j, k", _f32(64, 56, 56)),) * 2,
        ("i, j, k", _f32(64, 56, 56)),
        (
            "%added = arith.addf %x0, %x1 : f32",
            "%zero = arith.constant 0.0 : f32",
            "%y = arith.maximumf %added, %zero : f32",
        ),
    ),
    GenericOp(
        "bias_gate_197x3072", "ij", (("i, j", _f32(197, 3072)), ("j", _f32(3072))),
        ("i, j", _f32(197, 3072)),
        (
            "%added = arith.addf %x0, %x1 : f32",
            "%gate = math.tanh %added : f32",
            "%y = arith.mulf %added, %gate : f32",
        ),
    ),
    GenericOp(
        "norm_197x768", "ij", (("i, j", _f32(197, 768)), ("i", _f32(197)), ("j", _f32(768))),
        ("i, j", _f32(197, 768)),
        ("%scaled = arith.mulf %x0, %x1 : f32", "%y = arith.mulf %scaled, %x2 : f32"),
    ),
    GenericOp(
        "channels_96x56x56", "ijk",
        (("i, j, k", _f32(96, 56, 56)), ("i", _f32(96)), ("i", _f32(96))),
        ("i, j, k", _f32(96, 56, 56)), SCALED,
    ),
    GenericOp(
        "widened_512x2048", "ij", (("i, j", TensorType((512, 2048), "bf16")), ("j", _f32(2048))),
        ("i, j", _f32(512, 2048)),
        ("%wide = arith.extf %x0 : bf16 to f32", "%y = arith.mulf %wide, %x1 : f32"),
    ),
    GenericOp(
        "dequantised_1024x768", "ij", (("i, j", TensorType((1024, 768), "i8")), ("i", _f32(1024))),
        ("i, j", _f32(1024, 768)),
        ("%real = arith.sitofp %x0 : i8 to f32", "%y = arith.mulf %real, %x1 : f32"),
    ),
    # Transposes, and the windows of a convolution of 3x3 side by side.
    GenericOp(
        "transpose_768x197", "ij", (("i, j", _f32(768, 197)),), ("j, i", _f32(197, 768)), NEGATED
    ),
    GenericOp(
        "transpose_512x512", "ij", (("i, j", _f32(512, 512)),), ("j, i", _f32(512, 512)), NEGATED
    ),
    GenericOp(
        "transpose_64x3136", "ij", (("i, j", _f32(64, 3136)),), ("j, i", _f32(3136, 64)), NEGATED
    ),
    GenericOp(
        "transpose_197x12x64", "ijk", (("i, j, k", _f32(197, 12, 64)),),
        ("j, i, k", _f32(12, 197, 64)), SQUARED,
    ),
    GenericOp(
        "transpose_12x197x64_inner", "ijk", (("i, j, k", _f32(12, 197, 64)),),
        ("i, k, j", _f32(12, 64, 197)), SQUARED,
    ),
    GenericOp(
        "transpose_96x28x28", "ijk", (("i, j, k", _f32(96, 28, 28)),),
        ("j, k, i", _f32(28, 28, 96)), NEGATED,
    ),
    GenericOp(
        "windows_28x28x64_3x3", "abcde", (("a + c, b + d, e", _f32(30, 30, 64)),),
        ("a, b, c, d, e", _f32(28, 28, 3, 3, 64)), NEGATED,
    ),
    GenericOp(
        "windows_14x14x128_3x3_s2", "abcde", (("a * 2 + c, b * 2 + d, e", _f32(29, 29, 128)),),
        ("a, b, c, d, e", _f32(14, 14, 3, 3, 128)), NEGATED,
    ),
)  # fmt: skip


def write_generic_ops(folder: Path) -> None:
    """Writes a file of MLIR for each."""
    for one in GENERIC_OPS:
        (folder / f"{one.name}.mlir").write_text(one.mlir())
