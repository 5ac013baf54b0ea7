"""What a profile has measured so far: a line for each row, on disk before the next is measured."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from ...benchmarks.libraries import Peak
from ...benchmarks.measuring import CRASHED, KILLED, OK, OUTCOME_KINDS, TIMEOUT
from ...core import (
    KEEP_VALID_HINT,
    InputError,
    JsonLinesFile,
    decode,
    describe_error,
    read_whole_lines,
)

FORMAT = 1
MAKE_ROOM = "make room, then run the same command again"
# What a row may come to besides a run's outcomes: the dispatch is not read, a library lacks it.
REFUSED, UNSUPPORTED = "refused", "unsupported"
DEFAULT, IREE = "default", "iree"
PASSED, FAILED = "passed", "failed"
# Why nothing was compared.
UNCHECKED, UNKNOWN, NOT_RUN = "not asked for", "no reference", "not run"
# What older logs do not say of how they were made.
_NEWER = ("place", "device_cores")

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Row:
    """One dispatch in one configuration, or in another library.

    Attributes:
        provider: `iree`, or a library.
        digest: of the files that it was made of; what has another one is measured again.
        verification: whether the result was right.
        outcome: `ok`, `unsupported`, or how it failed; see `benchmarks.measuring.Outcome`.
        time_us: of a run that nothing disturbed; `median_us` is the median of all. None also where
            nothing was to be timed.
        noise: half of the range of the middle half of the runs, as a share of their median.
        roofline_share: of what the machine's measured arithmetic and bandwidth allow for it.
        peak_share: of the machine's measured arithmetic, which is in f32.
        measured_on: which device of a cluster; empty for this machine's own, and in older logs.
        executable: a digest of what it was compiled to; empty if it was not, and in older logs.
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
    measured_on: str = ""
    executable: str = ""
    types: str = ""
    fused: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    knobs: Mapping[str, int] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        return self.operation, self.configuration, self.provider

    def check(self) -> None:
        """Checks that times go with the outcome, and counts are none below 0.

        Raises:
            ValueError: naming what is wrong.
        """
        if self.outcome not in (*OUTCOME_KINDS, REFUSED, UNSUPPORTED):
            raise ValueError(f"there is no outcome {self.outcome!r}")
        # Where nothing is timed, there are no runs.
        if self.outcome == OK and (self.runs or self.time_us) and not (self.time_us or 0) > 0:
            raise ValueError(f"{self.operation} took {self.time_us!r} us")
        shares = (
            self.median_us,
            self.noise,
            self.gflops,
            self.roofline_share,
            self.peak_share,
            self.compile_s,
        )
        if self.runs < 0 or any(share is not None and share < 0 for share in shares):
            raise ValueError(f"a figure of {self.operation} is less than 0")

    @property
    def is_final(self) -> bool:
        """Whether a resumed profile keeps the row; it repeats timeouts, crashes and refusals."""
        return self.outcome not in (TIMEOUT, CRASHED, KILLED, REFUSED)

    @property
    def failed(self) -> bool:
        """Whether something is wrong with it; a library may lack an operation."""
        return self.outcome not in (OK, UNSUPPORTED)


@dataclass(frozen=True)
class LoggedProfile:
    """What a log says.

    Attributes:
        made_how: what all rows have in common.
        rows: by their keys, the newest of each.
        peak: what the machine reached; None of GPUs.
    """

    made_how: Mapping[str, Any]
    rows: Mapping[Key, Row]
    peak: Peak | None


