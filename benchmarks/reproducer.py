"""A folder that shows a failure to people who have the IREE tools and nothing else."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..search import Dispatch, TensorType
from ..search.compiler import CONFIGURATIONS, SOURCES
from ..search.emitted import EMISSION_FLAGS
from ..search.spec import APPLIED, spec_of, spec_option
from .call import call_of
from .inputs import Tolerance, make_input
from .outcome import NOT_APPLIED, WRONG_RESULT, Outcome

SCRIPT = "reproduce.sh"
_SHELL = ("#!/bin/sh", "set -e", 'cd "$(dirname "$0")"')
# Of the types that iree-run-module compares approximately, by flags of their own.
_THRESHOLDS = ("bf16", "f16", "f32", "f64")


@dataclass(frozen=True)
class Reproducer:
    """What is written for one failure.

    Attributes:
        config: the candidate's `compilation_info`.
        log: all that the compiler or the runtime said.
        seed: of the inputs that the candidate was run with.
    """

    dispatch: Dispatch
    config: str
    outcome: Outcome
    log: str
    seed: int

    def write(self, folder: Path) -> None:
        """Makes `folder`, whole or not at all; it must not exist.

        Raises:
            OSError: it cannot be written.
        """
        partial = folder.with_name(f".{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        (partial / "source.mlir").write_text(self.dispatch.source)
        (partial / "spec.mlir").write_text(spec_of(self.dispatch, self.config))
        (partial / "config.txt").write_text(f"{self.config}\n")
        (partial / "reason.txt").write_text(f"{self.outcome.reason}\n\n{self.log}\n")
        if self.outcome.stage == "run":
            for i, tensor in enumerate(self.dispatch.inputs):
                _write_input(partial / _input_name(i, tensor), tensor, self.seed + i)
        (partial / SCRIPT).write_text(self.script())
        (partial / SCRIPT).chmod(0o755)
        partial.replace(folder)

    def script(self) -> str:
        """The commands, which fail as the candidate did."""
        lines = list(_SHELL)
        if self.outcome.kind == NOT_APPLIED:
            lines += [
                self._compile("candidate.mlir", spec=True, stop=CONFIGURATIONS),
                "# The spec marks the op that it configures.",
                f"grep -q {APPLIED} candidate.mlir && exit",
                "echo 'the spec matched no op' >&2",
                "exit 1",
            ]
        elif self.outcome.kind == WRONG_RESULT:
            results = list(enumerate(self.dispatch.outputs))
            written = [f"--output=@expected{i}.bin" for i, _ in results]
            expected = [f"--expected_output={_typed(t)}=@expected{i}.bin" for i, t in results]
            lines += [
                "# The compiler's default tells what is right.",
                self._compile("default.vmfb"),
                self._run("default.vmfb", written),
                self._compile("candidate.vmfb", spec=True),
                self._run("candidate.vmfb", [*expected, *self._tolerances()]),
            ]
        else:
            lines.append(self._compile("candidate.vmfb", spec=True))
            if self.outcome.stage == "run":
                lines.append(self._run("candidate.vmfb", []))
        return "\n".join(lines) + "\n"

    def _compile(self, output: str, *, spec: bool = False, stop: str = "") -> str:
        words = ["iree-compile source.mlir", *self.dispatch.target.flags]
        words.append(f"--compile-from={SOURCES}")
        if stop:
            words.append(f"--compile-to={stop}")
        if spec:
            words.append(f"{spec_option(self.dispatch.target.flags)}=spec.mlir")
        return _command([*words, f"-o {output}"])

    def _run(self, module: str, outputs: Sequence[str]) -> str:
        words = ["iree-run-module", f"--device={self.outcome.device}", f"--module={module}"]
        words.append(f"--function={self.dispatch.function}")
        for i, tensor in enumerate(self.dispatch.inputs):
            shape = f"{_typed(tensor)}=" if tensor.dtype == "bf16" else ""
            words.append(f"--input={shape}@{_input_name(i, tensor)}")
        return _command([*words, *outputs])

    def _tolerances(self) -> list[str]:
        """Half of what verification allows for each, since the tool adds both up."""
        reduction = call_of(self.dispatch).reduction
        flags: list[str] = []
        shares = []
        for dtype in sorted({t.dtype for t in self.dispatch.outputs} & set(_THRESHOLDS)):
            shares.append(Tolerance(dtype, reduction).share / 2)
            # Sums of so many products of normal inputs; attention's weights add up to 1.
            attention = self.dispatch.problem.kind == "attention"
            size = 1.0 if attention else math.sqrt(reduction)
            flags.append(f"--expected_{dtype}_threshold={shares[-1] * size:.3g}")
        return [*flags, f"--expected_rtol={max(shares):.3g}"] if shares else []


def write_emission_crash(dispatch: Dispatch, folder: Path) -> None:
    """Makes `folder` show that the compiler crashes when it is asked for constraints.

    Raises:
        OSError: it cannot be written.
    """
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    command = _command(
        [
            "iree-compile source.mlir",
            *dispatch.target.flags,
            f"--compile-from={SOURCES}",
            f"--compile-to={CONFIGURATIONS}",
            *EMISSION_FLAGS,
            "-o constraints.mlir",
        ]
    )
    (partial / "source.mlir").write_text(dispatch.source)
    (partial / "reason.txt").write_text(f"{dispatch.silence}\n")
    (partial / SCRIPT).write_text("\n".join([*_SHELL, command]) + "\n")
    (partial / SCRIPT).chmod(0o755)
    partial.replace(folder)


def _command(words: Sequence[str]) -> str:
    return " \\\n  ".join(words)


def _typed(tensor: TensorType) -> str:
    return "x".join([*map(str, tensor.shape), tensor.dtype])


def _input_name(index: int, tensor: TensorType) -> str:
    """NumPy's own format, which iree-run-module reads, has no bf16."""
    return f"input{index}.{'bin' if tensor.dtype == 'bf16' else 'npy'}"


def _write_input(path: Path, tensor: TensorType, seed: int) -> None:
    values = make_input(tensor.shape, tensor.dtype, seed)
    if path.suffix == ".bin":
        values.tofile(path)
    else:
        np.save(path, values)
