"""Tries options of the compiler on a model, alone and together."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from ...benchmarks.measuring import DROP_ROUNDS
from ...benchmarks.networks import NetworkFailed, NetworkRunner
from ...core import InputError, ResumableError, WorkError
from .bases import (
    LEAST_SPEEDUP,
    Base,
    BaseMaker,
    instead_of_tuning,
    killed_alone,
    made_again,
    together,
)
from .planning import NO_CHANGE, NO_TIME, OptionVariant, TriedVariants, VariantOutcome

# Rounds in which all variants are timed first; half of them go on to `DROP_ROUNDS`.
FIRST_ROUNDS = 3
# So many of the fastest are looked at for what there is to tune.
MOST_BASES = 2


def try_variants(
    maker: BaseMaker,
    variants: Sequence[OptionVariant],
    plain: Base,
    runner: NetworkRunner,
    deadline: float,
    seed: int,
    keep: Callable[[Sequence[VariantOutcome], Sequence[Base]], None],
    earlier: TriedVariants | None = None,
) -> tuple[list[VariantOutcome], list[Base]]:
    """Times the model with each variant in a few rounds, and with the best and others together.

    Those that leave most products to be tuned are put together first. The better half is timed in
    more. What is slower, fails, or computes something else is left out.

    Args:
        deadline: as `time.monotonic` has it. After it, one more is made, which may do what tuning
            does, and those that are fastest, of all and to tune with, are timed once more.
        keep: told what became of those that were tried, and which seem to be faster.
        earlier: what a session that was ended was told so.

    Returns:
        What became of each, and those that seem to be faster, the best first: two at most, and
        one to tune with.

    Raises:
        KilledError: the model was killed, also with the usual options.
    """
    names = " ".join(one.name for one in plain.network.dispatches)
    found = {
        one: VariantOutcome.of(one, reason=f"the model has no {one.concerns} dispatch")
        for one in variants
        if one.concerns not in names
    }
    faster: list[Base] = []
    if earlier is not None:
        found |= earlier.known(variants)
        faster += made_again(maker, earlier, variants, plain)
    programs = {plain.compiled.digest: NO_CHANGE}
    programs |= {one.compiled.digest: f"it makes the same as {one.variant.name}" for one in faster}

    def attempt(batch: Sequence[OptionVariant], until: float) -> None:
        maker.notify(f"compiling the model with {', '.join(one.name for one in batch)}")
        begun = time.monotonic()
        made = maker.make(batch, plain)
        # Of a model that compiles for 11 s (EfficientNet), two variants are compiled in 20 and
        # timed in 4. In a run of two minutes the time is up by then.
        until = max(until, 2 * time.monotonic() - begun)
        # What measures comes after what compiles: beside it, times would say nothing.
        for variant, base in made.items():
            if time.monotonic() > until:
                found[variant] = VariantOutcome.of(variant, reason=NO_TIME)
                continue
            try:
                if isinstance(base, InputError):
                    raise base
                if same := programs.get(base.compiled.digest):
                    raise NetworkFailed(same)
                programs[base.compiled.digest] = f"it makes the same as {variant.name}"
                with killed_alone(plain, runner):
                    base = replace(base, speedup=_compare(base, plain, runner, seed))
            except ResumableError:
                raise
            except (InputError, NetworkFailed, WorkError) as failure:
                found[variant] = VariantOutcome.of(variant, reason=str(failure))
            else:
                found[variant] = VariantOutcome.of(variant, base.speedup)
                if base.speedup > LEAST_SPEEDUP:
                    faster.append(base)
                    faster.sort(key=lambda one: -one.merit)
            if isinstance(base, Base) and base not in faster:  # it may hold the model's weights
                base.compiled.executable.unlink(missing_ok=True)
            # A session that is ended leaves the others to the next one.
            late = {one: VariantOutcome.of(one, reason=NO_TIME) for one in (*batch, *coming)}
            keep([*(late | found).values()], faster)

    coming = [one for one in variants if one not in found]
    while True:
        # Untuned, Whisper's encoder takes 7 % less with data tiling than without; but then its
        # products cannot be tuned, and it ended at 54 ms, where it had come to 42. And of a slow
        # model there is no time for all.
        tunable = [base for base in faster if base.variant.tunable]
        known = {one.parts for one in (*found, *coming)}
        coming = [*together(variants, tunable, known), *coming]
        coming = coming or instead_of_tuning(variants, found, tunable, known)
        coming = coming or together(variants, faster, known)
        if not coming:
            break
        batch, coming = coming[: maker.at_a_time], coming[maker.at_a_time :]
        if time.monotonic() > deadline:
            found |= {one: VariantOutcome.of(one, reason=NO_TIME) for one in (*batch, *coming)}
            break
        attempt(batch, deadline)
    timed = {one.parts for one, outcome in found.items() if outcome.reason != NO_TIME}
    for last in instead_of_tuning(variants, found, tunable, frozenset())[:1]:
        if last.parts not in timed:
            attempt([last], math.inf)
    kept: list[Base] = []
    for base in _leading(faster, max(MOST_BASES, (len(faster) + 1) // 2)):
        to_tune_with = base.variant.tunable and not any(one.variant.tunable for one in kept)
        if kept and not to_tune_with and time.monotonic() > deadline:
            # It is timed in the end: a decoder ended with one way of data tiling, which seemed to
            # be as fast as the other, and took 1.03 times as long. And more may be left to tune:
            # O3 with attention as products made a vision transformer 2.35 times as fast, and left
            # less. Tuned with the usual options, it came to 64 ms; with attention as products
            # alone, untuned 2.00 times as fast, to 47.
            kept.append(base)
            continue
        maker.notify(f"measuring the model with {base.variant.name}")
        try:
            with killed_alone(plain, runner):
                pair = plain.compiled.executable, base.compiled.executable
                gain = runner.measure_speedup(*pair, seed, DROP_ROUNDS)
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
