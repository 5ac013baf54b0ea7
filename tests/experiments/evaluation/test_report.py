"""What an evaluation leaves in MLflow, and what its pictures show."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from frontrunner.core import WorkError
from frontrunner.experiments.evaluation.cross_validation import CURVE, Evaluation, Predictor
from frontrunner.experiments.evaluation.plots import plots
from frontrunner.experiments.evaluation.report import Report, track_report, write_report
from frontrunner.experiments.observing.tracking import Tracker

FILE = "/tmp/my own.predictor"
# Characters that MLflow takes in no name of a model.
LEARNED = "lightgbm:rate=0.1"
CASES = ("matmul", "conv")


def row(ranker: str, case: str, seed: int, iterations: float) -> dict[str, object]:
    about = {"ranker": ranker, "case": case, "problem": case, "left_out": case}
    about |= {"family": case, "device": "chip", "default_wins": False, "measured": 9}
    figures = {"candidates": 9, "difficulty": 0.1, "expected": 5.0, "score": 0.5, "seconds": np.nan}
    levels = {"iterations_1": iterations, "iterations_5": iterations, "iterations_10": iterations}
    logs = {f"log_{name}": np.log(count) for name, count in levels.items()}
    logs["expected_log"] = np.log(5)
    shares = {f"{name}_{k}": 0.9 for name in ("best_of", "regret") for k in (1, 8, 16, 64)}
    shares["spec"] = 1.0
    about |= {"seed": seed, "size_bytes": 0, "train_s": 1.0, "rank_s": 0.1, "skipped": np.nan}
    return about | figures | levels | logs | shares


@pytest.fixture
def report():
    rows = [row("shuffle", case, 0, 5) for case in CASES]
    rows += [row(LEARNED, case, seed, 1 + 2 * seed) for case in CASES for seed in (0, 1)]
    rows += [row(FILE, case, 0, 2) for case in CASES]
    curves = np.linspace([0.1] * len(rows), [1.0] * len(rows), CURVE, axis=1)
    curves[2] = 1.0
    places = np.arange(1, 10) / 9
    ranks = pd.DataFrame(
        {"ranker": LEARNED, "case": "conv", "predicted": places, "real": places[::-1]}
    )
    importances = pd.Series({"reuse": 3.0, "lanes": 1.0, "peel": 0.0})
    evaluation = Evaluation(
        results=pd.DataFrame(rows),
        curves=pd.DataFrame(curves, columns=range(1, CURVE + 1)),
        ranks=ranks,
        predictors={LEARNED: Predictor(b"trees", 1.0, importances)},
    )
    return Report.of(evaluation, {"holdout": "problem", "seeds": 2}, notes=["as it is"])


def test_what_to_know_beside_the_figures(report):
    told = report.to_dict()
    assert (told["problems"], told["families"], told["devices"]) == (2, 2, 1)
    assert told["notes"] == list(report.notes)
    assert report.notes[0] == "2 recordings: 2 problems, 2 families, 1 device"
    assert report.notes[-1] == "as it is"
    assert set(report.notes) < set(report.summary_lines())


def test_everything_is_tracked(report, tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(Tracker, "_write", lambda _, run: written.append(run) or {})
    folder = tmp_path / "made"
    write_report(report, folder)
    tracker = Tracker(print)
    tracker.start("made", {})
    track_report(dataclasses.replace(report, out=folder), tracker)
    tracker.finish()

    (run,) = written
    metrics = {name: value for name, value, *_ in run["metrics"]}
    assert metrics["fewer_than_shuffle/lightgbm_rate_0_1"] == pytest.approx(5 / 3**0.5)
    assert metrics["fewer_than_shuffle/_tmp_my_own_predictor"] == pytest.approx(2.5)
    assert "seconds/lightgbm_rate_0_1" not in metrics  # not known
    kept = {Path(path).name for path in run["artifacts"]}
    assert {"evaluation.json", "results.csv", "results.parquet", "ranks.png"} < kept
    # A file of the run, and no model: what is registered was asked for.
    assert "lightgbm_rate_0_1.predictor" in kept
    assert run["models"] == []
    assert [child["name"] for child in run["children"]] == ["shuffle", LEARNED, FILE]
    learned = run["children"][1]
    assert (learned["params"], learned["tags"]) == ({"ranker": LEARNED}, {"mode": "ranker"})
    figures = {(name, step): value for name, value, _, step in learned["metrics"]}
    assert figures["candidates_to_near_optimal/matmul", 0] == 2  # of two seeds
    assert figures["fewer_than_shuffle", 0] == pytest.approx(5 / 3**0.5)
    assert 0 < figures["best_so_far", 1] < 1
    assert figures["best_so_far", CURVE] == 1


def test_the_pictures(report):
    names = list(report.summary.index)
    figures = {name: draw() for name, draw in plots(report.evaluation, report.summary)}
    assert list(figures) == ["best_so_far", "iterations", "ranks", "importances", "size"]
    for name in ("best_so_far", "iterations", "size"):
        (axes,) = figures[name].axes
        assert [text.get_text() for text in axes.get_legend().get_texts()] == names
    (axes,) = figures["iterations"].axes
    assert [label.get_text() for label in axes.get_yticklabels()] == list(CASES)
    (axes,) = figures["ranks"].axes
    assert axes.get_title() == f"{LEARNED}: rank correlation -1.00"
    (axes,) = figures["importances"].axes
    assert [bar.get_width() for bar in axes.patches] == [0, 0.25, 0.75]


def test_no_picture_of_what_is_not_there(report):
    nothing = {"ranks": pd.DataFrame(), "predictors": {}}
    evaluation = dataclasses.replace(report.evaluation, **nothing)
    figures = dict(plots(evaluation, report.summary))
    assert list(figures) == ["best_so_far", "iterations", "size"]


def test_names_are_no_formulas(report, tmp_path):
    odd = r"x$_{^$ \$y"

    def renamed(table):
        return table.replace({LEARNED: odd, "conv": odd})

    evaluation = dataclasses.replace(
        report.evaluation,
        results=renamed(report.evaluation.results),
        ranks=renamed(report.evaluation.ranks),
        predictors={odd: Predictor(b"trees", 1.0, pd.Series({odd: 1.0}))},
    )
    again = Report.of(evaluation, {})
    assert write_report(again, tmp_path / "made") == (tmp_path / "made", [])
    assert len(list((tmp_path / "made" / "plots").iterdir())) == 5


def test_a_picture_that_fails_does_not_cost_the_tables(report, tmp_path, monkeypatch):
    def fails(*_):
        raise ValueError("no such glyph")

    monkeypatch.setattr("frontrunner.experiments.evaluation.plots.ranks", fails)
    says = ["ranks.png cannot be drawn: ValueError: no such glyph"]
    assert write_report(report, tmp_path / "made") == (tmp_path / "made", says)
    assert (tmp_path / "made" / "summary.csv").exists()
    assert not (tmp_path / "made" / "plots" / "ranks.png").exists()
    assert (tmp_path / "made" / "plots" / "size.png").exists()


def test_a_folder_that_is_taken_stays_as_it_is(report, tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.txt").write_text("mine")
    with pytest.raises(WorkError, match="cannot write to"):
        write_report(report, tmp_path / "taken")
    assert [p.name for p in tmp_path.rglob("*")] == ["taken", "thesis.txt"]


def test_the_current_folder_will_do(report, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    write_report(report, Path())
    assert (tmp_path / "here" / "summary.csv").exists()
    # Also for those who are in it.
    assert Path("summary.csv").exists()
    assert not list(Path().glob(".*"))
