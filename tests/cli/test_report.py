"""`frontrunner report`, and the pages that other commands leave."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from frontrunner.cli import pages
from frontrunner.cli.output import Interrupted, Output
from frontrunner.core import WorkError

OLD = Path(__file__).parents[1] / "data" / "old"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(OLD / "run", "run"))


def test_the_page_of_a_run(run, frontrunner):
    ran = frontrunner("report", run)
    assert ran.code == 0, ran.err
    first, last = ran.out.splitlines()
    assert first.split() == ["tuning", "run", "run"]
    assert last.startswith("report       run/report.html (")
    assert "</html>" in (run / "report.html").read_text()
    assert frontrunner("report", run).code == 0  # a page of ours is replaced


@pytest.mark.parametrize("text", ["mine", "<p>How frontrunner finds what it finds"])
def test_a_page_of_somebody_elses_is_left_alone(run, frontrunner, tmp_path, monkeypatch, text):
    """Where the page goes if no place is named, others have files of that name, too."""
    monkeypatch.chdir(tmp_path)
    other = shutil.copytree(run, tmp_path / "other")
    for page, folders in (("report.html", [run, other]), ("other/report.html", [other])):
        Path(page).write_text(text)
        ran = frontrunner("report", *folders)
        assert ran.code == 2
        assert Path(page).read_text() == text


def test_json(run, frontrunner):
    ran = frontrunner("report", run, OLD / "sweep", "--out", "both.html", "--json")
    told = json.loads(ran.out)
    assert told["report"] == "both.html"
    assert list(told["kinds"].values()) == ["tuning run", "profile"]
    assert told["size_bytes"] == Path("both.html").stat().st_size


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Missing argument"),
        (("nowhere",), "nowhere"),
        ((OLD / "matvec.mlir",), "is nothing that a report can be made of"),
        ((OLD / "run", "--out", "x.txt"), "is to be a page"),
        ((OLD / "run", "--out", "gone/x.html"), "there is no folder gone"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    run: Path, frontrunner: Callable[..., Any], arguments: tuple[object, ...], says: str
) -> None:
    ran = frontrunner("report", *arguments)
    assert ran.code == 2
    assert says in next(s for s in ran.err.splitlines() if s.startswith("error: "))
    assert not Path("x.txt").exists()


class Finished:
    def __init__(self, run: Path) -> None:
        self.run = run

    def summary_lines(self) -> list[str]:
        return ["speedup      2.00x"]

    def to_dict(self) -> dict[str, Any]:
        return {"speedup": 2.0}


def test_a_result_is_shown_with_its_page(run, capsys):
    output = Output(True)
    pages.show_with_page(output, Finished(run), pages.TrackedPage(output))
    said = capsys.readouterr()
    assert json.loads(said.out) == {"speedup": 2.0, "report": "run/report.html"}
    assert said.err.splitlines() == ["speedup      2.00x", "report       run/report.html"]


def test_a_page_of_somebody_elses_in_a_run_is_left_alone(run, capsys):
    (run / "report.html").write_text("mine")
    output = Output(True)
    pages.show_with_page(output, Finished(run), pages.TrackedPage(output))
    said = capsys.readouterr()
    assert json.loads(said.out)["report"] is None
    first = said.err.splitlines()[0]
    why = "the report: run/report.html is no page of frontrunner's, so it is not replaced"
    assert first == f"warning: no report was written: {why}"
    assert (run / "report.html").read_text() == "mine"


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        (RuntimeError("no\nroom"), "warning: no report was written: RuntimeError: no room"),
        (WorkError("no room"), "warning: no report was written: no room"),
    ],
)
def test_a_report_that_fails_costs_a_line_and_no_result(run, capsys, monkeypatch, failure, says):
    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr("frontrunner.experiments.reporting.report", fail, raising=False)
    output = Output(True)
    pages.show_with_page(output, Finished(run), pages.TrackedPage(output))
    said = capsys.readouterr()
    assert json.loads(said.out) == {"speedup": 2.0, "report": None}
    assert said.err.splitlines() == [says, "speedup      2.00x"]


@pytest.mark.parametrize("within_the_run", [True, False])
def test_ctrl_c_ends_the_report_and_then_the_command(run, capsys, monkeypatch, within_the_run):
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("frontrunner.experiments.reporting.report", interrupt, raising=False)
    output = Output(True)
    page = pages.TrackedPage(output)
    if within_the_run:
        page(run)
    with pytest.raises(Interrupted, match="interrupted") as ended:
        pages.show_with_page(output, Finished(run), page)
    said = capsys.readouterr()
    assert json.loads(said.out) == {"speedup": 2.0, "report": None}
    assert said.err.splitlines() == ["warning: the report was interrupted", "speedup      2.00x"]
    assert (ended.value.exit_code, ended.value.hint) == (130, "the result is in run")
