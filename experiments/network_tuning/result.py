"""What came out of tuning a model."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from ...benchmarks.measuring import speedup_error
from ...core import decode
from ..tuning import SPEC, StoredResult, TuneResult
from .finishing import Finish
from .in_model import InModelResult
from .planning import FLAGS, NO_TIME, PLAIN, TIME_UP, OptionVariant, Plan, VariantOutcome
from .trial import DispatchChoice, TrialResult

BEHIND = "what an earlier session wrote is faster"

# Dispatches that nothing was tried of, and of a smaller share each, are one row of a table: of an
# EfficientNet's 115 dispatches 41 take 4 %.
SMALL = 0.01


@dataclass(frozen=True)
class DispatchResult:
    """What became of the dispatches of one Problem.

    Attributes:
        members: their names in the model.
        share: of the model's time in dispatches, before.
        speedup: in the model; 1.0 if nothing was tried there, None where the runtime does not tell.
        alone: of the dispatch by itself; None if it was only timed in the model.
        kept: whether the spec configures it.
        reason: why it does not; empty if it does.
        candidates, seconds: what was spent on it.
        left_us: of a run of the model, after it was tuned, with the options that it was tuned with
            (what the spec configures beside what it was made for: before); None where that is not
            known.
        roofline: the share of this that would do at the machine's measured peak; None of what is
            not tunable or of several sizes, and where no peak was measured.
    """

    name: str
    members: tuple[str, ...]
    share: float
    speedup: float | None
    alone: float | None
    kept: bool
    reason: str
    candidates: int
    seconds: float
    left_us: float | None = None
    roofline: float | None = None

    @property
    def is_late(self) -> bool:
        """Whether it was not tried for lack of time."""
        return self.reason in (NO_TIME, TIME_UP)

    @property
    def gain(self) -> float:
        """In the model or, where that is not known, by itself."""
        return self.speedup or self.alone or 1.0

    def with_tries_of(self, later: DispatchResult) -> DispatchResult:
        """What became of it here, and what a later session spent that found nothing better."""
        reason = (later.reason or BEHIND) if self.is_late else self.reason
        return replace(self, reason=reason, candidates=later.candidates, seconds=later.seconds)


@dataclass(frozen=True, repr=False)
class NetworkResult(StoredResult):
    """Figures of a model's tuning.

    Attributes:
        speedup: of the whole model over the default, with the spec and the flags; 1.0 without.
        speedup_ci: its 95 % interval.
        ratios: of each round, of which the speedup is the median; none without a speedup.
        noise_floor: of the measurement; None if nothing was left to measure.
        measured: what was measured, also where it was not enough for a spec.
        baseline_us, best_us: of a run of the model.
        spec: the tuning spec; None if the model was not faster with one.
        flags: a file for `iree-compile @FILE`, to be given with the spec, or without one; None if
            the model was not faster.
        options: the name of the compiler options among them that were found here.
        variants: what became of the options that were tried.
        dispatches: what was tuned, and then what was not.
        also: dispatches that the spec configures beside those that it was made for.
        unmatched: dispatches that it was made for and does not configure.
        remark: what is to be known of the spec where the flags are not those that it was made with.
    """

    speedup: float
    speedup_ci: tuple[float, float]
    noise_floor: float | None
    measured: float | None
    baseline_us: float
    best_us: float
    spec: Path | None
    dispatches: tuple[DispatchResult, ...]
    also: tuple[str, ...]
    unmatched: tuple[str, ...]
    run: Path
    seconds: float
    ratios: tuple[float, ...] = ()
    flags: Path | None = None
    options: str = PLAIN.name
    variants: tuple[VariantOutcome, ...] = ()
    remark: str = ""

    @classmethod
    def build(
        cls,
        plan: Plan,
        tuned: Mapping[str, TuneResult | InModelResult | str],
        trial: TrialResult,
        end: Finish,
        variants: Sequence[VariantOutcome],
        made_with: OptionVariant,
        *,
        baseline_us: float,
        run: Path,
        seconds: float,
        profiled: bool = True,
    ) -> Self:
        """
        Args:
            made_with: options of the compiler that dispatches were tuned with.
            profiled: whether speedups of dispatches are of what they take in the model.
            tuned: by name of the hot dispatch: what it came to, or why there was nothing.
            baseline_us: where no gain was measured.
        """
        gain, winner = end.gain, end.winner
        better = gain if winner is not None else None
        applied = winner.applied if winner is not None else ()
        # Dispatches have other names with other options.
        same = winner is not None and winner.applied == trial.applied
        with_spec = winner is not None and winner.spec is not None
        # What wins may be other options, with the specs that the user gave and none of ours.
        ours = winner is not None and winner.spec is not None and winner.spec == trial.spec
        users = winner.base.compiled.applied if winner is not None else ()
        choices = {choice.hot.name: choice for choice in trial.choices}
        remark = ""
        if ours and winner is not None and winner.base.variant != made_with:
            count = len({*applied} - {*users})
            remark = (
                f"the spec was made with {made_with.name}, and configures {count} dispatches with "
                f"{winner.base.variant.name}"
            )
        beaten = winner is not None and trial.spec is not None
        why = "other options are faster without it" if beaten else "the model is no faster"
        why_not = "" if ours else why
        rows = [_row(choices[h.name], tuned[h.name], why_not, profiled) for h in plan.hot]
        rows += [
            DispatchResult(
                r.name, (r.name,), r.share, 1.0, None, False, r.reason, 0, 0.0,
                left_us=r.share * plan.total_us or None,
            )
            for r in plan.rest
        ]  # fmt: skip
        meant = {m for row in rows if row.kept for m in row.members}
        return cls(
            speedup=better.speedup if better else 1.0,
            speedup_ci=better.interval if better else (1.0, 1.0),
            noise_floor=gain.noise_floor if gain else None,
            measured=gain.speedup if gain else None,
            baseline_us=gain.before_us if gain else baseline_us,
            best_us=better.after_us if better else gain.before_us if gain else baseline_us,
            spec=run / SPEC if with_spec else None,
            dispatches=tuple(rows),
            also=tuple(n for n in applied if n not in meant and n not in users) if same else (),
            unmatched=tuple(sorted(meant - set(applied))) if same and ours else (),
            run=run,
            seconds=round(seconds, 1),
            ratios=better.ratios if better else (),
            flags=run / FLAGS if better else None,
            options=winner.base.variant.name if winner is not None else PLAIN.name,
            variants=tuple(variants),
            remark=remark,
        )

    def with_tries_of(self, later: NetworkResult) -> Self:
        """What was found here, and what a later session spent that found nothing better."""
        now = {row.name: row for row in later.dispatches}
        rows = tuple(row.with_tries_of(now.get(row.name, row)) for row in self.dispatches)
        return replace(self, dispatches=rows, variants=later.variants)

    @classmethod
    def from_file(cls, fields: dict[str, Any], folder: Path) -> Self:
        # The folder may have been moved.
        there = {
            "run": folder,
            "spec": folder / SPEC if fields["spec"] else None,
            "flags": folder / FLAGS if fields.get("flags") else None,
        }
        result = decode(cls, {**fields, **there})
        times = (result.baseline_us, result.best_us)
        if wrong := speedup_error(result.speedup, result.speedup_ci, times, result.ratios):
            raise ValueError(wrong)
        # Older versions wrote no flags.
        if result.flags is None and result.spec is None and result.speedup != 1.0:
            raise ValueError(f"there is no spec, and a speedup of {result.speedup:g}")
        return result

    def metrics(self) -> dict[str, float]:
        return {
            "speedup": self.speedup,
            "speedup_low": self.speedup_ci[0],
            "speedup_high": self.speedup_ci[1],
            "noise_floor": math.nan if self.noise_floor is None else self.noise_floor,
            "baseline_us": self.baseline_us,
            "best_us": self.best_us,
            "kept": float(sum(row.kept for row in self.dispatches)),
            "candidates": float(sum(row.candidates for row in self.dispatches)),
            "seconds": self.seconds,
        }

    def rows(self) -> list[tuple[str, ...]]:
        """For a table, as `summary.COLUMNS` has it; what nothing was tried of is short."""
        small = [row for row in self.dispatches if not row.candidates and row.share < SMALL]
        others = small if len(small) > 1 else []
        rows = [_cells(row) for row in self.dispatches if row not in others]
        if others:
            left_us = sum(row.left_us or 0.0 for row in others)
            places = sum(len(row.members) for row in others)
            share = sum(row.share for row in others)
            less = f"not tuned: less than {SMALL:.0%} each"
            others_left = _ms(left_us) if left_us else ""
            first = (f"{len(others)} others", str(places), f"{share:.1%}")
            rows.append((*first, "", "", others_left, "", "", less))
        return rows

    def summary_lines(self) -> list[str]:
        """For people; ends with the speedup, the noise floor if it was measured, and the spec."""
        lines = []
        if self.also:
            lines.append(f"the spec configures {', '.join(self.also)}, too, of the same problems")
        if self.unmatched:
            lines.append(f"the spec does not match {', '.join(self.unmatched)}")
        if self.remark:
            lines.append(self.remark)
        untimed: dict[str, list[str]] = {}
        for one in self.variants:
            if one.speedup is not None:
                lines.append(f"{one.name}: {one.speedup:.2f}x")
            else:
                untimed.setdefault(one.reason, []).append(one.name)
        lines += [f"{', '.join(names)}: {reason}" for reason, names in untimed.items()]
        if self.flags is None and self.spec is None:
            best = f" (measured: {self.measured:.2f}x)" if self.measured else ""
            why = "is not faster than the default beyond noise" if best else "stays as it is"
            lines.append(f"the model {why}{best}")
            lines.append(f"speedup      1.00x (the default, {_ms(self.baseline_us)})")
        else:
            low, high = self.speedup_ci
            lines.append(
                f"speedup      {self.speedup:.2f}x (95 %: {low:.2f} to {high:.2f}), "
                f"{_ms(self.baseline_us)} -> {_ms(self.best_us)}"
            )
        if self.noise_floor is not None:
            lines.append(f"noise floor  {self.noise_floor:.1%}")
        if late := sum(row.is_late for row in self.dispatches):
            goes_on = f"frontrunner tune-model --resume {shlex.quote(str(self.run))} --minutes M"
            lines.append(
                f"not tried    {late} of the dispatches, for lack of time: {goes_on} goes on, with "
                f"the same --iree-flag, --cluster and --options FILE, if any"
            )
        if self.flags is not None:
            lines.append(f"options      {self.options}")
            lines.append(f"flags        {self.flags}")
        lines.append(f"spec         {self.spec or 'none'}")
        return lines


def _ms(time_us: float) -> str:
    """Also of models that take microseconds."""
    return f"{time_us / 1e3:.1f} ms" if time_us >= 100 else f"{time_us / 1e3:.2g} ms"


def _cells(row: DispatchResult) -> tuple[str, ...]:
    return (
        row.name,
        str(len(row.members)),
        f"{row.share:.1%}",
        "" if row.alone is None else f"{row.alone:.2f}x",
        "" if row.speedup is None or not row.candidates else f"{row.speedup:.2f}x",
        "" if row.left_us is None else _ms(row.left_us),
        "" if row.roofline is None else f"{row.roofline:.0%}",
        str(row.candidates or ""),
        "kept" if row.kept else row.reason,
    )


def _row(
    choice: DispatchChoice, tuned: TuneResult | InModelResult | str, why_not: str, profiled: bool
) -> DispatchResult:
    """What became of a dispatch; `why_not` is why the winner has none of our specs, if so."""
    hot, run = choice.hot, None if isinstance(tuned, str) else tuned
    alone = None
    if isinstance(run, TuneResult):
        alone = run.best_speedup or 1.0
    kept = not why_not and choice.spec is not None
    reason = choice.reason or why_not
    if isinstance(tuned, str):
        reason = tuned
    elif not tuned.candidates:
        reason = TIME_UP
    left_us = hot.time_us / (choice.speedup or 1.0) if kept else hot.time_us
    return DispatchResult(
        name=hot.name,
        members=hot.members,
        share=hot.share,
        speedup=choice.speedup or 1.0 if profiled else None,
        alone=alone,
        kept=kept,
        reason="" if kept else reason,
        candidates=run.candidates if run else 0,
        seconds=run.seconds if run else 0.0,
        left_us=left_us,
        roofline=min(1.0, hot.least_us / left_us) if hot.least_us and left_us else None,
    )
