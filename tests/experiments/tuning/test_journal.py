"""The log of outcomes survives crashes, full disks and second processes."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from frontrunner.benchmarks.measuring.outcome import Outcome
from frontrunner.core import InputError, WorkError
from frontrunner.experiments.tuning.journal import Journal

DEVICES = ("local-task",)
FIRST = Outcome("ok", time_us=12.5, baseline_us=25.0, executable="abc", device="local-task")
SECOND = Outcome("compile_failed", reason="no", stage="compile")


def test_outcomes_come_back(tmp_path: Path) -> None:
    path = tmp_path / "outcomes.jsonl"
    with Journal(path, 100, DEVICES) as journal:
        journal.append(0, FIRST)
        journal.append(1, SECOND)
    with Journal(path, 100, DEVICES) as journal:
        assert journal.outcomes == {0: FIRST, 1: SECOND}


def test_a_torn_line_is_dropped_and_written_over(tmp_path: Path) -> None:
    path = tmp_path / "outcomes.jsonl"
    with Journal(path, 100, DEVICES) as journal:
        journal.append(0, FIRST)
        journal.append(1, SECOND)
    path.write_bytes(path.read_bytes()[:-7])
    with Journal(path, 100, DEVICES) as journal:
        assert journal.outcomes == {0: FIRST}
        journal.append(1, FIRST)
    with Journal(path, 100, DEVICES) as journal:
        assert journal.outcomes == {0: FIRST, 1: FIRST}


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "outcomes.jsonl"
    with Journal(path, 100, DEVICES), pytest.raises(InputError, match="another process"):
        Journal(path, 100, DEVICES)
    with Journal(path, 100, DEVICES) as again:
        assert again.outcomes == {}


def test_a_log_that_another_process_removes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "outcomes.jsonl"
    monkeypatch.setattr("fcntl.flock", lambda *_: path.unlink())
    with pytest.raises(InputError, match="another process is writing"):
        Journal(path, 100, DEVICES)


@pytest.mark.parametrize("line", ["{}", "nonsense", '{"index": 0, "kind": "ok", "extra": 1}'])
def test_an_edited_log_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "outcomes.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match="line 1"):
        Journal(path, 100, DEVICES)


def test_a_full_disk_loses_nothing_that_was_written(tmp_path: Path) -> None:
    """A file size limit makes real writes fail part-way, as a full disk does."""
    path = tmp_path / "outcomes.jsonl"
    script = textwrap.dedent(f"""
        import resource
        from pathlib import Path
        from frontrunner.benchmarks.measuring.outcome import Outcome
        from frontrunner.experiments.tuning.journal import Journal
        from frontrunner.core import WorkError
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        journal = Journal(Path({str(path)!r}), 100, ['local-task'])
        try:
            for index in range(100):
                journal.append(index, Outcome("ok", 1.0 + index, 1.0, device="local-task"))
        except WorkError as error:
            print(len(journal.outcomes), error, error.hint, sep="|")
    """)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    written, message, hint = ran.stdout.strip().split("|")
    assert os.strerror(errno.EFBIG) in message
    assert f"--resume {tmp_path}" in hint
    with Journal(path, 100, DEVICES) as journal:
        assert 0 < len(journal.outcomes) == int(written)
        assert journal.outcomes[0].time_us == 1.0
        journal.append(int(written), FIRST)
    assert path.read_bytes().count(b"\n") == int(written) + 1


def test_a_failed_write_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "outcomes.jsonl"
    real = os.write
    with Journal(path, 100, DEVICES) as journal:
        journal.append(0, FIRST)
        before = path.read_bytes()

        def full(fd: int, data: bytes) -> int:
            if len(data) > 10:
                return real(fd, data[:10])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def partly(fd: int, data: bytes) -> int:
            monkeypatch.setattr(os, "write", lambda *_: full(fd, b""))
            return real(fd, data[:10])

        monkeypatch.setattr(os, "write", partly)
        with pytest.raises(WorkError, match="No space left"):
            journal.append(1, SECOND)
        monkeypatch.undo()
        assert path.read_bytes() == before
        assert 1 not in journal.outcomes
