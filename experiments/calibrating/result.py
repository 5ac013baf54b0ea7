"""What calibrating came to."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..learning import TrainResult
from ..readable import Readable, count_of

# A ratio, and the limits of its interval.
Ratio = tuple[float, float, float]


@dataclass(frozen=True, repr=False)
class CalibrationResult(Readable):
    """A predictor of this machine, and how much better it orders than the one that ships.

    Attributes:
        predictor: its file.
        recordings: the folder of what it was trained on; calibrating again adds to it.
        dispatches: how many have recordings there, of this session and of earlier ones.
        candidates: how many they hold.
        minutes: that recording took in this session.
        tried: candidates until the first within 5 % of the best, as a geometric mean over the
            recordings, each left out of the training in turn; None with one problem only, and where
            the compiler's default is among the best of each.
        tried_as_shipped: the same, in the order that ships.
        tried_ratio: how many times the second the first of these is, recording by recording, with
            the limits of its 95 % interval; None with fewer than three problems, too.
        tried_of: among how many: those that a recording holds, in the median.
        failed: what could not be recorded, and why.
    """

    predictor: Path
    recordings: Path
    dispatches: int
    candidates: int
    minutes: float
    tried: float | None
    tried_as_shipped: float | None
    tried_ratio: Ratio | None
    tried_of: int
    failed: dict[str, str]
    trained: TrainResult

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self) | {"trained": self.trained.to_dict()}

    def summary_lines(self) -> list[str]:
        """For people; ends with what to do next."""
        lines = [
            f"recorded     {self.candidates:,} candidates of "
            f"{count_of(self.dispatches, 'dispatch', 'es')} in {self.recordings}, "
            f"{self.minutes:.1f} minutes now",
        ]
        if self.tried is not None and self.tried_as_shipped is not None:
            lines.append(
                f"candidates   {self.tried:.1f} to within 5 % of the best of {self.tried_of} "
                f"recorded, each left out in turn; {_share_of(self.tried_ratio)}"
                f"{self.tried_as_shipped:.1f} in the order that ships"
            )
        return [
            *lines,
            f"predictor    {self.predictor} ({self.trained.size_bytes / 1e3:.0f} kB)",
            f"use it       frontrunner tune IN.mlir --ranker {self.trained.as_ranker}",
        ]


def _share_of(ratio: Ratio | None) -> str:
    if ratio is None:
        return ""
    value, low, high = ratio
    return f"{value:.2f}x ({low:.2f} to {high:.2f}) of the "
