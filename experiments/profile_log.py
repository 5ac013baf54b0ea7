"""What a profile has measured so far: a line for each row, on disk before the next is measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from ..benchmarks.lines import LineFile, not_ours
from ..benchmarks.outcome import CRASHED, KILLED, OK, TIMEOUT
from ..benchmarks.peak import Peak
from ..search import InputError

FORMAT = 1
# What a row may come to besides a run's outcomes: the dispatch is not read, a library lacks it.
REFUSED, UNSUPPORTED = "refused", "unsupported"
DEFAULT, IREE = "default", "iree"
PASSED, FAILED = "passed", "failed"
# Why nothing was compared.
UNCHECKED, UNKNOWN, NOT_RUN = "not asked for", "no reference", "not run"

Key = tuple[str, str, str]

# What a field may hold, by its annotation.
_TYPES: Mapping[Any, Any] = {
    "str": str,
    "float | None": (int, float, type(None)),
    "int": int,
    "Mapping[str, int]": dict,
}


@dataclass(frozen=True)
class Row:
    """One dispatch in one configuration, or in another library.

    Attributes:
        provider: `iree`, or a library.
        digest: of the files that it was made of; what has another one is measured again.
        verification: whether the result was right.
        outcome: `ok`, `unsupported`, or how it failed; see `frontrunner.benchmarks.outcome`.
        time_us: of a run that nothing disturbed; `median_us` is the median of all.
        noise: half of the range of the middle half of the runs, as a share of their median.
        roofline_share: of what the machine's measured arithmetic and bandwidth allow for it.
        peak_share: of the machine's measured arithmetic, which is in f32.
        sizes, knobs: columns of their own in tables.
    """

    operation: str
    kind: str
    configuration: str
    provider: str
    digest: str
    verification: str
    outcome: str
    reason: str = ""
    time_us: float | None = None
    median_us: float | None = None
    noise: float | None = None
    runs: int = 0
    gflops: float | None = None
    roofline_share: float | None = None
    peak_share: float | None = None
    compile_s: float | None = None
    types: str = ""
    fused: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    knobs: Mapping[str, int] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        return self.operation, self.configuration, self.provider

    @property
    def final(self) -> bool:
        """Whether it is not worth trying again: machines have bad moments."""
        return self.outcome not in (TIMEOUT, CRASHED, KILLED, REFUSED)

    @property
    def failed(self) -> bool:
        """Whether something is wrong with it; a library may lack an operation."""
        return self.outcome not in (OK, UNSUPPORTED)


class ProfileLog:
    """Rows in the file that they were read from and are appended to.

    Args:
        made_how: what all rows have in common; another profile's are refused.
        anew: whether the first new row replaces those that are there.

    Attributes:
        begun: whether there is something to go on with.

    Raises:
        InputError: it is another profile's or something else, or another process has it open.
    """

    def __init__(self, path: Path, made_how: Mapping[str, Any], *, anew: bool = False) -> None:
        self._lines = LineFile(path, "make room, then run the same command again", anew=anew)
        self._header = {"format": FORMAT, **made_how}
        self.rows: dict[Key, Row] = {}
        self.peak: Peak | None = None
        try:
            first = self._lines.records[0] if self._lines.records else self._header
            cut_short = json.dumps(self._header).encode().startswith(self._lines.torn)
            if first.get("format") != FORMAT or not (self._lines.records or cut_short):
                raise InputError(f"{path} holds something else", "name another --output")
            self.begun = bool(self._lines.records) and not anew
            if self.begun:
                self._read(path)
        except BaseException:
            self.close()
            raise

    def append(self, row: Row) -> None:
        self._write({"row": asdict(row)})
        self.rows[row.key] = row

    def calibrate(self, peak: Peak) -> None:
        self._write({"peak": asdict(peak)})
        self.peak = peak

    def close(self) -> None:
        if not self._lines.records and not self._lines.torn:
            self._lines.path.unlink(missing_ok=True)
        self._lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, record: Mapping[str, Any]) -> None:
        """With the first record comes what all have in common: nothing is bound before."""
        if not self.begun:
            self._lines.append(self._header)
            self.begun = True
        self._lines.append(record)

    def _read(self, path: Path) -> None:
        header, *records = self._lines.records
        for name, value in self._header.items():
            if header.get(name) != value:
                raise InputError(
                    f"{path} holds a profile with another {name}: {header.get(name)}, not {value}",
                    "name another --output, or start anew with --force",
                )
        for number, record in enumerate(records, 2):
            try:
                if "peak" in record:
                    self.peak = Peak(**{k: float(v) for k, v in record["peak"].items()})
                else:
                    row = _row(record["row"])
                    self.rows[row.key] = row
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise not_ours(path, number, error) from error


def _row(data: Mapping[str, Any]) -> Row:
    row = Row(**data)
    for of in fields(Row):
        value = getattr(row, of.name)
        counts = value.values() if isinstance(value, dict) else ()
        if not (isinstance(value, _TYPES[of.type]) and all(isinstance(n, int) for n in counts)):
            raise TypeError(f"{of.name} is {value!r}")
    return row
