"""What a profile has measured so far: a line for each row, on disk before the next is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from ..benchmarks.lines import LineFile, not_ours
from ..benchmarks.peak import Peak
from ..search import InputError

FORMAT = 1
DEFAULT, IREE = "default", "iree"
PASSED, FAILED, UNCHECKED, UNKNOWN = "passed", "failed", "not asked for", "no reference"

Key = tuple[str, str, str]


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
        peak_share: of the machine's measured arithmetic.
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

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def failed(self) -> bool:
        """Whether something is wrong with it; a library may lack an operation."""
        return self.outcome not in ("ok", "unsupported")


class ProfileLog:
    """Rows in the file that they were read from and are appended to.

    Args:
        made_how: what all rows have in common; another profile's are refused.

    Raises:
        InputError: it is another profile's, or another process has it open.
    """

    def __init__(self, path: Path, made_how: Mapping[str, Any]) -> None:
        self._lines = LineFile(path, "make room, then run the same command again")
        self.rows: dict[Key, Row] = {}
        self.peak: Peak | None = None
        try:
            if not self._lines.records:
                self._lines.append({"format": FORMAT, **made_how})
            self._read(path, made_how)
        except BaseException:
            self.close()
            raise

    def append(self, row: Row) -> None:
        self._lines.append({"row": row.to_dict()})
        self.rows[row.key] = row

    def calibrate(self, peak: Peak) -> None:
        self._lines.append({"peak": asdict(peak)})
        self.peak = peak

    def close(self) -> None:
        self._lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, path: Path, made_how: Mapping[str, Any]) -> None:
        header, *records = self._lines.records
        if header.get("format") != FORMAT:
            raise InputError(f"{path} holds something else", "name another --output")
        for name, value in made_how.items():
            if header.get(name) != value:
                raise InputError(
                    f"{path} holds a profile with another {name}: {header.get(name)}, not {value}",
                    "name another --output, or start anew with --force",
                )
        for number, record in enumerate(records, 2):
            try:
                if "peak" in record:
                    self.peak = Peak(**record["peak"])
                else:
                    row = Row(**record["row"])
                    self.rows[row.key] = row
            except (TypeError, KeyError) as error:
                raise not_ours(path, number, error) from error
