"""How results of runs are kept: as JSON, checked when they are read."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from ...core import read_json
from ..readable import Readable


class StoredResult(Readable):
    """What came out of a run, as a dataclass that has a file of its own in the run's folder."""

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """A result that `to_json` wrote; None if there is none.

        Raises:
            InputError: its figures do not follow from each other, or it is something else.
        """
        if not os.path.lexists(path):
            return None
        remedy = "remove it, and resume the run"
        return read_json(path, lambda fields: cls.from_file(fields, path.parent), remedy)

    @classmethod
    def from_file(cls, fields: dict[str, Any], folder: Path) -> Self:
        """The result of what a file holds.

        Args:
            folder: the run's, which may have been moved since.

        Raises:
            ValueError, TypeError, KeyError: naming what is wrong.
        """
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, default=str) + "\n"
