"""Tables of anybody as recordings, by a file that says what their columns are."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from frontrunner.core import InputError
from frontrunner.core.limits import limit_bytes
from frontrunner.experiments.dataset import read_columns, read_recording, read_recordings
from frontrunner.experiments.dataset.provenance import ForeignKernel
from frontrunner.experiments.dataset.recording import Recording

MAP = """\
time = ["run 1", "run 2"]
unit = "us"
knobs = ["tile_*", "loops", "mode", "pad"]
permutations = ["loops"]
categorical = ["mode"]
[problem]
column = ["kernel", "size"]
[device]
column = "gpu"
[status]
column = "ended"
ok = ["fine"]
timeout = ["slow"]
"""
TABLE = """\
kernel,size,gpu,tile_x,tile_y,loops,mode,pad,run 1,run 2,ended,energy
gemm,64,A100,16,0.5,0-2-1,1,true,3,4,fine,9
gemm,64,A100,32,1,"(1, 2, 0)",2,false,inf,,fine,9
gemm,64,A100,64,2,"[2, 1, 0]",1,TRUE,,,slow,9
gemm,64,A100,128,2,0 1 2,10,True,,,out of memory,9

gemm,64,A100,16,0.5,"[0,2,1]",1,True,8,,fine,9
gemm,64,H100,16,0.5,0>2>1,1,True,2,,fine,9
gemm,96,H100,16,0.5,0;1;2,1,True,1,1,fine,9
"""
ONE = "x,y,time\n1,2,3\n4,5,6\n"
SIMPLE = 'time = "time"\nunit = "ms"\nknobs = ["x", "y"]\n'


def read(tmp_path: Path, table: str | bytes, said: str = MAP) -> list[Recording]:
    path, columns = tmp_path / "table_A4000.csv", tmp_path / "map.toml"
    path.write_bytes(table if isinstance(table, bytes) else table.encode())
    columns.write_text(said)
    return read_recordings(path, (read_columns(columns), columns))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("lead", [b"", b"\xef\xbb\xbf"])
def test_what_is_in_a_table(pack, lead: bytes, tmp_path: Path) -> None:
    recordings = read(tmp_path, pack(lead + TABLE.encode()))
    about = [(r.provenance.problem, list(r.provenance.devices)) for r in recordings]
    assert about == [
        (ForeignKernel("gemm_64"), ["A100"]),
        (ForeignKernel("gemm_64"), ["H100"]),
        (ForeignKernel("gemm_96"), ["H100"]),
    ]
    first = recordings[0]
    frame = first.frame
    assert first.knobs == ["tile_x", "tile_y", "loops", "mode", "pad"]
    assert frame["tile_x"].tolist() == [16, 32, 64, 128]
    assert frame["tile_y"].tolist() == [0.5, 1, 2, 2]
    assert frame["loops"].tolist() == ["[0, 2, 1]", "[1, 2, 0]", "[2, 1, 0]", "[0, 1, 2]"]
    assert frame["mode"].tolist() == ["1", "2", "1", "10"]
    assert frame["pad"].tolist() == [True, False, True, True]
    assert frame["kind"].tolist() == ["ok", "crashed", "timeout", "crashed"]
    assert frame["reason"].tolist() == ["", "its time is inf", "slow", "out of memory"]
    # The median of 3, 4 and of 8 in another row.
    assert frame["time_us"].fillna(-1).tolist() == [4, -1, -1, -1]
    assert frame["measurements"].tolist() == [3, 0, 0, 0]
    assert first.provenance.target is None
    assert recordings[1].frame["time_us"].tolist() == [2]


def test_it_is_kept_as_parquet(tmp_path: Path) -> None:
    recording = read(tmp_path, TABLE)[0]
    recording.write(tmp_path / "a.parquet")
    again = read_recording(tmp_path / "a.parquet")
    assert again.frame.equals(recording.frame)


@pytest.mark.parametrize(("unit", "time_us"), [("ns", 0.003), ("us", 3), ("ms", 3e3), ("s", 3e6)])
def test_units(unit: str, time_us: float, tmp_path: Path) -> None:
    (recording,) = read(tmp_path, ONE, SIMPLE.replace("ms", unit))
    assert recording.frame["time_us"][0] == pytest.approx(time_us)
    # As the file is called, where no column says it.
    assert recording.provenance.problem == ForeignKernel("table")
    assert list(recording.provenance.devices) == ["A4000"]


@pytest.mark.parametrize(
    ("cell", "kind", "time"),
    [
        ("3", "ok", 3000),
        ('"[1, 2, 9]"', "ok", 2000),
        ("", "crashed", None),
        ("inf", "crashed", None),
        ("NaN", "crashed", None),
        ("0", "crashed", None),
        ("-1", "crashed", None),
        ("1e300", "crashed", None),
    ],
)
def test_times(cell: str, kind: str, time: float | None, tmp_path: Path) -> None:
    (recording,) = read(tmp_path, f"x,y,time\n1,2,{cell}\n", SIMPLE)
    row = recording.frame.iloc[0]
    assert row["kind"] == kind
    assert (None if kind != "ok" else row["time_us"]) == time


@pytest.mark.parametrize("unit", ["ns", "s"])
def test_marks_of_failures_are_in_the_unit_of_the_file(unit: str, tmp_path: Path) -> None:
    (recording,) = read(
        tmp_path, "x,y,time\n1,2,1e20\n3,4,5\n", SIMPLE.replace('"ms"', f'"{unit}"')
    )
    assert recording.frame["kind"].tolist() == ["crashed", "ok"]


@pytest.mark.parametrize(
    ("status", "cell", "kind"),
    [
        ("ok = [true]", "True", "ok"),
        ("ok = [true]", "FALSE", "crashed"),
        ("ok = [1]", "1.0", "ok"),
        ("wrong_result = ['bad']", "bad", "wrong_result"),
        ("wrong_result = ['bad']", "fine", "ok"),
        ("ok = ['a']\ncompile_failed = ['b']\nnot_applied = ['c']", "b", "compile_failed"),
        ("ok = ['a']\ncompile_failed = ['b']\nnot_applied = ['c']", "c", "not_applied"),
    ],
)
def test_marks_of_failures(status: str, cell: str, kind: str, tmp_path: Path) -> None:
    said = f"{SIMPLE}[status]\ncolumn = 'how'\n{status}\n"
    (recording,) = read(tmp_path, f"x,y,time,how\n1,2,3,{cell}\n", said)
    assert recording.frame["kind"].tolist() == [kind]


def test_a_failure_may_stand_in_the_place_of_the_time(tmp_path: Path) -> None:
    said = f"{SIMPLE}[status]\ncolumn = 'time'\ncompile_failed = ['CompileError']\n"
    (recording,) = read(tmp_path, "x,y,time\n1,2,3\n2,2,CompileError\n", said)
    assert recording.frame["kind"].tolist() == ["ok", "compile_failed"]


def test_only_some_rows_count(tmp_path: Path) -> None:
    table = "x,y,n,time\n1,2,10,3\n1,3,5,1\n1,4,10.0,2\n"
    (recording,) = read(tmp_path, table, SIMPLE + "[only]\nn = 10\n")
    assert recording.frame["y"].tolist() == [2, 4]
    (both,) = read(tmp_path, table, SIMPLE + "[only]\nn = [10, '5']\n")
    assert len(both.frame) == 3


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_delimiters(delimiter: str, tmp_path: Path) -> None:
    said = SIMPLE + ('delimiter = "|"\n' if delimiter == "|" else "")
    (recording,) = read(tmp_path, ONE.replace(",", delimiter), said)
    assert recording.frame["x"].tolist() == [1, 4]


def test_orders_are_seen_where_nobody_names_them(tmp_path: Path) -> None:
    table = 'x,y,time\n1,"(0, 1)",3\n2,"[1, 0]",4\n3,,5\n'
    (recording,) = read(tmp_path, table, SIMPLE)
    assert recording.frame["y"].fillna("").tolist() == ["[0, 1]", "[1, 0]", ""]


BROKEN = {
    "table_A4000.csv, line 3: x is 'a', and a number in other lines": (
        "x,y,time\n1,2,3\na,2,3\n",
        "",
    ),
    "line 3: it has 2 cells, and there are 3 columns": ("x,y,time\n1,2,3\n1,2\n", ""),
    "line 2: time is 'fast', not a time": ("x,y,time\n1,2,fast\n", ""),
    "map.toml: time names the column 'time', and ": ("x,y,t\n1,2,3\n", ""),
    "knobs names the column 'y', and ": ("x,z,time\n1,2,3\n", ""),
    "two columns 'x'": ("x,x,time\n1,2,3\n", ""),
    "names of columns, and no line below them": ("x,y,time\n", ""),
    "no line of 2 to 1,000 names": ("x\n1\n", ""),
    "no line of 2 to 1,000 names ": (",".join(f"c{i}" for i in range(1001)), ""),
    "it is no UTF-8": (b"x,y,time\n1,\xff,3\n", ""),
    "field larger than field limit": ("x,y,time\n" + "0" * 200_000, ""),
    "unexpected end of data": ('x,y,time\n1,2,"3\n', ""),
    "line 3: y is '0-0-1', no order of 0, 1, 2": (
        "x,y,time\n1,0-1-2,3\n1,0-0-1,3\n",
        'permutations = ["y"]',
    ),
    "line 2: y is '5', no order of two or more things": (
        "x,y,time\n1,5,3\n",
        'permutations = ["y"]',
    ),
    "permutations names the knob 'z'": (ONE, 'permutations = ["z"]'),
    "line 2: time is empty, and how, which is 'ok', says that it ran": (
        "x,y,time,how\n1,2,,ok\n",
        '[status]\ncolumn = "how"\nok = ["ok"]',
    ),
    "several values of x, y come to 'a_b_c'": (
        "x,y,z,time\na,b_c,1,2\na_b,c,1,3\n",
        'knobs = ["z"]\n[problem]\ncolumn = ["x", "y"]',
    ),
    "has no line whose y is 7": (ONE, "[only]\ny = 7"),
    "has no line with all that [only] asks for: x, y": (ONE, "[only]\nx = 1\ny = 5"),
    "make 1,001 recordings, 1,000 are the most": (
        "x,y,time\n" + "".join(f"{i},2,3\n" for i in range(1001)),
        'knobs = ["y"]\n[problem]\ncolumn = "x"',
    ),
    "map.toml: 'x' is a knob, and something else, too": (ONE, '[problem]\ncolumn = "x"'),
    "unit is 'days', not one of ns, us, ms, s": (ONE, 'unit = "days"'),
    "there is no colour": (ONE, 'colour = "red"'),
    "knobs is 'x', not a list": (ONE, 'knobs = "x"'),
    "knobs names no column": (ONE, "knobs = []"),
    "problem has a name and a column": (ONE, '[problem]\nname = "a"\ncolumn = "x"'),
    "delimiter is ',,'": (ONE, 'delimiter = ",,"'),
    "does not say what columns are: Expected '='": (ONE, "nonsense"),
}


@pytest.mark.parametrize("message", BROKEN)
def test_what_is_wrong_is_told_in_a_line(message: str, tmp_path: Path) -> None:
    table, more = BROKEN[message]
    kept = [line for line in SIMPLE.splitlines() if line.split()[0] != more.split(" ")[0]]
    with pytest.raises(InputError) as caught:
        read(tmp_path, table, "\n".join([*kept, more]))
    assert message.strip() in str(caught.value)
    assert "\n" not in f"{caught.value}{caught.value.hint}"
    assert caught.value.hint


@pytest.mark.parametrize("end", ["\n", "\r"])
def test_a_table_that_does_not_fit_is_refused(end: str, tmp_path: Path) -> None:
    with limit_bytes(100_000), pytest.raises(InputError, match="rows of 3 values, which take more"):
        read(tmp_path, f"x,y,time\n1,2,3{end}" + f"1,2,3{end}" * 1000, SIMPLE)


def test_a_line_that_ends_in_two_signs_is_one_row(tmp_path: Path) -> None:
    with limit_bytes(300_000):
        (found,) = read(tmp_path, "x,y,time\r\n" + "1,2,3\r\n" * 1000, SIMPLE)
    assert found.provenance.problem.name


def test_one_recording_is_asked_for(tmp_path: Path) -> None:
    read(tmp_path, TABLE)
    path = tmp_path / "table_A4000.csv"
    with pytest.raises(InputError, match="holds 3 recordings, such as 'gemm_64' on 'A100' and"):
        read_recording(path, columns=tmp_path / "map.toml")
    with pytest.raises(
        InputError, match="a table of columns that are not known: kernel, size"
    ) as e:
        read_recording(path)
    assert "--columns" in e.value.hint
