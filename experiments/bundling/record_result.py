"""What recording a dispatch came to."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..dataset import DEFAULT, ORIGIN, Recording, join_origins, split_origins
from ..evaluation import is_near_optimal
from ..readable import Readable


@dataclass(frozen=True, repr=False)
class RecordResult(Readable):
    """A recording that was made, or was there.

    Attributes:
        near: candidates within 5 % of the best known.
        best: the speed of the best known over that of the compiler's default; None if no candidate
            ran.
        new: whether it was made now.
        origins: how many candidates came in each way; one may have come in several ways.
        found_by: how the best known came in.
        uniform_gap: by how much longer the best of the uniform sample takes, as a share; None if
            none of it ran.
        t4: the same as T4 results, where that was asked for.
    """

    path: Path
    problem: str
    candidates: int
    ok: int
    near: int
    best: float | None
    noise_floor: float | None
    new: bool
    origins: dict[str, int]
    found_by: str
    uniform_gap: float | None
    t4: Path | None = None

    @classmethod
    def of(cls, path: Path, recording: Recording, *, new: bool) -> RecordResult:
        frame, best = recording.frame, recording.best_known or 1.0
        times = frame["relative"].dropna()
        uniform = times[recording.uniform].min() / best - 1
        words = split_origins(frame[ORIGIN])
        counts = words.value_counts()
        finders = set(words[times.index[times == best]])
        return cls(
            path=path,
            problem=recording.provenance.problem.label,
            candidates=len(frame),
            ok=len(times),
            near=int(is_near_optimal(times.to_numpy(), best).sum()),
            best=1 / best if len(times) else None,
            noise_floor=recording.provenance.noise_floor,
            new=new,
            origins={word: int(counts[word]) for word in join_origins(counts.index).split(",")},
            found_by=join_origins(finders or {DEFAULT}),
            uniform_gap=None if math.isnan(uniform) else float(uniform),
        )

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {k: v for k, v in asdict(self).items() if k != "t4" or v is not None}

    def summary_lines(self) -> list[str]:
        there = "" if self.new else "was there already, "
        best = "none ran"
        if self.best is not None:
            best = f"best {self.best:.2f}x ({self.found_by}), {self.near} near it"
        counts = ", ".join(f"{count} {origin}" for origin, count in self.origins.items())
        gap = ""
        if self.uniform_gap is not None:
            gap = f"; the best uniform one takes {self.uniform_gap:.1%} longer"
        return [
            f"{self.path}: {there}{self.ok} of {self.candidates} candidates ran, {best}",
            f"  {counts}{gap}",
        ]
