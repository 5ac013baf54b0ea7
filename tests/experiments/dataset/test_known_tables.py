"""Tables of BaCO, CATBench and KTT, and KTT's results in JSON, in the forms that they have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from frontrunner.core import InputError
from frontrunner.core.limits import CELL_BYTES, COLUMN_CELLS, limit_bytes
from frontrunner.experiments.dataset import (
    is_known_table,
    looks_like_recording,
    read_recording,
    read_recordings,
)
from frontrunner.experiments.dataset.ktt import ktt_to_t4

CPU = """\
chunk_size,unroll_factor,omp_num_threads,omp_scheduling_type,omp_monotonic,permutation,\
compute_time,iterations,repeats,wait_between_repeats,wait_after_run
16,2,4,0,0,"(0, 1, 2, 4, 3)",2.5,10,5,0,10
32,4,8,2,1,"(3, 0, 1, 2, 4)",4.25,10,5,0,10
16,2,4,0,0,"(0, 1, 2, 4, 3)",3.5,10,5,0,10
"""
# Another device's has its columns in another order.
SHUFFLED = """\
chunk_size,permutation,repeats,wait_between_repeats,wait_after_run,iterations,compute_time
16,"(0, 1, 2, 4, 3)",5,0.0,10.0,10,2.5
"""
GPU = """\
tuned_gs0,tuned_ls0,compute_time,energy,iterations,wait_after_run
256,16,5.5,48.9,10,0
1024,64,0.0,12.1,10,0
"""
BACO = """\
x,order,compute_time,Valid,timestamp
1,"(0, 1)",5.5,True,18
2,"(1, 0)",0.5,False,19
"""
KTT = """\
Kernel name,Computation duration (us),Global size,Local size,BLOCK,UNROLL,\
dram__throughput.avg.pct,inst_executed,Maximum work-group size,Local memory size,\
Private memory size,Constant memory size,Registers count
add,77.4,1048576,32,32,1,52.2,12,1024,0,0,0,12
add,63.5,1048576,64,64,1,76.8,12,1024,0,0,0,12
"""
KTT_OLD = """\
Kernel name,Computation duration (ms),Global size 0,Local size 0,Global size 1,Local size 1,BLOCK,\
dram_utilization 0,Maximum work-group size 0
add,2,1048576,32,64,4,32,52,1024

