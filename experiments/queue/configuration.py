"""What people are shown of a candidate: its pipeline and knobs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Self

import pandas as pd

from ...core import NotTunableError
from ...search import PIPELINE, Dispatch, build_spaces, knob_value


@dataclass(frozen=True)
class Configuration:
    """A candidate's pipeline and knobs, in the order of its space."""

    pipeline: str
    knobs: dict[str, int]

    @classmethod
    def of_candidate(cls, queue: pd.DataFrame, index: int) -> Self:
        row = queue.iloc[index]
        knobs = row.drop(PIPELINE).dropna().items()
        return cls(str(row[PIPELINE]), {str(name): knob_value(value) for name, value in knobs})

    @classmethod
    def of_default(cls, dispatch: Dispatch) -> Self | None:
        """What the compiler chooses by itself; None if that is of no space, or not known."""
        with suppress(NotTunableError):  # by it, and maybe by a pipeline with a compiler of its own
            for space in build_spaces(dispatch):
                if space.default is not None:
                    return cls(space.pipeline, dict(space.default))
        return None

    def describe(self, default: Configuration | None) -> str:
        """The knobs in words; beside the default's, where that is of the same pipeline."""
        if default is None:
            return self._words(self.knobs)
        if default.pipeline != self.pipeline:
            return f"{self} (default: {default})"
        same = {name for name, value in self.knobs.items() if default.knobs.get(name) == value}
        changed = [
            f"{name} {default.knobs.get(name)} -> {value}"
            for name, value in self.knobs.items()
            if name not in same
        ]
        kept = self._words({name: v for name, v in self.knobs.items() if name in same})
        return ", ".join(changed) + (f"; as the default: {kept}" if kept else "")

    def __str__(self) -> str:
        return f"{self.pipeline}: {self._words(self.knobs)}"

    @staticmethod
    def _words(knobs: dict[str, int]) -> str:
        return ", ".join(f"{name} {value}" for name, value in knobs.items())
