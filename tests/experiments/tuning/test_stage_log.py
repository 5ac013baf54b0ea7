"""What stages have said comes back, and lines that cannot be theirs are told of."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from frontrunner.core import InputError
from frontrunner.experiments.tuning.stage_log import Judgement, StageLog

SAID = Judgement(stage=1, index=4, passed=True, value=2.5)


def test_lines_that_are_no_judgements_are_refused_or_left_out_and_told(tmp_path: Path) -> None:
    path, told = tmp_path / "stages.jsonl", list[str]()
    with closing(StageLog(path, told.append)) as log:
        log.append(SAID)
    with path.open("a") as file:
        file.write('{"stage": "second"}\n')
    with pytest.raises(InputError, match="line 2"):
        StageLog(path, told.append)
    assert not told
    with closing(StageLog(path, told.append, keep_valid=True)) as log:
        assert log.known == {(1, 4): SAID}
    (note,) = told
    assert "1 line of" in note and "left out" in note
