"""Recordings as what orderings are learned from and replayed on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...benchmarks.measuring import KILLED
from ...core import InputError, Progress
from ...features import (
    Catalogue,
    detect_catalogue,
    extract,
    extract_knobs,
    generic_catalogue_of_frames,
)
from ...models import join_names
from ...search import PIPELINE, compiled_problem
from ..dataset import (
    DEFAULT,
    ORIGIN,
    Columns,
    ForeignKernel,
    Provenance,
    Recording,
    find_duplicate,
    may_be_table,
    read_columns,
    read_recordings,
    rows_with,
)
from .files import recording_files
from .problems import family_of, problem_name

# What a name may be made of that a table says.
_NO_NAME = re.compile(r"[^\w.+-]+")
# Fewer times are in order by chance, or as somebody wrote them: of so many, one file in 900.
LEAST_SORTED = 8
# The rank correlation of rows and times of what is sorted: by the mean of runs, say, or but for the
# repeats of a configuration, which are one row here.
SORTED = 0.95


@dataclass(frozen=True, eq=False)
class Case:
    """One recording with the features of its candidates.

    Attributes:
        name: the file's, which no other case of a corpus has.
        problem: what was computed; the same however it is written (see `problem_name`), with other
            elementwise work around the same operation, and on other devices.
        device: the chips, with ` + ` between several.
        features: a row per candidate.
        knobs: likewise, what candidates were made of; a pipeline is one where they have one.
        times: in microseconds; NaN where a candidate failed. On several devices, as if all had been
            measured on the middling one.
        seconds: what taking each candidate costs a tuning run, to compile and to measure; NaN where
            that is not known.
        baseline_us: of the compiler's default; NaN where that is not known.
        uniform: which candidates are of a uniform sample of the space; None if all are.
        default: the row of the compiler's default; None where it is not known to be among them.
    """

    name: str
    problem: str
    device: str
    features: pd.DataFrame
    knobs: pd.DataFrame
    times: NDArray[np.float64]
    seconds: NDArray[np.float64]
    recording: Recording
    baseline_us: float = np.nan
    uniform: NDArray[np.bool_] | None = None
    default: int | None = None

    @property
    def family(self) -> str:
        """The problem's family, such as `convolution`."""
        return family_of(self.recording.provenance.problem)

    @property
    def devices(self) -> list[str]:
        """The chips."""
        return self.device.split(" + ")


def read_cases(
    paths: Sequence[Path],
    columns: Path | None = None,
    progress: Progress = lambda done, total: None,
) -> list[Case]:
    """Reads recordings of any format, sorted by name, whatever the order of the arguments.

    A folder stands for the recordings that are in it, not for those in folders below. T4 results
    beside a Parquet file of the same name are what `record --format t4` made of it, and left out.
    So are candidates that were killed from outside, see `drop_killed`. A table is as many
    recordings as it has problems and devices.

    Args:
        columns: a file that says what columns of tables are.
        progress: is told how many of how many files are read.

    Raises:
        InputError: there is none, one cannot be used, or two hold the same measurements.
    """
    named = recording_files(paths, tables=columns is not None)
    said = None if columns is None else (read_columns(columns), columns)
    if said is not None and not any(f.is_file() and may_be_table(f) for f in named.values()):
        raise InputError(
            f"{columns} says what columns are, and none of {len(named)} recordings is a table",
            "leave it out, or give a table (CSV)",
        )
    recordings: dict[str, Recording] = {}
    places: list[str] = []
    for done, (name, file) in enumerate(named.items()):
        progress(done, len(named))
        for one, recording in _read(file, name, said):
            if one in recordings:
                raise InputError(f"two recordings have the name {one}", "give one of them")
            recordings[one] = recording
            places.append(str(file) if one == name else f"{file}: {one}")
    if copy := find_duplicate(list(recordings.values())):
        first, second = (places[place] for place in copy)
        raise InputError(f"{first} and {second} hold the same measurements", "give one of them")
    catalogues = _catalogues(recordings.values())
    return [
        Case(
            name=name,
            problem=problem_name(recording.provenance.problem),
            device=recording.provenance.device,
            features=_features(recording, catalogues),
            knobs=_knobs(recording),
            times=_times(recording.frame),
            seconds=(recording.frame["compile_s"] + recording.measure_s).to_numpy(np.float64),
            recording=recording,
            baseline_us=_baseline_us(recording.frame),
            uniform=None if recording.uniform.all() else recording.uniform.to_numpy(),
            default=_default_row(recording.frame),
        )
        for name, recording in recordings.items()
    ]


def training_frame(cases: Sequence[Case]) -> tuple[pd.DataFrame, NDArray[np.str_]]:
    """What a ranker is fitted on: all candidates with their `time_us`, and their cases' names.

    Raises:
        InputError: there is nothing, or candidates have different features.
    """
    if not cases:
        raise InputError("there is no recording to learn from")
    first = cases[0]
    for case in cases:
        if set(case.features.columns) != set(first.features.columns):
            raise InputError(
                f"{first.name} and {case.name} cannot be learned from together: "
                f"{_difference(first, case)}",
                "train on recordings of one kind of target, or of one kernel",
            )
    frame = pd.concat([c.features.assign(time_us=c.times) for c in cases], ignore_index=True)
    return frame, np.repeat([c.name for c in cases], [len(c.features) for c in cases])


