"""What README, CONTRIBUTING and docs tell people to type exists, and so do the files they name."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from frontrunner.cli.app import cli

from .docs.reading import PAGES, ROOT

DOCS = "\n".join(page.read_text() for page in PAGES)
COMMANDS = re.findall(r"^ +(?:\.venv/bin/)?frontrunner (.*)$", DOCS, re.MULTILINE)
# Within sentences; one that is called COMMAND stands for any.
INLINE = [" ".join(c.split()) for c in re.findall(r"`frontrunner\s([a-z][^`]*)`", DOCS)]
PROGRAMS = sorted(set(re.findall(r"python\s-m\s(frontrunner[\w.]*\w)", DOCS)))


@pytest.mark.parametrize("line", sorted({*COMMANDS, *INLINE}))
def test_commands_take_these_options(line):
    words = shlex.split(line, comments=True)
    command: click.Command = cli
    while isinstance(command, click.Group) and words:
        found = command.get_command(click.Context(command), words.pop(0))
        assert found is not None
        command = found
    options = {name for parameter in command.params for name in parameter.opts}
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= options


def test_there_are_commands():
    assert len(COMMANDS) > 15
    assert len(INLINE) > 15


@pytest.mark.parametrize("module", PROGRAMS)
def test_programs_exist(module):
    path = ROOT.joinpath(*module.split(".")[1:])
    assert path.with_suffix(".py").exists() or (path / "__main__.py").exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_that_are_named_exist(page):
    named = set(re.findall(r"`((?:\w+/)+\w+\.(?:py|md|mlir))`", page.read_text()))
    found = {name for name in named if (ROOT / name).exists() or (page.parent / name).exists()}
    assert found == named


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text()):
        path, _, heading = target.partition("#")
        to = page.parent / path if path else page
        assert to.exists(), target
        if heading:
            titles = re.findall(r"^#+ (.*)$", to.read_text(), re.MULTILINE)
            assert heading in {re.sub(r"[^\w -]", "", t).lower().replace(" ", "-") for t in titles}


def test_the_readme_is_two_screens():
    assert len((ROOT / "README.md").read_text().splitlines()) < 90
