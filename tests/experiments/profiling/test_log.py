"""The log of a profile: what it refuses, and that nothing is lost before there is something new."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from frontrunner.benchmarks.libraries.peak import Peak
from frontrunner.core import InputError
from frontrunner.experiments.profiling.log import ProfileLog, Row

HOW = {"verify": True}
ROW = Row("matmul", "matmul", "default", "iree", "d1", "passed", "ok", time_us=1.5, sizes={"m": 8})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "profile.jsonl"
    with ProfileLog(path, HOW) as log:
        log.append(ROW)
        log.calibrate(Peak(1e9, 2e9))
    return path


def test_rows_and_the_peak_come_back(path):
    with ProfileLog(path, HOW) as log:
        assert log.rows == {ROW.key: ROW}
        assert (log.peak, log.has_records) == (Peak(1e9, 2e9), True)


def test_anew_loses_nothing_before_the_first_row(path):
    before = path.read_bytes()
    other = {"verify": False}
    with ProfileLog(path, other, overwrite=True) as log:
        assert (log.rows, log.peak, log.has_records) == ({}, None, False)
    assert path.read_bytes() == before
    with ProfileLog(path, other, overwrite=True) as log:
        log.calibrate(Peak(1.0, 1.0))
        assert log.has_records
    with ProfileLog(path, other) as log:
        assert (log.rows, log.peak) == ({}, Peak(1.0, 1.0))


def test_where_there_is_no_room_rows_are_not_replaced_again(path):
    for overwrite in (False, True):
        with ProfileLog(path, HOW, overwrite=overwrite) as log:
            assert log.hint.endswith(", without --force") == overwrite


def test_a_damaged_log_can_be_started_anew(path):
    header, *rest = path.read_text().splitlines(keepends=True)
    path.write_text("".join([header, "xxx\n", *rest]))
    with pytest.raises(InputError, match="line 2 is not what was written there"):
        ProfileLog(path, HOW)
    with ProfileLog(path, HOW, overwrite=True) as log:
        log.append(ROW)
    with ProfileLog(path, HOW) as log:
        assert list(log.rows) == [ROW.key]


@pytest.mark.parametrize(
    ("outcome", "final"),
    [("ok", True), ("compile_failed", True), ("crashed", False), ("killed", False)],
)
def test_what_may_have_been_the_machine_is_not_final(outcome, final):
    row = replace(ROW, outcome=outcome)
    assert (row.is_final, row.failed) == (final, outcome != "ok")


@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("text", ["mine", '{"mine": 1}\n', "[]\n"])
def test_what_is_not_ours_stays(tmp_path, text, anew):
    path = tmp_path / "profile.jsonl"
    path.write_text(text)
    with pytest.raises(InputError):
        ProfileLog(path, HOW, overwrite=anew)
    assert path.read_text() == text


def test_no_empty_log_is_left(tmp_path):
    with ProfileLog(tmp_path / "profile.jsonl", HOW):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("row", {"time_us": "abc"}),
        ("row", {"sizes": 5}),
        ("row", {"knobs": {"a": "b"}}),
        ("row", {"outcome": None}),
        ("row", {"more": 1}),
        ("peak", {"flops": "x"}),
        ("peak", {"flops": None}),
    ],
)
def test_fields_of_another_type(path, kind, change):
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        if kind in record:
            record[kind] |= change
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    with pytest.raises(InputError, match="is not what was written there"):
        ProfileLog(path, HOW)


def test_what_older_logs_do_not_say_keeps_none_from_going_on(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    del lines[1]["row"]["measured_on"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with ProfileLog(path, {**HOW, "place": "a cluster", "device_cores": 2}) as log:
        assert log.rows == {ROW.key: ROW}
    with pytest.raises(InputError, match="with another seed: None, not 1"):
        ProfileLog(path, {**HOW, "seed": 1})
