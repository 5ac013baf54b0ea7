"""A model as options of the compiler make it, and which of these to tune dispatches on."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ...benchmarks.compiling import Compiler, raise_if_killed
from ...benchmarks.measuring import (
    DROP_ROUNDS,
    NOT_APPLIED,
    OK,
    CompileOutcome,
)
from ...benchmarks.networks import NetworkFailed, NetworkRunner
from ...core import (
    Child,
    ChildPool,
    InputError,
    Notify,
    ResumableError,
    WorkError,
    usable_cores,
)
from ...search.linking import LinkedSpec, find_matches, link_specs
from ...search.reading import NETWORK_READER, Network, read_network
from .options import NetworkOptions
from .plan import NO_TIME
from .variants import PLAIN, OptionVariant, VariantOutcome

COMPILE_TIMEOUT, LEAST_TIMEOUT = 1800.0, 30.0
# A model may take so many times as long to compile as by default: candidates unroll more than the
# compiler does, so that 3 to 4 times (RegNet, two at a time) is usual.
TIMEOUT_RATIO = 8.0
# Rounds in which all variants are timed first; half of them go on to `DROP_ROUNDS`.
FIRST_ROUNDS = 3
# By so much at least, what is tried in combinations is faster than with the usual options, and what
# has one option more is faster than without it.
LEAST_SPEEDUP = 1.03
# So many of the fastest are looked at for what there is to tune.
MOST_BASES = 2


@dataclass(frozen=True)
class Base:
    """A model with some options of the compiler: what dispatches are tuned on.

    Attributes:
        network: as the compiler reads it with them.
        compiled: as they, and the user's own specs, configure it.
        speedup: over the usual options.
    """

    variant: OptionVariant
    network: Network
    compiled: CompileOutcome
    speedup: float = 1.0

    @property
    def timeout(self) -> float:
        """Variants of the model compile as long as it does, or they hang."""
        return max(LEAST_TIMEOUT, TIMEOUT_RATIO * self.compiled.seconds)

    @property
    def merit(self) -> float:
        """The speedup, less what each of its options has to bring."""
        return self.speedup / LEAST_SPEEDUP**self.variant.count


@dataclass(frozen=True)
class BaseMaker:
    """Reads and compiles a model with options of the compiler.

    Attributes:
        mlir: the model; `options.input` may be of another format.
        folder: where executables go, in a folder for each variant.
    """

    mlir: Path
    options: NetworkOptions
    folder: Path
    notify: Notify

    def plain(self, network: Network) -> Base:
        """The model as the user compiles it.

        Raises:
            InputError: it does not compile, or the specs cannot be used.
            KilledError: the compiler was killed.
        """
        if self._linked is not None:
            for conflict in self._linked.conflicts:
                self.notify(f"conflict: {conflict}")
            for name, dispatches in find_matches(network, self._linked).by_matcher.items():
                if not dispatches:
                    self.notify(f"warning: {name} matches nothing in this model")
        with self._compiler(PLAIN, network, COMPILE_TIMEOUT) as compiler:
            compiled = compile_default(compiler, self._starter)
        return Base(PLAIN, network, compiled)

    @property
    def at_a_time(self) -> int:
        """How many variants are made at a time."""
        return self.options.jobs or usable_cores()

    def make(
        self, variants: Sequence[OptionVariant], plain: Base
    ) -> Mapping[OptionVariant, Base | InputError]:
        """As `plain`, with further options each, side by side: the compiler uses one core mostly.

        Returns:
            What each makes of the model, or that it does not compile so.

        Raises:
            KilledError: the compiler was killed, twice.
        """
        given = self.options
        # Ctrl-C ends readers and compilers, and with them the threads that wait for their answers.
        with ExitStack() as compilers, ChildPool(NETWORK_READER, self.at_a_time) as readers:

            def make_one(reader: Child, variant: OptionVariant) -> Base | InputError:
                reader.close()  # some flags hold for a process, which takes them once
                try:
                    network = read_network(
                        self.mlir,
                        given.target,
                        str(given.input),
                        default_specs=given.default_specs,
                        iree_flags=(*given.iree_flags, *variant.flags),
                        shapes=given.shapes,
                        timeout=2 * plain.timeout,
                        child=reader,
                    )
                    with self._compiler(variant, network, plain.timeout) as compiler:
                        compilers.callback(compiler.close)
                        compiled = compile_default(compiler, self._starter)
                except InputError as failure:
                    return failure
                return Base(variant, network, compiled)

            return dict(zip(variants, readers.map(make_one, variants), strict=True))

    @contextmanager
    def compiler(self, base: Base) -> Iterator[Compiler]:
        """Compiles the model of a base with specs."""
        with self._compiler(base.variant, base.network, base.timeout) as compiler:
            yield compiler

    @cached_property
    def _linked(self) -> LinkedSpec | None:
        """The user's own specs as one, if there are any: linking starts a process."""
        return link_specs(self.options.starter) if self.options.starter else None

    @property
    def _starter(self) -> str | None:
        return self._linked.text if self._linked is not None else None

    def _compiler(self, variant: OptionVariant, network: Network, timeout: float) -> Compiler:
        # Of names that differ in signs alone, each has a folder of its own.
        digest = hashlib.sha256(variant.name.encode()).hexdigest()[:8]
        readable = re.sub(r"\W+", "-", variant.name)
        folder = self.folder / f"{readable}-{digest}"
        folder.mkdir(exist_ok=True)
        return Compiler(network, folder, self.options.jobs, timeout, tries=2)


