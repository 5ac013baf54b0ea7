"""T4 results and Kernel Tuner's caches as recordings, and recordings as T4 results."""

from __future__ import annotations

import codecs
import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from frontrunner.benchmarks.measuring.outcome import BASELINE, OUTCOME_KINDS, Outcome
from frontrunner.core import InputError
from frontrunner.core.limits import limit_bytes
from frontrunner.experiments.dataset.provenance import ForeignKernel, Provenance
from frontrunner.experiments.dataset.reading import read_recording
from frontrunner.experiments.dataset.recording import Recording
from frontrunner.experiments.dataset.t4 import write_t4
from frontrunner.search import Dim, Operand, Problem, Target

KNOBS = ({"x": 16, "y": 0.5, "f": True, "mode": "b"}, {"x": 32, "y": 1, "f": False, "mode": "a"})
LATER = ({"x": 64, "y": 2, "f": True, "mode": "a"}, {"x": 128, "y": 2, "f": True, "mode": "a"})


def result(knobs: dict[str, Any], time: Any, word: str = "correct", **changes: Any) -> Any:
    ok = word == "correct"
    return {
        "configuration": knobs,
        "times": {"compilation": 800.0, "framework": 10, "search_algorithm": 5, "validation": 20}
        | ({"runtimes": [1.0, 2.0, 3.0, 4.0, 5.0]} if ok else {}),
        "invalidity": word,
        "correctness": int(ok),
        "measurements": [{"name": "GFLOP/s", "value": 3}, {"name": "time", "value": time}],
        "objectives": ["time"],
        **changes,
    }


def t4(*results: Any, **metadata: Any) -> dict[str, Any]:
    return {"metadata": metadata, "results": list(results), "schema_version": "1.0.0"}


RESULTS = t4(
    result(KNOBS[0], 3.0),
    result(KNOBS[1], "CompilationFailedConfig", "compile"),
    result(LATER[0], "RuntimeFailedConfig", "runtime"),
    result(LATER[1], "InvalidConfig", "constraints"),
    timeunit="miliseconds",
)


def entry(knobs: dict[str, Any], time: Any) -> dict[str, Any]:
    costs = {"compile_time": 800.0, "verification_time": 20, "framework_time": 10}
    runs = {} if isinstance(time, str) else {"times": [1.0, 2.0, 3.0, 4.0, 5.0]}
    return {**knobs, **costs, "strategy_time": 5, "time": time, **runs}


def cache(*entries: Any, **changes: Any) -> dict[str, Any]:
    return {
        "device_name": "NVIDIA RTX A4000",
        "kernel_name": "convolution_kernel",
        "problem_size": [4096, 4096],
        "tune_params_keys": ["x", "y", "f", "mode"],
        "tune_params": {},
        "objective": "time",
        **changes,
        "cache": {str(i): e for i, e in enumerate(entries)},
    }


def newer(one: dict[str, Any]) -> dict[str, Any]:
    """As Kernel Tuner 1.5 writes an entry that failed."""
    error = one.pop("time")
    return {**one, "__error__": error}


CACHE = cache(
    entry(KNOBS[0], 3.0),
    entry(KNOBS[1], "CompilationFailedConfig"),
    entry(LATER[0], "RuntimeFailedConfig"),
    entry(LATER[1], "InvalidConfig"),
)
NEWER_CACHE = cache(
    *(newer(e) if isinstance(e["time"], str) else e for e in map(dict, CACHE["cache"].values()))
)


def read(content: Any, path: Path) -> Recording:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return read_recording(path)


