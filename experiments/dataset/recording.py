"""All outcomes for one problem, with what they depend on: the unit of the dataset."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ...benchmarks.measuring import (
    BASELINE,
    CRASHED,
    MIN_RUNS,
    OK,
    SCREEN_SECONDS,
    TIMEOUT,
    Estimate,
    Outcome,
    Repeat,
    estimate_times,
    time_limit,
)
from ...core import InputError, parse_json, read_limited, refusing_damage, write_atomically
from ...search import DERIVED, PIPELINE
from ..parquet import read_table, to_frame
from ..readable import SHOWN_ROWS, Readable, lines_html
from .origins import ORIGIN, UNIFORM, check_origins
from .provenance import FIRST_FORMAT, Provenance
from .validity import check_knobs, check_rows

SOURCE = "give a file that `frontrunner bundle ingest` or `record` wrote"
_KEY = b"frontrunner"
# Columns that are not knobs, and how they are stored.
COLUMNS = {
    "index": "int64",
    PIPELINE: "string",
    ORIGIN: "string",
    "kind": "string",
    "time_us": "float64",
    "baseline_us": "float64",
    "relative": "float64",
    "reason": "string",
    "stage": "string",
    "device": "string",
    "executable": "string",
    "same_as": "Int64",
    "compile_s": "float64",
    "measurements": "int64",
    "spread": "float64",
}
# Only recordings of other people's kernels have it.
MEASURE_COLUMN = "measure_s"


@dataclass(frozen=True, repr=False)
class Recording(Readable):
    """Outcomes of one problem's candidates.

    Attributes:
        frame: a row per candidate in queue order: `index` in the queue, `pipeline`, `origin` (how
            it came in: `uniform`, `default`, `top:RANKER`, `adaptive`, or several of these), a
            column per knob (empty where a pipeline lacks it), on GPUs what knobs mean
            (`derived.*`), then the outcome: `kind`, `time_us`, `baseline_us`, `relative`,
            `reason`, `stage`, `device`, `executable`, `same_as`, `compile_s`, and what stands
            behind a time: how many `measurements`, and their `spread`. Of somebody else's kernel
            nothing is known of a baseline (NaN) nor of executables, but what measuring cost
            (`measure_s`).
    """

    frame: pd.DataFrame
    provenance: Provenance

    @classmethod
    def build(
        cls,
        queue: pd.DataFrame,
        outcomes: Mapping[int, Outcome],
        provenance: Provenance,
        repeats: Sequence[Repeat] = (),
    ) -> Self:
        """Puts candidates and what became of them side by side.

        A time is a share of the baseline's, as found by all measurements together, times the
        median baseline: free of the machine's drift.

        Args:
            queue: as of a run; with a column `origin`, unless all are a uniform sample.
            outcomes: by queue position.

        Raises:
            InputError: a knob has the name of a column.
        """
        taken = sorted(outcomes)
        first = ["index", PIPELINE, ORIGIN]
        if clash := [name for name in map(str, queue) if name in COLUMNS and name not in first]:
            raise InputError(
                f"a knob is called {clash[0]!r}, as a column of recordings is",
                "rename it in its space",
            )
        told = pd.DataFrame(
            _rows(outcomes, repeats), columns=[c for c in COLUMNS if c not in first]
        )
        candidates = queue.iloc[taken].reset_index(drop=True)
        if ORIGIN not in candidates:
            candidates = candidates.assign(**{ORIGIN: UNIFORM})
        knobs = [c for c in candidates.columns if c not in first]
        frame = pd.concat([candidates[[PIPELINE, ORIGIN, *knobs]], told], axis=1)
        frame.insert(0, "index", taken)
        return cls(frame.astype(COLUMNS), provenance)

    def summary_lines(self) -> list[str]:
        """What was measured where, and what came of it."""
        about = self.provenance
        times = self.frame.loc[self.frame["kind"] == OK, "time_us"]
        best = f", best {times.min():,.1f} us" if len(times) else ""
        return [
            f"{about.problem.label} on {', '.join(about.devices.values())}",
            f"{len(self.frame)} candidates, {len(times)} ran{best}",
        ]

    def _repr_html_(self) -> str:
        return lines_html(self.summary_lines()) + self.frame.to_html(max_rows=SHOWN_ROWS)

    @property
    def knobs(self) -> list[str]:
        """The frame's columns that hold a candidate's configuration."""
        told = {*COLUMNS, MEASURE_COLUMN}
        return [c for c in map(str, self.frame) if c not in told and not c.startswith(DERIVED)]

    @property
    def derived(self) -> pd.DataFrame:
        """What knobs mean, as features need it; no column where spaces do not say."""
        columns = [c for c in map(str, self.frame) if c.startswith(DERIVED)]
        return self.frame[columns].rename(columns=lambda c: c.removeprefix(DERIVED))

    @cached_property
    def has_several_pipelines(self) -> bool:
        return bool(self.frame[PIPELINE].nunique() > 1)

    @property
    def candidates(self) -> pd.DataFrame:
        """Knobs and what they mean: all that features are computed from."""
        # What users set is a knob, and as such known to features, too.
        derived = self.derived
        knobs = [name for name in self.knobs if name not in derived]
        return pd.concat([self.frame[knobs], derived], axis=1)

    @property
    def uniform(self) -> pd.Series:
        """Which rows are of the uniform sample: they alone are in a random order that is fair."""
        # It is the first of a row's origins.
        return self.frame[ORIGIN].str.startswith(UNIFORM).astype(bool)

    @property
    def best_known(self) -> float | None:
        """The shortest time as a share of the default's, which is known, too, and so 1 at most.

        None of somebody else's kernel, where no default is known.
        """
        if self.provenance.target is None:
            return None
        return float(np.fmin(1.0, self.frame["relative"].min()))

    @property
    def measure_s(self) -> pd.Series:
        """What measuring each candidate costs a tuning run; NaN where that is not known.

        Ours cost a run that is verified, and screening until there are enough runs; or what it
        takes to give up. That a candidate is the same as another does not count: which one comes
        first is up to the order.
        """
        if MEASURE_COLUMN in self.frame:
            return self.frame[MEASURE_COLUMN]
        run_s = self.frame["time_us"].fillna(0) / 1e6
        screening = run_s + np.maximum(SCREEN_SECONDS, MIN_RUNS * run_s)
        limits = self.frame["baseline_us"].fillna(0).map(partial(time_limit, SCREEN_SECONDS))
        screening = screening.mask(self.frame["kind"] == TIMEOUT, limits)
        return screening.where(self.frame["stage"] != "compile", 0.0)

    def write(self, path: Path) -> None:
        """Writes one Parquet file, whole or not at all.

        Raises:
            WorkError: it cannot be written.
        """
        table = pa.Table.from_pandas(self.frame, preserve_index=False)
        metadata = {**table.schema.metadata, _KEY: self.provenance.to_json().encode()}
        buffer = io.BytesIO()
        pq.write_table(table.replace_schema_metadata(metadata), buffer)
        write_atomically(path, buffer.getvalue())

    @classmethod
    def read(cls, path: Path) -> Self:
        """What `write` wrote.

        Raises:
            InputError: it cannot be read, is cut short, or no recording.
        """
        return cls.parse(read_limited(path, SOURCE), path)

    @classmethod
    def parse(cls, data: bytes, path: Path) -> Self:
        """The recording in a file's contents.

        Raises:
            InputError: it is cut short, too large, or no recording.
        """
        table = read_table(data, str(path), "copy or record it again")
        metadata: dict[bytes, Any] = table.schema.metadata or {}
        if _KEY not in metadata:
            raise InputError(f"{path} is not a recording: it has no provenance", SOURCE)
        with refusing_damage(f"the provenance of {path} does not make sense", "record it again"):
            provenance = Provenance.from_json(metadata[_KEY])
        first = parse_json(metadata[_KEY])["format"] == FIRST_FORMAT
        implied = {ORIGIN: UNIFORM} if first else {}
        if missing := [c for c in COLUMNS if c not in (*table.column_names, *implied)]:
            raise InputError(f"{path} has no {', '.join(missing)}", "record it again")
        with refusing_damage(f"a column of {path} does not make sense", "record it again"):
            frame = to_frame(table).assign(**implied)
            also = {MEASURE_COLUMN: "float64"} if MEASURE_COLUMN in frame else {}
            recording = cls(frame.astype(COLUMNS | also), provenance)
            check_rows(recording.frame)
            check_origins(recording.frame[ORIGIN])
            # Somebody else's knobs may be anything.
            if provenance.target is not None:
                check_knobs(recording.frame, recording.knobs)
        return recording


def _rows(outcomes: Mapping[int, Outcome], repeats: Sequence[Repeat]) -> Iterator[dict[str, Any]]:
    """What became of candidates, in queue order, from all their measurements."""
    measured = estimate_times(outcomes, repeats) | {BASELINE: Estimate(1.0, 0.0, 0, None)}
    usual = {
        device: float(np.median([o.baseline_us for o in outcomes.values()
                                 if o.device == device and o.baseline_us]))
        for device in {o.device for o in outcomes.values() if o.baseline_us}
    }  # fmt: skip
    for index, outcome in sorted(outcomes.items()):
        row = {**asdict(outcome), "relative": None, "measurements": 0, "spread": None}
        own = index if outcome.same_as is None else outcome.same_as
        if outcome.kind == OK and own in measured:
            found, baseline_us = measured[own], usual[outcome.device]
            row |= {"relative": found.relative, "time_us": found.relative * baseline_us}
            row |= {"baseline_us": baseline_us, "measurements": max(1, found.rounds)}
            row["spread"] = found.spread
        elif outcome.kind == OK:
            row |= {"kind": CRASHED, "time_us": None, "stage": "run"}
            row["reason"] = "failed when it was measured again"
        yield row
