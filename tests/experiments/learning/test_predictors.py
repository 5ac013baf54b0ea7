"""Predictors: what is in their files, what makes them differ, and where they are used."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
from numpy.typing import ArrayLike, NDArray

import frontrunner
from frontrunner.benchmarks.measuring.budget import Budget
from frontrunner.benchmarks.measuring.chips import fingerprint
from frontrunner.core import InputError
from frontrunner.experiments.dataset.recording import Recording
from frontrunner.experiments.learning import predictors, provenance
from frontrunner.experiments.learning.cases import read_cases
from frontrunner.experiments.learning.parameters import parse_parameters, write_settings
from frontrunner.experiments.learning.predictors import TrainResult, train
from frontrunner.experiments.learning.provenance import (
    cases_digest,
    describe_training,
    device_warning,
    problems_trained_on,
    training_values,
)
from frontrunner.experiments.learning.store import FOLDER_VARIABLE
from frontrunner.experiments.observing.progress import Observer
from frontrunner.experiments.tuning.options import TuneOptions
from frontrunner.experiments.tuning.preparation import prepare
from frontrunner.features.cpu import CPU
from frontrunner.models import Ranker, create_ranker, load, save
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[2] / "data"
QUICK = ["rounds=5"]
Record = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path, record_sample: Record) -> Path:
    found = tmp_path / "recordings"
    found.mkdir()
    record_sample(found / "a.parquet", "odd")
    record_sample(found / "b.parquet", "conv", "local-task on a chip", seed=1)
    record_sample(found / "c.parquet", "odd", "local-task on other silicon", seed=2)
    return found


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "my.predictor"


def trained(paths: Path | list[Path], out: Path, **changes: Any) -> TrainResult:
    """By the settings that a command line has."""
    ranker, settings = changes.pop("name", "lightgbm"), changes.pop("settings", QUICK)
    params = parse_parameters(ranker, settings)
    return train(paths, out, ranker=ranker, params=params, **changes)


def test_the_file_says_what_it_was_trained_on(folder: Path, out: Path) -> None:
    found = trained(folder, out)
    ranker = load(out)
    training = dict(ranker.training_)
    assert training.pop("data") == found.data
    assert len(found.data) == 64
    problems = training.pop("problems")
    assert len(problems) == found.problems == 2
    assert training == {
        "devices": ["local-task on a chip", "local-task on other silicon"],
        "archs": ["znver4"],
        "recordings": ["a", "b", "c"],
        "candidates": 180,
        "compilers": ["3.13.0"],
        "frontrunner": frontrunner.__version__,
    }
    assert ranker.get_params()["rounds"] == 5
    assert (found.candidates, found.recordings, found.features) == (180, 3, len(CPU.names))
    assert found.size_bytes == out.stat().st_size
    assert found.devices == training["devices"]
    assert json.loads(json.dumps(found.to_dict() | {"predictor": ""}))["ranker"] == "lightgbm"


@pytest.mark.parametrize("name", ["lightgbm", "forest"])
def test_the_same_recordings_make_the_same_file(folder: Path, out: Path, name: str) -> None:
    small = QUICK if name == "lightgbm" else ["trees=3"]
    files = sorted(folder.iterdir())
    seen = [
        (trained(paths, out, name=name, settings=small, seed=seed).data, out.read_bytes())
        for paths, seed in [(folder, 0), (files[::-1], 0), (files, 1)]
    ]
    assert seen[0] == seen[1]
    assert seen[0][0] == seen[2][0]
    assert seen[0][1] != seen[2][1]


def test_the_hash_is_that_of_features_and_times(folder: Path, out: Path) -> None:
    before = trained(folder, out).data
    path = folder / "a.parquet"
    recording = Recording.read(path)
    recording.frame.loc[1, ["time_us", "relative"]] *= 2
    recording.write(path)
    changed = trained(folder, out).data
    assert changed != before
    path.unlink()
    assert trained(folder, out).data not in (before, changed)


@pytest.mark.parametrize("name", ["shuffle", "heuristic"])
def test_rankers_that_do_not_learn_are_refused(name: str, folder: Path, out: Path) -> None:
    with pytest.raises(InputError, match=f"'{name}' learns nothing"):
        trained(folder, out, name=name, settings=[])
    assert not out.exists()


def test_a_search_that_starts_from_a_rule_learns_nothing(folder: Path, out: Path) -> None:
    with pytest.raises(InputError, match="'adaptive' learns nothing with prior=heuristic"):
        trained(folder, out, name="adaptive", settings=["prior=heuristic"])
    assert not out.exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["rounds"], "'rounds' sets nothing"),
        (["depth=3"], "has no parameter 'depth'"),
        (["rounds=3", "rounds=4"], "rounds is set twice"),
        (["rounds=3.5"], "rounds .* has to be a whole number, got '3.5'"),
        (["learning_rate=nan"], "learning_rate .* has to be a number, got 'nan'"),
        (["learning_rate=-1"], "learning_rate .* has to be a number from 1e-06 to 1, got -1"),
        (["rounds=0"], "rounds .* has to be a whole number from 1 to 10000, got 0"),
        (["objective=best"], "must be one of lambdarank, regression"),
    ],
)
def test_wrong_settings_are_refused(
    settings: list[str], message: str, folder: Path, out: Path
) -> None:
    with pytest.raises(InputError, match=message):
        trained(folder, out, settings=settings)
    assert not out.exists()


def test_what_a_library_refuses_is_told(
    folder: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def grow(self: Ranker, data: object) -> None:
        raise ValueError("not so")

    monkeypatch.setattr("frontrunner.models.trees.boosting.LightGBMRanker.grow", grow)
    with pytest.raises(InputError, match="cannot be trained with rounds=5: not so"):
        trained(folder, out)


class Forgetful(Ranker):
    """Learns, and has no way to be kept."""

    name = "forgetful"
    row_by_row = True

    def __init__(self, where: object = "here"):
        self.where = where

    def fit(self, frame: pd.DataFrame, groups: ArrayLike) -> Self:
        raise AssertionError("trained in vain")

    def score(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        return np.zeros(len(frame))


def test_what_could_not_be_kept_is_not_trained(
    folder: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predictors, "ranker_class", lambda name: Forgetful)
    monkeypatch.setattr(predictors, "create_ranker", lambda name, **params: Forgetful(**params))
    with pytest.raises(InputError, match="'forgetful' cannot be kept: Forgetful has no dump"):
        train(folder, out, ranker="forgetful")
    monkeypatch.setattr(Forgetful, "dump", lambda self: {"learned": b""}, raising=False)
    with pytest.raises(InputError, match="a parameter of it is no JSON"):
        train(folder, out, ranker="forgetful", params={"where": folder})
    assert not out.exists()


def test_settings_are_written_as_they_are_read() -> None:
    params = {"a": 3, "b": 0.5, "c": True, "d": "word", "e": None, "f": ["x", 1]}
    assert write_settings(params) == ["a=3", "b=0.5", "c=true", "d=word", "e=null", 'f=["x", 1]']


def test_settings_have_the_types_of_the_defaults(folder: Path, out: Path) -> None:
    found = trained(folder, out, settings=["rounds=3", "learning_rate=1", "objective=lambdarank"])
    params = load(out).get_params()
    assert params | {"rounds": 3, "learning_rate": 1.0, "objective": "lambdarank"} == params
    assert isinstance(params["learning_rate"], float)
    assert found.params == params


def test_what_cannot_be_learned_from_is_refused(
    folder: Path, out: Path, tmp_path: Path, record_sample: Record
) -> None:
    other = tmp_path / "k_A4000_T4.json"
    result = {
        "configuration": {"x": 1},
        "times": {"compilation": 1, "runtimes": [1]},
        "invalidity": "correct",
        "correctness": 1,
        "measurements": [{"name": "time", "value": 1}],
    }
    other.write_text(json.dumps({"results": [result]}))
    with pytest.raises(InputError, match="cannot be learned from together"):
        trained([folder, other], out)

    path = record_sample(tmp_path / "failed.parquet", "odd")
    recording = Recording.read(path)
    recording.frame["kind"] = "crashed"
    recording.frame[["time_us", "relative"]] = math.nan
    recording.write(path)
    with pytest.raises(InputError, match="no successful candidate"):
        trained(path, out)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError, match="is cut short"):
        trained(path, out)
    path.write_bytes(b"")
    with pytest.raises(InputError, match="is empty"):
        trained(path, out)
    assert not out.exists()


# Used elsewhere -----------------------------------------------------------------------------------


def ranker(**training: Any) -> Ranker:
    found = create_ranker("heuristic")
    found.training_ = training
    return found


HERE = ["local-task on a chip", "cuda on another"]


@pytest.mark.parametrize(
    ("devices", "used", "foreign"),
    [
        (HERE, ["local-task on a chip"], ""),
        (HERE, ["local-sync on a chip"], ""),
        (HERE, ["cuda://1 on another"], ""),
        (HERE, ["local-task on a third"], "local-task on a third"),
        (HERE, ["cuda://0 on another", "cuda://1 on a third"], "cuda://1 on a third"),
        (["A4000"], ["A4000"], ""),
        (["A4000"], ["A6000"], "A6000"),
        ([], ["local-task on a third"], ""),
    ],
)
def test_a_warning_where_a_device_is_another(
    devices: list[str], used: list[str], foreign: str
) -> None:
    found = device_warning(ranker(devices=devices), used)
    assert bool(found) is bool(foreign)
    if foreign:
        trained_on = ", ".join(devices)
        assert f"was trained on {trained_on}, and this is {foreign}:" in found


def test_the_architecture_decides_where_no_device_is_known() -> None:
    one = ranker(devices=HERE, archs=["znver3"])
    assert device_warning(one, [], "znver3") == ""
    assert "trained on znver3, and this is znver4" in device_warning(one, [], "znver4")
    assert device_warning(ranker(devices=HERE), [], "znver4") == ""


def test_hosts_that_call_their_processor_alike_are_told_apart() -> None:
    one = ranker(devices=["local-task on AMD EPYC"], archs=["znver3"])
    assert device_warning(one, ["local-task on AMD EPYC"], "znver3") == ""
    found = device_warning(one, ["local-task on AMD EPYC"], "znver4")
    assert "AMD EPYC (znver3), and this is local-task on AMD EPYC (znver4):" in found


def test_the_predictor_that_ships_says_where_it_was_trained() -> None:
    found = device_warning(create_ranker("cpu"), ["local-task on a third"], "znver3")
    assert "trained on local-task on AMD EPYC, local-task on Intel(R) Xeon(R)" in found
    archs = "emeraldrapids, rocketlake, znver3, znver4, znver5"
    assert f"({archs}), and this is local-task on a third (znver3)" in found


def test_a_problem_and_a_device_are_known_together_only_if_one_part_knows_both() -> None:
    old = ranker(problems=["p"], devices=HERE, archs=["znver3"])
    new = ranker(problems=["q"], devices=HERE, archs=["znver4"])

    class Both(type(new)):  # type: ignore[misc]
        @property
        def parts(self) -> dict[str, Ranker]:
            return {"old": old}

    both = Both()
    both.training_ = new.training_
    devices = ("a chip (znver3)", "a chip (znver4)", "another")
    asked = {(problem, device) for problem in "pqr" for device in devices}
    old_ones = {("p", "a chip (znver3)"), ("p", "another")}
    new_ones = {("q", "a chip (znver4)"), ("q", "another")}
    assert problems_trained_on(both, asked) == old_ones | new_ones
    assert problems_trained_on(create_ranker("shuffle"), asked) == set()


def test_what_a_foreign_file_says_may_be_anything() -> None:
    one = ranker(devices=3, archs={"a": 1}, problems=["p", 4, None, "\x1b[2J"])
    assert problems_trained_on(one, [("p", "a chip")]) == set()
    assert [training_values(one, key) for key in ("devices", "archs", "problems", "none")] == [
        [], [], ["p"], [],
    ]  # fmt: skip


def test_a_file_that_names_many_devices_takes_no_more_memory_than_it_has_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(provenance, "MOST_DEVICES", 5)
    many = [f"local-task on {number}" for number in range(4)]
    one = ranker(problems=many, devices=many, archs=["znver3", "znver4"])
    assert len(provenance.trained_devices(one)) == 5
    known = (many[3], "0 (znver4)")
    assert problems_trained_on(one, [known, ("another", "0 (znver4)")]) == {known}


class Notes(Observer):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def notify(self, text: str) -> None:
        self.notes.append(text)


def notes(file: Path | str, tmp_path: Path, **changes: Any) -> list[str]:
    observer = Notes()
    given = {"devices": ("local-sync",), "pool": 50, **changes}
    options = TuneOptions(
        DATA / "matmul.mlir", tmp_path / "run", Budget(1), ranker=str(file), **given
    )
    prepare(options, observer)
    return [n for n in observer.notes if "was trained on" in n]


def test_tuning_and_packing_warn_and_go_on(brief: None, warm: None, tmp_path: Path) -> None:
    file = tmp_path / "x.predictor"
    save(create_ranker("heuristic"), file, {"devices": ["local-task on a chip"], "archs": ["z80"]})
    (note,) = notes(file, tmp_path)
    assert f"this is {fingerprint('local-sync')}" in note
    (note,) = notes(file, tmp_path, devices=())
    assert "trained on z80" in note
    save(create_ranker("heuristic"), file, {"devices": [fingerprint("local-task")]})
    assert notes(file, tmp_path) == []
    arch = read_dispatch(DATA / "matmul.mlir").target.arch
    due = device_warning(create_ranker("cpu"), [fingerprint("local-sync")], arch)
    assert notes("cpu", tmp_path) == [due] * bool(due)


def test_a_predictor_that_is_kept_for_this_device_is_taken_unasked(
    brief: None, warm: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    monkeypatch.setenv(FOLDER_VARIABLE, str(kept))
    arch = read_dispatch(DATA / "matmul.mlir").target.arch
    training = {"devices": [fingerprint("local-sync")], "archs": [arch]}
    save(create_ranker("heuristic"), kept / "here.predictor", training)
    observer = Notes()
    options = TuneOptions(
        DATA / "matmul.mlir", tmp_path / "run", Budget(1), devices=("local-sync",), pool=50
    )
    chosen = prepare(options, observer).manifest.options.ranker
    assert chosen == str(kept / "here.predictor")
    assert any(note.startswith(f"ordered by {chosen}") for note in observer.notes)
    training["devices"] = ["local-sync on another chip"]
    save(create_ranker("heuristic"), kept / "here.predictor", training)
    assert prepare(options, observer).manifest.options.ranker == "cpu"


def test_features_of_any_order_have_one_hash(folder: Path) -> None:
    cases = read_cases([folder])
    mixed = [replace(c, features=c.features[c.features.columns[::-1]]) for c in cases]
    assert describe_training(mixed) == describe_training(cases)
    slower = [replace(cases[0], times=cases[0].times * 2), *cases[1:]]
    assert cases_digest(slower) != cases_digest(cases)
