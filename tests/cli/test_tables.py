"""Tables that fit a width, on terminals and in pipes."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress

import pytest

from frontrunner.cli.tables import table_text

COLUMNS = ["ranker", "#candidates", "#fewer than shuffle", "#worst ratio", "#regret of 16", "#size"]
ROWS = [
    ["heuristic", "12.0", "8.5x", "0.40x", "3.1%", "0.0"],
    ["mine.predictor", "9.0", "11.2x", "0.91x", "2.2%", "85.3"],
]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("seen", [False, True])
def test_all_is_there_in_lines_that_fit(width, seen):
    lines = table_text(COLUMNS, ROWS, width=width, seen=seen).splitlines()
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines) <= width
    text = "\n".join(lines)
    for title in COLUMNS:
        assert title.removeprefix("#") in text
    for cell in (cell for row in ROWS for cell in row):
        assert cell in text
    assert "…" not in text


def test_wide_ones_begin_each_part_with_the_first_column():
    lines = table_text(COLUMNS, ROWS, width=50, seen=False).splitlines()
    begun = [line for line in lines if line.startswith("mine.predictor")]
    assert len(begun) == len([line for line in lines if line.startswith("ranker")]) > 1


def test_what_is_too_long_alone_stays_whole_in_pipes_and_is_wrapped_on_terminals():
    rows = [["hip", "no", "word " * 40]]
    columns = ["device", "answers", "details"]
    assert "word " * 39 in table_text(columns, rows, width=80, seen=False)
    wrapped = table_text(columns, rows, width=80, seen=True).splitlines()
    assert len(wrapped) >= 2 + 3
    assert sum(line.count("word") for line in wrapped) == 40


@pytest.mark.parametrize("seen", [False, True])
def test_titles_are_shown_as_they_are(seen):
    """Knobs and rankers of other people's may be called as rich's markup is."""
    text = table_text(["x[b]y", "[/x]"], [["1", "2"]], width=80, seen=seen)
    assert "x[b]y" in text and "[/x]" in text


@pytest.mark.parametrize(("encoding", "below"), [("utf-8", "\u2500"), ("latin-1", "-")])
def test_titles_are_underlined_by_what_the_encoding_has(encoding, below):
    text = table_text(COLUMNS, ROWS, width=200, seen=False, encoding=encoding)
    assert set(text.splitlines()[1].split()[0]) == {below}
    text.encode(encoding)


def test_no_color():
    """Bold titles are codes, too."""

    def shown(**more):
        main, other = pty.openpty()
        env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
        env |= {"TERM": "xterm", "COLUMNS": "80"} | more
        command = [sys.executable, "-m", "frontrunner", "rankers"]
        found = b""
        with subprocess.Popen(command, stdout=other, env=env) as process:
            os.close(other)
            # A terminal that nobody writes to any more gives an error.
            with suppress(OSError):
                while some := os.read(main, 1 << 16):
                    found += some
        os.close(main)
        assert process.returncode == 0
        return found.decode()

    colored = shown()
    assert "shuffle" in colored
    assert "\x1b[" in colored
    assert "\x1b[3" not in shown(NO_COLOR="1")
    assert "\x1b" not in shown(TERM="dumb")