def compile_default(compiler: Compiler, starter: str | None) -> CompileOutcome:
    """The model as the compiler, and the user's own specs, configure it.

    Args:
        starter: these specs as one, if there are any.

    Raises:
        InputError: it does not compile, or the specs cannot be used.
        KilledError: the compiler was killed.
    """
    if starter is None:
        default = compiler.baseline()
    else:
        (default,) = compiler.compile([("starter", starter)])
        raise_if_killed(default, "the model with --spec")
        if default.kind == NOT_APPLIED:
            default = replace(default, kind=OK)  # specs of other tools leave no mark
    if default.kind != OK:
        what = (
            "the model does not compile with --spec"
            if starter is not None
            else "the model does not compile"
        )
        raise InputError(f"{what}: {default.reason}", "see that iree-compile accepts it")
    return default


def try_variants(
    maker: BaseMaker,
    variants: Sequence[OptionVariant],
    plain: Base,
    runner: NetworkRunner,
    deadline: float,
    seed: int,
) -> tuple[list[VariantOutcome], list[Base]]:
    """Times the model with each variant in a few rounds, and with the best and others together.

    The better half is timed in more. What is slower, fails, or computes something else is left out.

    Args:
        deadline: when no further one is made or timed, as `time.monotonic` has it; the fastest,
            and the fastest to tune with, are timed once more.

    Returns:
        What became of each, and those that seem to be faster, the best first: two at most, and
        one to tune with.

    Raises:
        KilledError: the compiler or the model was killed, which is no variant's fault.
    """
    names = " ".join(one.name for one in plain.network.dispatches)
    found = {
        one: VariantOutcome.of(one, reason=f"the model has no {one.concerns} dispatch")
        for one in variants
        if one.concerns not in names
    }
    faster: list[Base] = []
    programs = {plain.compiled.digest: "it changes nothing"}
    coming = [one for one in variants if one not in found]
    while coming:
        batch, coming = coming[: maker.at_a_time], coming[maker.at_a_time :]
        if time.monotonic() > deadline:
            found |= {one: VariantOutcome.of(one, reason=NO_TIME) for one in (*batch, *coming)}
            break
        maker.notify(f"compiling the model with {', '.join(one.name for one in batch)}")
        # What measures comes after what compiles: beside it, times would say nothing.
        for variant, base in maker.make(batch, plain).items():
            if time.monotonic() > deadline:
                found[variant] = VariantOutcome.of(variant, reason=NO_TIME)
                continue
            try:
                if isinstance(base, InputError):
                    raise base
                if same := programs.get(base.compiled.digest):
                    raise NetworkFailed(same)
                programs[base.compiled.digest] = f"it makes the same as {variant.name}"
                base = replace(base, speedup=_compare(base, plain, runner, seed))
            except ResumableError:
                raise
            except (InputError, NetworkFailed, WorkError) as failure:
                found[variant] = VariantOutcome.of(variant, reason=str(failure))
                continue
            found[variant] = VariantOutcome.of(variant, base.speedup)
            if base.speedup > LEAST_SPEEDUP:
                faster.append(base)
        faster.sort(key=lambda one: -one.merit)
        # Of a slow model there is no time for all: what is best so far comes before what is left.
        known = {one.parts for one in (*found, *coming)}
        both = {one.parts: one for one in _combinations(variants, faster)}
        coming = [*(one for parts, one in both.items() if parts not in known), *coming]
    kept: list[Base] = []
    for base in _leading(faster, max(MOST_BASES, (len(faster) + 1) // 2)):
        to_tune_with = base.variant.tunable and not any(one.variant.tunable for one in kept)
        if kept and not to_tune_with and time.monotonic() > deadline:
            continue
        maker.notify(f"measuring the model with {base.variant.name}")
        try:
            gain = runner.measure_speedup(
                plain.compiled.executable, base.compiled.executable, seed, DROP_ROUNDS
            )
        except NetworkFailed as failure:
            found[base.variant] = VariantOutcome.of(base.variant, reason=str(failure))
            continue
        found[base.variant] = VariantOutcome.of(base.variant, gain.speedup)
        # Noise may hide it now, and not in the end, where it is measured longer: on a busy machine
        # 1.43x was given up so, and the tuned model ended at 1.12x.
        if gain.interval[0] > 1:
            kept.append(replace(base, speedup=gain.speedup))
    kept.sort(key=lambda base: -base.merit)
    return list(found.values()), _leading(kept, MOST_BASES)


def _combinations(variants: Sequence[OptionVariant], faster: Sequence[Base]) -> list[OptionVariant]:
    """The best together with each other one that is faster; likewise of those to tune with.

    Untuned, Whisper's encoder takes 7 % less with data tiling than without; but then its products
    cannot be tuned, and it ended at 54 ms, where it had come to 42.
    """
    both = [
        base.variant.with_flags_of(several[0].variant)
        for several in (faster, [base for base in faster if base.variant.tunable])
        for base in several[1:]
        if base.variant in variants
    ]
    return [one for one in both if one is not None]


def _leading(bases: Sequence[Base], count: int) -> list[Base]:
    """The first ones, and the first one to tune with, where that is none of them."""
    first, rest = [*bases[:count]], bases[count:]
    if not any(base.variant.tunable for base in first):
        first += [base for base in rest if base.variant.tunable][:1]
    return first


def _compare(base: Base, plain: Base, runner: NetworkRunner, seed: int) -> float:
    """How much faster a variant seems to be.

    Raises:
        NetworkFailed: it does not run, or computes something else.
    """
    before, after = plain.compiled.executable, base.compiled.executable
    runner.compare_outputs(after, before)
    return runner.measure_speedup(before, after, seed, FIRST_ROUNDS).speedup
