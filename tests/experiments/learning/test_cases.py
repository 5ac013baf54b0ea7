"""Recordings as what orderings are learned from and replayed on."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from frontrunner.benchmarks.measuring.outcome import Outcome
from frontrunner.core import InputError
from frontrunner.experiments.dataset import duplicates
from frontrunner.experiments.dataset.recording import Provenance, Recording
from frontrunner.experiments.dataset.t4 import write_t4
from frontrunner.experiments.learning.cases import read_cases, training_frame
from frontrunner.experiments.queue.candidates import make_queue, with_derived
from frontrunner.experiments.studies.cpu_dataset import table
from frontrunner.features import extract
from frontrunner.features.cpu import CPU
from frontrunner.features.gpu import GPU
from frontrunner.models import create_ranker
from frontrunner.search import Dim, Dispatch, Operand, Problem, Target
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[2] / "data"
LHS = Operand("lhs", "f32", (((0, 1),), ((2, 1),)))
RHS = Operand("rhs", "f32", (((2, 1),), ((1, 1),)))
OUT = Operand("out", "f32", (((0, 1),), ((1, 1),)), True)
PROBLEM = Problem(
    "contraction",
    "linalg.matmul",
    (Dim("m", 8, "m", True), Dim("n", 16, "n", True), Dim("k", 32, "k", False)),
    (LHS, RHS, OUT),
)
TARGET = Target("llvm-cpu", "znver3", "host", 2, 32, 16, (32768, 1048576, 33554432))
KNOBS = {"dist_m": [8, 4, 2], "dist_n": [16, 8, 4], "vec_m": [4, 2, 1], "vec_n": [8, 8, 4],
         "vec_k": [1, 2, 4], "cache_m": [8, 4, 2], "cache_n": [16, 8, 4], "cache_k": [32, 16, 8],
         "peel": [0, 1, 0]}  # fmt: skip
OUTCOMES = {
    0: Outcome("ok", 30.0, 20.0, executable="a", compile_s=1.0, device="local-task"),
    1: Outcome("compile_failed", reason="no", stage="compile", compile_s=2.0),
    2: Outcome("ok", 10.0, 20.0, executable="b", compile_s=3.0, device="local-task"),
}


def slower(times: float) -> dict[int, Outcome]:
    """The same outcomes, measured again."""
    return {
        i: replace(o, time_us=o.time_us * times) if o.time_us else o for i, o in OUTCOMES.items()
    }


def provenance(problem: Problem = PROBLEM, device: str = "local-task on a chip") -> Provenance:
    devices = {device.partition(" on ")[0]: device}
    return Provenance(problem, TARGET, devices, "3", "3", 0, None, "frontrunner 0")


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., Path]:
    """Writes a recording; returns where it is."""

    def write(
        name: str, *given: Any, queue: pd.DataFrame | None = None, outcomes: Any = OUTCOMES
    ) -> Path:
        queue = pd.DataFrame(KNOBS | {"pipeline": "P"}) if queue is None else queue
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        Recording.build(queue, outcomes, provenance(*given)).write(path)
        return path

    return write


def kernel(path: Path, *configurations: dict[str, Any]) -> Path:
    """Writes T4 results whose times are 1, 2, ... ms."""
    results = [
        {
            "configuration": c,
            "times": {"compilation": 500, "runtimes": [time, time]},
            "invalidity": "correct",
            "correctness": 1,
            "measurements": [{"name": "time", "value": time}],
        }
        for time, c in enumerate(configurations, start=1)
    ]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"results": results}))
    return path


def test_a_case_is_what_was_recorded(record: Callable[..., Path]) -> None:
    (case,) = read_cases([record("a.parquet")])
    assert case.name == "a"
    assert case.device == f"a chip ({TARGET.arch})"
    np.testing.assert_array_equal(case.times, [30, np.nan, 10])
    assert case.seconds.tolist() == pytest.approx([1.08003, 2, 3.08001])
    assert case.features.equals(extract(PROBLEM, TARGET, pd.DataFrame(KNOBS)))
    assert case.recording.provenance == provenance()


def test_the_default_is_found_by_how_it_came_in(record: Callable[..., Path]) -> None:
    origins = ["uniform", "uniform,default", "top:cpu"]
    queue = pd.DataFrame(KNOBS | {"pipeline": "P", "origin": origins})
    cases = read_cases([record("a.parquet", queue=queue), record("b.parquet", outcomes=slower(2))])
    assert [case.default for case in cases] == [1, None]


def test_what_was_killed_is_in_no_case(record: Callable[..., Path], tmp_path: Path) -> None:
    """It did not fail: nobody learns from it, and no order is judged by it."""
    killed = Outcome("killed", 0, 20.0, "killed by SIGKILL, twice", "run", device="local-task")
    outcomes = {**OUTCOMES, 0: replace(killed, time_us=None)}
    path = record("a.parquet", outcomes=outcomes)
    write_t4(Recording.read(path), tmp_path / "b.t4.json")
    for file in (path, tmp_path / "b.t4.json"):
        (case,) = read_cases([file])
        np.testing.assert_array_equal(case.times, [np.nan, 10])
        assert len(case.features) == len(case.knobs) == len(case.seconds) == 2
        assert case.recording.frame["index"].tolist() == [1, 2] if file == path else [0, 1]
        frame, groups = training_frame([case])
        assert len(frame) == len(groups) == 2
    assert len(Recording.read(path).frame) == 3  # it is kept in the file
    row = table(tmp_path).splitlines()[-1]
    assert row.startswith("| `a` | 2 | 1 | 1 | 20 us |")


def test_features_of_each_pipeline_are_those_of_its_knobs(record: Callable[..., Path]) -> None:
    queue = pd.DataFrame(KNOBS | {"pipeline": ["P", "Q", "P"]})
    queue.loc[1, ["cache_m", "cache_n", "cache_k"]] = None
    (case,) = read_cases([record("a.parquet", queue=queue)])
    whole = pd.DataFrame(KNOBS)
    own = whole.loc[[1]].drop(columns=["cache_m", "cache_n", "cache_k"])
    assert case.features.loc[[0, 2]].equals(extract(PROBLEM, TARGET, whole).loc[[0, 2]])
    assert case.features.loc[[1]].equals(extract(PROBLEM, TARGET, own))
    assert set(case.knobs) == {*KNOBS, "pipeline"}
    assert case.knobs["pipeline"].tolist() == ["P", "Q", "P"]
    assert case.knobs["cache_m"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("name", "pipeline", "extras"),
    [
        ("conv_depthwise_2x56x56x128", None, {}),
        # What is set, and what attention has on NVIDIA, is a knob and a meaning.
        ("matmul_2048x1280x5120", "TileAndFuse", {"bank_padding": (0, 1)}),
        ("attention_20x4096x64", None, {}),
    ],
)
def test_gpu_features_are_those_of_what_knobs_mean(
    name: str, pipeline: str | None, extras: dict[str, tuple[int, ...]], tmp_path: Path
) -> None:
    dispatch: Dispatch = read_dispatch(DATA / "gpu" / f"{name}.mlir", target="sm_80")
    queue = make_queue(
        dispatch, create_ranker("shuffle"), pool=3, seed=0, pipeline=pipeline, extras=extras
    )
    queue = with_derived(dispatch, queue.head(3))
    told = replace(provenance(dispatch.problem, "cuda://0 on A100"), target=dispatch.target)
    Recording.build(queue, OUTCOMES, told).write(tmp_path / "a.parquet")
    (case,) = read_cases([tmp_path])
    assert list(case.features) == list(GPU.names)
    derived = queue.filter(like="derived.").rename(columns=lambda c: c.removeprefix("derived."))
    assert case.features.equals(extract(dispatch.problem, dispatch.target, derived))
    assert case.device == "A100"
    assert case.recording.candidates.columns.is_unique


def test_times_of_unlike_devices_are_made_comparable(tmp_path: Path) -> None:
    """Each is measured against its own default: 1.5 times that is the same anywhere."""
    queue = pd.DataFrame(KNOBS | {"pipeline": "P"})
    there = Outcome("ok", 60.0, 40.0, executable="c", compile_s=1.0, device="local-sync")
    told = replace(provenance(), devices={"local-task": "local-task on a", "local-sync": "x on b"})
    Recording.build(queue, OUTCOMES | {1: there}, told).write(tmp_path / "a.parquet")
    (case,) = read_cases([tmp_path])
    assert case.times.tolist() == pytest.approx([30, 30, 10])
    assert case.device == f"a ({TARGET.arch}) + b"


def test_the_same_problem_whatever_is_around_it(record: Callable[..., Path]) -> None:
    lhs = replace(LHS, index=(((2, 1),), ((0, 1),)))
    dims = (replace(PROBLEM.dims[0], size=9), *PROBLEM.dims[1:])
    problems = {
        "fused": replace(PROBLEM, op="linalg.generic", fused=("arith.addf",)),
        "plain": PROBLEM,
        "transposed": replace(PROBLEM, operands=(lhs, RHS, OUT)),
        "typed": replace(PROBLEM, operands=(replace(LHS, dtype="bf16"), RHS, OUT)),
        "sized": replace(PROBLEM, dims=dims),
    }
    files = [
        record(f"{name}.parquet", problem, outcomes=slower(1 + times))
        for times, (name, problem) in enumerate(problems.items())
    ]
    found = {case.name: case.problem for case in read_cases(files)}
    assert found["fused"] == found["plain"]
    assert len(set(found.values())) == len(problems) - 1
    assert all(name.startswith("matmul_") for name in found.values())


@pytest.mark.parametrize(
    ("fingerprint", "device"),
    [
        ("local-task on AMD EPYC", f"AMD EPYC ({TARGET.arch})"),
        ("hip://1 on MI300X (GPU-3)", "MI300X (GPU-3)"),
        ("cuda on A100", "A100"),
    ],
)
def test_a_device_is_a_chip(record: Callable[..., Path], fingerprint: str, device: str) -> None:
    assert read_cases([record("a.parquet", PROBLEM, fingerprint)])[0].device == device


def test_the_order_of_arguments_does_not_matter(
    record: Callable[..., Path], tmp_path: Path
) -> None:
    files = [
        record(f"{name}.parquet", outcomes=slower(times)) for times, name in enumerate("cab", 1)
    ]
    (tmp_path / ".hidden.parquet").write_text("")
    (tmp_path / "notes.txt").write_text("")
    record("below/d.parquet")
    for given in (files, files[::-1], [tmp_path], [*files, tmp_path, files[0]]):
        assert [case.name for case in read_cases(given)] == ["a", "b", "c"]


def test_progress_of_reading_is_told(record: Callable[..., Path]) -> None:
    files = [record(f"{n}.parquet", outcomes=slower(times)) for times, n in enumerate("ab", 1)]
    told: list[tuple[int, int]] = []
    read_cases(files, progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 2), (1, 2)]


def test_names_are_told_apart_by_folders(tmp_path: Path) -> None:
    one, two = (
        kernel(tmp_path / f / "A4000_T4.json", {"x": x}) for f, x in (("conv", 1), ("gemm", 2))
    )
    assert [c.name for c in read_cases([two, one])] == ["conv_A4000", "gemm_A4000"]
    assert [c.name for c in read_cases([one])] == ["A4000"]


def test_what_was_written_for_others_counts_once(
    record: Callable[..., Path], tmp_path: Path
) -> None:
    path = record("a.parquet")
    written = path.with_suffix(".t4.json")
    write_t4(Recording.read(path), written)
    (case,) = read_cases([tmp_path])
    assert list(case.features) == list(CPU.names)
    (case,) = read_cases([written])
    np.testing.assert_allclose(case.times, [30, np.nan, 10])
    assert {"knob.dist_m", "is.pipeline.P"} < set(case.features)
    with pytest.raises(InputError, match=r"a\.parquet and .*a\.t4\.json have one name"):
        read_cases([path, written])


def test_what_is_written_for_others_is_of_the_same_chips(
    record: Callable[..., Path], tmp_path: Path
) -> None:
    """Else a ranker would be judged on a chip that it has learned from."""
    ours = Recording.read(record("a.parquet"))
    both = {"hip://0": "hip://0 on B", "hip://1": "hip://1 on A", "hip://2": "hip://2 on B"}
    write_t4(replace(ours, provenance=replace(ours.provenance, devices=both)), tmp_path / "b.json")
    (case,) = read_cases([tmp_path / "b.json"])
    assert case.devices == ["A", "B"]


def test_somebody_elses_kernel(tmp_path: Path) -> None:
    path = kernel(tmp_path / "gemm_A4000_T4.json", {"x": 4, "m": "a"}, {"x": 8, "m": "b"})
    (case,) = read_cases([path])
    assert (case.name, case.problem, case.device) == ("gemm_A4000", "gemm", "A4000")
    assert case.times.tolist() == [1000, 2000]
    assert case.seconds.tolist() == pytest.approx([0.502, 0.504])
    assert list(case.features) == ["knob.x", "log2.x", "pow2.x", "is.m.a", "is.m.b"]
    assert case.knobs.to_dict("list") == {"x": [4, 8], "m": ["a", "b"]}


def test_kernels_with_the_same_knobs_have_the_same_features(tmp_path: Path) -> None:
    kernel(tmp_path / "gemm_A_T4.json", {"x": 4, "m": "a"})
    kernel(tmp_path / "gemm_B_T4.json", {"m": "b", "x": 4})
    frame, groups = training_frame(read_cases([tmp_path]))
    assert frame["is.m.b"].tolist() == [0, 1]
    assert frame["time_us"].tolist() == [1000, 1000]
    assert list(groups) == ["gemm_A", "gemm_B"]


def test_all_cases_in_one_frame(record: Callable[..., Path]) -> None:
    cases = read_cases([record("a.parquet"), record("b.parquet", outcomes=slower(2))])
    frame, groups = training_frame(cases)
    assert list(frame) == [*CPU.names, "time_us"]
    assert list(groups) == ["a"] * 3 + ["b"] * 3
    assert frame["time_us"].fillna(-1).tolist() == [30, -1, 10, 60, -1, 20]
    ranker = create_ranker("forest", trees=2).fit(frame, groups)
    assert ranker.score(cases[0].features).shape == (3,)


def test_what_cannot_be_learned_from_together(record: Callable[..., Path], tmp_path: Path) -> None:
    (cpu,) = read_cases([record("cpu.parquet")])
    one, two = (
        read_cases([kernel(tmp_path / f"{name}.json", {name: 1, "z": 1})])[0] for name in "xy"
    )
    with pytest.raises(InputError, match=r"cpu and x .*for CPUs, the other for other people's"):
        training_frame([cpu, one])
    with pytest.raises(InputError, match=r"x and y .*only one has knob\.x, knob\.y, log2\.x"):
        training_frame([one, two])
    with pytest.raises(InputError, match="no recording to learn from"):
        training_frame([])


def test_the_same_measurements_are_given_once(record: Callable[..., Path], tmp_path: Path) -> None:
    """Under another name, they would be learned from and judged on at once."""
    path = record("a.parquet")
    copy = tmp_path / "b.parquet"
    shutil.copy(path, copy)
    assert refusal(copy, path) == f"{path} and {copy} hold the same measurements"
    other = tmp_path / "other.json"
    write_t4(Recording.read(path), other)
    assert refusal(path, other).endswith("hold the same measurements")
    again = record("again.parquet", outcomes=slower(1.00001))
    assert len(read_cases([path, again])) == 2


def test_the_same_measurements_in_another_form(tmp_path: Path) -> None:
    knobs: list[dict[str, Any]] = [{"x": x, "y": x % 3, "f": x > 4} for x in range(9)]
    one = kernel(tmp_path / "gemm_A4000_T4.json", *knobs)
    cache: dict[str, Any] = {
        "device_name": "NVIDIA RTX A4000",
        "kernel_name": "gemm_kernel",
        "tune_params_keys": ["f", "y", "x"],
        # Rounded otherwise, in another order, with a knob as another type.
        "cache": {
            str(i): {**k, "x": float(k["x"]), "time": i + 1 + 1e-7}
            for i, k in reversed(list(enumerate(knobs)))
        },
    }
    two = tmp_path / "cache.json"
    two.write_text(json.dumps(cache))
    assert refusal(one, two) == f"{two} and {one} hold the same measurements"
    # What was copied while it was made, too.
    cache["cache"] = {key: value for key, value in cache["cache"].items() if int(key) < 5}
    two.write_text(json.dumps(cache))
    assert "hold the same measurements" in refusal(one, two)
    cache["cache"]["0"]["time"] = 1.01
    two.write_text(json.dumps(cache))
    assert len(read_cases([one, two])) == 2


def test_only_what_may_be_a_copy_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand problems of one kernel are half a million pairs."""
    compared: list[set[int]] = []
    real = duplicates._same

    def same(one: pd.Series, other: pd.Series) -> bool:
        compared.append({len(one), len(other)})
        return real(one, other)

    monkeypatch.setattr(duplicates, "_same", same)
    for count in range(5, 9):  # each is the fastest at another `x`
        kernel(tmp_path / f"gemm_{count}_T4.json", *({"x": count - i} for i in range(count)))
    assert len(read_cases([tmp_path])) == 4
    assert compared == []
    kernel(tmp_path / "gemm_part_T4.json", *({"x": 8 - i} for i in range(6)))
    assert refusal(tmp_path).endswith("hold the same measurements")
    assert compared == [{6, 8}]


