"""Recordings: what is in the file comes back, and what is not one is refused."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from frontrunner.benchmarks.measuring.device import time_limit
from frontrunner.benchmarks.measuring.outcome import Outcome
from frontrunner.benchmarks.measuring.screening import SCREEN_SECONDS
from frontrunner.core import InputError
from frontrunner.experiments.dataset.provenance import ForeignKernel, Provenance, SampledFrom
from frontrunner.experiments.dataset.recording import Recording
from frontrunner.search import Dim, Operand, Problem, Target

PROBLEM = Problem(
    "contraction",
    "linalg.matmul",
    (Dim("m", 8, "m", True), Dim("n", 4, "n", True), Dim("k", 2, "k", False)),
    (
        Operand("lhs", "f32", (((0, 1),), ((2, 1),))),
        Operand("rhs", "f32", (((2, 1),), ((1, 1),))),
        Operand("out", "f32", (((0, 1),), ((1, 1),)), True),
    ),
)
PROVENANCE = Provenance(
    problem=PROBLEM,
    target=Target("llvm-cpu", "znver3", "host", 2, 32, 16, (1, 2, 3)),
    devices={"local-task": "local-task on a chip"},
    compiler="3.13.0",
    runtime="3.13.0",
    seed=3,
    noise_floor=None,
    created_by="frontrunner 0",
)
QUEUE = pd.DataFrame(
    {"tile_m": [8.0, 4.0, None, 2.0], "tile_x": [None, None, 5.0, None], "pipeline": list("aaba")}
)
OUTCOMES = {
    3: Outcome("ok", 10.0, 20.0, executable="e", same_as=0, device="local-task"),
    0: Outcome("ok", 30.0, 20.0, executable="e", device="local-task"),
    2: Outcome("compile_failed", reason="no", stage="compile"),
}


ORIGINS = "only uniform, default, top:RANKER, adaptive"
WORDS = "not words of uniform, default, top:RANKER, adaptive in this order"


def told(*way: str | int, **changes: Any) -> str:
    """The provenance as it is in the file, with something in it changed."""
    found = json.loads(PROVENANCE.to_json())
    place = found
    for step in way:
        place = place[step]
    place.update(changes)
    return json.dumps(found)


@pytest.fixture
def recording() -> Recording:
    return Recording.build(QUEUE, OUTCOMES, PROVENANCE)


def test_a_row_per_candidate_that_was_taken(recording: Recording) -> None:
    frame = recording.frame
    assert list(frame["index"]) == [0, 2, 3]
    assert list(frame["pipeline"]) == ["a", "b", "a"]
    assert recording.knobs == ["tile_m", "tile_x"]
    assert list(frame["tile_m"].fillna(-1)) == [8, -1, 2]
    assert list(frame["kind"]) == ["ok", "compile_failed", "ok"]
    # The last is the same executable as the first: what that took, it takes.
    assert list(frame["relative"].fillna(-1)) == [1.5, -1, 1.5]
    assert list(frame["measurements"]) == [1, 0, 1]
    assert list(frame["same_as"].fillna(-2)) == [-2, -2, 0]


def test_everything_comes_back(recording: Recording, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    recording.write(path)
    again = Recording.read(path)
    assert again.provenance == PROVENANCE
    pd.testing.assert_frame_equal(again.frame, recording.frame)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.parquet"]


def test_the_provenance_is_plain_json_in_the_file(recording: Recording, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    recording.write(path)
    stored = json.loads(pq.read_schema(path).metadata[b"frontrunner"])
    assert stored["format"] == 2
    assert stored["compiler"] == "3.13.0"
    assert set(asdict(PROVENANCE)) < set(stored)


def test_what_was_asked_for_comes_back_and_may_be_missing(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.parquet"
    chosen = SampledFrom("P", {"bank_padding": (0, 1)}, 100_000, 64, 200, {"cpu": "", "a": "1f"})
    drawn = replace(PROVENANCE, drawn=chosen)
    replace(recording, provenance=drawn).write(path)
    assert Recording.read(path).provenance == drawn
    older = json.loads(PROVENANCE.to_json())
    del older["drawn"]
    monkeypatch.setattr(Provenance, "to_json", lambda self: json.dumps(older))
    recording.write(path)
    assert Recording.read(path).provenance == PROVENANCE


def test_somebody_elses_kernel_comes_back(recording: Recording, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    kernel = replace(PROVENANCE, problem=ForeignKernel("gemm", (64, 32)), target=None, seed=None)
    replace(recording, provenance=kernel).write(path)
    assert Recording.read(path).provenance == kernel


def test_what_a_gpus_knobs_mean_is_no_knob(recording: Recording, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    replace(recording, frame=recording.frame.assign(**{"derived.tile_m": [1, 2, 3]})).write(path)
    again = Recording.read(path)
    assert again.knobs == recording.knobs
    assert again.derived.to_dict("list") == {"tile_m": [1, 2, 3]}
    assert recording.derived.columns.empty


def test_a_knob_with_the_name_of_a_column_is_refused() -> None:
    with pytest.raises(InputError, match="a knob is called 'stage'"):
        Recording.build(QUEUE.assign(stage=1), OUTCOMES, PROVENANCE)


def test_what_measuring_costs() -> None:
    outcomes = {
        0: Outcome("ok", 1e6, 20.0, executable="e", device="local-task"),
        1: Outcome("ok", 10.0, 20.0, executable="f", device="local-task"),
        2: Outcome("crashed", stage="run"),
        3: Outcome("crashed", stage="compile"),
    }
    recording = Recording.build(QUEUE, outcomes, PROVENANCE)
    # A second is too long for more than the least number of runs, 10 us are not.
    assert recording.measure_s.tolist() == pytest.approx([4, 0.08001, 0.08, 0])
    late = {0: Outcome("timeout", baseline_us=1e5, stage="run"), 1: Outcome("timeout", stage="run")}
    given_up = Recording.build(QUEUE, late, PROVENANCE).measure_s.tolist()
    assert given_up == [time_limit(SCREEN_SECONDS, 1e5), time_limit(SCREEN_SECONDS, 0)]
    assert given_up[1] > given_up[0] > 20
    told = replace(recording, frame=recording.frame.assign(measure_s=[1.0, 2.0, 3.0, 4.0]))
    assert told.measure_s.tolist() == [1, 2, 3, 4]
    assert told.knobs == recording.knobs


def test_how_candidates_came_in(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    origins = ["uniform,default", "top:forest", "top:cpu,adaptive", "uniform,top:cpu"]
    Recording.build(QUEUE.assign(origin=origins), OUTCOMES, PROVENANCE).write(path)
    again = Recording.read(path)
    assert list(again.frame["origin"]) == [origins[0], origins[2], origins[3]]
    assert again.uniform.tolist() == [True, False, True]
    assert again.knobs == ["tile_m", "tile_x"]


def test_the_first_format_held_a_uniform_sample(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.parquet"
    unmarked = replace(recording, frame=recording.frame.drop(columns="origin"))
    unmarked.write(path)
    with pytest.raises(InputError, match=r"r\.parquet has no origin$"):
        Recording.read(path)
    first = told(format=1)
    monkeypatch.setattr(Provenance, "to_json", lambda self: first)
    unmarked.write(path)
    again = Recording.read(path)
    assert again.uniform.tolist() == [True, True, True]
    assert again.provenance == PROVENANCE


def test_the_best_known_may_be_the_default(recording: Recording) -> None:
    assert recording.frame["relative"].min() == 1.5
    assert recording.best_known == 1
    faster = OUTCOMES | {1: Outcome("ok", 5.0, 20.0, executable="f", device="local-task")}
    assert Recording.build(QUEUE, faster, PROVENANCE).best_known == 0.25
    failed = {2: OUTCOMES[2]}
    assert Recording.build(QUEUE, failed, PROVENANCE).best_known == 1
    theirs = replace(PROVENANCE, problem=ForeignKernel("gemm"), target=None)
    assert replace(recording, provenance=theirs).best_known is None


def test_a_recording_of_nothing_is_one(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    Recording.build(QUEUE, {}, PROVENANCE).write(path)
    assert len(Recording.read(path).frame) == 0


def test_other_files_are_refused(recording: Recording, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    with pytest.raises(InputError, match="cannot read"):
        Recording.read(path)
    recording.write(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="is cut short or no Parquet file"):
        Recording.read(path)
    path.write_text("time_us\n12\n")
    with pytest.raises(InputError, match="is cut short or no Parquet file"):
        Recording.read(path)
    QUEUE.to_parquet(path)
    with pytest.raises(InputError, match="not a recording: it has no provenance"):
        Recording.read(path)
    Recording(recording.frame.drop(columns="kind"), PROVENANCE).write(path)
    with pytest.raises(InputError, match=r"r\.parquet has no kind$"):
        Recording.read(path)
    Recording(recording.frame.assign(time_us="slow"), PROVENANCE).write(path)
    with pytest.raises(InputError, match=r"a column of .* does not make sense: .*slow"):
        Recording.read(path)
    Recording(recording.frame.assign(measure_s="long"), PROVENANCE).write(path)
    with pytest.raises(InputError, match=r"a column of .* does not make sense: .*long"):
        Recording.read(path)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"time_us": [0.0, None, 1.0]}, "time_us of row 0, ok, is 0.0"),
        ({"time_us": [1.0, None, -1.0]}, "time_us of row 2, ok, is -1.0"),
        ({"time_us": [1.0, None, math.inf]}, "time_us of row 2, ok, is inf"),
        ({"time_us": [1.0, None, None]}, "time_us of row 2, ok, is nan"),
        ({"time_us": [1.0, 1.0, 1.0]}, "time_us of row 1, compile_failed, is 1.0"),
        ({"kind": ["ok", None, None]}, "time_us of row 2, <NA>, is 30.0"),
        ({"relative": [math.inf, None, 1.0]}, "relative of row 0, ok, is inf"),
        (
            {"relative": [1.5, None, 1.0]},
            "time_us of row 2 is 30, but relative * baseline_us is 20",
        ),
        ({"baseline_us": [20.0, -1.0, 20.0]}, "baseline_us of row 1, compile_failed, is -1.0"),
        ({"baseline_us": [math.inf, None, 20.0]}, "baseline_us of row 0, ok, is inf"),
        ({"pipeline": ["a", None, "b"]}, "pipeline of row 1 is missing"),
        ({"index": [0, 3, 3]}, "index 3 is in two rows"),
        ({"origin": ["uniform", None, "default"]}, f"an origin is <NA>, {WORDS}"),
        (
            {"origin": ["uniform", "default,uniform", ""]},
            f"an origin is 'default,uniform', {WORDS}",
        ),
        (
            {"origin": ["uniform", "default,default", ""]},
            f"an origin is 'default,default', {WORDS}",
        ),
        ({"origin": ["uniform", "top:b,top:a", ""]}, f"an origin is 'top:b,top:a', {WORDS}"),
        ({"origin": ["uniform", "", ""]}, f"there is no origin '', {ORIGINS}"),
        ({"origin": ["uniform", "top", ""]}, f"there is no origin 'top', {ORIGINS}"),
        ({"origin": ["uniform", "uniform:x", ""]}, f"there is no origin 'uniform:x', {ORIGINS}"),
        ({"tile_m": [8.0, None, 8.0]}, "row 2 is the same candidate as one before it"),
        ({"tile_m": [8.0, None, -4.0]}, "tile_m is -4.0, less than 0"),
        ({"vec_m": [1, 4, 0]}, "vec_m is 0, less than 1"),
        ({"derived.threads": [64, None, 64]}, "derived.threads is nan, no whole number"),
        ({"tile_m": [8.0, None, 1e30]}, "tile_m is 1e+30, no whole number"),
        ({"relative": [1.0, None, None]}, "relative of row 2, ok, is nan"),
        ({"baseline_us": [20.0, 20.0, None]}, "relative of row 2, ok, is 1.5"),
        ({"tile_m": ["8", "wide", None]}, "tile_m is wide, no whole number"),
        ({"tile_m": [8.0, None, 2.5]}, "tile_m is 2.5, no whole number"),
        ({"tile_m": [8.0, None, math.inf]}, "tile_m is inf, no whole number"),
    ],
)
def test_impossible_times_and_knobs_are_refused(
    changes: dict[str, Any], says: str, recording: Recording, tmp_path: Path
) -> None:
    path = tmp_path / "r.parquet"
    replace(recording, frame=recording.frame.assign(**changes)).write(path)
    with pytest.raises(InputError) as refused:
        Recording.read(path)
    assert str(refused.value) == f"a column of {path} does not make sense: {says}"


def test_switches_may_be_off(recording: Recording, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    replace(recording, frame=recording.frame.assign(peel=[0, 1, 0])).write(path)
    assert list(Recording.read(path).frame["peel"]) == [0, 1, 0]


def test_somebody_elses_knobs_may_be_words(recording: Recording, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    frame = recording.frame.assign(tile_m=["wide", None, "narrow"])
    Recording(frame, replace(PROVENANCE, problem=ForeignKernel("gemm"), target=None)).write(path)
    assert list(Recording.read(path).frame["tile_m"].dropna()) == ["wide", "narrow"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "Expecting"),
        ("[" * 100_000, "nested deeper"),
        ("7", "a value is of another type than was written"),
        ('{"format": 3}', "format 3, this frontrunner reads 1 and 2"),
        ('{"format": 1}', "problem"),
        (told(devices=["local-task"]), r"devices is \['local-task'\]"),
        (told(devices="local-task"), "devices is 'local-task'"),
        (told(devices=None), "devices is None"),
        (told(devices={"x": 5}), r"devices\['x'\] is 5"),
        (told(compiler=3), "compiler is 3"),
        (told(noise_floor=math.nan), "noise_floor is nan"),
        (told("target", cores=None), "target.cores is None, not a whole number"),
        (told("target", cores="many"), "target.cores is 'many'"),
        (told("target", cores=0), "cores is 0, not from 1"),
        (told("target", registers=True), "target.registers is True"),
        (told("target", cache_bytes="big"), r"target.cache_bytes is 'big'"),
        (told("target", cache_bytes=[1, 2]), r"target.cache_bytes is \[1, 2\], not 3 values"),
        (told("problem", kind="scan"), "kind is 'scan'"),
        (told("problem", dims=[]), "its dims are none"),
        (told("problem", operands=[]), "0 of its 0 operands are outputs"),
        (told("problem", "dims", 0, size="a"), r"problem.dims\[0\].size is 'a'"),
        (told("problem", "dims", 1, size=None), r"problem.dims\[1\].size is None"),
        (told("problem", "dims", 0, size=10**30), r"problem.dims\[0\].size is 10+, not at most"),
        (told("problem", "dims", 0, size=-1), "the size of m is -1"),
        (told("problem", "dims", 0, name="n"), "its dims are n, n, k"),
        (told("problem", "dims", 0, role="x"), "the role of m is 'x'"),
        (told("problem", "operands", 0, dtype="f8"), "the type of lhs is 'f8'"),
        (told("problem", "operands", 0, index=[[[3, 1]]]), "a loop of lhs is 3, not from 0 to 2"),
        (told("problem", "operands", 0, index=[[[1, 0]]]), "a stride of lhs is 0"),
        (told("problem", "operands", 2, index=[]), "out has no dims"),
        (told(drawn={"pipeline": 5, "extras": {}}), "drawn"),
        (told(drawn={"pipeline": None, "extras": {"x": ["a"]}}), "drawn"),
    ],
)
def test_a_provenance_of_something_else_is_refused(
    text: str, says: str, recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.parquet"
    monkeypatch.setattr(Provenance, "to_json", lambda self: text)
    replace(recording).write(path)
    with pytest.raises(InputError, match=f"does not make sense: .*{says}"):
        Recording.read(path)
