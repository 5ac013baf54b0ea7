"""What MkDocs does beyond its settings: pages of the whole repository, and a generated reference.

Pages keep the places that they have in the repository, so that a link between two of them works on
the site as it does where the repository is looked at. Files that pages link to come along.
"""

from __future__ import annotations

import html
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import frontrunner
from frontrunner.cli.app import cli

ROOT = Path(__file__).parents[2]
PAGES = ("*.md", "docs/**/*.md", "search/*.md", "experiments/**/*.md")
STYLE = "docs/site/site.css"
LINK = re.compile(r"\]\((?!\w+:)([^)\s#]+)")
# Of a table; GitHub takes the backslash away, MkDocs shows it.
CODE_WITH_BAR = re.compile(r"`([^`\n]*\\\|[^`\n]*)`")
# Of what functions return and of what others extend, beside the functions at the root.
RESULTS = (
    "experiments.tuning.TuneResult",
    "experiments.tuning.CompileResult",
    "experiments.network_tuning.NetworkResult",
    "experiments.profiling.ProfileResult",
    "experiments.bundling.RecordResult",
    "experiments.dataset.Recording",
    "experiments.learning.TrainResult",
    "experiments.calibrating.CalibrationResult",
    "experiments.evaluation.Report",
)
SEAMS = (
    *("models.Ranker", "models.AdaptiveRanker", "models.Reason"),
    *("search.Kind", "search.Backend", "search.Pipeline", "search.ExecutablePipeline"),
    *("search.Problem", "search.Target", "search.Dispatch", "search.Space"),
    *("search.Knob", "search.Constraint"),
)
PARTS = (
    *("search.reading.read_dispatch", "search.build_spaces"),
    *("search.enumeration.sample", "search.enumeration.add_derived_columns"),
    *("features.extract", "models.resolve_ranker", "models.order"),
    *("models.testing.check_ranker", "models.testing.ranker_checks"),
)


def on_startup(command: str, dirty: bool) -> None:
    """Copies the package to where mkdocstrings finds it by its name; the folder may have any."""
    into = ROOT / "build" / "api"
    shutil.rmtree(into, ignore_errors=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for package in project["tool"]["setuptools"]["packages"]:
        parts = package.split(".")
        folder = into.joinpath(*parts)
        folder.mkdir(parents=True, exist_ok=True)
        for module in ROOT.joinpath(*parts[1:]).glob("*.py"):
            shutil.copy(module, folder)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The theme's files, the pages of the repository, what these link to, and the reference."""
    found = Files([file for file in files if file.src_dir != config.docs_dir])
    pages = {page for pattern in PAGES for page in ROOT.glob(pattern)}
    linked = {path for page in pages for path in linked_files(page)}
    for path in sorted({*pages, *linked, ROOT / STYLE}):
        name = path.relative_to(ROOT).as_posix()
        found.append(File.generated(config, name, abs_src_path=str(path)))
    found.append(File.generated(config, "docs/options.md", content=options_page()))
    found.append(File.generated(config, "docs/api.md", content=api_page()))
    return found


def on_page_markdown(markdown: str, **_: object) -> str:
    """A page's text, with bars in the code of tables as GitHub shows them."""

    def shown(code: re.Match[str]) -> str:
        return f"<code>{html.escape(code[1]).replace(chr(92) + '|', '&#124;')}</code>"

    return CODE_WITH_BAR.sub(shown, markdown)


def linked_files(page: Path) -> Iterator[Path]:
    """What a page links to in the repository, other pages aside."""
    for target in LINK.findall(page.read_text()):
        path = (page.parent / target).resolve()
        if path.is_file() and path.suffix != ".md":
            yield path


def options_page() -> str:
    """Every command with all its options, as `--help` has them."""
    lines = ["# All options", "", "What `frontrunner COMMAND --help` says, of each command.", ""]
    return "\n".join([*lines, *_command(cli, click.Context(cli, info_name="frontrunner"))])


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _command(inner, click.Context(inner, info_name=name, parent=context))
        return
    yield from (f"## {context.command_path.removeprefix('frontrunner ')}", "")
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (f"    {context.command_path} {usage}", "")
    for paragraph in (command.help or "").split("\n\n"):
        yield from (_plain(" ".join(paragraph.split())), "")
    yield from ("| option | |", "| --- | --- |")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        # Arguments stand in the usage; those with words of their own are few.
        if record is not None and record[1]:
            names, words = (part.replace("|", "\\|") for part in record)
            yield f"| `{names}` | {_plain(words)} |"
    yield ""


def _plain(text: str) -> str:
    """A text of a command, of which nothing is markup but words in backticks."""
    parts = re.split(r"(`[^`]*`)", text.replace("\b", ""))
    return "".join(
        part if part.startswith("`") else re.sub(r"([*_\[\]])", r"\\\1", html.escape(part))
        for part in parts
    )


def api_page() -> str:
    """Functions, what they return, what others extend, and the parts: from their docstrings."""
    verbs = [name for name in frontrunner.__all__ if not name.startswith("__")]
    sections = {
        "Functions": verbs,
        "Results": RESULTS,
        "What can be extended": SEAMS,
        "Parts": PARTS,
    }
    lines = ["# Functions and classes", ""]
    for title, names in sections.items():
        lines += [f"## {title}", "", *(f"::: frontrunner.{name}\n" for name in names)]
    return "\n".join(lines)
