"""What a model's tuning ends with: options of the compiler, a tuning spec, both, or neither."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...benchmarks.compiling import raise_if_killed
from ...benchmarks.measuring import DROP_ROUNDS, NOT_APPLIED, OK
from ...benchmarks.networks import NetworkFailed, NetworkRunner, Speedup
from ...core import InputError, WorkError, make_folder, write_atomically
from ...search import Preprocessing, can_be_named, flags_text
from ..tuning import write_text
from .bases import Base, BaseMaker
from .planning import NetworkFolder, OptionVariant, named
from .trial import TrialResult, race_patience

# What a base was timed at before tuning is off by less than so many times.
MOST_OFF = 1.1
# How long options and the spec are timed in turns beyond the usual rounds, where noise hides which
# are faster.
UNCLEAR_SECONDS = 15.0


@dataclass(frozen=True)
class CompiledModel:
    """A way to compile the model.

    Attributes:
        spec: a tuning spec's text, the user's own where nothing was tuned; None without one.
        applied: the dispatches that it configures.
    """

    base: Base
    executable: Path
    spec: str | None = None
    applied: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.base.variant.name}{' and the spec' if self.spec is not None else ''}"


@dataclass(frozen=True)
class Finish:
    """What is faster than the model as it was, if anything is.

    Attributes:
        winner: None if nothing is faster beyond noise.
        gain: over the model as it was; None if nothing was left to measure.
    """

    winner: CompiledModel | None
    gain: Speedup | None


def finish(
    trial: TrialResult,
    tuned: Base,
    bases: Sequence[Base],
    maker: BaseMaker,
    runner: NetworkRunner,
    seed: int,
    deadline: float,
) -> Finish:
    """Compares what was tuned with the other bases, without the spec and with it.

    Args:
        tuned: the base that dispatches were tuned on.
        bases: the model as it was, and then all that are faster.
        deadline: when the spec is not tried with other options any more, and what is best is timed
            no longer than it has to be, as `time.monotonic` has it.

    Raises:
        KilledError: the compiler or the model was killed, which is no contender's fault.
        WorkError: what is best, or the model as it was, does not run any more.
    """
    plain, *_ = bases
    users = maker.starter

    def without_ours(base: Base) -> CompiledModel:
        return CompiledModel(base, base.compiled.executable, users, base.compiled.applied)

    def race(
        best: CompiledModel, contender: CompiledModel, patience: float = 0.0
    ) -> Speedup | None:
        """How much faster the contender is; None if it does not run."""
        maker.notify(f"measuring the model with {contender} against {best}")
        pair = best.executable, contender.executable
        try:
            return runner.measure_speedup(*pair, seed, DROP_ROUNDS, patience)
        except NetworkFailed as failure:
            maker.notify(f"{contender} is left out: {failure}")
            return None

    def wins(contender: CompiledModel, gain: Speedup) -> bool:
        """Whether it takes the place of the best.

        A spec has to earn its place, and so does what takes its place. Of options alone, those stay
        that seemed to be faster before, until others are: by the median alone, a decoder went from
        data tiling by microkernels to propagated transposes, and ended 1 % behind.
        """
        alone = contender.spec == best.spec == users
        return gain.beyond_noise or (alone and gain.interval[0] > 1)

    first = best = without_ours(tuned)
    unclear: list[CompiledModel] = []
    reached, most = tuned.speedup, MOST_OFF
    if trial.spec is not None and trial.executable is not None and trial.gain is not None:
        first = best = CompiledModel(tuned, trial.executable, trial.spec, trial.applied)
        reached *= trial.gain.interval[0]
        most *= trial.gain.interval[1]
    # The most promising first: a vision transformer's time was up after the usual options.
    for base in sorted(bases, key=lambda one: -one.speedup):
        if base is tuned:
            continue
        contenders = []
        if base is not plain and base.speedup * MOST_OFF > reached:
            contenders.append(without_ours(base))
        may_win = base.speedup * most > reached
        if trial.spec is not None and may_win and time.monotonic() < deadline:
            contenders += _with_spec(base, trial.spec, plain, maker, runner)
        for contender in contenders:
            if (gain := race(best, contender)) is None:
                continue
            if wins(contender, gain):
                best = contender
            elif contender.spec == users and gain.speedup > 1:
                unclear.append(contender)
    # Options that were faster than the spec, but for noise, are timed for longer: they may be so
    # beyond it, or faster than what took the spec's place. A ConvNeXt ended 4 % behind such.
    for contender in unclear:
        gain = race(best, contender, patience=UNCLEAR_SECONDS)
        if gain is not None and wins(contender, gain):
            best = contender
    # Where it was tuned on the model as it was, it was measured against that when it was tried.
    measured = Finish(first if trial.spec is not None else None, trial.gain)
    if best is first and tuned is plain:
        return measured
    maker.notify("measuring the whole model against what it was")
    before = plain.compiled.executable
    try:
        found = runner.measure_speedup(
            before, best.executable, seed, patience=race_patience(deadline)
        )
    except NetworkFailed as failure:
        raise WorkError(f"the model does not run any more: {failure}", "try --resume") from failure
    if not found.beyond_noise and tuned is plain and measured.winner is not None:
        return measured  # what was faster still is lost in noise; this was not
    return Finish(best if found.beyond_noise else None, found)


def is_behind(
    end: Finish,
    options: str,
    spec: Path | None,
    variants: Sequence[OptionVariant],
    bases: Sequence[Base],
    maker: BaseMaker,
    runner: NetworkRunner,
    seed: int,
) -> bool:
    """Whether what an earlier session wrote is faster, timed in turns: it ran in another hour.

    Args:
        options, spec: what that was.
        bases: as of `finish`.

    Raises:
        InputError: there are no such options.
        KilledError: the compiler or the model was killed.
    """
    if end.winner is None:
        return True
    plain, *_ = bases
    try:
        variant = named(options, variants)
    except ValueError as error:
        raise InputError(f"the earlier session's result: {error}", "start anew") from None
    known = [one for one in bases if one.variant.name == options]
    (base,) = known or maker.make([variant], plain).values()
    if isinstance(base, InputError):
        maker.notify(f"what the earlier session wrote does not compile any more: {base}")
        return False
    earlier = base.compiled.executable
    if spec is not None:
        found = _with_spec(base, spec.read_text(), plain, maker, runner, "earlier")
        if not found:
            return False
        earlier = found[0].executable
    maker.notify("measuring the model against what the earlier session wrote")
    try:
        gain = runner.measure_speedup(
            end.winner.executable, earlier, seed, patience=UNCLEAR_SECONDS
        )
    except NetworkFailed as failure:
        maker.notify(f"what the earlier session wrote is left out: {failure}")
        return False
    return gain.speedup > 1


def write_winner(folder: NetworkFolder, end: Finish, device: str) -> None:
    """What `iree-compile` takes: the flags, and the spec if there is one.

    What an earlier session wrote is replaced, or goes last: at no time is there nothing.
    """
    if end.winner is None or end.gain is None:
        _remove(folder.flags, folder.spec, *folder.scripts.glob("*"))
        return
    flags = flags_text([kept_flag(folder, f) for f in end.winner.base.network.target.flags])
    write_text(folder.flags, flags + "\n")
    if end.winner.spec is not None:
        write_text(folder.spec, _comment(end.gain, device, flags) + end.winner.spec)
    else:
        _remove(folder.spec)
    _remove(*(path for path in folder.scripts.glob("*") if path.name not in flags))


def _remove(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def kept_flag(folder: NetworkFolder, flag: str) -> str:
    """The flag; scripts are copies, so that what was written goes on to mean the same."""
    preprocessing, scripts = Preprocessing.of(flag), folder.scripts.absolute()
    if preprocessing is None or not can_be_named(scripts):
        return flag
    copies = []
    for place, script in enumerate(preprocessing.scripts, start=1):
        make_folder(scripts, "move away what is there")
        copies.append(scripts / f"{place}_{script.name}")
        write_atomically(copies[-1], script.read_bytes())
    return replace(preprocessing, scripts=tuple(copies)).flag


def _comment(gain: Speedup, device: str, flags: str) -> str:
    return (
        f"// Expected speedup of the model: {gain.speedup:.2f}x on {device} "
        f"(noise floor {gain.noise_floor:.1%}, default {gain.before_us / 1e3:.1f} ms),\n"
        f"// compiled with {flags}\n"
    )


def _with_spec(
    base: Base,
    spec: str,
    plain: Base,
    maker: BaseMaker,
    runner: NetworkRunner,
    name: str = "tuned",
) -> list[CompiledModel]:
    """The spec with the options of another base, where it applies, and computes the same."""
    with maker.compiler(base) as compiler:
        (compiled,) = compiler.compile([(name, spec)])
    raise_if_killed(compiled, f"the model with {base.variant.name} and the spec")
    # Specs of other tools leave no mark. A file has what was measured before the user's own.
    users = maker.starter is not None and spec.endswith(maker.starter)
    if compiled.kind not in ((OK, NOT_APPLIED) if users else (OK,)):
        maker.notify(f"the spec is left out with {base.variant.name}: {compiled.reason}")
        return []
    try:
        runner.compare_outputs(compiled.executable, plain.compiled.executable)
    except NetworkFailed as failure:
        maker.notify(f"the spec is left out with {base.variant.name}: {failure}")
        return []
    return [CompiledModel(base, compiled.executable, spec, compiled.applied)]
