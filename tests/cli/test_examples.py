"""The examples that `--help` ends with."""

from __future__ import annotations

import shlex

import pytest

from frontrunner.cli.examples import EXAMPLES
from frontrunner.experiments.studies.invocations.making import leaves

LEAVES = dict(leaves())
LINES = [(name, line) for name, lines in EXAMPLES.items() for line in lines]


def test_every_command_has_some():
    assert set(EXAMPLES) == set(LEAVES)


@pytest.mark.parametrize(("name", "line"), LINES, ids=[line for _, line in LINES])
def test_they_take_these_options(name, line):
    assert line.startswith(name)
    assert len(f"    frontrunner {line}") <= 80
    words = shlex.split(line.partition(" > ")[0])[len(name.split()) :]
    options = {opt for parameter in LEAVES[name].params for opt in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options


def test_help_shows_them_as_they_are(frontrunner):
    ran = frontrunner("bundle", "pack", "--help")
    assert [f"    frontrunner {line}" for line in EXAMPLES["bundle pack"]] == [
        line.rstrip() for line in ran.out.splitlines() if "  frontrunner bundle pack " in line
    ]
