"""What fuzzing came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..readable import Readable, count_of


@dataclass(frozen=True)
class TriedDispatch:
    """A dispatch on a target.

    Attributes:
        tried: candidates.
        failed: of them, in whatever way.
        distinct: ways in which they failed.
        ran: whether what compiled was run and verified.
        note: why it was not gone on with; empty if it was.
    """

    dispatch: str
    target: str
    tried: int
    failed: int
    distinct: int
    ran: bool
    note: str = ""


@dataclass(frozen=True)
class FoundFailure:
    """A way to fail.

    Attributes:
        folder: of its reproducer.
        seen: how many candidates of each dispatch failed so.
        before, after: the reproducer's size, unreduced and reduced, in words; the same where it
            could not be reduced.
        left: the share of the work (ops times elements) that is left; None where it was not
            reduced.
    """

    folder: Path
    target: str
    kind: str
    stage: str
    reason: str
    seen: Mapping[str, int]
    before: str
    after: str
    left: float | None
    steps: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class FuzzResult(Readable):
    """What failed, and where its reproducers are.

    Attributes:
        out: the folder with the index.
    """

    out: Path
    dispatches: tuple[TriedDispatch, ...]
    failures: tuple[FoundFailure, ...]
    seconds: float

    @property
    def tried(self) -> int:
        return sum(one.tried for one in self.dispatches)

    def summary_lines(self) -> list[str]:
        """For people; ends with where to look."""
        reduced = sum(one.left is not None for one in self.failures)
        return [
            f"{count_of(self.tried, 'candidate')} in {self.seconds / 60:.1f} minutes, "
            f"{count_of(len(self.failures), 'distinct failure')}, {reduced} of them reduced",
            *(f"{one.folder.name}: {one.reason}" for one in self.failures),
            f"reproducers  {self.out}",
        ]

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self) | {"tried": self.tried}