@pytest.mark.parametrize(
    "content", [RESULTS, CACHE, NEWER_CACHE], ids=["t4", "kernel tuner", "kernel tuner 1.5"]
)
def test_what_is_in_the_file(content: Any, tmp_path: Path) -> None:
    recording = read(content, tmp_path / "x.json")
    frame = recording.frame
    assert recording.knobs == ["x", "y", "f", "mode"]
    assert frame["x"].tolist() == [16, 32, 64, 128]
    assert frame["y"].tolist() == [0.5, 1, 2, 2]
    assert frame["f"].tolist() == [True, False, True, True]
    assert frame["mode"].tolist() == ["b", "a", "a", "a"]
    assert frame["kind"].tolist() == ["ok", "compile_failed", "crashed", "not_applied"]
    assert frame["stage"].tolist() == ["", "compile", "run", "compile"]
    assert frame["reason"][2] == "RuntimeFailedConfig"
    assert frame["time_us"].fillna(-1).tolist() == [3000, -1, -1, -1]
    assert frame["measurements"].tolist() == [5, 0, 0, 0]
    assert frame["spread"][0] == pytest.approx(2 / 3)
    assert frame["compile_s"].tolist() == [0.8] * 4
    # Runs, validation and the framework; not the search, which is ours.
    assert recording.measure_s.tolist() == pytest.approx([0.045, 0.03, 0.03, 0.03])
    assert frame["relative"].isna().all()
    assert recording.provenance.target is None


def test_both_formats_tell_the_same(tmp_path: Path) -> None:
    ours, theirs = read(RESULTS, tmp_path / "a"), read(CACHE, tmp_path / "b")
    same = [c for c in ours.frame if c != "device"]
    pd.testing.assert_frame_equal(ours.frame[same], theirs.frame[same])


def test_what_a_search_took_several_times_is_one_candidate(tmp_path: Path) -> None:
    """With the median of its times, and failed only if it always did."""
    again = [result(KNOBS[0], time) for time in (5.0, 4.0)]
    failed = [result(KNOBS[0], "RuntimeFailedConfig", "runtime"), RESULTS["results"][1]]
    frame = read(t4(*RESULTS["results"], *again, *failed), tmp_path / "x.json").frame
    assert frame["x"].tolist() == [16, 32, 64, 128]
    assert frame["kind"].tolist() == ["ok", "compile_failed", "crashed", "not_applied"]
    assert frame["time_us"][0] == 4000
    assert frame["measurements"].tolist() == [15, 0, 0, 0]


def test_a_cache_names_kernel_and_device(tmp_path: Path) -> None:
    provenance = read(CACHE, tmp_path / "gemm_A100.json").provenance
    assert provenance.problem == ForeignKernel("convolution_kernel", (4096, 4096))
    assert provenance.problem.label == "convolution_kernel_4096x4096"
    assert list(provenance.devices) == ["NVIDIA RTX A4000"]
    assert provenance.created_by == "Kernel Tuner"


@pytest.mark.parametrize(
    ("name", "kernel", "device"),
    [
        ("f/convolution_A4000_T4.json.gz", "convolution", "A4000"),
        ("f/gemm_milo_RTX_2080_Ti_T4.json", "gemm_milo", "RTX_2080_Ti"),
        ("gemm_milo/A4000_T4.json.gz", "gemm_milo", "A4000"),
        ("gemm_milo/A6000_original_T4.json", "gemm_milo", "A6000_original"),
        ("gemm_milo/mi50.t4.json", "gemm_milo", "mi50"),
    ],
)
def test_t4_is_named_by_its_file_and_folder(
    name: str, kernel: str, device: str, tmp_path: Path
) -> None:
    provenance = read(RESULTS, tmp_path / name).provenance
    assert provenance.problem == ForeignKernel(kernel)
    assert provenance.devices == {device: device}
    nameless = cache(entry(KNOBS[0], 3.0), device_name="", kernel_name="", problem_size="n")
    again = read(nameless, tmp_path / name).provenance
    assert (again.problem, again.devices) == (provenance.problem, provenance.devices)


def test_halves_of_characters_in_names_are_escaped(tmp_path: Path) -> None:
    odd = {"kernel_name": "k\ud800", "device_name": "d\ud800", "created_by": "c\ud800"}
    recording = read(t4(result(KNOBS[0], 3.0), **odd), tmp_path / "x.json")
    about = recording.provenance
    assert (about.problem, about.devices) == (ForeignKernel("k\\ud800"), {"d\\ud800": "d\\ud800"})
    assert about.created_by == "c\\ud800"
    recording.write(tmp_path / "x.parquet")
    assert read_recording(tmp_path / "x.parquet").provenance == about


