"""A predictor for this machine, from recordings of small dispatches."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import frontrunner as package
from frontrunner.benchmarks.operations import Matmul, Matvec
from frontrunner.core import InputError, NoRoomError, WorkError
from frontrunner.experiments.calibrating import api
from frontrunner.experiments.dataset import Recording
from frontrunner.experiments.learning import read_cases
from frontrunner.models import load

DATA = Path(__file__).parents[2] / "data"
ZEN3 = Path(package.__file__).parent / "experiments" / "recordings" / "zen3"

pytestmark = pytest.mark.usefixtures("brief", "warm")


@pytest.fixture
def few(monkeypatch):
    """Two small dispatches, few candidates."""
    monkeypatch.setattr(api, "PROBLEMS", (Matmul(16, 32, 24), Matvec(64, 48)))
    monkeypatch.setattr(api, "UNIFORM", 4)
    monkeypatch.setattr(api, "ADAPTIVE", 6)


def knobs_of(path):
    recording = Recording.read(path)
    return set(recording.frame[recording.knobs].itertuples(index=False, name=None))


@pytest.mark.slow
def test_from_nothing_to_a_predictor_that_learns_more_later(
    few, tmp_path, frontrunner, monkeypatch
):
    out = tmp_path / "here.predictor"
    ran = frontrunner("calibrate", "--out", out, "--minutes", 0.001, "--json")
    assert ran.code == 0, ran.err
    first = json.loads(ran.out)
    assert (first["dispatches"], first["candidates"], first["tried"]) == (1, 10, None)
    (path,) = (tmp_path / "here.recordings" / "pass-1").iterdir()
    frame = Recording.read(path).frame
    assert frame["origin"].value_counts().to_dict() == {"uniform": 4, "adaptive": 6}

    result = package.calibrate(out, minutes=0.001, quiet=True)
    assert (result.dispatches, result.candidates, result.failed) == (2, 20, {})
    # By chance the default may be the best of so few, and then no order is better than another.
    assert (result.tried is None) == (result.tried_as_shipped is None)
    assert ("left out in turn" in repr(result)) == (result.tried is not None)
    again = package.calibrate(out, minutes=0.001, quiet=True)
    assert (again.dispatches, again.candidates) == (2, 30)
    passes = sorted((tmp_path / "here.recordings").iterdir())
    assert [(p.name, len(list(p.iterdir()))) for p in passes] == [("pass-1", 2), ("pass-2", 1)]

    ranker = load(out)
    assert ranker.training_["candidates"] == 30
    names = list(ranker.parts)
    assert [n.startswith("predictor ") for n in names].count(True) == 1
    assert [n.startswith("shipped predictor ") for n in names].count(True) == 3
    (case, *_) = read_cases([passes[1]])
    assert len(set(ranker.score(case.features))) > 1
    assert not knobs_of(path) <= knobs_of(passes[1] / path.name), "another seed"

    before = out.read_bytes()
    monkeypatch.setattr(api, "fingerprint", lambda uri: f"{uri} on another machine")
    with pytest.raises(InputError, match=r"here.recordings has recordings of .* another machine"):
        package.calibrate(out, minutes=0.001, quiet=True)
    assert out.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--minutes", "0"], "0"),
        (["--target", "sm_80"], "sm_80 is no CPU"),
        (["--target", "pentium-9000"], "unknown target"),
        (["--device", "gpu0"], "unknown device"),
        (["--device", "cuda"], "cuda"),
        (["--recordings", "/proc/nowhere"], "--recordings: cannot write"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(
    arguments, says, few, tmp_path, frontrunner
):
    ran = frontrunner("calibrate", "--out", tmp_path / "here.predictor", *arguments)
    assert ran.code == 2
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_predictor_is_not_replaced(few, tmp_path, frontrunner):
    file = tmp_path / "thesis.tex"
    file.write_text("years of work")
    ran = frontrunner("calibrate", "--out", file)
    assert (ran.code, file.read_text()) == (2, "years of work")
    assert "is no predictor" in ran.err
    assert list(tmp_path.iterdir()) == [file]


class Clock:
    """Time that passes only while something is recorded."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(api.time, "monotonic", lambda: self.now)


@pytest.fixture(scope="module")
def recorded():
    return Recording.read(DATA / "old" / "recordings" / "matvec.parquet")


def test_it_stops_before_a_dispatch_that_would_end_too_late(recorded, tmp_path, monkeypatch):
    clock, taken = Clock(monkeypatch), []

    def measure(path, number):
        clock.now += 20
        taken.append((path.stem, number))
        return recorded

    paths = [Path("a.mlir"), Path("b.mlir"), Path("c.mlir")]
    spent, failed = api._record(paths, tmp_path, measure, 90, print)
    assert taken == [("a", 1), ("b", 1), ("c", 1), ("a", 2)]
    assert (spent, failed) == (80, {})
    assert (tmp_path / "pass-2" / "a.parquet").exists()
    api._record(paths, tmp_path, measure, 1, print)
    assert taken[4:] == [("b", 2)]


def test_what_cannot_be_recorded_is_left_out_and_told(recorded, tmp_path, monkeypatch):
    clock, warnings = Clock(monkeypatch), []

    def measure(path, number):
        clock.now += 1
        if path.stem == "bad":
            raise WorkError("it does not compile")
        return recorded

    paths = [Path("bad.mlir"), Path("good.mlir")]
    _, failed = api._record(paths, tmp_path, measure, 3.5, warnings.append)
    assert failed == {"bad": "it does not compile"}
    assert warnings == ["warning: bad is left out: it does not compile"]
    assert len(list(tmp_path.rglob("good.parquet"))) == 2
    with pytest.raises(WorkError, match="it does not compile"):
        api._record(paths[:1], tmp_path, measure, 3.5, warnings.append)


def test_it_stops_in_time_where_nothing_can_be_recorded(tmp_path, monkeypatch):
    clock, tried = Clock(monkeypatch), []

    def measure(path, number):
        clock.now += 20
        tried.append(path.stem)
        raise WorkError("it does not compile")

    paths = [Path(f"{name}.mlir") for name in "abcd"]
    spent, failed = api._record(paths, tmp_path, measure, 30, lambda text: None)
    assert (spent, tried, [*failed]) == (40, ["a", "b"], ["a", "b"])


def test_it_tells_that_nothing_was_recorded_in_time(few, tmp_path, monkeypatch):
    monkeypatch.setattr(api, "_record", lambda *_: (60.0, {"a": "it does not compile"}))
    says = "no dispatch could be recorded in 1 minutes; a: it does not compile"
    with pytest.raises(WorkError, match=says):
        package.calibrate(tmp_path / "here.predictor", minutes=1, quiet=True)


def test_what_is_learned_here_is_compared_with_what_ships():
    names = ("matmul_127x257x129_f32_f32_f32", "matmul_256x256x256_f32_f32_f32")
    cases = read_cases([ZEN3 / f"{name}.parquet" for name in names])
    here, shipped = api._compare(cases, 0)
    assert 1 <= shipped < here, "the order that ships has learned from these"
    assert api._compare(cases[:1], 0) == (None, None)
    beaten = [replace(case, baseline_us=np.nanmin(case.times) / 2) for case in cases]
    assert api._compare(beaten, 0) == (None, None), "no order finds a better one"


def test_a_full_disk_is_no_dispatchs_fault(tmp_path, monkeypatch):
    Clock(monkeypatch)

    def measure(path, number):
        raise NoRoomError("no room is left")

    with pytest.raises(NoRoomError):
        api._record([Path("a.mlir"), Path("b.mlir")], tmp_path, measure, 9, pytest.fail)
