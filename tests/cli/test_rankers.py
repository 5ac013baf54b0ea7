"""`frontrunner rankers`."""

from __future__ import annotations

import json

from frontrunner.experiments.peers import PEERS
from frontrunner.models import RankerInfo, create_ranker, list_rankers, save


def test_lists_what_is_known(frontrunner):
    ran = frontrunner("rankers")
    assert ran.code == 0
    for info in list_rankers():
        (line,) = [x for x in ran.out.splitlines() if x.split()[:1] == [info.name]]
        assert info.summary in line


def test_as_json(frontrunner):
    ran = frontrunner("rankers", "--json")
    listed = json.loads(ran.out)["rankers"]
    assert [RankerInfo(**item) for item in listed] == list(list_rankers())
    assert "heuristic" in ran.err


def test_plug_ins_that_cannot_be_used(frontrunner, monkeypatch):
    info = RankerInfo("mine", "cannot be imported: [no] module", None, "my-rankers")
    monkeypatch.setattr("frontrunner.models.list_rankers", lambda: (info,))
    ran = frontrunner("rankers")
    assert (
        ran.out.splitlines()[-1].split()
        == "mine unknown my-rankers cannot be imported: [no] module".split()
    )


def test_predictors_are_listed_with_what_they_know(frontrunner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FRONTRUNNER_PREDICTORS")
    ran = frontrunner("rankers", "--models")
    assert ran.code == 0
    assert "no predictors in predictors" in ran.out
    training = {
        "devices": ["local-task on a chip"],
        "archs": ["znver4"],
        "problems": ["p"],
        "candidates": 9,
    }
    (tmp_path / "here").mkdir()
    save(create_ranker("heuristic"), tmp_path / "here" / "mine.predictor", training)
    ran = frontrunner("rankers", "--models", "here")
    # In parts, each of which fits 80 columns.
    rows = [line.split() for line in ran.out.splitlines() if line.startswith("mine.predictor")]
    told = [word for _, *words in rows for word in words]
    assert told[:6] == ["heuristic", "a", "chip", "(znver4)", "1", "9"]
    listed = json.loads(frontrunner("rankers", "--models", "here", "--json").out)
    assert [one["problems"] for one in listed["predictors"]] == [1]
    assert json.loads(frontrunner("rankers", "--json").out)["predictors"] is None


def test_other_peoples_searches_are_listed(frontrunner, monkeypatch):
    def found(library):
        return None if library == "torch" else object()

    monkeypatch.setattr("frontrunner.experiments.peers.registry.find_spec", found)
    lines = frontrunner("rankers", "--peers").out.splitlines()
    told = {line.split()[0]: line for line in lines if line.split()}
    assert "pip install torch" in told["optuna_gp"]
    assert "yes" in told["kt_pso"]
    listed = json.loads(frontrunner("rankers", "--peers", "--json").out)["peers"]
    assert [one["name"] for one in listed] == list(PEERS)
    assert [one["name"] for one in listed if one["missing"]] == ["optuna_gp"]
    assert json.loads(frontrunner("rankers", "--json").out)["peers"] is None


def test_what_is_no_folder_is_refused_before_anything_is_told(frontrunner, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    ran = frontrunner("rankers", "--models", tmp_path / "file")
    assert (ran.code, ran.out) == (2, "")
    assert "is no folder" in ran.err
    monkeypatch.setenv("FRONTRUNNER_PREDICTORS", str(tmp_path / "file"))
    assert "FRONTRUNNER_PREDICTORS: " in frontrunner("rankers", "--models").err
