"""Files of JSON lines: what they hold is checked line by line."""

from __future__ import annotations

import errno
import os
from contextlib import closing
from pathlib import Path

import pytest

from frontrunner.core import InputError, NoRoomError
from frontrunner.core.json_lines import JsonLinesFile, read_whole_lines


def test_a_number_that_is_too_large_to_be_checked_is_told_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(f'{{"seconds": 1}}\n{{"seconds": {10**400}}}\n')

    def check(record: dict[str, int]) -> None:
        float(record["seconds"])  # raises an OverflowError

    with pytest.raises(InputError, match=r"line 2 is not what .* \(OverflowError: "):
        read_whole_lines(path, check)
    records, wrong = read_whole_lines(path, check, keep_valid=True)
    assert records == [{"seconds": 1}]
    assert len(wrong) == 1


def test_what_comes_before_the_first_wrong_line_is_not_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, first = tmp_path / "log.jsonl", '{"seconds":1}\n'
    damaged = f'{first}edited\n{{"seconds":2}}\n'
    path.write_text(damaged)

    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    told = "No space left on device; as it was, it is log.jsonl.damaged-1"
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fail)
        with pytest.raises(NoRoomError, match=told):
            JsonLinesFile(path, "make room", keep_valid=True)
    assert path.read_text() == first
    assert path.with_name("log.jsonl.damaged-1").read_text() == damaged
    path.write_text(damaged)
    with closing(JsonLinesFile(path, "make room", keep_valid=True)) as file:
        assert file.records == [{"seconds": 1}, {"seconds": 2}]
        assert "the first: line 2 is not what was written there" in file.skipped_message
    assert path.read_text() == f'{first}{{"seconds": 2}}\n'
