"""A sample of malformed invocations, another one each day."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from frontrunner.cli.app import COMMANDS
from frontrunner.experiments.studies.invocations import judging
from frontrunner.experiments.studies.invocations.__main__ import run
from frontrunner.experiments.studies.invocations.judging import judge
from frontrunner.experiments.studies.invocations.making import (
    VALUE_MISSING,
    Invocation,
    draw,
    leaves,
)


def test_two_hundred_are_of_all_commands_and_ways():
    drawn = draw("0", 200)
    assert len({one.words for one in drawn}) == 200
    assert {one.words[0] for one in drawn} == set(COMMANDS)
    assert len({one.way for one in drawn}) >= 14
    assert draw("0", 200) == drawn != draw("1", 200)
    assert len(list(leaves())) > len(COMMANDS)


@pytest.mark.slow
def test_a_sample_is_refused_and_changes_nothing(tmp_path, capsys, untracked):
    found = run(os.environ["FRONTRUNNER_FUZZ_SEED"], 30, tmp_path)
    assert found == [], capsys.readouterr().out


def test_what_is_wrong_is_found(tmp_path, monkeypatch):
    """A command that writes, prints and ends with another code."""
    (tmp_path / "kept").write_text("before")

    def careless(words):
        Path("kept").write_text("after")
        Path("left").write_text("")
        print("Traceback (most recent call last)")
        return 2

    monkeypatch.setattr(judging, "main", careless)
    finding = judge(Invocation(("tune",), "nothing given"), tmp_path, as_json=False)
    assert finding is not None
    assert len(finding.wrong) == 5

    monkeypatch.setattr(judging, "main", lambda words: exit(3))
    finding = judge(Invocation(("tune",), "nothing given"), tmp_path, as_json=True)
    assert finding is not None
    assert finding.wrong == ("raises: SystemExit: 3", "exit code -1, not 2")


def test_json_is_no_value_of_the_last_word(tmp_path, capsys):
    words = ("generate", "matmul", "--m", "8", "--n", "8", "--k", "8", "--out")
    assert judge(Invocation(words, VALUE_MISSING), tmp_path, as_json=True) is None
