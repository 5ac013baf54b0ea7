"""All outcomes for one problem, with what they depend on: the unit of the dataset."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ..benchmarks.device import TIMING_QUANTILE
from ..benchmarks.measuring import SCREEN_SECONDS
from ..benchmarks.outcome import BASELINE, CRASHED, OK, Outcome
from ..benchmarks.rounds import NEAR, NEAR_ROUNDS, ROUNDS, Repeat, ratios
from ..search import InputError, Problem, Target
from .candidates import PIPELINE
from .run_folder import write_whole

FORMAT = 1
TIMING = (
    f"quantile {TIMING_QUANTILE:g} of the wall-clock times of single runs, repeated for "
    f"{SCREEN_SECONDS:g} s in a process that stays up; beside the baseline of the same device; "
    f"then {ROUNDS} interleaved rounds, and {NEAR_ROUNDS} more within {NEAR - 1:.0%} of the best"
)

_KEY = b"frontrunner"
# Columns that are not knobs, and how they are stored.
_COLUMNS = {
    "index": "int64",
    PIPELINE: "string",
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


@dataclass(frozen=True)
class Provenance:
    """What times depend on.

    Attributes:
        devices: URI to fingerprint.
        compiler, runtime: their versions.
        seed: of the inputs and of the queue.
        noise_floor: the smallest relative difference that means anything; None if unknown.
        created_by: the program and its version.
        timing: how times were taken.
    """

    problem: Problem
    target: Target
    devices: dict[str, str]
    compiler: str
    runtime: str
    seed: int
    noise_floor: float | None
    created_by: str
    timing: str = TIMING

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)})

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The inverse of `to_json`.

        Raises:
            ValueError, TypeError, KeyError: it is something else.
        """
        fields = json.loads(text)
        if (found := fields.pop("format")) != FORMAT:
            raise ValueError(f"format {found}, this frontrunner reads {FORMAT}")
        fields["problem"] = Problem.from_dict(fields["problem"])
        fields["target"] = Target.from_dict(fields["target"])
        return cls(**fields)


@dataclass(frozen=True)
class Recording:
    """Outcomes of one problem's candidates.

    Attributes:
        frame: a row per candidate in queue order: `index` in the queue, `pipeline`, a column per
            knob (empty where a pipeline lacks it), then the outcome: `kind`, `time_us`,
            `baseline_us`, `relative`, `reason`, `stage`, `device`, `executable`, `same_as`,
            `compile_s`, and what stands behind a time: how many `measurements`, and their `spread`.
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

        A time is the median of its ratios to the baselines beside it, times the median baseline:
        free of the machine's drift.

        Args:
            outcomes: by queue position.
        """
        taken = sorted(outcomes)
        told = pd.DataFrame(
            _rows(outcomes, repeats), columns=[c for c in _COLUMNS if c not in ("index", PIPELINE)]
        )
        candidates = queue.iloc[taken].reset_index(drop=True)
        knobs = [c for c in candidates.columns if c != PIPELINE]
        frame = pd.concat([candidates[[PIPELINE, *knobs]], told], axis=1)
        frame.insert(0, "index", taken)
        return cls(frame.astype(_COLUMNS), provenance)

    @property
    def knobs(self) -> list[str]:
        """The frame's columns that hold a candidate's configuration."""
        return [str(c) for c in self.frame.columns if c not in _COLUMNS]

    def write(self, path: Path) -> None:
        """Writes one Parquet file, whole or not at all.

        Raises:
            WorkError: it cannot be written.
        """
        table = pa.Table.from_pandas(self.frame, preserve_index=False)
        metadata = {**table.schema.metadata, _KEY: self.provenance.to_json().encode()}
        buffer = io.BytesIO()
        pq.write_table(table.replace_schema_metadata(metadata), buffer)
        write_whole(path, buffer.getvalue())

    @classmethod
    def read(cls, path: Path) -> Self:
        """What `write` wrote.

        Raises:
            InputError: it is cut short, or no recording.
        """
        try:
            data = path.read_bytes()
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        try:
            table = pq.read_table(io.BytesIO(data))
        except (pa.ArrowException, OSError) as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise InputError(
                f"{path} is cut short or no Parquet file: {first}", "copy or record it again"
            ) from error
        metadata: dict[bytes, Any] = table.schema.metadata or {}
        missing = [c for c in _COLUMNS if c not in table.column_names]
        if _KEY not in metadata or missing:
            raise InputError(
                f"{path} is not a recording: it has no "
                f"{'provenance' if _KEY not in metadata else ', '.join(missing)}",
                "give a file that `frontrunner bundle ingest` or `record` wrote",
            )
        try:
            provenance = Provenance.from_json(metadata[_KEY])
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"the provenance of {path} does not make sense: {error}", "record it again"
            ) from error
        return cls(table.to_pandas().astype(_COLUMNS), provenance)


def _rows(outcomes: Mapping[int, Outcome], repeats: Sequence[Repeat]) -> Iterator[dict[str, Any]]:
    """What became of candidates, in queue order, from all their measurements."""
    measured = ratios(outcomes, repeats)
    measured[BASELINE] = [1.0]
    usual = {
        device: float(np.median([o.baseline_us for o in outcomes.values()
                                 if o.device == device and o.baseline_us]))
        for device in {o.device for o in outcomes.values() if o.baseline_us}
    }  # fmt: skip
    for index, outcome in sorted(outcomes.items()):
        row = {**asdict(outcome), "relative": None, "measurements": 0, "spread": None}
        own = index if outcome.same_as is None else outcome.same_as
        if outcome.kind == OK and own in measured:
            found = np.array(measured[own])
            middle = float(np.median(found))
            baseline_us = usual[outcome.device]
            row |= {"relative": middle, "time_us": middle * baseline_us}
            row |= {"baseline_us": baseline_us, "measurements": len(found)}
            row["spread"] = float(np.quantile(found, 0.75) - np.quantile(found, 0.25)) / middle
        elif outcome.kind == OK:
            row |= {"kind": CRASHED, "time_us": None, "stage": "run"}
            row["reason"] = "failed when it was measured again"
        yield row