def drop_killed(recording: Recording) -> Recording:
    """The recording without candidates whose process was killed from outside.

    Of those whose process was killed from outside nothing is known: nothing is learned from them,
    and no order is judged by where it put them.
    """
    kept = recording.frame["kind"] != KILLED
    return replace(recording, frame=recording.frame[kept].reset_index(drop=True))


def _shuffled_if_sorted(recording: Recording) -> Recording:
    """Somebody else's recording in another order where its rows are in that of their times.

    Candidates of one rank keep the order of the rows, so that an order that ranks nothing would
    find the fastest first.
    """
    times = recording.frame["time_us"].dropna()
    rows = pd.Series(np.arange(len(times)), times.index)
    # Where many times are equal, the ranks of what is sorted go less far with the rows.
    by_time = times.is_monotonic_increasing or times.is_monotonic_decreasing
    by_time = by_time or abs(times.rank().corr(rows)) > SORTED
    ours = recording.provenance.target is not None
    if ours or len(times) < LEAST_SORTED or not by_time:
        return recording
    frame = recording.frame.sample(frac=1, random_state=0, ignore_index=True)
    return replace(recording, frame=frame)


def _read(
    path: Path, name: str, said: tuple[Columns, Path] | None
) -> Iterator[tuple[str, Recording]]:
    """The recordings in a file, with their names."""
    found = [
        _shuffled_if_sorted(drop_killed(recording)) for recording in read_recordings(path, said)
    ]
    labels = [_label(recording.provenance) for recording in found]
    varied = [len(set(part)) > 1 for part in zip(*labels, strict=True)]
    seen: Counter[tuple[str, ...]] = Counter()
    for recording, label in zip(found, labels, strict=True):
        parts = [part for part, varies in zip(label, varied, strict=True) if varies]
        # Names are shortened, and have fewer signs than what they are made of.
        seen[label] += 1
        parts += [str(seen[label])] * (seen[label] > 1)
        if recording.frame["time_us"].isna().all():
            raise InputError(
                f"{': '.join([str(path), *parts])} has no successful candidate among "
                f"{len(recording.frame)}",
                "leave it out, or record more candidates",
            )
        yield "_".join([name, *parts]), recording


def _label(about: Provenance) -> tuple[str, str]:
    """Problem and device as parts of a name."""
    problem, device = about.problem.label, " + ".join(about.devices)
    return _NO_NAME.sub("-", problem)[:60], _NO_NAME.sub("-", device)[:60]


def _baseline_us(frame: pd.DataFrame) -> float:
    known = frame["baseline_us"].dropna()
    return float(known.median()) if len(known) else np.nan


def _default_row(frame: pd.DataFrame) -> int | None:
    return next(map(int, rows_with(DEFAULT, frame[ORIGIN])), None)


def _times(frame: pd.DataFrame) -> NDArray[np.float64]:
    times = frame["relative"] * frame["baseline_us"].median()
    return times.fillna(frame["time_us"]).to_numpy(np.float64)


def _features(
    recording: Recording, catalogues: Mapping[frozenset[Hashable], Catalogue]
) -> pd.DataFrame:
    problem, target = recording.provenance.problem, recording.provenance.target
    if target is None or isinstance(problem, ForeignKernel):
        knobs = _knobs(recording)
        return extract_knobs(catalogues[frozenset(knobs)], knobs)
    known = recording.candidates
    # One pipeline at a time: it is seen from the columns which knobs a space has.
    parts = [
        extract(
            compiled_problem(problem, str(pipeline)),
            target,
            rows.dropna(axis="columns").astype(np.int64),
        )
        for pipeline, rows in known.groupby(recording.frame[PIPELINE])
    ]
    return pd.concat(parts).sort_index()


def _catalogues(recordings: Iterable[Recording]) -> dict[frozenset[Hashable], Catalogue]:
    """By knobs: the features of other people's kernels, with the words of all recordings."""
    frames: dict[frozenset[Hashable], list[pd.DataFrame]] = {}
    for recording in recordings:
        if recording.provenance.target is None:
            knobs = _knobs(recording)
            frames.setdefault(frozenset(knobs), []).append(knobs)
    return {names: generic_catalogue_of_frames(found) for names, found in frames.items()}


def _knobs(recording: Recording) -> pd.DataFrame:
    """What candidates are made of; a pipeline is a knob where candidates have one."""
    pipelines = [PIPELINE] if (recording.frame[PIPELINE] != "").any() else []
    return recording.frame[[*recording.knobs, *pipelines]]


def _difference(first: Case, second: Case) -> str:
    catalogues = [detect_catalogue(c.features.columns) for c in (first, second)]
    kinds = [c.subject for c in catalogues if c is not None]
    if len(set(kinds)) == 2:
        return f"one is for {kinds[0]}, the other for {kinds[1]}"
    apart = sorted(set(first.features.columns) ^ set(second.features.columns))
    return f"only one has {join_names(apart, 4)}"
