"""One vocabulary: an option of a name means the same, and looks the same, in all commands."""

from __future__ import annotations

from collections import defaultdict

import click

from frontrunner.experiments.studies.invocations.making import leaves

# Why an option of one name may look different: places are files or folders, values are of rankers
# or of candidates, `train` takes no trained ranker, and some commands take several.
MAY_DIFFER = {"--device", "--function", "--out", "--ranker", "--set", "--target"}
# What other commands call otherwise; still taken, for scripts.
OTHER_NAMES = {"--output": "--out", "--compile": None}


def options():
    for name, command in leaves():
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                yield name, parameter


def test_options_of_a_name_look_the_same():
    shapes = defaultdict(set)
    for _, option in options():
        shapes[option.opts[0]].add((option.metavar, option.multiple, option.is_flag))
    assert {flag for flag, found in shapes.items() if len(found) > 1} <= MAY_DIFFER


def test_what_commands_write_is_out():
    assert all(option.opts[0] not in OTHER_NAMES for _, option in options())
    writing = {name for name, option in options() if "--out" in option.opts}
    assert {"tune", "profile", "record", "train", "evaluate", "report", "link"} <= writing


def test_defaults_are_told_in_one_way():
    """In brackets at the end, as click does where a value can say it."""
    for name, option in options():
        words = (option.help or "").rstrip(".")
        assert "[default" not in words, (name, option.opts)
        has_one = not option.is_flag and not option.required and option.default not in (None, ())
        if has_one and isinstance(option.default, int | float | str | tuple):
            assert option.show_default or words.endswith("]"), (name, option.opts)