def test_metadata_comes_before_names(tmp_path: Path) -> None:
    named = t4(result(KNOBS[0], 3.0), kernel_name="k", device_name="D", problem_size=20)
    provenance = read(named, tmp_path / "convolution_A4000_T4.json").provenance
    assert (provenance.problem, list(provenance.devices)) == (ForeignKernel("k", (20,)), ["D"])


@pytest.mark.parametrize("name", ["x.json", "x.parquet", "x.gz"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_the_content_tells_the_format(name: str, pack: Any, mark: bytes, tmp_path: Path) -> None:
    assert len(read(pack(mark + json.dumps(CACHE).encode()), tmp_path / name).frame) == 4


@pytest.mark.parametrize(
    ("unit", "own", "time_us", "compile_s"),
    [
        ("miliseconds", "", 3000, 0.8),
        ("", "", 3000, 0.8),
        ("microseconds", "", 3, 8e-4),
        ("seconds", "", 3e6, 800),
        ("seconds", "ns", 0.003, 800),
    ],
)
def test_units(unit: str, own: str, time_us: float, compile_s: float, tmp_path: Path) -> None:
    measured = [{"name": "time", "value": 3.0, "unit": own}]
    content = t4(result(KNOBS[0], 3.0, measurements=measured), timeunit=unit)
    frame = read(content, tmp_path / "x").frame
    assert frame["time_us"][0] == pytest.approx(time_us)
    assert frame["compile_s"][0] == pytest.approx(compile_s)


@pytest.mark.parametrize(
    ("time", "word", "changes", "kind"),
    [
        (3.0, "timeout", {}, "timeout"),
        (3.0, "correctness", {}, "wrong_result"),
        (3.0, "correct", {"correctness": 0}, "wrong_result"),
        ("ErrorOfTomorrow", "correct", {}, "crashed"),
        ("InvalidConfig", "correct", {}, "not_applied"),
        ("x", "runtime", {"kind": "timeout"}, "timeout"),
        (0, "correct", {}, "crashed"),
        (-1.0, "correct", {}, "crashed"),
        (math.nan, "correct", {}, "crashed"),
        (1e20, "correct", {}, "crashed"),
    ],
)
def test_ways_to_fail(time: Any, word: str, changes: Any, kind: str, tmp_path: Path) -> None:
    frame = read(t4(result(KNOBS[0], time, word, **changes)), tmp_path / "x").frame
    assert frame["kind"].tolist() == [kind]
    assert frame["time_us"].isna().all()
    assert frame["reason"][0]


def test_what_measuring_cost(tmp_path: Path) -> None:
    told = result(KNOBS[0], 3.0)
    told["times"]["benchmark"] = 100.0
    untold = result(KNOBS[1], 3.0, times={"compilation_time": 500})
    recording = read(t4(told, untold), tmp_path / "x")
    assert recording.measure_s.fillna(-1).tolist() == pytest.approx([0.13, -1])
    assert recording.frame["compile_s"].tolist() == [0.8, 0.5]


def test_knobs_that_come_and_go_or_are_called_like_columns(tmp_path: Path) -> None:
    odd = [{"kind": 1, "derived.a": 2, "n": 3}, {"kind": 2, "z": [1, 2]}, {"kind": 3, "z": "s"}]
    odd = [{**one, "_kind": 4} for one in odd]
    recording = read(t4(*(result(k, 3.0) for k in odd)), tmp_path / "x")
    assert recording.knobs == ["__kind", "_derived.a", "n", "_kind", "z"]
    assert recording.frame["__kind"].tolist() == [1, 2, 3]
    assert recording.frame["_kind"].tolist() == [4, 4, 4]
    assert recording.frame["n"].fillna(-1).tolist() == [3, -1, -1]
    assert recording.frame["z"].tolist()[1:] == ["[1, 2]", "s"]
    assert set(recording.frame["kind"]) == {"ok"}


def lines(content: dict[str, Any]) -> str:
    """As Kernel Tuner writes a cache."""
    head = json.dumps({**content, "cache": {}}, indent=0).removesuffix("}\n}") + "\n"
    entries = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in content["cache"].items()]
    return head + ",\n".join(entries) + "}\n}"


@pytest.mark.parametrize(("cut", "count"), [(0, 4), (1, 4), (3, 4), (4, 3), (60, 3)])
def test_a_cache_that_was_not_closed(cut: int, count: int, tmp_path: Path) -> None:
    text = lines(CACHE)
    assert json.loads(text) == CACHE
    recording = read(text[: len(text) - cut].encode(), tmp_path / "x")
    assert len(recording.frame) == count


def test_a_cache_that_was_not_closed_after_a_comma(tmp_path: Path) -> None:
    text = lines(CACHE).removesuffix("}\n}") + ",\n"
    assert len(read(text.encode(), tmp_path / "x").frame) == 4


def test_knobs_that_each_candidate_has_others_of(tmp_path: Path) -> None:
    """A thousand knobs of a thousand candidates each are a million columns."""
    results = [result({f"k{i}_{j}": j for j in range(100)}, 3.0) for i in range(100)]
    path = tmp_path / "x"
    data = json.dumps(t4(*results)).encode()
    with limit_bytes(32 << 20), pytest.raises(InputError, match="it has 100 rows of 10,015 values"):
        read(data, path)


REFUSED = {
    "is empty": b"",
    "is cut short or no JSON (it is no UTF-8": b"\xff\xfe\x00",
    "is cut short or no JSON (Expecting value": b"time and kind\n",
    "is cut short or no JSON (": json.dumps(RESULTS).encode()[:-30],
    "is cut short or no JSON (it is nested deeper than 100 levels": b"[" * 100_000,
    "is cut short or no gzip file": gzip.compress(json.dumps(RESULTS).encode())[:-30],
    "is cut short or no Parquet file": b"PAR1 and no more",
    "neither T4 results nor a cache": {"Result": []},
    "neither T4 results nor a cache ": [1],
    "has no times, its objectives are ['score']": t4(
        result(KNOBS[0], 3.0, measurements=[], objectives=["score"])
    ),
    "has no times, its objectives are ['energy']": cache({"x": 1, "energy": 2}, objective="energy"),
    "of another kind (AttributeError": {"results": [1]},
    "of another kind (KeyError: 'invalidity')": t4({"measurements": [{"name": "time"}]}),
    "of another kind (KeyError: 'odd')": t4(result(KNOBS[0], 3.0, "odd")),
    "of another kind (ValueError: there is no outcome 'odd')": t4(
        result(KNOBS[0], 3.0, kind="odd")
    ),
    "compiling takes -0.001 s": t4(result(KNOBS[0], 3.0, times={"compilation": -1})),
    "there is no origin 'luck'": t4(result(KNOBS[0], 3.0, origin="luck")),
    "there is no unit of time 'days'": t4(result(KNOBS[0], 3.0), timeunit="days"),
    "a time must be a number or an error's name, got None": t4(
        result(KNOBS[0], None), result(KNOBS[1], 3.0)
    ),
    "a time must be a number or an error's name, got [1]": t4(result(KNOBS[0], [1])),
    "of another kind (KeyError: 'tune_params_keys')": {"cache": {"a": {"time": 1}}},
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with pytest.raises(InputError) as caught:
        read(REFUSED[message], path)
    assert message.strip() in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*: No such file"):
        read_recording(tmp_path / "x.json")


def test_somebody_elses_recording_is_kept_as_parquet(tmp_path: Path) -> None:
    recording = read(CACHE, tmp_path / "x.json")
    recording.write(tmp_path / "x.parquet")
    again = read_recording(tmp_path / "x.parquet")
    assert again.provenance == recording.provenance
    pd.testing.assert_frame_equal(again.frame, recording.frame)


# Written ----------------------------------------------------------------------------------------


@pytest.fixture
def ours() -> Recording:
    problem = Problem(
        "contraction",
        "linalg.matmul",
        (Dim("m", 8, "m", True), Dim("k", 2, "k", False)),
        (Operand("lhs", "f32", (((0, 1),), ((1, 1),))), Operand("out", "f32", (((0, 1),),), True)),
    )
    provenance = Provenance(
        problem, Target("llvm-cpu", "znver3", "host", 2, 32, 16, (1, 2, 3)), {"local-task": "chip"},
        "3", "3", 0, None, "frontrunner 0",
    )  # fmt: skip
    common = {"device": "local-task", "compile_s": 1.5}
    outcomes = {
        0: Outcome("ok", 30.1, 20.0, executable="a", **common),
        1: Outcome("ok", 10.7, 20.0, executable="b", same_as=BASELINE, **common),
        2: Outcome("crashed", stage="compile", reason="segfault", compile_s=math.nan),
    }
    for i, kind in enumerate(OUTCOME_KINDS[1:], start=3):
        outcomes[i] = Outcome(kind, stage="run", reason=f"why {kind}", **common)
    knobs = {"tile_m": [8.0, 4.0, None, 2.0, 3.0, 5.0, 1.0, 6.0, 7.0], "peel": [1] * 9}
    queue = pd.DataFrame({**knobs, "pipeline": list("aabaaaaaa")})
    return Recording.build(queue.assign(origin="top:cpu"), outcomes, provenance)


def test_a_recording_is_written_for_others(ours: Recording, tmp_path: Path) -> None:
    path = tmp_path / "x.t4.json"
    write_t4(ours, path)
    again = read_recording(path)
    assert again.provenance.problem == ForeignKernel(ours.provenance.problem.label)
    assert list(again.provenance.devices) == ["chip"]
    assert again.knobs == ours.knobs
    same = ["pipeline", "origin", *ours.knobs, "kind", "stage", "reason", "compile_s"]
    pd.testing.assert_frame_equal(again.frame[same], ours.frame[same])
    np.testing.assert_allclose(again.frame["time_us"], ours.frame["time_us"], rtol=1e-15)
    np.testing.assert_allclose(again.measure_s, ours.measure_s)


def test_others_find_the_structure_that_they_know(ours: Recording, tmp_path: Path) -> None:
    path = tmp_path / "x.t4.json"
    write_t4(ours, path)
    content = json.loads(path.read_text())
    assert content["schema_version"] == "1.0.0"
    assert content["metadata"]["timeunit"] == "miliseconds"
    words = [r["invalidity"] for r in content["results"]]
    assert words == [
        "correct", "correct", "compile", "compile", "constraints", "runtime", "timeout",
        "correctness", "runtime",
    ]  # fmt: skip
    assert [r.get("kind") for r in content["results"]][-4:] == [
        "crashed", "timeout", "wrong_result", "killed",
    ]  # fmt: skip
    first, _, third = content["results"][:3]
    assert first == {
        "configuration": {"tile_m": 8, "peel": 1, "pipeline": "a"},
        "times": {
            "compilation": 1500.0,
            "benchmark": pytest.approx(80.0301),
            "framework": 0,
            "search_algorithm": 0,
            "validation": 0,
            "runtimes": [pytest.approx(0.0301)],
        },
        "invalidity": "correct",
        "correctness": 1,
        "measurements": [{"name": "time", "value": pytest.approx(0.0301), "unit": "miliseconds"}],
        "objectives": ["time"],
        "origin": "top:cpu",
    }
    assert third["configuration"] == {"peel": 1, "pipeline": "b"}
    assert "compilation" not in third["times"]
    assert third["measurements"][0]["value"] == "RuntimeFailedConfig"


def test_a_configuration_is_the_same_as_a_whole_number_and_as_a_float(tmp_path: Path) -> None:
    path = tmp_path / "gemm_A_T4.json"
    same = [result({"x": 16, "f": True}, 1.0), result({"x": 16.0, "f": True}, 3.0)]
    path.write_text(json.dumps({"results": [*same, result({"x": 1, "f": False}, 4.0)]}))
    recording = read_recording(path)
    assert recording.frame["time_us"].tolist() == [2000.0, 4000.0]


def test_numbers_beyond_floats_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "gemm_A_T4.json"
    path.write_text(json.dumps({"results": [result({"x": 10**310}, 1.0)]}))
    with pytest.raises(InputError, match="a knob has a value beyond the largest float"):
        read_recording(path)
