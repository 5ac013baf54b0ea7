"""A leaderboard of a small folder: its figures, its page, and going on after Ctrl-C."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import frontrunner
from frontrunner.core import InputError
from frontrunner.experiments.dataset import write_synthetic
from frontrunner.experiments.evaluation import (
    DEVICE_OR_PROBLEM,
    Contender,
    cross_validation,
    find_contenders,
    make_folds,
)
from frontrunner.experiments.evaluation import contenders as contender_module
from frontrunner.experiments.interrupted import RunInterrupted
from frontrunner.experiments.leaderboard import api
from frontrunner.experiments.leaderboard.scores import pair_table, score_table, with_main_figure
from frontrunner.experiments.learning import read_cases
from frontrunner.features import CPU
from frontrunner.models.ranker import Ranker, features

RANKERS = ["forest:trees=3:min_leaf=9", "kt_genetic", "tree_top10"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    for path in write_synthetic(folder):
        if "separable" not in path.name and "failing" not in path.name:
            path.unlink()
    return folder


def make(folder, out):
    return frontrunner.leaderboard(
        folder, rankers=RANKERS, synthetic=False, seeds=2, out=out, jobs=1, quiet=True
    )


@pytest.fixture(scope="module")
def board(folder, tmp_path_factory):
    return make(folder, tmp_path_factory.mktemp("out") / "board")


def test_all_are_there_and_told_what_they_knew(board):
    assert set(board.scores.index) == {"shuffle", *RANKERS}
    assert board.given == {
        "shuffle": "nothing",
        "kt_genetic": "nothing",
        "tree_top10": "other devices or problems",
        RANKERS[0]: "other devices or problems",
    }
    assert board.scores.loc["shuffle", "score"] == 0
    assert (board.scores["taken"].diff().dropna() >= 0).all()
    assert set(board.spaces["left_out"]) == {"synthetic 0", "synthetic 1"}


def test_the_folder_holds_the_page_and_hashes(board, folder):
    told = json.loads((board.out / "leaderboard.json").read_text())
    for row in told["data"]:
        data = (folder / row["file"]).read_bytes()
        assert row["sha256"] == hashlib.sha256(data).hexdigest()
        assert row["bytes"] == len(data)
    page = (board.out / "leaderboard.md").read_text()
    assert "| `kt_genetic` | nothing |" in page
    assert told["data"][0]["sha256"] in page
    assert {"numpy", "Python"} <= set(told["versions"])
    assert len(pd.read_csv(board.out / "results.csv")) == 4 * (1 + 3 * 2)
    written = frontrunner.report(board.out)
    assert written.kinds == {str(board.out): "leaderboard"}
    html = written.page.read_text()
    assert "kt_genetic" in html
    # Each file is in a table; what they come to as a whole is beside the versions.
    assert all(re.search(rf"<td[^>]*>{row['sha256']}</td>", html) for row in told["data"])
    assert told["digest"] in html and "'sha256'" not in html


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["data"][0].update(file=5, sha256=None),
        lambda d: next(iter(d["spaces"].values())).update(device=5, left_out=None),
        lambda d: d["given"].update(shuffle=1),
        lambda d: d["pairs"][0].update(ranker=5),
    ],
)
def test_values_that_are_no_text_have_a_page(board, tmp_path, change):
    """A file of somebody else's may hold anything."""
    told = json.loads((board.out / "leaderboard.json").read_text())
    change(told)
    (tmp_path / "leaderboard.json").write_text(json.dumps(told))
    assert frontrunner.report(tmp_path).page.exists()


def test_without_ours_each_is_compared_with_the_best(board):
    first, *others = board.scores.index
    assert list(board.against) == [first]
    html = frontrunner.report(board.out).page.read_text()
    _, table = html.split(f'<table aria-label="Each against {first}">')
    rows = table.partition("</table>")[0]
    assert [name for name in others if f">{name}</td>" not in rows] == []


def test_synthetic_spaces_have_the_same_names_beside_any_files(folder, tmp_path):
    """Also where files of many folders have one: by its name a space has its lots."""
    files, folders = sorted(folder.glob("*.parquet")), []
    for place, file in zip("xy", (files[0], files[-1]), strict=True):
        folders.append(tmp_path / place / "results" / "of" / "t4")
        folders[-1].mkdir(parents=True)
        shutil.copy(file, folders[-1] / "one.parquet")
    cases = read_cases(folders)
    nothing = pd.DataFrame()
    more, files = api._with_synthetic(cases, nothing, seed=1)
    alone, _ = api._with_synthetic([], nothing, seed=1)
    names = [case.name for case in more]
    assert {"x_results_of_t4_one", "y_results_of_t4_one"} < set(names)
    assert set(names) - {case.name for case in cases} == {case.name for case in alone}
    assert (names, len(files)) == (sorted(names), len(alone))
    with pytest.raises(InputError, match="has the name of a synthetic space, synthetic_"):
        api._with_synthetic(alone, nothing, seed=1)


def test_a_negative_seed_is_refused_before_the_work():
    with pytest.raises(InputError, match="seed must be at least 0, got -1"):
        frontrunner.leaderboard("anything", seed=-1)
    with pytest.raises(InputError, match="seed must be at least 0, got -1"):
        frontrunner.evaluate("anything", seed=-1)


