"""`import frontrunner`: the functions that commands call, and how their results look."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest

import frontrunner
from frontrunner.benchmarks.measuring import DEFAULT_BUDGET
from frontrunner.cli.app import COMMANDS
from frontrunner.cli.generate import NAMES
from frontrunner.core import InputError
from frontrunner.experiments.dataset import Recording
from frontrunner.experiments.observing import Tracker
from frontrunner.experiments.profiling.families import FAMILIES

EXAMPLE = Path(__file__).parents[1] / "examples" / "matmul_skinny.mlir"
# What a command says in other words than its function, by the function's word.
RENAMED = {
    "tune": {"files": "input", "targets": "target"},
    "tune_model": {"file": "input"},
    "record": {"files": "input", "targets": "target"},
    "train": {"settings": "params"},
    "profile": {"patterns": "dispatches", "out": "output"},
}
# Ways to show a result, and runs that go on, which have functions of their own.
OF_COMMANDS = {"as_json", "verbose", "resume", "keep_valid", "form"}
OF_FUNCTIONS = {"quiet", "make_runner"}


def command_of(name: str) -> click.Command:
    module = importlib.import_module(f"frontrunner.cli.{name}")
    return module.command


@pytest.mark.parametrize(
    "name",
    [
        *("tune", "tune_model", "record", "calibrate", "train", "evaluate", "profile", "insights"),
        *("fuzz", "report", "leaderboard"),
    ],
)
def test_a_function_takes_the_options_of_its_command(name):
    verb = inspect.signature(getattr(frontrunner, name)).parameters
    options = {
        RENAMED.get(name, {}).get(str(p.name), str(p.name)): p
        for p in command_of(name).params
        if p.expose_value
    }
    assert set(options) - OF_COMMANDS - {"help"} == set(verb) - OF_FUNCTIONS - OF_COMMANDS
    context = command_of(name).make_context(name, [], resilient_parsing=True)
    for key in set(options) & set(verb):
        due, default = verb[key].default, context.params[str(options[key].name)]
        if options[key].multiple and isinstance(due, str):  # a function is for one at a time
            due = (due,)
        assert default == due or not (default or due) or due is inspect.Parameter.empty, key


def test_generate_takes_the_options_of_all_its_kinds():
    group = command_of("generate")
    assert isinstance(group, click.Group)
    assert group.commands.keys() == FAMILIES.keys() | {"all"}
    own = set(inspect.signature(frontrunner.generate).parameters)
    for kind, one in group.commands.items():
        sizes = set(FAMILIES[kind].axes) if kind in FAMILIES else set()
        if "transposed" in sizes:
            sizes |= {"transpose_lhs", "transpose_rhs"}
        given = {NAMES.get(str(p.name), str(p.name)) for p in one.params if p.expose_value}
        assert given - {"presets", "as_json", "help"} <= own | sizes, kind


VERBS = [name for name in frontrunner.__all__ if name[0].islower()]


@pytest.mark.parametrize("name", VERBS)
def test_docstrings_name_every_parameter(name):
    verb = getattr(frontrunner, name)
    text = inspect.getdoc(verb)
    assert text
    arguments = text.partition("Args:\n")[2].partition("\n\n")[0]
    named = {
        word.strip() for line in arguments.splitlines() for word in line.split(":")[0].split(",")
    }
    parameters = inspect.signature(verb).parameters
    assert set(parameters) <= named
    assert all(p.annotation is not inspect.Parameter.empty for p in parameters.values())


def test_every_command_with_a_function_is_shown():
    found = {name.replace("-", "_") for name in COMMANDS} & set(frontrunner.__all__)
    usual = {"tune", "tune_model", "record", "train", "evaluate", "profile", "generate"}
    assert found == usual | {"calibrate", "insights", "fuzz", "report", "leaderboard"}


def test_importing_it_is_light():
    heavy = ("numpy", "pandas", "iree")
    code = f"import sys, frontrunner; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_from_sizes_to_a_spec(tmp_path, capfd, monkeypatch, brief, warm):
    """What the README shows, in the order in which somebody would try it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Tracker, "_write", lambda *_: {})
    made = frontrunner.generate("matmul", "sweep", m=(16, 32), n=64, k=64, quiet=True)
    assert made.operations == ("matmul_16x64x64_f32_f32_f32", "matmul_32x64x64_f32_f32_f32")
    again = frontrunner.generate("matmul", "sweep", m=[16, 32], n=64, k=64, quiet=True)
    assert again.files == {"new": 0, "same": 4, "replaced": 0}
    path = f"sweep/{made.operations[0]}/{made.operations[0]}.mlir"

    profiled = frontrunner.profile("sweep", dispatches=["16x"], providers="none", quiet=True)
    assert list(profiled.frame["operation"]) == [made.operations[0]]
    assert profiled.failed == []
    assert "1 row: 1 ok; written to sweep/profile.csv" in repr(profiled)

    result = frontrunner.tune(path, budget=2, ranker="shuffle", out="run", jobs=1, quiet=True)
    assert (result.candidates, result.run) == (2, Path("run"))
    assert repr(result).startswith("TuneResult\n  2 candidates (")
    assert frontrunner.resume("run", quiet=True) == result
    more = frontrunner.resume("run", budget=3, quiet=True)
    assert more.candidates == 3

    few = {"candidates": 3, "top": 1, "adaptive": 2}
    recorded = frontrunner.record(path, "recordings", **few, format="t4", jobs=1, quiet=True)
    assert recorded.t4 == Path(f"recordings/{made.operations[0]}.t4.json")
    recording = frontrunner.read_recording(recorded.path)
    assert isinstance(recording, Recording)
    assert recording.uniform.sum() == 3
    count = len(recording.frame)
    assert f"{count} candidates, {count} ran, best" in repr(recording)
    assert f"{made.operations[0]}.parquet: {count} of {count} candidates ran" in repr(recorded)
    assert "3 uniform, 1 default, 1 top:cpu, 1 top:heuristic, 2 adaptive" in repr(recorded)

    trained = frontrunner.train(
        "recordings", "p.predictor", ranker="lightgbm", params={"rounds": 2}
    )
    assert "predictor    p.predictor" in repr(trained)
    report = frontrunner.evaluate(
        ["recordings"], rankers=["heuristic", "p.predictor"], jobs=1, mlflow=False, quiet=True
    )
    assert {"heuristic", "p.predictor", "shuffle"} == set(report.summary.index)
    assert "iterations_geomean" in repr(report)
    assert report.out == Path("runs/evaluation-1")
    assert capfd.readouterr().err == ""


