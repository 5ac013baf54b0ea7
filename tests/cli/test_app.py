"""The contract of every command: help, exit codes, one line per error, JSON."""

from __future__ import annotations

import errno
import importlib
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path

import click
import pytest

from frontrunner.cli import app
from frontrunner.cli.app import COMMANDS, cli, main
from frontrunner.cli.output import Interrupted, Output, UsageError, json_text
from frontrunner.core.errors import InputError, NotTunableError, WorkError


def command_of(name):
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


def inner(name):
    """The commands of a group; none of a command that does something itself."""
    command = command_of(name)
    return list(command.commands) if isinstance(command, click.Group) else []


# The words of each command that does something.
LEAVES = [[name, *sub] for name in COMMANDS for sub in ([[s] for s in inner(name)] or [[]])]


def leaf_of(words):
    found = command_of(words[0])
    return found.commands[words[1]] if words[1:] else found


@pytest.fixture
def fails(monkeypatch):
    """Makes `frontrunner rankers` raise what a test wants."""

    def install(error):
        def known():
            raise error

        monkeypatch.setattr("frontrunner.models.list_rankers", known)

    return install


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_every_command_has_the_shared_options(words, frontrunner):
    ran = frontrunner(*words, "--help")
    assert ran.code == 0
    assert {"--json", "--seed", "--max-bytes", "--help"} <= set(ran.out.replace(",", " ").split())


@pytest.mark.parametrize("name", COMMANDS)
def test_summaries_are_those_of_the_commands(name):
    first = (command_of(name).help or "").partition("\n\n")[0]
    assert " ".join(first.split()) == COMMANDS[name]


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_every_option_is_explained(words):
    options = [p for p in leaf_of(words).params if isinstance(p, click.Option)]
    assert [o.name for o in options if not o.help] == []


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_the_commands(arguments, frontrunner):
    ran = frontrunner(*arguments)
    assert ran.code == 0
    assert all(f"  {name} " in ran.out for name in COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["tun"], "no such command 'tun'", "did you mean 'tune'?"),
        (["xyzzy"], "no such command 'xyzzy'", "commands: tune, tune-model"),
        (["tune", "--bugdet", "3"], "--bugdet", "frontrunner tune --help"),
        (["rankers", "--seed", "-1"], "-1", "frontrunner rankers --help"),
        (["rankers", "--seed", "x"], "'x'", "frontrunner rankers --help"),
        (["rankers", "extra"], "extra", "frontrunner rankers --help"),
        (["--nonsense"], "--nonsense", "frontrunner --help"),
    ],
)
def test_wrong_usage(arguments, message, hint, frontrunner):
    ran = frontrunner(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    first, second = ran.err.splitlines()
    assert first.startswith("error: ")
    assert message in first
    assert second.startswith("hint: ")
    assert hint in second

    ran = frontrunner(*arguments, "--json")
    assert ran.code == 2
    assert set(json.loads(ran.out)["error"]) == {"message", "hint"}


@pytest.mark.parametrize(
    ("error", "code", "lines"),
    [
        (InputError("bad input", "do better"), 2, ["error: bad input", "hint: do better"]),
        (NotTunableError("not tunable: linalg.fill"), 2, ["error: not tunable: linalg.fill"]),
        (WorkError("failed:\n  twice"), 1, ["error: failed: twice"]),
        (WorkError("no 'a  b':\tgone\r\n"), 1, ["error: no 'a  b': gone"]),
        (UsageError("cannot", "can"), 2, ["error: cannot", "hint: can"]),
        (Interrupted("go on"), 130, ["error: interrupted", "hint: go on"]),
        (KeyboardInterrupt(), 130, ["error: interrupted"]),
        (
            OSError(errno.ENOSPC, "No space left on device", "log"),
            1,
            ["error: No space left on device: log"],
        ),
    ],
)
def test_failures(error, code, lines, fails, frontrunner):
    fails(error)
    ran = frontrunner("rankers")
    assert ran.code == code
    assert ran.out == ""
    assert ran.err.strip().splitlines() == lines

    ran = frontrunner("rankers", "--json")
    assert ran.code == code
    message = lines[0].removeprefix("error: ")
    hint = lines[1].removeprefix("hint: ") if len(lines) > 1 else ""
    assert json.loads(ran.out) == {"error": {"message": message, "hint": hint}}


def test_what_nobody_expected(fails, frontrunner, monkeypatch):
    fails(RuntimeError("oops"))
    monkeypatch.delenv("FRONTRUNNER_DEBUG", raising=False)
    ran = frontrunner("rankers")
    assert ran.code == 1
    assert ran.err.splitlines()[0] == "error: internal error: RuntimeError: oops"
    assert "Traceback" not in ran.err

    monkeypatch.setenv("FRONTRUNNER_DEBUG", "1")
    assert "Traceback" in frontrunner("rankers").err


def test_a_reader_that_leaves_early():
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "frontrunner", "rankers", "--json"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writing)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize(
    ("redirect", "code"),
    [(">/dev/full", 1), (">&-", 0), ("2>/dev/full", 0), ("2>&-", 0), ("<&- >&- 2>&-", 0)],
)
def test_streams_that_cannot_be_written(options, redirect, code):
    command = shlex.join([sys.executable, "-m", "frontrunner", "rankers", *options])
    done = subprocess.run(f"{command} {redirect}", shell=True, capture_output=True, text=True)
    assert done.returncode == code
    errors = [line for line in done.stderr.splitlines() if not options or "error" in line]
    said = "error: the output cannot be written: No space left on device"
    assert errors == ([said] if code else [])
    assert ("heuristic" in done.stdout) is redirect.startswith("2")