def test_small_parts_of_others_are_no_copies(tmp_path: Path) -> None:
    """Rounded times of a few candidates agree by chance."""
    kernel(tmp_path / "gemm_A_T4.json", *({"x": x} for x in range(40)))
    kernel(tmp_path / "gemm_B_T4.json", {"x": 0}, {"x": 1}, {"x": 2})
    assert len(read_cases([tmp_path])) == 2


def test_rows_that_are_nearly_in_that_order_are_not_either(tmp_path: Path) -> None:
    """Such as of medians, in a file that is sorted by means."""
    path = kernel(tmp_path / "gemm_A_T4.json", *({"x": x} for x in range(64)))
    results = json.loads(path.read_text())["results"]
    results[3], results[5] = results[5], results[3]
    path.write_text(json.dumps({"results": results}))
    (case,) = read_cases([path])
    assert abs(np.corrcoef(case.times, np.arange(64))[0, 1]) < 0.4


def test_sorted_rows_of_few_different_times_are_not_either(tmp_path: Path) -> None:
    path = kernel(tmp_path / "gemm_A_T4.json", *({"x": x} for x in range(64)))
    results = json.loads(path.read_text())["results"]
    for place, result in enumerate(results):
        result["measurements"] = results[0 if place < 48 else 63]["measurements"]
    path.write_text(json.dumps({"results": results}))
    (case,) = read_cases([path])
    assert len(set(case.times)) == 2
    assert (np.diff(case.times) < 0).any()


