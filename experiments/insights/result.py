"""What recordings say about the compiler's choices."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...search import PIPELINE
from ..readable import Readable, count_of

MORE, LESS = "more", "less"


@dataclass(frozen=True)
class Insight:
    """One thing that many winners do otherwise than the compiler.

    Attributes:
        quantity: what about; `pipeline` for another codegen pipeline.
        direction: whether winners have `more` or `less` of it.
        dispatches: of how many the winner's value is at least twice, or at most half, the
            default's.
        opposite: of how many it is the other way round.
        of: the dispatches that were compared.
        ratio: the winner's value over the default's, in the median of these dispatches.
        loss: how many times the winner's time the best candidate takes that keeps to the default's
            value, as a geometric mean over them; None where none was measured.
        loss_ci: its 95 % interval, from resampling the dispatches.
        examples: the dispatches where keeping to the default's value costs most.
    """

    quantity: str
    words: str
    direction: str
    dispatches: int
    opposite: int
    of: int
    ratio: float | None
    loss: float | None
    loss_ci: tuple[float, float] | None
    examples: tuple[str, ...]

    def sentence(self) -> str:
        """For people."""
        if self.quantity == PIPELINE:
            said = f"the winner is of another pipeline ({self.words})"
        else:
            word = "at least twice" if self.direction == MORE else "at most half"
            said = f"the winner has {word} the default's {self.words}"
            some = "it has none" if self.ratio is None else f"{self.ratio:.3g} times in the median"
            said += f" ({some})"
        text = f"in {self.dispatches} of {self.of}, {said}"
        if self.opposite:
            text += f", in {self.opposite} the other way round"
        if self.loss is None or self.loss_ci is None:
            return text
        low, high = self.loss_ci
        kept = f"; the best that keep to the default's are {self.loss:.2f}x slower"
        return f"{text}{kept} (95 %: {low:.2f} to {high:.2f}), as in {', '.join(self.examples)}"


@dataclass(frozen=True, repr=False)
class InsightsResult(Readable):
    """What winners have in common, by device.

    Attributes:
        devices: insights by device, the costliest of the compiler's choices first.
        gains: how many times as fast as the default winners are, as a geometric mean, by device.
        dispatches: how many were compared, by device.
        without_default: recordings in which no default of the compiler ran: older ones do not hold
            it, nor do other people's.
        repeated: recordings of which there is a larger one, of the same problem and device.
        plots: the folder with pictures; None without one, or where one could not be written.
    """

    devices: dict[str, tuple[Insight, ...]]
    gains: dict[str, float]
    dispatches: dict[str, int]
    without_default: int
    repeated: int = 0
    plots: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)

    def summary_lines(self) -> list[str]:
        """For people."""
        lines = []
        for device, found in self.devices.items():
            count = count_of(self.dispatches[device], "dispatch", "es")
            lines.append(
                f"{device}: {count}, winners {self.gains[device]:.2f}x as fast as the default"
            )
            lines += [f"  {one.sentence()}" for one in found]
            if not found:
                lines.append("  nothing that winners have in common")
        if self.without_default:
            left = count_of(self.without_default, "recording")
            lines.append(f"{left} in which no default of the compiler ran left out")
        if self.repeated:
            left = count_of(self.repeated, "recording")
            lines.append(f"{left} left out, since there are larger ones of the same problems")
        if self.plots is not None:
            lines.append(f"plots        {self.plots}")
        return lines