@pytest.mark.usefixtures("latin_1")
def test_names_may_be_any_text_in_any_locale(board, tmp_path):
    out = api._write(replace(board, notes=("Łódź was left out",)), tmp_path / "board")
    assert "Łódź was left out." in (out / "leaderboard.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("shuffle:seed=4", "nothing"),
        ("adaptive:prior=shuffle", "nothing"),
        ("adaptive:prior=nothing", "nothing"),
        ("adaptive:prior=heuristic", "what a person wrote"),
        ("heuristic", "what a person wrote"),
        ("cpu", "other devices or problems"),
        ("cpu:prior=1.0", "what frontrunner comes with"),
        ("cpu:prior=0.5", "what frontrunner comes with; other devices or problems"),
        ("adaptive", "other devices or problems"),
    ],
)
def test_what_each_was_given(name, given):
    assert api._given(name, find_contenders(name)) == given


class Reads(Ranker):
    """Reads a feature of our own dispatches, and no other."""

    name = "reads"
    row_by_row = True

    def score(self, frame):
        return features(frame, CPU, self.name)[:, 0]


class Learns(Reads):
    name = "learns"
    needs_fit = True

    def fit(self, frame, groups):
        self.fitted_ = len(frame)
        return self

    def score(self, frame):
        return np.zeros(self.fitted_)[: len(frame)]


def test_a_plug_in_that_cannot_order_what_is_there_is_left_out(folder, monkeypatch):
    brought = {cls.name: cls for cls in (Reads, Learns)}
    monkeypatch.setattr(contender_module, "ranker_class", brought.__getitem__)
    monkeypatch.setattr(contender_module, "create_ranker", lambda name: brought[name]())
    cases = read_cases([folder])
    folds = make_folds(cases, DEVICE_OR_PROBLEM)
    alone = make_folds(cases[:1], DEVICE_OR_PROBLEM)
    reads, learns = (Contender(name, name) for name in brought)
    assert "'reads' orders candidates for CPUs" in api._why_not(reads, folds)
    assert api._why_not(learns, folds) == ""
    assert api._why_not(learns, alone) == ""  # nothing is known of it
    monkeypatch.setattr(Reads, "score", lambda self, frame: frame["vec_n_log2"])
    assert "'reads' cannot order " in api._why_not(reads, folds)
    assert "KeyError: 'vec_n_log2'" in api._why_not(reads, folds)


def test_what_cannot_order_a_space_is_refused_before_the_work(folder):
    with pytest.raises(InputError, match="other people's kernels") as refused:
        frontrunner.leaderboard(folder, rankers=["heuristic"], synthetic=False, quiet=True)
    assert "--no-synthetic" in refused.value.hint
    cases = read_cases([folder])
    given = ["adaptive:prior=forest", "lightgbm", "kt_random", "adaptive"]
    found, _ = api._contenders(given, make_folds(cases, DEVICE_OR_PROBLEM))
    assert [one.name for one in found if one.name != "shuffle"] == given


def test_ctrl_c_keeps_what_is_done(folder, board, tmp_path, monkeypatch):
    real, done = cross_validation.run_task, []

    def interrupted(data, task):
        done.append(task)
        if len(done) == 3:
            raise KeyboardInterrupt
        return real(data, task)

    monkeypatch.setattr(cross_validation, "run_task", interrupted)
    with pytest.raises(RunInterrupted) as caught:
        make(folder, tmp_path / "board")
    assert caught.value.kept is not None and caught.value.kept.parent == tmp_path
    again = make(folder, tmp_path / "board")
    columns = ["taken", "low", "high", "score"]
    pd.testing.assert_frame_equal(again.scores[columns], board.scores[columns])
    assert len(done) == 13
    assert [path.name for path in tmp_path.iterdir()] == ["board"]


def results(**taken):
    """A row per ranker, space and seed, from lists of candidates until 5 %."""
    rows = [
        {
            "ranker": name, "case": f"space {space}", "problem": f"kernel {space}",
            "seed": seed, "near": 1 if space == 2 else 9,
            "default_wins": False, "log_iterations_1": np.log(value), "rank_s": 0.0,
            "log_iterations_5": np.log(value), "log_iterations_10": np.log(value / 2),
            "train_s": 0.0, "score": 0.5, "score_time": np.nan,
            "regret_8": 0.1, "regret_16": 0.1, "regret_64": 0.0,
        }
        for name, values in taken.items()
        for space, value in enumerate(values)
        for seed in (0, 1)
    ]  # fmt: skip
    return with_main_figure(pd.DataFrame(rows))


def test_where_one_or_two_are_near_ten_percent_is_asked_for():
    table = score_table(results(a=[8.0, 8.0, 8.0]), 0)
    assert table.loc["a", "taken"] == pytest.approx((8 * 8 * 4) ** (1 / 3))
    assert table.loc["a", "to_5"] == pytest.approx(8)


def test_where_the_default_wins_everywhere_only_regret_is_known():
    table = score_table(results(a=[8.0, 8.0, 8.0]).assign(default_wins=True), 0)
    assert np.isnan(table.loc["a", "taken"])
    assert table.loc["a", "regret_16"] == 0.1


def test_pairs_are_compared_on_the_same_spaces():
    spread = np.array([3.0, 400.0, 50.0, 9.0])
    pairs = pair_table(results(a=spread, b=spread * 2), 0)
    row = pairs[(pairs.ranker == "b") & (pairs.other == "a")].iloc[0]
    # However much spaces differ, one takes twice as many on each.
    assert [row.ratio, row.low, row.high] == pytest.approx([2, 2, 2])
    apart = pair_table(results(a=spread, b=spread[::-1]), 0).iloc[0]
    assert apart.low < 1 < apart.high
