"""What shells complete, asked as a shell asks."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import BashComplete

from frontrunner.cli.app import cli
from frontrunner.cli.completing import DEVICES, TARGETS
from frontrunner.models import ranker_names
from frontrunner.search import resolve_target


def completed(line):
    """The words that could stand at the end of a line."""
    *words, incomplete = line.split(" ")
    asked = BashComplete(cli, {}, "frontrunner", "_FRONTRUNNER_COMPLETE")
    return {item.value: item.type for item in asked.get_completions(words, incomplete)}


def test_commands_and_options():
    assert set(completed("tun")) == {"tune", "tune-model"}
    assert set(completed("bundle ")) >= {"pack", "run", "ingest"}
    assert set(completed("tune --comp")) == {"--compile-only"}
    assert completed("no-such-command --x") == {}


@pytest.mark.parametrize(
    "command", ["tune", "tune-model", "train", "explain", "evaluate", "record", "bundle pack"]
)
def test_rankers(command):
    option = "--rankers" if command in ("evaluate", "record") else "--ranker"
    assert set(completed(f"{command} {option} ")) == set(ranker_names())
    assert set(completed(f"{command} {option} heu")) == {"heuristic"}
    # Files of trained ones are for the shell to complete.
    assert completed(f"{command} {option} mine.pre") == {"mine.pre": "file"}


def test_lists_of_rankers():
    assert set(completed("evaluate --rankers cpu,he")) == {"cpu,heuristic"}


@pytest.mark.parametrize("command", ["tune", "space", "profile", "fuzz", "bundle pack"])
def test_targets(command):
    assert set(completed(f"{command} --target ")) == set(TARGETS)
    assert set(completed(f"{command} --target sm_")) == {"sm_80", "sm_86", "sm_89"}


@pytest.mark.parametrize("command", ["tune", "tune-model", "profile", "record", "worker"])
def test_devices_and_knobs(command):
    assert set(completed(f"{command} --device ")) == set(DEVICES)
    assert set(completed("tune --extra st")) == {"stages"}


@pytest.mark.parametrize("target", [name for name in TARGETS if name != "vulkan"])
def test_targets_are_some(target):
    assert resolve_target(target)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_what_shells_read(shell, frontrunner, tmp_path):
    ran = frontrunner("completion", shell)
    assert ran.code == 0
    assert "_FRONTRUNNER_COMPLETE" in ran.out
    told = json.loads(frontrunner("completion", shell, "--json").out)
    assert told["script"].strip() == ran.out.strip()
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here to read it")
    script = tmp_path / "script"
    script.write_text(ran.out)
    done = subprocess.run([shell, "-n", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_a_bash_that_completes(frontrunner, tmp_path):
    """With the installed script, in a shell of its own."""
    script = tmp_path / "script"
    script.write_text(frontrunner("completion", "bash").out)
    program = tmp_path / "frontrunner"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m frontrunner "$@"\n')
    program.chmod(0o755)
    ask = (
        f". {shlex.quote(str(script))}; COMP_WORDS=(frontrunner tune --ranker heu); COMP_CWORD=3; "
        '_frontrunner_completion frontrunner; echo "${COMPREPLY[@]}"'
    )
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", ask], capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    assert done.stdout.strip() == "heuristic", done.stderr
