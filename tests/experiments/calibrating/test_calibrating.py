"""A predictor for this machine, from recordings of small dispatches."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import frontrunner as package
from frontrunner.benchmarks.operations import Matmul, Matvec
from frontrunner.core import InputError, NoRoomError, NotTunableError, WorkError, lock_folder
from frontrunner.experiments.calibrating import CalibrationResult, api, quick_recording
from frontrunner.experiments.dataset import Recording
from frontrunner.experiments.learning import read_cases
from frontrunner.experiments.observing import Observer
from frontrunner.experiments.queue import ordering
from frontrunner.models import load

DATA = Path(__file__).parents[2] / "data"
SIZES = ("127x257x129", "211x640x640", "256x256x256")
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
    assert [n.startswith("shipped predictor ") for n in names].count(True) == 4
    (case, *_) = read_cases([passes[1]])
    assert len(set(ranker.score(case.features))) > 1
    assert not knobs_of(path) <= knobs_of(passes[1] / path.name), "another seed"

    before = out.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(api, "iree_versions", lambda: {"iree-base-compiler": "9.9"})
        with pytest.raises(InputError, match=r"has recordings of .*, IREE 9\.9\)$"):
            package.calibrate(out, minutes=0.001, quiet=True)
    monkeypatch.setattr(api, "fingerprint", lambda uri: f"{uri} on another machine")
    with pytest.raises(InputError, match=r"here.recordings has recordings of .* another machine"):
        package.calibrate(out, minutes=0.001, quiet=True)
    assert out.read_bytes() == before


def test_the_search_learns_from_all_that_was_measured_at_random(monkeypatch):
    """However long the queue is, of which each pipeline has a part."""
    monkeypatch.setattr(ordering, "HEAD", 4)
    monkeypatch.setattr(quick_recording, "POOL", 50)

    class Searching(Exception):
        """Ends the recording where it would begin to measure."""

    def open_runner(dispatch, render_config, devices, *, jobs=None, seed=0):
        return nullcontext()

    def search(runner, order, log, stopping, on_outcome):
        raise Searching(order)

    monkeypatch.setattr(quick_recording, "open_local_runner", open_runner)
    monkeypatch.setattr(quick_recording, "search", search)
    with pytest.raises(Searching) as caught:
        quick_recording.record_quickly(
            DATA / "matmul.mlir", (), "host", Observer(), uniform=20, adaptive=8, jobs=1, seed=0
        )
    (taking,) = caught.value.args
    assert set(taking.chosen) <= set(taking.search.features.index)


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


def test_the_recordings_are_not_put_where_the_predictor_goes(few, tmp_path, frontrunner):
    ran = frontrunner("calibrate", "--out", tmp_path / "here.recordings")
    assert ran.code == 2
    assert "here.recordings is to be a predictor, and the folder of its recordings" in ran.err
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


@pytest.mark.parametrize("error", [WorkError, NotTunableError])
def test_what_cannot_be_recorded_is_left_out_and_told(recorded, tmp_path, monkeypatch, error):
    clock, warnings = Clock(monkeypatch), []

    def measure(path, number):
        clock.now += 1
        if path.stem == "bad":
            raise error("it does not compile")
        return recorded

    paths = [Path("bad.mlir"), Path("good.mlir")]
    _, failed = api._record(paths, tmp_path, measure, 3.5, warnings.append)
    assert failed == {"bad": "it does not compile"}
    assert warnings == ["warning: bad is left out: it does not compile"]
    assert len(list(tmp_path.rglob("good.parquet"))) == 2
    with pytest.raises(error, match="it does not compile"):
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


def test_two_do_not_measure_for_one_folder_at_once(few, tmp_path, monkeypatch):
    def never(*_):
        raise AssertionError("it measures beside the other")

    monkeypatch.setattr(api, "_record", never)
    folder = tmp_path / "here.recordings"
    folder.mkdir()
    with lock_folder(folder), pytest.raises(InputError, match="another process is working in"):
        package.calibrate(tmp_path / "here.predictor", minutes=1, quiet=True)
    assert folder.is_dir()


def test_what_is_learned_here_is_compared_with_what_ships():
    names = ("matmul_211x640x640_f32_f32_f32", "matmul_32x768x3072_f32_f32_f32")
    cases = read_cases([ZEN3 / f"{name}.parquet" for name in names])
    here, shipped, ratio = api._compare(cases, 0)
    assert 1 <= shipped < here, "the order that ships has learned from these"
    assert ratio is None, "two are too few for an interval"
    assert api._compare(cases[:1], 0) == (None, None, None)
    beaten = [replace(case, baseline_us=np.nanmin(case.times) / 2) for case in cases]
    assert api._compare(beaten, 0) == (None, None, None), "no order finds a better one"


def test_of_three_dispatches_it_is_told_how_sure_the_comparison_is():
    cases = read_cases([ZEN3 / f"matmul_{size}_f32_f32_f32.parquet" for size in SIZES])
    # As if the default were not known, which may be the best of one of them.
    here, shipped, ratio = api._compare([replace(one, baseline_us=np.nan) for one in cases], 0)
    assert ratio[0] == pytest.approx(here / shipped)
    assert ratio[1] <= ratio[0] <= ratio[2]


@pytest.mark.parametrize(
    ("ratio", "share"), [(None, ""), ((0.91, 0.8, 1.034), "0.91x (0.80 to 1.03) of the ")]
)
def test_a_comparison_says_among_how_many_it_is(ratio, share, tmp_path):
    trained = SimpleNamespace(size_bytes=1, as_ranker="./cpu")
    result = CalibrationResult(
        tmp_path, tmp_path, 3, 144, 10.0, 4.8, 5.3, ratio, tried_of=48, failed={}, trained=trained
    )
    (line,) = (line for line in result.summary_lines() if line.startswith("candidates"))
    assert line == (
        "candidates   4.8 to within 5 % of the best of 48 recorded, each left out in turn; "
        f"{share}5.3 in the order that ships"
    )
    assert result.summary_lines()[-1].endswith("--ranker ./cpu")


def test_a_full_disk_is_no_dispatchs_fault(tmp_path, monkeypatch):
    Clock(monkeypatch)

    def measure(path, number):
        raise NoRoomError("no room is left")

    with pytest.raises(NoRoomError):
        api._record([Path("a.mlir"), Path("b.mlir")], tmp_path, measure, 9, pytest.fail)
