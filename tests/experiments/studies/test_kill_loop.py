"""The loop that ends commands: it finds what is planted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from frontrunner.experiments.kill_loop import ending, rounds
from frontrunner.experiments.kill_loop.ending import KILL, MARK, CommandProcess, left_over, marked
from frontrunner.experiments.kill_loop.rounds import do_round
from frontrunner.experiments.kill_loop.tasks import (
    TASKS,
    KillTask,
    check_outcomes,
    check_run,
    lost,
    read_logs,
)

FOREVER = "import signal; signal.pause()"


def outcome(index: int, kind: str = "ok") -> dict[str, object]:
    return {"index": index, "kind": kind, "reason": "killed by SIGKILL"}


@pytest.fixture
def run(tmp_path) -> Path:
    """A finished run of two candidates."""
    folder = tmp_path / "run"
    folder.mkdir()
    lines = [json.dumps(outcome(index)) + "\n" for index in range(2)]
    (folder / "outcomes.jsonl").write_text("".join(lines))
    result = {"candidates": 2, "outcomes": {"ok": 2}, "finalists": [{"index": 1}]}
    (folder / "result.json").write_text(json.dumps(result))
    return folder


def test_a_sound_run_is_fine(run):
    assert check_run(run, 2) == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"candidates": 3}, "3 candidates, 2 outcomes"),
        ({"outcomes": {"ok": 1}}, "not the outcomes of the log"),
        ({"finalists": [{"index": 7}]}, "a finalist has no outcome"),
    ],
)
def test_a_result_has_to_follow_from_the_log(run, change, found):
    path = run / "result.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    (one,) = check_run(run, 2)
    assert found in one


def test_what_is_left_of_a_session_is_found(run):
    (run / "work").mkdir()
    assert check_run(run, 2) == ["run: work is left"]
    (run / "result.json").unlink()
    assert check_run(run, 2) == ["run has no result"]


def test_outcomes_are_neither_lost_nor_doubled_nor_failures():
    assert check_outcomes([outcome(0), outcome(1)], "log", 2) == []
    assert "twice" in check_outcomes([outcome(0), outcome(0), outcome(1)], "log", 2)[0]
    assert "not 2" in check_outcomes([outcome(0)], "log", 2)[0]
    assert "sound candidate 1 is crashed" in check_outcomes([outcome(1, "crashed")], "l", None)[0]


def test_logs_only_grow(tmp_path):
    log = tmp_path / "a.jsonl"
    log.write_bytes(b"one\ntwo\nthr")
    before = read_logs(tmp_path, ["*.jsonl"])
    assert before == {"a.jsonl": [b"one", b"two"]}
    for text, wrong in (
        (b"one\ntwo\nthree\n", 0),
        (b"one\n", 1),
        (b"one\nTWO\nthree\n", 1),
        (b"", 1),
    ):
        log.write_bytes(text)
        assert len(lost(before, read_logs(tmp_path, ["*.jsonl"]))) == wrong
    log.unlink()
    assert len(lost(before, read_logs(tmp_path, ["*.jsonl"]))) == 1


def test_processes_that_stay_are_found_and_ended(tmp_path):
    mark = str(tmp_path)
    code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {FOREVER!r}])"
    subprocess.run([sys.executable, "-c", code], env=os.environ | {MARK: mark}, check=True)
    # Its variables cannot be read for a moment after it has started.
    assert ending.wait_for(lambda: bool(marked(mark)), 20)
    (found,) = left_over(mark, grace=0.1)
    assert "signal.pause" in found
    assert ending.wait_for(lambda: not marked(mark), 20)
    assert left_over(mark) == []


def test_a_session_is_killed_and_tells_how(tmp_path):
    (tmp_path / "work").mkdir()
    session = CommandProcess("rankers", tmp_path, str(tmp_path))
    session.end(KILL, Random(0))
    ended = session.wait(60)
    assert ended is not None
    assert ended.code == -9


def test_no_process_of_a_session_outlives_its_block(tmp_path):
    (tmp_path / "work").mkdir()
    starts = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {FOREVER!r}])"
    (tmp_path / "starts_another.py").write_text(f"{starts}; {FOREVER}")
    mark = str(tmp_path)
    with CommandProcess("", tmp_path, mark, "starts_another", {"PYTHONPATH": mark}) as session:
        assert ending.wait_for(lambda: len(marked(mark)) == 2, 60)
    assert not session.running
    assert ending.wait_for(lambda: not marked(mark), 20)


@pytest.mark.parametrize("taken", [False, True])
def test_a_log_that_was_taken_into_the_result_may_be_gone(tmp_path, taken):
    """Also where the command was killed before its exit."""
    task = KillTask("t", "", ("log",), Path.mkdir, lambda work: None, lambda *_: [], result="done")
    state = rounds._State(task, tmp_path, str(tmp_path), seen={"log": [b"one"]})
    state.work.mkdir()
    if taken:
        (state.work / "done").touch()
    rounds._look(state, ending.ExitResult(-9, "", 1.0), KILL)
    assert (state.found.findings == []) is taken


def test_a_round_goes_on_until_the_command_is_done(tmp_path):
    """Of a command that takes no time, and so is mostly not ended at all."""
    checked = []

    def check(work: Path, seen: object) -> list[str]:
        checked.append(sorted(os.listdir(work)))
        return ["planted"]

    def prepare(work: Path) -> None:
        (work / ".result.json.frontrunner-01234567").touch()

    task = KillTask("rankers", "rankers", (), prepare, lambda work: None, check)
    found = do_round(task, tmp_path / "round", str(tmp_path), 0.05, Random(3))
    assert checked
    assert found.findings == ["planted", "work/.result.json.frontrunner-01234567 is left"]
    assert found.seconds > 0


def test_commands_that_take_minutes_are_ended():
    assert set(TASKS) == {"tune", "tune-model", "record", "profile", "evaluate"}
