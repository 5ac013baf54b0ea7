"""How far right outputs are off, and which wrong ones verification finds: two tables.

    python -m frontrunner.experiments.studies.verification [SAMPLE]

Compiles and runs the default and SAMPLE candidates of each operation. Errors are then planted in
what they computed, and shown to verification and to the rule of earlier versions.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from ...benchmarks.compiling import Compiler, call_of
from ...benchmarks.measuring import OK, LoadedExecutable, copy_to_device
from ...benchmarks.operations import Attention, Conv, Matmul, Operation, Types, narrow
from ...benchmarks.verifying import Array, Call, Verification, as_float, make_inputs, relative_error
from ...search import build_spaces, spec_of
from ...search.enumeration import candidate_dicts, sample
from ...search.reading import read_dispatch
from .command_line import run_study

Floats = npt.NDArray[np.float64]

BF16, F16, I8 = Types("bf16", "bf16"), Types("f16", "f16"), Types("i8", "i32")
WIDER = {"bf16": Types("bf16", "f32"), "f16": Types("f16", "f32")}
FUSED = ("bias", "gelu", "truncate")
OPERATIONS: tuple[Operation, ...] = (
    Matmul(197, 256, 768, I8),
    *(Matmul(197, 256, 768, types) for types in (*WIDER.values(), BF16, F16)),
    *(Matmul(64, 128, 4096, types) for types in (*WIDER.values(), BF16, F16)),
    Matmul(64, 128, 64, F16, batch=12),
    *(Matmul(128, 256, 512, types, steps=FUSED) for types in WIDER.values()),
    *(Matmul(128, 256, 512, types, steps=FUSED[:2]) for types in (BF16, F16)),
    *(Conv.square(28, 64, 64, 3, types=types) for types in (WIDER["f16"], BF16, F16)),
    *(Attention(12, 128, 128, 64, dtype) for dtype in ("bf16", "f16")),
    Attention(4, 128, 512, 80, "f16"),
)
TRIALS = 20


@dataclass(frozen=True)
class Case:
    """An operation with what its default and its candidates computed."""

    operation: Operation
    call: Call
    inputs: list[Array]
    default: Array
    candidates: list[Array]

    @property
    def dtype(self) -> str:
        return self.operation.output.dtype

    @property
    def group(self) -> str:
        """Element types of operands, sums and results."""
        first = next(iter(self.operation.inputs.values())).dtype
        return f"{first}, {self.call.sums or 'i32'}, {self.dtype}"

    def exact(self, inputs: Sequence[Array]) -> Floats:
        return self.operation.compute(inputs, np.dtype(np.float64))

    def weights(self, inputs: Sequence[Array]) -> Array:
        """The operand whose last but one dim is summed over."""
        return inputs[2 if isinstance(self.operation, Attention) else 1]


# Outputs of a candidate with an error in them; None where an operation cannot have it.
Plant = Callable[[Case, Floats, np.random.Generator], Floats | None]


def dropped_step(case: Case, got: Floats, rng: np.random.Generator) -> Floats:
    """One step of a reduction is left out, in all values."""
    inputs = [values.copy() for values in case.inputs]
    weights = case.weights(inputs)
    steps = weights[0, 0] if isinstance(case.operation, Conv) else weights
    steps[..., rng.integers(steps.shape[-2]), :] = 0
    return got + case.exact(inputs) - case.exact(case.inputs)


def dropped_tail(case: Case, got: Floats, _: np.random.Generator) -> Floats:
    """The last 8 steps of a reduction are left out, in all values."""
    inputs = [values.copy() for values in case.inputs]
    case.weights(inputs)[..., -8:, :] = 0
    return got + case.exact(inputs) - case.exact(case.inputs)


def swapped_rows(_: Case, got: Floats, rng: np.random.Generator) -> Floats:
    """Two rows that follow each other are swapped."""
    rows = got.reshape(-1, got.shape[-1]).copy()
    at = rng.integers(len(rows) - 1)
    rows[[at, at + 1]] = rows[[at + 1, at]]
    return rows.reshape(got.shape)


def missing_tile(_: Case, got: Floats, __: np.random.Generator) -> Floats:
    """The last tile, of 4 by 16 values, was not written."""
    rows = got.reshape(-1, got.shape[-1]).copy()
    rows[-4:, -16:] = 0
    return rows.reshape(got.shape)


def wrong_lane(_: Case, got: Floats, __: np.random.Generator) -> Floats:
    """One lane of eight has its neighbour's value."""
    wrong = got.copy()
    wrong[..., 3::8] = wrong[..., 2::8]
    return wrong


def shifted_window(case: Case, got: Floats, _: np.random.Generator) -> Floats | None:
    """The last column's windows lie one to the left."""
    if not isinstance(case.operation, Conv):
        return None
    wrong = got.copy()
    wrong[:, :, -1] = wrong[:, :, -2]
    return wrong


def wrong_scale(_: Case, got: Floats, __: np.random.Generator) -> Floats:
    """All values are too large by 1 %."""
    return got * 1.01