@pytest.mark.parametrize("rows", [12, 64])
@pytest.mark.parametrize("step", [1, -1])
def test_rows_are_not_in_the_order_of_their_times(step: int, rows: int, tmp_path: Path) -> None:
    """An order that tells no candidates from each other would find the fastest at once."""
    path = kernel(tmp_path / "gemm_A_T4.json", *({"x": x} for x in range(rows)))
    content = json.loads(path.read_text())
    path.write_text(json.dumps({"results": content["results"][::step]}))
    (case,) = read_cases([path])
    assert sorted(case.times) == pytest.approx([1000 * time for time in range(1, rows + 1)])
    assert case.knobs["x"].tolist() == pytest.approx(case.times / 1000 - 1)
    assert case.features["knob.x"].tolist() == case.knobs["x"].tolist()
    assert abs(np.corrcoef(case.times, np.arange(rows))[0, 1]) < 0.7


def test_names_in_no_encoding(tmp_path: Path) -> None:
    path = kernel(tmp_path / os.fsdecode(b"k\xff") / os.fsdecode(b"\xfe.json"), {"x": 1})
    (case,) = read_cases([path])
    assert (case.name, case.problem, case.device) == ("\\udcfe", "k\\udcff", "\\udcfe")


def refusal(*paths: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_cases(paths)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_refused(record: Callable[..., Path], tmp_path: Path) -> None:
    good = record("good.parquet")
    failed = {i: replace(OUTCOMES[1]) for i in range(3)}
    bad = record("bad.parquet", outcomes=failed)
    assert refusal(good, bad) == f"{bad} has no successful candidate among 3"
    assert refusal(record("none.parquet", outcomes={})).endswith("candidate among 0")
    bad.write_bytes(b"")
    assert refusal(tmp_path) == f"{bad} is empty"
    bad.write_bytes(good.read_bytes()[:-100])
    assert refusal(tmp_path).startswith(f"{bad} is cut short")
    pd.DataFrame({"a": [1]}).to_parquet(bad)
    assert refusal(bad) == f"{bad} is not a recording: it has no provenance"
    assert "No such file" in refusal(tmp_path / "gone.parquet")
    (tmp_path / "empty").mkdir()
    assert refusal(tmp_path / "empty").startswith(f"{tmp_path / 'empty'} holds no recordings")
    assert refusal() == "there is no recording"


TABLE = "kernel,gpu,x,time\ngemm,A100,1,2\ngemm,A100,2,3\ngemm,H100,1,4\nconv,H100,1,5\n"
MAP = """\
time = "time"
unit = "ms"
knobs = ["x"]
[problem]
column = "kernel"
[device]
column = "gpu"
"""


def test_a_table_is_as_many_cases_as_it_has_problems_and_devices(tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text(MAP)
    (tmp_path / "data.csv").write_text(TABLE)
    cases = read_cases([tmp_path / "data.csv"], tmp_path / "map.toml")
    assert [(c.name, c.problem, c.device, c.times.tolist()) for c in cases] == [
        ("data_gemm_A100", "gemm", "A100", [2000, 3000]),
        ("data_gemm_H100", "gemm", "H100", [4000]),
        ("data_conv_H100", "conv", "H100", [5000]),
    ]
    # What is the same everywhere is in no name.
    (tmp_path / "data.csv").write_text(
        TABLE.replace("H100", "A100").replace("A100,1,4", "A100,3,4")
    )
    cases = read_cases([tmp_path / "data.csv"], tmp_path / "map.toml")
    assert [c.name for c in cases] == ["data_gemm", "data_conv"]


def test_recordings_of_one_table_that_are_the_same_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text(MAP)
    (tmp_path / "data.csv").write_text(TABLE.replace("1,5", "1,4"))
    says = r"data\.csv: data_gemm_H100 and .*data\.csv: data_conv_H100 hold the same measurements"
    with pytest.raises(InputError, match=says):
        read_cases([tmp_path / "data.csv"], tmp_path / "map.toml")


def test_what_columns_are_is_not_said_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text(MAP)
    file = kernel(tmp_path / "a.json", {"x": 1})
    with pytest.raises(InputError, match=r"map\.toml says what columns are, and none of 1 rec"):
        read_cases([file], tmp_path / "map.toml")


def test_names_in_tables_are_no_paths(tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text(MAP)
    (tmp_path / "data.csv").write_text(TABLE.replace("conv", '"../../x y"'))
    cases = read_cases([tmp_path / "data.csv"], tmp_path / "map.toml")
    assert cases[-1].name == "data_..-..-x-y_H100"
    (tmp_path / "data.csv").write_text(TABLE.replace("conv", "a b").replace("gemm,H", "a/b,H"))
    cases = read_cases([tmp_path / "data.csv"], tmp_path / "map.toml")
    assert [c.name for c in cases[1:]] == ["data_a-b_H100", "data_a-b_H100_2"]
    assert [c.problem for c in cases[1:]] == ["a/b", "a b"]


def test_a_problem_of_a_table_that_never_ran_is_named(tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text(MAP)
    (tmp_path / "data.csv").write_text(TABLE.replace("1,5", "1,inf"))
    with pytest.raises(InputError, match=r"data\.csv: conv: H100 has no successful candidate"):
        read_cases([tmp_path / "data.csv"], tmp_path / "map.toml")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_folder_has_the_tables_whose_columns_are_known(pack: Any, tmp_path: Path) -> None:
    ending = "" if pack is bytes else ".gz"
    known = b"x,compute_time\n1,2\n2,3\n"
    (tmp_path / f"spmm_2630.csv{ending}").write_bytes(pack(known))
    (tmp_path / f"notes.csv{ending}").write_bytes(pack(b"who,when\nme,now\n"))
    assert [c.name for c in read_cases([tmp_path])] == ["spmm_2630"]
    (tmp_path / f"spmm_2630.csv{ending}").unlink()
    with pytest.raises(InputError, match="holds no recordings") as caught:
        read_cases([tmp_path])
    assert "--columns" in caught.value.hint


def test_tables_in_other_words_are_of_one_kernel(tmp_path: Path) -> None:
    for name, orders in (("a_1.csv", ("(0, 1)", "(1, 0)")), ("a_2.csv", ("[1, 0]", "[0, 1]"))):
        rows = [f'{x},"{order}",{x}' for x, order in enumerate(orders, start=1)]
        (tmp_path / name).write_text("\n".join(["x,order,compute_time", *rows]))
    first, second = read_cases([tmp_path])
    assert list(first.features) == list(second.features)
    assert first.features["before.order.0.1"].tolist() == [1, 0]
    assert second.features["before.order.0.1"].tolist() == [0, 1]
