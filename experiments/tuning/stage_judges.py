"""What judges a candidate in a later stage: a command of the user's, or a model that it is part of.

Less is better of the numbers that they give; the compiler's default is judged, too.
"""

from __future__ import annotations

import math
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ...benchmarks.compiling import Compiler, raise_if_killed, require_default
from ...benchmarks.measuring import BASELINE, CHANGED, OK
from ...benchmarks.networks import (
    COMPILE_TIMEOUT,
    NetworkFailed,
    NetworkRunner,
    NetworkSetup,
    compile_limit,
    prepare_call,
)
from ...core import ChildTimeout, InputError, KilledError, run_tool, shorten
from ...search import Target
from ...search.reading import Network, read_network
from .stages import DEFAULT, SPEC, VMFB, Stage


@dataclass(frozen=True)
class Verdict:
    """What is said of a candidate; `reason` is why it may not go on, and empty if it may."""

    reason: str = ""
    value: float | None = None


# Of a queue position, or `BASELINE`.
Judge = Callable[[int], Verdict]


@contextmanager
def command_judge(
    stage: Stage, default: Path, executables: Mapping[int, Path], spec: Callable[[int], str]
) -> Iterator[Judge]:
    """Judges by the stage's command.

    Args:
        default: the compiled module of the compiler's default.
        executables: those of candidates, by queue position.
        spec: the text of a candidate's tuning spec.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spec.mlir"

        def judge(index: int) -> Verdict:
            executable = default if index == BASELINE else executables.get(index)
            if executable is None:
                return Verdict(CHANGED)
            if SPEC in stage.command:
                path.write_text("" if index == BASELINE else spec(index))
            words = stage.words({VMFB: executable, SPEC: path, DEFAULT: default})
            reason, printed = _run(words, stage.timeout)
            return Verdict(reason) if reason else _number(printed)

        yield judge


def stage_model(stage: Stage, target: Target) -> Network:
    """The model of a stage.

    Raises:
        InputError: it cannot be read or called, or takes weights from an archive.
    """
    network = read_network(
        Path(stage.model),
        target.name,
        default_specs=target.default_specs,
        iree_flags=target.iree_flags,
    )
    network.function(None)
    if network.parameters:
        raise InputError(
            f"{stage.model} has its weights in an archive, which a stage cannot be given",
            "give a model that holds its weights, or use `frontrunner tune-model`",
        )
    return network


def check_models(stages: Iterable[Stage], target: Target) -> None:
    """Refuses stages whose model cannot judge, before anything depends on them.

    Raises:
        InputError: see `stage_model`.
    """
    for stage in stages:
        if stage.model:
            stage_model(stage, target)


@contextmanager
def model_judge(
    stage: Stage, target: Target, device: str, spec: Callable[[int], str], seed: int
) -> Iterator[Judge]:
    """Judges by the stage's model: its time with a candidate, in times of the compiler's default.

    Args:
        device: that the model runs on.
        spec: the text of a candidate's tuning spec.
        seed: of the model's inputs.

    Raises:
        InputError: see `stage_model`.
        WorkError: the model does not compile, or does not run.
    """
    network = stage_model(stage, target)
    function = network.function(None)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        call = prepare_call(function, (), folder, [seed])
        setup = NetworkSetup(device, (call,), computes_in=network.computes_in)
        compiler = stack.enter_context(Compiler(network, folder, 1, COMPILE_TIMEOUT, tries=2))
        runner = stack.enter_context(NetworkRunner(setup))
        compiled_default = require_default(compiler.baseline())
        compiler.timeout = compile_limit(compiled_default.seconds)
        default = compiled_default.executable
        runner.check_comparable(default)

        def judge(index: int) -> Verdict:
            if index == BASELINE:
                return Verdict(value=1.0)
            (compiled,) = compiler.compile([(f"{index:05d}", spec(index))])
            raise_if_killed(compiled, f"the model with candidate {index + 1}")
            try:
                if compiled.kind != OK:
                    return Verdict(f"in the model, {compiled.reason}")
                runner.compare_outputs(compiled.executable, default)
                gain = runner.measure_speedup(default, compiled.executable, seed)
            except NetworkFailed as failure:
                return Verdict(f"in the model, {failure}")
            finally:
                compiled.executable.unlink(missing_ok=True)
            return Verdict(value=1 / gain.speedup)

        yield judge


def _number(printed: str) -> Verdict:
    """What the last line of a command says, if it is a number."""
    lines = printed.strip().splitlines()
    try:
        value = float(lines[-1])
    except (IndexError, ValueError):
        return Verdict()
    return Verdict(value=value) if math.isfinite(value) else Verdict(f"it says {value}")


def _run(words: Sequence[str], timeout: float) -> tuple[str, str]:
    """Why a command failed, in words, and what it printed.

    Raises:
        KilledError: it was killed from outside, twice, which is no candidate's fault.
    """
    for again in (False, True):
        try:
            done = run_tool(words, timeout)
        except ChildTimeout:
            return f"it took over {timeout:g} s", ""
        if done.code != -signal.SIGKILL:
            break
        if again:
            raise KilledError(f"{words[0]} was killed by SIGKILL, twice")
    if done.code:
        last = (done.err or done.out).strip().splitlines()[-1:] or [""]
        return shorten(f"exit code {done.code}: {last[0]}".rstrip(": ")), done.out
    return "", done.out
