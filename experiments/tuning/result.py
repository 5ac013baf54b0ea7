"""What came out of a tuning run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from ...benchmarks.measuring import (
    NEAR_OPTIMAL,
    FinalistResult,
    Finals,
    Outcome,
    check_counts,
    finals_error,
    noise_warning,
)
from ...core import Load, decode
from ...search import flags_text
from ..queue import Configuration
from .manifest import RunSetup
from .staging import StageResult
from .stored import StoredResult

# In a run's folder.
SPEC, EXECUTABLE = "spec.mlir", "winner.vmfb"


@dataclass(frozen=True, repr=False)
class TuneResult(StoredResult):
    """Figures of a run.

    Attributes:
        speedup: of the spec over the compiler's default; 1.0 where there is no spec.
        speedup_ci: its 95 % interval.
        noise_floor: the smallest relative difference that means anything.
        spec: the tuning spec; None if nothing beat the default, or where there are executables.
        baseline_us: of the default, in the finals.
        best_us: of the winner, in the finals; the default's where there is no spec.
        outcomes: count by kind.
        candidates: how many were taken from the queue.
        winner: the winner's place in the queue, from 1; None without one.
        near_best: the place of the first one that was taken within 5 % of the run's best.
        near_best_after: how many had been taken by then; None in older files.
        finalists: measured again in the end, the best of the heats first; also where none was
            enough for a spec. Those that were tried as the winner have the figures of their own
            rounds.
        configuration: the winner's; None without one, and in files of older versions.
        default: the configuration that the compiler chooses; None if it is of no space of ours.
        load: of the machine after the finals; None in older files.
        baseline: which of the compiler's two defaults `baseline_us` is of, in words; empty where
            there is one.
        stages: what each came to, where they are not the usual ones.
        measured: candidates by device, of a run on a cluster; empty otherwise.
        configurations: of the finalists; empty in files of older versions.
        executable: the winner's, where an `ExecutablePipeline` makes these in place of specs.
    """

    speedup: float
    speedup_ci: tuple[float, float]
    noise_floor: float
    spec: Path | None
    baseline_us: float
    best_us: float
    outcomes: dict[str, int]
    candidates: int
    winner: int | None
    near_best: int | None
    finalists: tuple[FinalistResult, ...]
    run: Path
    stopped: str
    seconds: float
    configuration: Configuration | None = None
    default: Configuration | None = None
    load: Load | None = None
    baseline: str = ""
    stages: tuple[StageResult, ...] = ()
    executable: Path | None = None
    near_best_after: int | None = None
    measured: dict[str, int] = field(default_factory=dict)
    configurations: tuple[Configuration, ...] = ()

    @classmethod
    def build(
        cls,
        setup: RunSetup,
        outcomes: Mapping[int, Outcome],
        finals: Finals,
        winner: FinalistResult | None,
        *,
        stages: tuple[StageResult, ...] = (),
        winner_file: Path,
        run: Path,
        stopped: str,
        seconds: float,
    ) -> Self:
        """Figures of what was measured.

        Args:
            winner_file: the winner's spec or executable, if there is a winner.
        """
        times = [o.relative for o in outcomes.values() if o.relative is not None]
        enough = (1 + NEAR_OPTIMAL) * min(times, default=0.0)
        near, near_after = next(
            (
                (index + 1, taken)
                for taken, (index, outcome) in enumerate(outcomes.items(), 1)
                if outcome.relative is not None and outcome.relative <= enough
            ),
            (None, None),
        )
        return cls(
            speedup=winner.speedup if winner else 1.0,
            speedup_ci=winner.interval if winner else (1.0, 1.0),
            noise_floor=finals.noise_floor,
            spec=winner_file if winner and winner_file.name == SPEC else None,
            executable=winner_file if winner and winner_file.name == EXECUTABLE else None,
            measured=_by_device(outcomes) if setup.manifest.on_cluster else {},
            baseline_us=finals.baseline_us,
            best_us=winner.time_us if winner else finals.baseline_us,
            outcomes=dict(Counter(o.kind for o in outcomes.values())),
            candidates=len(outcomes),
            winner=winner.index + 1 if winner else None,
            near_best=near,
            near_best_after=near_after,
            finalists=finals.standings,
            run=run,
            stopped=stopped,
            seconds=round(seconds, 1),
            configuration=Configuration.of_candidate(setup.queue, winner.index) if winner else None,
            default=Configuration.of_default(setup.dispatch),
            configurations=tuple(
                Configuration.of_candidate(setup.queue, one.index) for one in finals.standings
            ),
            load=finals.load,
            baseline=finals.baseline,
            stages=stages,
        )

    def to_dict(self) -> dict[str, Any]:
        """Each finalist with its place in the queue, from 1 as the winner's, and its knobs."""
        data = super().to_dict()
        told = data.pop("configurations") or [{} for _ in self.finalists]
        data["finalists"] = [
            {"candidate": one["index"] + 1, **configuration, **one}
            for one, configuration in zip(data["finalists"], told, strict=True)
        ]
        return data

    @classmethod
    def from_file(cls, fields: dict[str, Any], folder: Path) -> Self:
        if isinstance(found := fields["finalists"], list):
            finalists = [dict(one) for one in found]
            names = ("pipeline", "knobs")
            told = [{name: one.pop(name) for name in names if name in one} for one in finalists]
            if any(one.pop("candidate", one["index"] + 1) != one["index"] + 1 for one in finalists):
                raise ValueError("a finalist's place is not that of its index")
            known = told if all(told) else []
            fields = {**fields, "finalists": finalists, "configurations": known}
        # The folder may have been moved.
        there = {
            "run": folder,
            "spec": folder / SPEC if fields["spec"] else None,
            "executable": folder / EXECUTABLE if fields.get("executable") else None,
        }
        result = decode(cls, {**fields, **there})
        result._check()
        return result

    @property
    def finals(self) -> Finals:
        """What the winner was chosen by."""
        return Finals(
            self.finalists,
            self.baseline_us,
            self.noise_floor,
            load=self.load,
            baseline=self.baseline,
        )

    @property
    def winner_file(self) -> Path | None:
        """The winner's spec, or its executable; None where the default stays."""
        return self.spec or self.executable

    @property
    def best_speedup(self) -> float | None:
        """The winner's, or the first finalist's where none was enough; None without finalists."""
        if self.winner is not None:
            return self.speedup
        return self.finalists[0].speedup if self.finalists else None

    def _check(self) -> None:
        """Checks that the figures follow from each other.

        Raises:
            ValueError: naming those that do not.
        """
        check_counts(self.outcomes, self.candidates)
        if wrong := finals_error(self.finals):
            raise ValueError(wrong)
        if len(self.configurations) not in (0, len(self.finalists)):
            raise ValueError("some finalists have no knobs")
        by_place = {s.index + 1: s for s in self.finalists}
        winner = by_place.get(self.winner or 0)
        stated = (self.speedup, self.speedup_ci, self.best_us)
        if self.winner is None:
            expected = (1.0, (1.0, 1.0), self.baseline_us)
        elif winner is None:
            raise ValueError(f"the winner, {self.winner}, is no finalist")
        else:
            expected = (winner.speedup, winner.interval, winner.time_us)
        if stated != expected or (self.winner is None) != (self.winner_file is None):
            raise ValueError(f"speedup {self.speedup:g} does not follow from the finalists")

    def metrics(self) -> dict[str, float]:
        figures = {
            "speedup": self.speedup,
            "noise_floor": self.noise_floor,
            "baseline_us": self.baseline_us,
            "best_us": self.best_us,
            "candidates": float(self.candidates),
            "seconds": self.seconds,
        }
        after = self.near_best_after or self.near_best
        if after is not None:
            figures["iterations_to_own_near_best"] = float(after)
        kinds = {f"outcomes_{kind}": float(n) for kind, n in self.outcomes.items()}
        return {**figures, **kinds}

    def summary_lines(self) -> list[str]:
        """For people; ends with the speedup, the noise floor and the spec's path."""
        kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(self.outcomes.items()))
        lines = [
            f"{self.candidates} candidates ({kinds}) in {self.seconds:.0f} s; "
            f"stopped by: {self.stopped}"
        ]
        if self.winner_file is None:
            best = f" (best: {self.finalists[0].speedup:.2f}x)" if self.finalists else ""
            lines.append(f"nothing beat the compiler's default beyond noise{best}")
            lines.append(f"speedup      1.00x (the default, {self.baseline_us:.1f} us)")
            lines.append(f"noise floor  {self.noise_floor:.1%}")
            lines.append("spec         none")
        else:
            low, high = self.speedup_ci
            lines.append(f"winner       candidate {self.winner} of the queue, verified")
            if self.configuration is not None:
                lines.append(f"knobs        {self.configuration.describe(self.default)}")
            lines.append(
                f"speedup      {self.speedup:.2f}x (95 %: {low:.2f} to {high:.2f}), "
                f"{self.baseline_us:.1f} us -> {self.best_us:.1f} us"
            )
            lines.append(f"noise floor  {self.noise_floor:.1%}")
            lines.append(
                f"spec         {self.spec}" if self.spec else f"executable   {self.winner_file}"
            )
        if self.measured:
            devices = ", ".join(f"{name} {n}" for name, n in sorted(self.measured.items()))
            lines.insert(1, f"devices      {devices}")
        if self.stages:
            lines.insert(1, f"stages       {', '.join(map(str, self.stages))}")
        if self.baseline:
            lines.insert(-2, f"default      {self.baseline}")
        if warning := noise_warning(self.noise_floor, self.load):
            lines.insert(-1, f"warning      {warning}")
        return lines


def _by_device(outcomes: Mapping[int, Outcome]) -> dict[str, int]:
    return dict(Counter(o.device for o in outcomes.values() if o.stage != "compile" and o.device))


def expectation_comment(
    standing: FinalistResult, finals: Finals, chips: Sequence[str], iree_flags: Sequence[str]
) -> str:
    """The comment at the top of a spec: expected speedup, device, noise floor, the user's flags."""
    flags = f", compiled with {flags_text(iree_flags)}" if iree_flags else ""
    return (
        f"Expected speedup: {standing.speedup:.2f}x on {', '.join(chips)} "
        f"(noise floor {finals.noise_floor:.1%}, default {finals.baseline_us:.0f} us){flags}."
    )
