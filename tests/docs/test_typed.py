"""What pages tell people to type runs, from the top of a page to its end; the rest is parsed."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

import frontrunner as package
from frontrunner.cli.app import cli

from .reading import PAGES, ROOT, Block, Line, expanded, read, shortened
from .unrun import UNRUN

ITEMS = {page: list(read(page)) for page in PAGES}
ALL = [item for items in ITEMS.values() for item in items]
SHOWN = [page for page, items in ITEMS.items() if items]
# The page that shows a command first.
FIRST = {" ".join(i.words): i.page for i in reversed(ALL) if isinstance(i, Line)}
COMPILE = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu"]


def reason(item: Line | Block) -> str | None:
    """Why it is not run; None if it is."""
    found = [why for pattern, why in UNRUN.items() if re.search(pattern, item.text)]
    return found[0] if found else None


def is_run_elsewhere(item: Line) -> bool:
    """Whether it takes long, and a page before shows the same; all folders hold what it leaves."""
    return item.words[1] in ("record", "tune") and FIRST[" ".join(item.words)] != item.page


def parse(words: list[str]) -> click.Context:
    """The options of a command, as click takes them; it is not begun."""
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, words[0]
        command, words = found, words[1:]
    # A shell takes what follows for itself.
    given = list(words[: words.index(">")] if ">" in words else words)
    return command.make_context(str(command.name), given)


def test_there_is_much_to_type():
    lines = [item for item in ALL if isinstance(item, Line)]
    assert len(lines) > 80
    assert len(ALL) - len(lines) > 8
    run = [item for item in ALL if reason(item) is None]
    assert len(run) > len(ALL) / 2


@pytest.mark.parametrize("pattern", UNRUN)
def test_what_is_not_run_is_there(pattern):
    assert any(re.search(pattern, item.text) for item in ALL)


@pytest.mark.parametrize("item", [i for i in ALL if isinstance(i, Block)], ids=str)
def test_python_calls_and_imports_what_exists(item):
    for node in ast.walk(ast.parse(item.text)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("frontrunner"):
            module = importlib.import_module(str(node.module))
            assert all(hasattr(module, alias.name) for alias in node.names)
        if isinstance(node, ast.Call) and re.fullmatch(r"frontrunner\.\w+", ast.unparse(node.func)):
            function = getattr(package, ast.unparse(node.func).partition(".")[2])
            keywords = {str(k.arg): k.value for k in node.keywords}
            inspect.signature(function).bind(*node.args, **keywords)


@pytest.mark.slow
@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_from_the_top(
    page, stage, some_spec, install_example, frontrunner, few, brief_bundle
):
    names: dict[str, Any] = {}
    targets: list[str] = []  # for one `make`, which takes most of its time to start
    for item in ITEMS[page]:
        why = reason(item)
        if isinstance(item, Block):
            if why is None:
                exec(compile(item.text, str(item), "exec"), names)
            continue
        words = expanded(item.words)
        match words[0]:
            case "frontrunner" if why is not None or is_run_elsewhere(item):
                parse(words[1:])
            case "frontrunner":
                lay_specs(words, some_spec)
                ran = frontrunner(*shortened(words[1:]))
                assert ran.code == 0, f"{item}\n{ran.err}"
            case _ if why is not None:
                pass
            case "iree-compile":
                lay_specs(words, some_spec)
                run_tool(item, words)
            case "python" if words[1] == "-m":
                check_program(item, words)
            case "python" if words[1].endswith(".bundle"):
                run_tool(item, [*brief_bundle, *words[1:]])
            case "python":
                run_tool(item, [sys.executable, *words[1:]])
            case "make" if not any("=" in word for word in words):
                targets += words[1:]
            case "make":
                run_tool(item, ["make", "--dry-run", "--directory", str(ROOT), *words[1:]])
            case "pip":
                assert words[1] == "install"
                install_example(Path(words[2]).name)
            case other:
                raise AssertionError(f"{item}: nothing is known of {other}")
    if targets:
        run_tool(page, ["make", "--dry-run", "--directory", str(ROOT), *targets])


def lay_specs(words: list[str], spec: str) -> None:
    """Puts a spec where a run of this test, which tries three candidates, found none."""
    for word in words:
        path = Path(word.rpartition("=")[2])
        if path.name == "spec.mlir" and not path.exists():
            path.write_text(spec)


def run_tool(item: Line | Path, words: list[str]) -> None:
    """Runs another program."""
    if words[0] == "iree-compile":
        # `...` stands for what one compiles a model with.
        more = [*COMPILE, "-o", "model.vmfb"] if words[-1] == "..." else []
        tool = str(Path(sys.executable).with_name("iree-compile"))
        words = [tool, *(word for word in words[1:] if word != "..."), *more]
    # The compiler's threads waited for each other for ever once, in half an hour of tests.
    for tried in range(2):
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=300)
            break
        except subprocess.TimeoutExpired:
            assert tried == 0, f"{item}\nno end in two times 300 s"
    assert done.returncode == 0, f"{item}\n{done.stderr}"


def check_program(item: Line, words: list[str]) -> None:
    """A program of the package knows the options that it is shown with."""
    shown = {word.strip("[]") for word in words[3:] if word.lstrip("[").startswith("--")}
    if not shown:
        return  # that there is one, tests/test_readme.py sees
    done = subprocess.run(
        [sys.executable, "-m", words[2], "--help"], capture_output=True, text=True, check=True
    )
    assert all(option in done.stdout for option in shown), item


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the functions of Python blocks do little, as commands do by their options."""
    less: dict[str, dict[str, Any]] = {
        "tune": {"budget": 3, "pool": 200, "jobs": 1},
        "record": {"candidates": 3, "top": 1, "adaptive": 2, "jobs": 1},
        "evaluate": {"seeds": 1, "jobs": 1, "mlflow": False},
        "generate": {},
        "profile": {"providers": "none"},
    }

    def little(function: Callable[..., Any], more: dict[str, Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **options: Any) -> Any:
            # Two sizes are enough of a range.
            short = {n: list(v)[:2] if isinstance(v, range) else v for n, v in options.items()}
            return function(*arguments, **(short | more))

        return called

    for name, more in less.items():
        monkeypatch.setattr(package, name, little(getattr(package, name), more), raising=False)
