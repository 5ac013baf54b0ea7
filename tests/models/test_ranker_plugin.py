"""The ranker of examples/ranker_plugin, as pip installs it: held to its contract, and used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from frontrunner.core import InputError
from frontrunner.models import create_ranker, list_rankers
from frontrunner.models.testing import check_ranker

NAME, PARAMS = "curves", {"penalty": 3.0}
PIECES = ("centre", "scale", "level", "line", "bend")


@pytest.fixture(autouse=True)
def installed(install_example):
    return install_example("ranker_plugin")


def test_it_keeps_the_contract():
    check_ranker(NAME, **PARAMS)


def test_it_is_listed_with_what_it_does():
    (info,) = (info for info in list_rankers() if info.name == NAME)
    assert info.summary.startswith("Predicts a candidate's place")
    assert (info.needs_training, info.source) == (True, "ranker-plugin")


def test_a_file_that_holds_something_else_is_refused():
    rows = [float("nan")] * 12
    for learned in (
        {},
        dict.fromkeys(PIECES, 1),
        dict.fromkeys(PIECES, rows),
        dict.fromkeys(PIECES, rows) | {"level": 1},
    ):
        with pytest.raises(InputError, match="'curves' cannot be read"):
            create_ranker(NAME).restore({"curves.json": json.dumps(learned).encode()})


def test_it_is_trained_judged_and_asked(frontrunner, record_sample, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("recordings").mkdir()
    for name in ("skinny", "odd", "conv"):
        record_sample(Path("recordings") / f"{name}.parquet", name)
    line = ("train", "recordings", "--ranker", NAME, "--out", "curves.predictor")
    assert frontrunner(*line).code == 0
    rankers = f"{NAME},{NAME}:penalty=100,curves.predictor"
    judged = frontrunner("evaluate", "recordings", "--rankers", rankers, "--no-mlflow", "--json")
    assert judged.code == 0
    assert {NAME, f"{NAME}:penalty=100"} < set(json.loads(judged.out)["rankers"])
    told = frontrunner("explain", "recordings/odd.parquet", "--ranker", "curves.predictor")
    assert told.code == 0
    assert "vec_n_log2" in told.out
