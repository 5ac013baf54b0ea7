"""Parts of an evaluation that are on disk, and need not be done again."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError

import numpy as np
import pandas as pd
import pytest

from frontrunner.core import WorkError, versions
from frontrunner.experiments.dataset import write_synthetic
from frontrunner.experiments.evaluation import FinishedParts, cross_validate, find_contenders
from frontrunner.experiments.evaluation import cross_validation as module
from frontrunner.experiments.learning import read_cases
from frontrunner.models import create_ranker, save

CONTENDERS = find_contenders("forest:trees=3:min_leaf=9,tree_top10")


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    paths = write_synthetic(tmp_path_factory.mktemp("made"))
    return read_cases([path for path in paths if "separable" in path.name])


def evaluate(cases, finished):
    return cross_validate(cases, CONTENDERS, "device", seeds=(0, 1), jobs=1, finished=finished)


@pytest.mark.parametrize("library", ["optuna", "torch"])
def test_other_versions_of_what_peers_are_made_of_are_another_evaluation(
    library, cases, tmp_path, monkeypatch
):
    folders = []
    for found in ("5.0", "5.1", None):

        def version(package, found=found):
            if package != library:
                return "1"
            if found is None:
                raise PackageNotFoundError(package)
            return found

        monkeypatch.setattr(versions, "version", version)
        folders.append(FinishedParts(tmp_path, {}, CONTENDERS, cases).folder)
    assert len(set(folders)) == 3


PLUG_IN = {
    "plugged-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n",
    "plugged-1.0.dist-info/entry_points.txt": (
        "[frontrunner.rankers]\nplugged = plugged.ranker:PluggedRanker\n"
    ),
    "plugged/__init__.py": "",
    "plugged/helper.py": "sign = 1.0\n",
    "plugged/ranker.py": """
from frontrunner.models import Ranker
from .helper import sign

class PluggedRanker(Ranker):
    name = "plugged"

    def __init__(self):
        pass

    def score(self, frame):
        return sign * frame.iloc[:, 0].to_numpy()
""",
}


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Where a package is installed that brings a ranker."""
    for name, text in PLUG_IN.items():
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path / "site")
    yield tmp_path / "site"
    for name in ("plugged", "plugged.helper", "plugged.ranker"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    "changed", ["plugged/ranker.py", "plugged/helper.py", "plugged-1.0.dist-info/METADATA"]
)
def test_other_code_of_a_plug_in_is_another_evaluation(changed, site, cases, tmp_path):
    kept = tmp_path / "kept.predictor"
    save(create_ranker("plugged"), kept)
    every = [find_contenders(name) for name in ("plugged", "adaptive:prior=plugged", str(kept))]
    before = [FinishedParts(tmp_path, {}, contenders, cases).folder for contenders in every]
    path = site / changed
    path.write_text(path.read_text().replace("1.0", "2.0") + "\n")
    after = [FinishedParts(tmp_path, {}, contenders, cases).folder for contenders in every]
    assert len({*before, *after}) == 6


def test_a_plug_in_that_fails_is_named(site, cases):
    path = site / "plugged/ranker.py"
    path.write_text(path.read_text().replace("frame.iloc[:, 0]", "frame['gone']"))
    with pytest.raises(WorkError, match="plugged failed: KeyError: 'gone'"):
        cross_validate(cases, find_contenders("plugged"), "device", seeds=(0,), jobs=1)


def figures(evaluation):
    return evaluation.results.drop(columns=["train_s", "rank_s"])


def test_what_was_ended_goes_on_with_what_is_left(cases, tmp_path, monkeypatch):
    whole = evaluate(cases, None)
    done = []
    real = module.run_task

    def interrupted(data, task):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(task)
        return real(data, task)

    finished = FinishedParts(tmp_path, {"seed": 0}, CONTENDERS, cases)
    monkeypatch.setattr(module, "run_task", interrupted)
    with pytest.raises(KeyboardInterrupt):
        evaluate(cases, finished)
    assert len(list(finished.folder.iterdir())) == 3
    monkeypatch.setattr(module, "run_task", lambda *it: done.append(it[1]) or real(*it))
    told = []
    again = cross_validate(
        cases,
        CONTENDERS,
        "device",
        seeds=(0, 1),
        jobs=1,
        finished=FinishedParts(tmp_path, {"seed": 0}, CONTENDERS, cases),
        progress=lambda *parts: told.append(parts),
    )
    assert told[0] == (3, 5)
    assert len(done) == 5
    pd.testing.assert_frame_equal(figures(again), figures(whole))
    np.testing.assert_array_equal(again.curves, whole.curves)
    pd.testing.assert_frame_equal(again.ranks, whole.ranks)
    assert again.predictors.keys() == whole.predictors.keys() == {CONTENDERS[1].name}
    finished.remove()
    assert list(tmp_path.iterdir()) == []


def test_another_question_and_damage_are_worked_out_anew(cases, tmp_path):
    first = FinishedParts(tmp_path, {"seed": 0}, CONTENDERS, cases)
    first.write("key", None)
    assert first.read("key") == (None,)
    assert FinishedParts(tmp_path, {"seed": 1}, CONTENDERS, cases).read("key") is None
    renamed = [replace(cases[0], name="another"), *cases[1:]]
    assert FinishedParts(tmp_path, {"seed": 0}, CONTENDERS, renamed).read("key") is None
    for path in first.folder.iterdir():
        path.write_text("[{")
    assert first.read("key") is None


def test_what_cannot_be_kept_stops_nothing(cases, tmp_path):
    (tmp_path / "file").write_text("")
    finished = FinishedParts(tmp_path / "file", {}, CONTENDERS, cases)
    assert len(evaluate(cases, finished).results) == len(evaluate(cases, None).results)