def race(case: Case, got: Floats, rng: np.random.Generator) -> Floats:
    """Three values lack half of their sums."""
    inputs = [values.copy() for values in case.inputs]
    weights = case.weights(inputs)
    weights[..., weights.shape[-2] // 2 :, :] = 0
    wrong, at = got.copy(), rng.choice(got.size, 3, replace=False)
    wrong.flat[at] += (case.exact(inputs) - case.exact(case.inputs)).flat[at]
    return wrong


def narrow_sums(case: Case, _: Floats, __: np.random.Generator) -> Floats | None:
    """Sums are kept in 16 bits in place of 32, by the compiler's own default for these."""
    operation = case.operation
    if case.call.sums != "f32" or operation.fused or isinstance(operation, Attention):
        return None
    first = next(iter(operation.inputs.values())).dtype
    narrower = operation.with_types(Types(first, first))
    return as_float(run(narrower, 0).default, first)


PLANTS: tuple[Plant, ...] = (
    dropped_step,
    dropped_tail,
    swapped_rows,
    missing_tile,
    wrong_lane,
    shifted_window,
    wrong_scale,
    race,
    narrow_sums,
)


def agreed_before(case: Case, got: Array) -> bool:
    """What versions before this study took for right."""
    unit = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-9}.get(case.dtype, 0.0)
    a, b = (as_float(values, case.dtype) for values in (got, case.default))
    share = min(0.25, 16 * unit * case.call.reduction**0.5)
    return bool(relative_error(a, b).max() <= share)


def run(operation: Operation, size: int) -> Case:
    """Compiles and runs an operation's default and `size` candidates."""
    instance = rt.VmInstance()
    device = rt.get_driver("local-task").create_device_by_uri("local-task")
    modules = [rt.create_hal_module(instance, device)]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "operation.mlir"
        path.write_text(operation.mlir())
        dispatch = read_dispatch(path)
        call = call_of(dispatch)
        inputs = make_inputs(call.inputs, 0)
        dtypes = [dtype for _, dtype in call.inputs]
        arguments = copy_to_device(device, zip(inputs, dtypes, strict=True))

        def outputs(executable: Path) -> Array:
            kinds = [dtype for _, dtype in call.outputs]
            loaded = LoadedExecutable(instance, device, modules, executable, call.function, kinds)
            return loaded.outputs(arguments)[0]

        (space,) = build_spaces(dispatch)
        rows = candidate_dicts(sample(space, size, seed=0)) if size else []
        specs = [(f"{i}", spec_of(dispatch, space.render(row))) for i, row in enumerate(rows)]
        with Compiler(dispatch, Path(name)) as compiler:
            default = outputs(compiler.baseline().executable)
            compiled = [done for done in compiler.compile(specs) if done.kind == OK]
            found = [outputs(done.executable) for done in compiled]
    return Case(operation, call, inputs, default, found)


def describe(case: Case, verification: Verification) -> str:
    """How far right outputs are off, as a row."""
    every = [case.default, *case.candidates]
    exact = case.exact(case.inputs)
    default = as_float(case.default, case.dtype)
    floats = [as_float(values, case.dtype) for values in every]
    figures = []
    for right in (exact, default):
        errors = [relative_error(values, right) for values in floats]
        figures.append(max(float(np.sqrt(np.mean(np.square(e)))) for e in errors))
        figures.append(max(float(e.max()) for e in errors))
    tolerance = case.call.tolerance(case.dtype)
    allowed = [tolerance.typical, tolerance.worst]
    refused = sum(verification.find_mismatch([one]) is not None for one in case.candidates)
    before = sum(not agreed_before(case, one) for one in case.candidates)
    words = [f"{figure:.2%}" if figure > 1e-4 else f"{figure:.0e}" for figure in figures + allowed]
    different = len({one.tobytes() for one in every})
    return " | ".join(
        [case.operation.name, case.group, *words, str(different), f"{before}, {refused}"]
    )


def plant(case: Case, verification: Verification) -> Iterator[tuple[str, bool, bool]]:
    """Name of each planted error, whether it was found before, and whether it is."""
    rng = np.random.default_rng(0)
    for one in PLANTS:
        for trial in range(1 if one is narrow_sums else TRIALS):
            got = case.candidates[trial % len(case.candidates)]
            wrong = one(case, as_float(got, case.dtype), rng)
            if wrong is not None:
                shown = narrow(wrong, case.dtype)
                found = verification.find_mismatch([shown]) is not None
                yield one.__name__.replace("_", " "), not agreed_before(case, shown), found


def main(arguments: Sequence[str]) -> None:
    size = int(arguments[0]) if arguments else 12
    print("operation | types | off from float64: typically, at worst | from the default: both |")
    print("  allowed: both | different outputs | right candidates refused: before, now")
    caught: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for operation in OPERATIONS:
        case = run(operation, size)
        verification = Verification(case.call, case.inputs, [case.default], 0)
        print(describe(case, verification), flush=True)
        for name, before, now in plant(case, verification):
            caught[name].setdefault(case.group, []).append((before, now))
    print("\nplanted error | types | found before | found now, in per cent of the trials")
    for name, groups in caught.items():
        for group, trials in groups.items():
            before, now = np.mean(trials, axis=0)
            print(f"{name} | {group} | {before:.0%} | {now:.0%} | {len(trials)}")


if __name__ == "__main__":
    run_study(main, __doc__)