def read_profile_log(path: Path) -> LoggedProfile:
    """What a log says, which may be written to meanwhile.

    A last line that is not whole yet is passed over.

    Raises:
        InputError: it is not the log of a profile.
    """
    records, _ = read_whole_lines(path, remedy="give the .jsonl file beside a profile's table")
    rows: dict[Key, Row] = {}
    peak = None
    if not records:
        return LoggedProfile({}, {}, None)  # it begins with the first row
    try:
        header, *others = records
        if header.pop("format") != FORMAT:
            raise ValueError("its format is another one")
        for record in others:
            if "peak" in record:
                peak = decode(Peak, record["peak"])
            else:
                row = parse_row(record)
                rows[row.key] = row
    except (ValueError, KeyError) as error:
        raise InputError(
            f"{path} is not the log of a profile: {describe_error(error)}",
            "give what `frontrunner profile` wrote",
        ) from error
    return LoggedProfile(header, rows, peak)


def parse_row(record: Mapping[str, Any]) -> Row:
    """The row that a line holds.

    Raises:
        ValueError, KeyError: it holds something else.
    """
    row = decode(Row, record["row"])
    row.check()
    return row


class ProfileLog:
    """Rows in the file that they were read from and are appended to.

    Args:
        made_how: what all rows have in common; another profile's are refused.
        overwrite: whether the first new row replaces those that are there.
        keep_valid: whether lines that were not written by a profile are left out, not refused.

    Attributes:
        made_how: as given.
        has_records: whether there is something to go on with.
        hint: what to do where there is no room for a row, or for a table of the rows.
        left_out: what became of lines that were left out, for people; empty if none was.

    Raises:
        InputError: it is another profile's or something else, or another process has it open.
    """

    def __init__(
        self,
        path: Path,
        made_how: Mapping[str, Any],
        *,
        overwrite: bool = False,
        keep_valid: bool = False,
    ) -> None:
        self._path, self._anew = path, overwrite
        self._writing = threading.Lock()  # devices measure at the same time
        self.made_how = made_how
        self._header = {"format": FORMAT, **made_how}
        self.rows: dict[Key, Row] = {}
        self.peak: Peak | None = None
        self.has_records = False
        # With it once more, the first new row would replace what this session measured.
        self.hint = f"{MAKE_ROOM}, without --force" if overwrite else MAKE_ROOM
        self._lines = JsonLinesFile(
            path,
            self.hint,
            overwrite=overwrite,
            check=self._take,
            keep_valid=keep_valid,
            edited_hint=KEEP_VALID_HINT,
        )
        self.left_out = self._lines.skipped_message
        cut_short = json.dumps(self._header).encode().startswith(self._lines.partial_line)
        if not (self._lines.records or cut_short):
            self.close()
            raise self._something_else()

    def append(self, row: Row) -> None:
        self._write({"row": asdict(row)})
        self.rows[row.key] = row

    def calibrate(self, peak: Peak) -> None:
        self._write({"peak": asdict(peak)})
        self.peak = peak

    def close(self) -> None:
        if not self._lines.records and not self._lines.partial_line:
            self._lines.path.unlink(missing_ok=True)
        self._lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, record: Mapping[str, Any]) -> None:
        """With the first record comes what all have in common: nothing is bound before."""
        with self._writing:
            if not self.has_records:
                self._lines.append(self._header)
                self.has_records = True
            self._lines.append(record)

    def _take(self, record: dict[str, Any]) -> None:
        """Takes a line in.

        Raises:
            ValueError, KeyError: it is not what was written there.
            InputError: it is the first, and another profile's.
        """
        if not self.has_records:
            self._check_header(record)
            self.has_records = not self._anew
        elif "peak" in record:
            self.peak = decode(Peak, record["peak"])
        else:
            row = parse_row(record)
            self.rows[row.key] = row

    def _check_header(self, header: Mapping[str, Any]) -> None:
        if header.get("format") != FORMAT:
            raise self._something_else()
        for name, value in self._header.items():
            older = name in _NEWER and name not in header
            if header.get(name) != value and not older and not self._anew:
                raise InputError(
                    f"{self._path} holds a profile with another {name}: "
                    f"{str(header.get(name))[:200]}, not {value}",
                    "name another --out, or start anew with --force",
                )

    def _something_else(self) -> InputError:
        return InputError(f"{self._path} holds something else", "name another --out")