Kernel name,Error message,Global size 0,Local size 0,Global size 1,Local size 1,BLOCK
add,Too many registers,1048576,64,64,4,64
"""


def ktt(*entries: dict[str, Any], **changes: Any) -> dict[str, Any]:
    metadata = {"Device": "A GPU", "KttVersion": "2.2.0", "TimeUnit": "Microseconds"}
    return {"Metadata": metadata, "Results": list(entries), **changes}


def ran(block: int, time: float, status: str = "Ok", kernel: str = "add") -> dict[str, Any]:
    knobs = {"BLOCK": (block, "UnsignedInt"), "HALF": (False, "Bool")}
    return {
        "KernelName": kernel,
        "Configuration": [{"Name": n, "Value": v, "ValueType": t} for n, (v, t) in knobs.items()],
        "ComputationResults": [],
        "Status": status,
        "TotalDuration": time,
        "CompilationOverhead": 9000.0,
        "DataMovementOverhead": 400.0,
        "ProfilingOverhead": 300.0,
        "ValidationOverhead": 200.0,
        "SearcherOverhead": 1.0,
    }


RESULTS = ktt(
    ran(32, 89.5),
    ran(64, 54.0),
    ran(32, 91.5),
    ran(128, 0.0, "CompilationFailed"),
    ran(256, 0.0, "ValidationFailed"),
    ran(512, 0.0, "DeviceLimitsExceeded"),
)


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_table_of_catbench(tmp_path: Path) -> None:
    recording = read_recording(write(tmp_path / "sp_mm_2630.csv", CPU))
    frame = recording.frame
    assert recording.knobs == [
        "chunk_size", "unroll_factor", "omp_num_threads", "omp_scheduling_type", "omp_monotonic",
        "permutation",
    ]  # fmt: skip
    assert frame["time_us"].tolist() == [3000, 4250]
    assert frame["measurements"].tolist() == [2, 1]
    assert frame["omp_scheduling_type"].tolist() == ["0", "2"]
    assert frame["permutation"].tolist() == ["[0, 1, 2, 4, 3]", "[3, 0, 1, 2, 4]"]
    about = recording.provenance
    assert (about.problem.label, list(about.devices)) == ("sp_mm", ["2630"])
    assert about.created_by == "BaCO, CATBench"


def test_columns_in_another_order_and_times_of_nothing(tmp_path: Path) -> None:
    shuffled = read_recording(write(tmp_path / "spmm_6242.csv", SHUFFLED))
    assert (shuffled.knobs, shuffled.frame["time_us"].tolist()) == (
        ["chunk_size", "permutation"], [2500],
    )  # fmt: skip
    gpu = read_recording(write(tmp_path / "asum_titanv.csv", GPU))
    assert gpu.knobs == ["tuned_gs0", "tuned_ls0"]
    assert gpu.frame["kind"].tolist() == ["ok", "crashed"]
    untold = write(tmp_path / "axpy_titanv.csv", GPU.replace(",10,0\n", ",10,nan\n"))
    assert read_recording(untold).frame["kind"].tolist() == ["ok", "crashed"]


def test_a_table_of_baco_itself(tmp_path: Path) -> None:
    recording = read_recording(write(tmp_path / "xeon" / "spmm_output_samples.csv", BACO))
    assert recording.knobs == ["x", "order"]
    assert recording.frame["kind"].tolist() == ["ok", "crashed"]
    about = recording.provenance
    assert (about.problem.label, list(about.devices)) == ("spmm", ["xeon"])


def test_lines_with_values_in_other_columns_are_not_believed(tmp_path: Path) -> None:
    """As in a table of CATBench: `repeats` stands in the column of the time, which it is not."""
    shifted = CPU + '8,4,4,1,0,"(1, 4, 0, 3, 2)",5,0.0,10.0,10,299.35\n'
    path = write(tmp_path / "mttkrp_2630.csv", shifted)
    with pytest.raises(InputError, match=r"line 5: iterations is '0\.0', and '10' in line 2") as e:
        read_recording(path)
    assert "[only] iterations = 10" in e.value.hint
    said = 'time = "compute_time"\nunit = "ms"\nknobs = ["*_*", "permutation"]\n[only]\n'
    columns = write(tmp_path / "map.toml", said + "iterations = 10\n")
    assert len(read_recording(path, columns=columns).frame) == 2


def test_a_table_of_ktt(tmp_path: Path) -> None:
    recording = read_recording(write(tmp_path / "2080-vector_add_output.csv", KTT))
    assert recording.knobs == ["BLOCK", "UNROLL"]
    assert recording.frame["time_us"].tolist() == [77.4, 63.5]
    about = recording.provenance
    assert (about.problem.label, list(about.devices)) == ("add", ["2080"])


def test_what_failed_is_in_a_second_table_of_older_ones(tmp_path: Path) -> None:
    recording = read_recording(write(tmp_path / "hotspot_output.csv", KTT_OLD))
    assert recording.frame["BLOCK"].tolist() == [32, 64]
    assert recording.frame["kind"].tolist() == ["ok", "crashed"]
    assert recording.frame["time_us"][0] == 2000
    assert list(recording.provenance.devices) == ["hotspot"]


def test_results_of_ktt(tmp_path: Path) -> None:
    recording = read_recording(write(tmp_path / "a.ktt.json", RESULTS))
    frame = recording.frame
    assert recording.knobs == ["BLOCK", "HALF"]
    assert frame["BLOCK"].tolist() == [32, 64, 128, 256, 512]
    assert frame["kind"].tolist() == ["ok", "ok", "compile_failed", "wrong_result", "crashed"]
    assert frame["reason"].tolist()[2:] == [
        "CompilationFailed", "ValidationFailed", "DeviceLimitsExceeded",
    ]  # fmt: skip
    assert frame["time_us"].tolist()[:2] == pytest.approx([90.5, 54])
    assert frame["measurements"].tolist()[:2] == [2, 1]
    assert frame["compile_s"][0] == pytest.approx(0.009)
    assert recording.measure_s[1] == pytest.approx(0.000954)
    about = recording.provenance
    assert (about.problem.label, list(about.devices)) == ("add", ["A GPU"])
    assert about.created_by == "KTT 2.2.0"


def test_repeats_of_ktt_are_merged_where_all_are(tmp_path: Path) -> None:
    (content,) = ktt_to_t4(RESULTS)
    assert len(content["results"]) == len(RESULTS["Results"])
    path = write(tmp_path / "a.json", ktt(ran(32, 0.0, "ComputationFailed"), ran(32, 7.0)))
    frame = read_recording(path).frame
    assert (frame["kind"].tolist(), frame["time_us"].tolist()) == (["ok"], [7.0])


def test_several_kernels_of_ktt_are_several_recordings(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", ktt(ran(1, 2.0), ran(1, 3.0, kernel="mul")))
    assert [r.provenance.problem.label for r in read_recordings(path)] == ["add", "mul"]


def test_t4_of_ktt_has_its_numbers_as_texts(tmp_path: Path) -> None:
    entry = {
        "configuration": {"BLOCK": "32", "KIND": "wide", "SHARE": "0.5"},
        "times": {"compilation_time": 9000.0, "runtimes": [90.0]},
        "invalidity": "correct",
        "correctness": 1,
        "measurements": [{"name": "time", "value": 90.0, "unit": ""}],
    }
    about = {"autotuner": "KTT", "device": "A GPU", "timeunit": "microseconds"}
    content = {"metadata": about, "results": [entry], "schema_version": "1.0.0"}
    recording = read_recording(write(tmp_path / "a.t4.json", content))
    row = recording.frame.iloc[0]
    assert (row["BLOCK"], row["KIND"], row["SHARE"]) == (32, "wide", 0.5)
    assert row["time_us"] == pytest.approx(90)
    assert list(recording.provenance.devices) == ["A GPU"]
    assert recording.provenance.created_by == "KTT"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (ktt(), "holds no result"),
        (ktt(ran(1, 2.0, "Lucky")), "of another kind (KeyError: 'Lucky')"),
        (ktt(Metadata={}), "of another kind (KeyError: 'TimeUnit')"),
        ({"Results": []}, "of another kind (KeyError: 'Metadata')"),
        (ktt({"KernelName": "a"}), "of another kind (KeyError: 'Configuration')"),
    ],
)
def test_results_of_ktt_that_are_refused(content: Any, message: str, tmp_path: Path) -> None:
    content = content if content.get("Metadata") != {} else {**content, "Results": [ran(1, 2.0)]}
    if content.get("Metadata") == {}:
        content["Metadata"] = {"Device": "A GPU"}
    path = write(tmp_path / "a.json", content)
    with pytest.raises(InputError) as caught:
        read_recordings(path)
    assert message in str(caught.value)


@pytest.mark.parametrize("text", [CPU, SHUFFLED, GPU, BACO, KTT, KTT_OLD])
def test_they_are_known_by_their_first_line(text: str, tmp_path: Path) -> None:
    path = write(tmp_path / "file", text)
    assert looks_like_recording(path)
    assert is_known_table(path)


@pytest.mark.parametrize(
    "text",
    [
        "compute_time,energy\n1,2\n",
        ",compute_time\n0,1.5\n",
        "x,y,time\n1,2,3\n",
        "module {}\n",
        "",
        "Kernel name,x\n",
    ],
)
def test_others_are_not(text: str, tmp_path: Path) -> None:
    assert not is_known_table(write(tmp_path / "file", text))


def test_a_table_whose_recording_would_not_fit_is_refused(tmp_path: Path) -> None:
    """A recording has columns beyond those of its table."""
    rows = "".join(f"{row},1.5\n" for row in range(3000))
    path = write(tmp_path / "spmm_2630.csv", f"tile,compute_time\n{rows}")
    says = pytest.raises(InputError, match="values, which take more than")
    with limit_bytes((3000 + COLUMN_CELLS) * 4 * CELL_BYTES), says as caught:
        read_recordings(path)
    assert "--max-bytes" in (caught.value.hint or "")