def test_a_command_goes_on_when_its_output_is_lost(monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    went_on = []

    @click.command("doctor")
    def command():
        output = Output(as_json=False)
        for write in (output.line, output.notify):
            write("lost")
        output.table(["a"], [["lost"]])
        went_on.append(True)

    monkeypatch.setattr(cli, "get_command", lambda *_: command)
    with monkeypatch.context() as patch:
        patch.setattr("click.echo", full)
        assert main(["doctor"]) == 1
    assert went_on == [True]


@pytest.mark.parametrize("error", [WorkError("full"), KeyboardInterrupt()])
def test_one_json_document_only(error, monkeypatch, frontrunner):
    @click.command("doctor")
    @click.option("--json", "as_json", is_flag=True)
    def command(as_json):
        Output(as_json).result({"found": 1})
        raise error

    monkeypatch.setattr(cli, "get_command", lambda *_: command)
    ran = frontrunner("doctor", "--json")
    assert ran.code in (1, 130)
    assert json.loads(ran.out) == {"found": 1}
    assert "error: " in ran.err


def test_sigterm_is_ctrl_c(monkeypatch, frontrunner):
    monkeypatch.setattr(
        "frontrunner.models.list_rankers", lambda: signal.raise_signal(signal.SIGTERM)
    )
    ran = frontrunner("rankers")
    assert (ran.code, ran.err.strip()) == (130, "error: interrupted")
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_python_drops_comes_again(number, monkeypatch, frontrunner):
    """As in `__del__` of Z3's terms: a tuning that was ended while it drew candidates went on."""

    class Term:
        def __del__(self):
            signal.raise_signal(number)

    def list_rankers():
        Term()
        threading.Event().wait(60)

    monkeypatch.setattr("frontrunner.models.list_rankers", list_rankers)
    before, hook = signal.getsignal(number), sys.unraisablehook
    ran = frontrunner("rankers")
    assert (ran.code, ran.err.strip()) == (130, "error: interrupted")
    assert signal.getsignal(number) == before
    assert sys.unraisablehook == hook


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_imports_are_not_interrupted(number, tmp_path, monkeypatch, frontrunner):
    """NumPy makes an ImportError of it; what comes after the import is."""
    lines = ["import signal", f"signal.raise_signal({int(number)})", "whole = True"]
    (tmp_path / f"imported_{number:d}.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    found = []

    def list_rankers():
        found.append(importlib.import_module(f"imported_{number:d}").whole)
        threading.Event().wait(60)

    monkeypatch.setattr("frontrunner.models.list_rankers", list_rankers)
    before = signal.getsignal(number)
    ran = frontrunner("rankers")
    assert (ran.code, ran.err.strip(), found) == (130, "error: interrupted", [True])
    assert signal.getsignal(number) == before


def test_arguments_come_from_the_command_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["frontrunner", "--version"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("frontrunner ")


def test_json_is_strict():
    class Scalar:
        def item(self):
            return 7

    given = {"a": float("nan"), "b": (float("-inf"), 1.5), 3: Scalar(), "p": Path("x/y")}
    assert json.loads(json_text(given)) == {"a": None, "b": [None, 1.5], "3": 7, "p": "x/y"}


def test_commands_can_return_an_exit_code(monkeypatch):
    monkeypatch.setattr(app.cli, "main", lambda *_, **__: 1)
    assert main(["doctor"]) == 1


def test_text_that_the_locale_lacks_is_written_all_the_same() -> None:
    """Times are in µs, shares of noise after a ±: not in every encoding."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            "from frontrunner.cli import main; main(['-h']); print('5 \u03bcs')",
        ],
        capture_output=True,
        env=environment | {"PYTHONIOENCODING": "latin-1"},
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.endswith(b"5 \\u03bcs\n")


@pytest.mark.parametrize(
    ("group", "first"), [("generate", "give one of: all, attention"), ("bundle", "give one of: ")]
)
def test_a_group_without_a_command_is_told_in_one_line(frontrunner, group, first):
    ran = frontrunner(group)
    assert ran.code == 2
    error, hint = ran.err.strip().splitlines()
    assert error == "error: a command is missing"
    assert hint.startswith(f"hint: {first}")
