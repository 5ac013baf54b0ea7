"""Files of JSON lines: what they hold is checked line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontrunner.core import InputError
from frontrunner.core.json_lines import read_whole_lines


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
