"""A model as options of the compiler make it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ...benchmarks.cluster import HostLost
from ...benchmarks.compiling import Compiler, raise_if_killed
from ...benchmarks.measuring import (
    NOT_APPLIED,
    OK,
    CompileOutcome,
)
from ...benchmarks.networks import (
    COMPILE_TIMEOUT,
    TIMEOUT_RATIO,
    DispatchTime,
    NetworkFailed,
    NetworkRunner,
    compile_limit,
    time_alone,
)
from ...core import (
    Child,
    ChildPool,
    InputError,
    KilledError,
    Notify,
    usable_cores,
)
from ...search import backend_named
from ...search.linking import LinkedSpec, find_matches, link_specs
from ...search.reading import NETWORK_READER, Network, read_network
from .planning import (
    NO_CHANGE,
    OTHERS,
    PLAIN,
    NetworkOptions,
    OptionVariant,
    TriedVariants,
    VariantOutcome,
    named,
)

# With other options and nothing else: 1.2 to 2.1 times (two at a time; Swin, EfficientNet). More at
# a time may share cores that the model had for itself, and have as long as candidates.
VARIANT_RATIO = 4.0
# By so much at least, what is tried in combinations is faster than with the usual options, and what
# has one option more is faster than without it.
LEAST_SPEEDUP = 1.03
# Characters of a variant's name in that of its folder: file systems take 255 bytes, and a file of
# options may have names as long as it likes.
LONGEST_NAME = 100


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
        return compile_limit(self.compiled.seconds)

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
            compiled = compile_default(compiler, self.starter)
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
            What each makes of the model, or that it does not compile so, for want of memory or
            time, too.
        """
        given = self.options
        ratio = VARIANT_RATIO if min(len(variants), self.at_a_time) <= 2 else TIMEOUT_RATIO
        timeout = compile_limit(plain.compiled.seconds, ratio)
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
                        timeout=max(timeout, ratio * plain.network.seconds),
                        child=reader,
                    )
                    with self._compiler(variant, network, timeout, tries=1) as compiler:
                        compilers.callback(compiler.close)
                        compiled = compile_default(compiler, self.starter)
                except InputError as failure:
                    return failure
                return Base(variant, network, compiled)

            def killed(_: OptionVariant, error: KilledError) -> InputError:
                # Also with nothing beside it. Raised, it would be so again whenever it is resumed.
                return InputError(str(error))

            return dict(zip(variants, readers.map(make_one, variants, killed), strict=True))

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
    def starter(self) -> str | None:
        """The user's own specs as one."""
        return self._linked.text if self._linked is not None else None

    def _compiler(
        self, variant: OptionVariant, network: Network, timeout: float, tries: int = 2
    ) -> Compiler:
        # Of names that differ in signs alone, or in what is cut off, each has a folder of its own.
        digest = hashlib.sha256(variant.name.encode()).hexdigest()[:8]
        readable = re.sub(r"\W+", "-", variant.name, flags=re.ASCII)[:LONGEST_NAME]
        folder = self.folder / f"{readable}-{digest}"
        folder.mkdir(exist_ok=True)
        return Compiler(network, folder, self.options.jobs, timeout, tries)


@contextmanager
def killed_alone(plain: Base, runner: NetworkRunner) -> Iterator[None]:
    """While a variant runs, which may be the only one that there is no memory for.

    Packed anew, weights take as much again. Were that an end of the session, it would be one of
    each that resumes it.

    Raises:
        NetworkFailed: the variant was killed, and what the compiler does by default was not.
        KilledError: that was, too, or a host is gone.
    """
    try:
        yield
    except HostLost:
        raise
    except KilledError as killed:
        runner.time_once(plain.compiled.executable)
        raise NetworkFailed(str(killed)) from killed


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


def made_again(
    maker: BaseMaker, tried: TriedVariants, variants: Sequence[OptionVariant], plain: Base
) -> Iterator[Base]:
    """The model with options that an earlier session found to be faster, and that still compile.

    Raises:
        InputError: it does not with those that it is tuned with.
    """
    speedups = {one.name: one.speedup or 1.0 for one in tried.outcomes}
    faster = [named(name, variants) for name in tried.faster]
    for variant, base in maker.make(faster, plain).items():
        if isinstance(base, Base):
            yield replace(base, speedup=speedups[variant.name])
        elif variant.name == tried.tuned:
            raise base
        else:
            maker.notify(f"{variant.name} is left out: {base}")


def dispatch_times(
    base: Base,
    files: Mapping[str, Path],
    runner: NetworkRunner,
    options: NetworkOptions,
    notify: Notify,
) -> list[DispatchTime]:
    """What dispatches take in a run of the model, or by themselves where there is no profile.

    Args:
        files: where each dispatch is, as MLIR.

    Raises:
        WorkError: the model does not run.
    """
    if backend_named(base.network.target.backend).profiles:
        return runner.profile(base.compiled.executable)
    setup, make_child = runner.setup, runner.make_child
    found = time_alone(base.network, files, setup, make_child, notify, options.jobs)
    run_us = runner.time_once(base.compiled.executable)
    others = max(0.0, run_us - sum(one.time_us for one in found))
    return [*found, DispatchTime(OTHERS, 1.0, others)]


def together(
    variants: Sequence[OptionVariant], faster: Sequence[Base], known: Set[frozenset[str]]
) -> list[OptionVariant]:
    """The best together with each other single option that is faster, but for known ones."""
    return _unknown(
        known,
        (
            base.variant.with_flags_of(faster[0].variant)
            for base in faster[1:]
            if base.variant in variants
        ),
    )


def instead_of_tuning(
    variants: Sequence[OptionVariant],
    found: Mapping[OptionVariant, VariantOutcome],
    tunable: Sequence[Base],
    known: Set[frozenset[str]],
) -> list[OptionVariant]:
    """The best to tune with, and each option that leaves nothing to tune; the fastest first.

    Such an option does for products what tuning does, which may not show in a model that does other
    things for most of its time, so it may be slower within noise: ConvNeXt is 1.01 times as fast
    with data tiling, and 1.2 times if it has channels last already. By itself it may change
    nothing: convolutions are no products before they are made some.
    """
    speedups = {one: _untuned(found[one]) for one in variants if not one.tunable}
    return _unknown(
        known,
        (
            tunable[0].variant.with_flags_of(one)
            for one in sorted(speedups, key=lambda one: -speedups[one])
            if tunable and speedups[one] > 1 / LEAST_SPEEDUP
        ),
    )


def _untuned(outcome: VariantOutcome) -> float:
    """The speedup of options by themselves; 0 of what failed."""
    return 1.0 if outcome.reason == NO_CHANGE else outcome.speedup or 0.0


def _unknown(
    known: Set[frozenset[str]], both: Iterable[OptionVariant | None]
) -> list[OptionVariant]:
    """Those that can be combined, each once, but for known ones."""
    new = {one.parts: one for one in both if one is not None and one.parts not in known}
    return [*new.values()]
