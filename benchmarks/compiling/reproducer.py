"""A folder that shows a failure to people who have the IREE tools and nothing else."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...core import atomic_folder, read_limited
from ...search import APPLIED_MARK, EMISSION_FLAGS, Dispatch, spec_option
from ...search.mlir import CONFIGURATIONS, SOURCES
from ..measuring import DRIVERS, NOT_APPLIED, WRONG_RESULT, Outcome
from ..operations import Operation
from ..verifying import F8, Array, make_inputs
from .runnable_module import RunnableModule

Tensor = tuple[tuple[int, ...], str]

SCRIPT, CONFIG = "reproduce.sh", "config.txt"
_SHELL = ("#!/bin/sh", "set -e", 'cd "$(dirname "$0")"')
# A cluster's name of a device begins with its host's.
_URI = re.compile(rf"({'|'.join(DRIVERS)})(://.*)?$")
_RAW = ("bf16", *F8)
# Of the types that iree-run-module compares approximately, by flags of their own.
_THRESHOLDS = ("bf16", "f16", "f32", "f64")


@dataclass(frozen=True)
class Reproducer:
    """What is written for one failure.

    Attributes:
        spec: the candidate's tuning spec; None for the compiler's default.
        config: its `compilation_info`; None where it is not known.
        log: all that the compiler or the runtime said.
        seed: of the inputs that the candidate was run with.
        operation: what tells what is right; if None, the compiler's default does.
        start: the phase that the module is at; empty for what a user would write.
    """

    module: RunnableModule
    spec: str | None
    config: str | None
    outcome: Outcome
    log: str
    seed: int
    operation: Operation | None = None
    start: str = SOURCES

    def write(self, folder: Path) -> None:
        """Makes `folder`, whole or not at all; it must not exist.

        Raises:
            OSError: it cannot be written.
        """
        reason = f"{self.outcome.reason}\n\n{self.log}"
        with _reproducer(folder, self.module.source.encode(), reason, self.script()) as partial:
            if self.spec is not None:
                (partial / "spec.mlir").write_text(self.spec, encoding="utf-8")
            if self.config is not None:
                (partial / CONFIG).write_text(f"{self.config}\n", encoding="utf-8")
            if self.outcome.stage == "run":
                inputs = make_inputs(self.module.call.inputs, self.seed)
                for i, (values, tensor) in enumerate(
                    zip(inputs, self.module.call.inputs, strict=True)
                ):
                    _write_input(partial / _input_name(i, tensor), values)
                if self.operation is not None and self.outcome.kind == WRONG_RESULT:
                    self.operation.reference(inputs).tofile(partial / "expected0.bin")

    def script(self) -> str:
        """The commands, which fail as the candidate did."""
        lines = list(_SHELL)
        if self.outcome.stage == "run":
            lines.append(f"# The inputs beside this were made with seed {self.seed}.")
        if self.outcome.kind == NOT_APPLIED:
            lines += [
                self._compile("candidate.mlir", spec=True, stop=CONFIGURATIONS),
                "# The spec marks the op that it configures.",
                f"grep -q {APPLIED_MARK} candidate.mlir && exit",
                "echo 'the spec matched no op' >&2",
                "exit 1",
            ]
        elif self.outcome.kind == WRONG_RESULT:
            results = list(enumerate(self.module.call.outputs))
            expected = [f"--expected_output={_typed(t)}=@expected{i}.bin" for i, t in results]
            if self.operation is None:
                written = [f"--output=@expected{i}.bin" for i, _ in results]
                lines += [
                    "# The compiler's default tells what is right.",
                    self._compile("default.vmfb"),
                    self._run("default.vmfb", written),
                ]
            else:
                lines.append("# What is right was computed in NumPy.")
            lines += [
                self._compile("candidate.vmfb", spec=True),
                self._run("candidate.vmfb", [*expected, *self._tolerances()]),
            ]
        else:
            lines.append(self._compile("candidate.vmfb", spec=True))
            if self.outcome.stage == "run":
                lines.append(self._run("candidate.vmfb", []))
        return "\n".join(lines) + "\n"

    def _compile(self, output: str, *, spec: bool = False, stop: str = "") -> str:
        words = ["iree-compile source.mlir", *map(shlex.quote, self.module.flags)]
        words += _compile_from(self.start)
        if stop:
            words.append(f"--compile-to={stop}")
        if spec and self.spec is not None:
            words.append(f"{spec_option(self.module.flags)}=spec.mlir")
        return _command([*words, f"-o {output}"])

    def _run(self, module: str, outputs: Sequence[str]) -> str:
        uri = _URI.search(self.outcome.device)
        # Whoever measured elsewhere says what its device is called.
        device = shlex.quote(f"--device={uri[0] if uri else ''}")
        words = ["iree-run-module", device, f"--module={module}"]
        # Names that torch gives have a dollar.
        words.append(shlex.quote(f"--function={self.module.call.function}"))
        for i, tensor in enumerate(self.module.call.inputs):
            shape = f"{_typed(tensor)}=" if tensor[1] in _RAW else ""
            words.append(f"--input={shape}@{_input_name(i, tensor)}")
        return _command([*words, *outputs])

    def _tolerances(self) -> list[str]:
        """Half of what values may be off typically, since the tool adds both up.

        Where verification finds something wrong, some value is off by more.
        """
        call = self.module.call
        flags: list[str] = []
        shares = []
        for dtype in sorted({dtype for _, dtype in call.outputs} & set(_THRESHOLDS)):
            tolerance = self.operation.tolerance if self.operation else call.tolerance(dtype)
            shares.append(tolerance.typical / 2)
            flags.append(
                f"--expected_{dtype}_threshold={shares[-1] * self.module.output_scale:.3g}"
            )
        return [*flags, f"--expected_rtol={max(shares):.3g}"] if shares else []


def has_config(folder: Path, config: str) -> bool:
    """Whether a folder shows a candidate with this `compilation_info`."""
    path = folder / CONFIG
    return path.is_file() and read_limited(path).decode(errors="replace") == f"{config}\n"


def write_emission_crash(dispatch: Dispatch, folder: Path, source: str | None = None) -> None:
    """Makes `folder` show that the compiler crashes when it is asked for constraints.

    Args:
        source: what the dispatch was read from, to show it with that.

    Raises:
        OSError: it cannot be written.
    """
    options = (
        *dispatch.target.flags,
        *_compile_from(SOURCES if source is None else ""),
        f"--compile-to={CONFIGURATIONS}",
        *EMISSION_FLAGS,
        "-o",
        "constraints.mlir",
    )
    text = dispatch.source if source is None else source
    write_crash(text.encode(), options, dispatch.no_constraints_reason, folder)


def write_crash(source: bytes, options: Sequence[str], reason: str, folder: Path) -> None:
    """Makes `folder` show that the compiler crashes over some MLIR, as text or bytecode.

    Raises:
        OSError: it cannot be written.
    """
    words = ["iree-compile source.mlir", *map(shlex.quote, options)]
    script = "\n".join([*_SHELL, _command(words)]) + "\n"
    with _reproducer(folder, source, reason, script):
        pass


@contextmanager
def _reproducer(folder: Path, source: bytes, reason: str, script: str) -> Iterator[Path]:
    """Writes source, reason and script of a reproducer; files may be added until it is complete."""
    with atomic_folder(folder) as partial:
        (partial / "source.mlir").write_bytes(source)
        (partial / "reason.txt").write_text(f"{reason}\n", encoding="utf-8")
        (partial / SCRIPT).write_text(script, encoding="utf-8")
        (partial / SCRIPT).chmod(0o755)
        yield partial


def _compile_from(phase: str) -> list[str]:
    return [f"--compile-from={phase}"] if phase else []


def _command(words: Sequence[str]) -> str:
    return " \\\n  ".join(words)


def _typed(tensor: Tensor) -> str:
    shape, dtype = tensor
    return "x".join([*map(str, shape), dtype])


def _input_name(index: int, tensor: Tensor) -> str:
    """NumPy's own format, which iree-run-module reads, has not all types."""
    return f"input{index}.{'bin' if tensor[1] in _RAW else 'npy'}"


def _write_input(path: Path, values: Array) -> None:
    if path.suffix == ".bin":
        values.tofile(path)
    else:
        np.save(path, values)