def test_sizes_may_be_numpys_and_one_name_stands_for_a_list(tmp_path):
    sizes = {"m": np.arange(8, 17, 8), "n": np.int64(4), "k": 4, "transposed": "rhs"}
    made = frontrunner.generate("matmul", tmp_path, quiet=True, **sizes)
    assert [name.split("_")[1] for name in made.operations] == ["8x4x4", "16x4x4"]
    assert all("rhs" in path.read_text() for path in tmp_path.rglob("operation.json"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: frontrunner.tune("gone.mlir"), "gone.mlir"),
        (lambda: frontrunner.tune(EXAMPLE, budget=0), "more than 0, got 0"),
        (lambda: frontrunner.tune(EXAMPLE, minutes=float("nan")), "minutes must be"),
        (lambda: frontrunner.tune(EXAMPLE, ranker="fastest"), "fastest"),
        (lambda: frontrunner.tune(EXAMPLE, target="znver9"), "znver9"),
        (lambda: frontrunner.tune_model(EXAMPLE, coverage=2), "coverage must be"),
        (lambda: frontrunner.resume("nowhere"), "nowhere"),
        (lambda: frontrunner.record(EXAMPLE, "r", format="csv"), "no format 'csv'"),
        (lambda: frontrunner.train("nowhere", "p"), "nowhere"),
        (lambda: frontrunner.train([EXAMPLE], "p", params={"roundz": 3}), "roundz"),
        (lambda: frontrunner.evaluate("nowhere"), "nowhere"),
        (lambda: frontrunner.profile("nowhere"), "nowhere"),
        (lambda: frontrunner.profile(EXAMPLE.parent, output="x.txt"), "to be a table"),
        (lambda: frontrunner.generate("gemm", m=1), "no kind 'gemm'"),
        (lambda: frontrunner.generate("matmul", m=1, n=2), "k missing"),
        (lambda: frontrunner.generate("matmul", m=1, n=2, k=3, heads=4), "has no heads"),
        (lambda: frontrunner.generate("matmul", preset=["bert"], m=1), "preset and sizes cannot"),
        (lambda: frontrunner.generate("all", commands="c", dtypes=["f16"]), "commands and dtypes"),
        (lambda: frontrunner.read_recording("nowhere"), "nowhere"),
        (lambda: frontrunner.report("nowhere"), "there is no nowhere"),
        (lambda: frontrunner.report([]), "nothing to report on"),
        (lambda: frontrunner.fuzz("nowhere"), "nowhere"),
        (lambda: frontrunner.fuzz(EXAMPLE, minutes=0), "minutes must be"),
        (lambda: frontrunner.fuzz(EXAMPLE, targets=()), "nothing to compile"),
    ],
)
def test_bad_input_is_refused_in_words(call, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        call()
    assert not any(path.suffix != ".db" for path in tmp_path.iterdir())


def test_budget_without_limits():
    assert command_of("bundle").commands["pack"].params[2].default == DEFAULT_BUDGET
