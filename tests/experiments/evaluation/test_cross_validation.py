"""Evaluations of rankers whose figures can be told beforehand, on made-up recordings."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import frontrunner as package
from frontrunner.core import InputError, WorkError
from frontrunner.core.errors import KilledError
from frontrunner.experiments.dataset.provenance import ForeignKernel, Provenance
from frontrunner.experiments.dataset.recording import Recording
from frontrunner.experiments.evaluation import contenders as contender
from frontrunner.experiments.evaluation import cross_validation as module
from frontrunner.experiments.evaluation.contenders import Contender, find_contenders, usual_rankers
from frontrunner.experiments.evaluation.cross_validation import CURVE, cross_validate
from frontrunner.experiments.evaluation.finished import FinishedParts
from frontrunner.experiments.evaluation.holdout import make_folds
from frontrunner.experiments.evaluation.metrics import CaseReference
from frontrunner.experiments.evaluation.notes import contender_notes, data_notes
from frontrunner.experiments.evaluation.summary import _costs, by_case, summarise
from frontrunner.experiments.learning.cases import Case, read_cases, training_frame
from frontrunner.features.cpu import CPU
from frontrunner.features.gpu import GPU
from frontrunner.models import AdaptiveRanker, Ranker, create_ranker, save

ZEN3 = Path(package.__file__).parent / "experiments" / "recordings" / "zen3"
ZEN3 /= "matmul_256x256x256_f32_f32_f32.parquet"
N = 100
PROVENANCE = Provenance(ForeignKernel("k"), None, {"chip": "chip"}, "", "", None, None, "test")


class Knows(Ranker):
    """Orders by the time, which is one of the features."""

    name = "knows"

    def score(self, frame):
        return frame["time"].to_numpy()


class Learns(Ranker):
    """Orders by how far the level is from the mean of the best ones of other problems."""

    name = "learns"
    needs_fit = True

    def __init__(self, *, seed=0, spread=0):
        self.seed = seed
        self.spread = spread

    @property
    def is_fitted(self):
        return hasattr(self, "level_")

    def fit(self, frame, groups):
        best = frame.loc[frame.time_us.groupby(np.asarray(groups)).idxmin()]
        self.level_ = float(best.level.mean()) + self.spread * self.seed
        return self

    def score(self, frame):
        return (frame.level - self.level_).abs().to_numpy()

    def dump(self):
        return {"level": json.dumps(self.level_).encode()}

    def restore(self, payload):
        self.level_ = json.loads(payload["level"])
        return self

    def importances(self):
        return pd.Series({"level": 1.0, "time": 0.0})


class Wakes(AdaptiveRanker):
    """Starts with the slowest, and knows better as soon as it has seen some."""

    name = "wakes"

    def __init__(self, *, batch=5):
        self.batch = batch

    def observe(self, measured):
        self.seen_ = len(measured)
        return self

    def score(self, frame):
        return frame["time"].to_numpy() * (1 if self.seen_ else -1)


class Lots(Ranker):
    """A uniformly random order."""

    name = "lots"

    def __init__(self, *, seed=0):
        self.seed = seed

    def score(self, frame):
        return np.random.default_rng(self.seed).permutation(len(frame)).astype(float)


RANKERS = {cls.name: cls for cls in (Knows, Learns, Wakes, Lots)}


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    real = contender.ranker_class
    monkeypatch.setattr(contender, "ranker_class", lambda name: RANKERS.get(name) or real(name))
    create = contender.create_ranker
    monkeypatch.setattr(
        contender,
        "create_ranker",
        lambda name, **params: RANKERS.get(name, partial(create, name))(**params),
    )


def case(name, best_level, problem=None, device="chip", seconds=2.0):
    """A hundred levels in a row; one is the best, and the time grows with the distance to it."""
    level = np.arange(N, dtype=float)
    times = 100 + 20 * np.abs(level - best_level)
    features = pd.DataFrame({"level": level, "time": times})
    return Case(
        name, problem or name, device, features, features, times, np.full(N, seconds),
        Recording(pd.DataFrame(), PROVENANCE),
    )  # fmt: skip


CASES = [case("a", 10), case("b", 20), case("c", 60)]
NAMES = [Contender(name, name) for name in ("shuffle", "knows", "learns", "wakes")]


@pytest.fixture
def results():
    return cross_validate(CASES, NAMES, "problem", jobs=1).results


def column(results, ranker, name):
    return list(results[results.ranker == ranker][name])


def test_figures_of_known_orders(results):
    assert column(results, "knows", "iterations_5") == [1, 1, 1]
    assert column(results, "knows", "best_of_1") == [1, 1, 1]
    assert column(results, "knows", "score") == pytest.approx([1, 1, 1])
    # The slowest five come first, then the best.
    assert column(results, "wakes", "iterations_5") == [6, 6, 6]
    # The others' best levels are 20 and 60, 10 and 60, 10 and 20: their means are 30, 15 and 45
    # levels away, and of two at the same distance, the lower one is taken first.
    assert column(results, "learns", "iterations_5") == [60, 30, 61]
    assert column(results, "learns", "seconds") == [120, 60, 122]
    # One of a hundred is near-optimal.
    assert column(results, "shuffle", "iterations_5") == [101 / 2] * 3
    assert column(results, "shuffle", "seconds") == [101.0] * 3
    assert column(results, "shuffle", "score") == [0, 0, 0]
    assert set(results.difficulty) == {0.01}
    assert set(results.expected) == {101 / 2}


def test_a_uniformly_random_order_is_as_good_as_the_expectation():
    """Against the mean's logarithm it would seem to take 1.8 times fewer."""
    real = cross_validate(
        CASES, [Contender("lots", "lots")], "problem", seeds=range(400), jobs=1
    ).results
    assert summarise(real).fewer_than_shuffle["lots"] == pytest.approx(1, abs=0.1)


def test_only_what_learns_has_a_size(results, tmp_path):
    assert set(column(results, "knows", "size_bytes")) == {0}
    save(Learns().fit(pd.DataFrame({"level": [35.0], "time_us": [1.0]}), ["x"]), tmp_path / "p")
    (size, *_) = column(results, "learns", "size_bytes")
    bare = (tmp_path / "p").stat().st_size
    assert bare < size < 2 * bare  # what it was trained on is told in it


def test_cases_of_one_problem_are_not_learned_from():
    cases = [case("a", 10, "p"), case("b", 10, "p"), case("c", 60), case("d", 10)]
    found = cross_validate(cases, NAMES[2:3], "problem", jobs=1).results
    # From c and d, not from each other: 35 is 25 away.
    assert column(found, "learns", "iterations_5")[:2] == [50, 50]


def test_devices_are_left_out():
    cases = [case("a", 10, "p", "one"), case("b", 10, "p", "two"), case("c", 60, "q", "two")]
    found = cross_validate(cases, NAMES[2:3], "device", jobs=1).results
    learned = found[found.ranker == "learns"]
    assert list(learned.left_out) == ["one", "two", "two"]
    assert list(learned.iterations_5) == [50, 1, 61]


def test_seeds_are_for_those_that_have_one():
    several = [*NAMES[:2], Contender("spread", "learns", {"spread": 10})]
    found = cross_validate(CASES, several, "problem", seeds=[0, 1, 2], jobs=1).results
    assert column(found, "knows", "seed") == [0, 0, 0]
    assert column(found, "shuffle", "seed") == [0, 0, 0]
    assert column(found, "spread", "seed") == [0, 1, 2] * 3
    assert column(found, "spread", "iterations_5")[:3] == [60, 80, 90]


def test_processes_change_nothing_but_the_clock():
    clock = ["train_s", "rank_s"]
    names = [Contender("shuffle", "shuffle"), Contender("lightgbm", "lightgbm", {"rounds": 5})]
    # In other processes there is only what is installed.
    cases = [_real(c) for c in CASES]
    runs = [cross_validate(cases, names, "problem", seeds=[3, 4], jobs=jobs) for jobs in (1, 2)]
    first, second = (run.results.drop(columns=clock) for run in runs)
    pd.testing.assert_frame_equal(first, second)
    pd.testing.assert_frame_equal(runs[0].curves, runs[1].curves)
    assert runs[0].predictors["lightgbm"].data == runs[1].predictors["lightgbm"].data


def _real(made):
    from frontrunner.features.cpu import CPU

    frame = pd.DataFrame(0.0, index=range(N), columns=list(CPU.names))
    return Case(
        made.name, made.problem, made.device, frame.assign(**{CPU.names[0]: made.features.level}),
        made.knobs, made.times, made.seconds, made.recording,
    )  # fmt: skip


def test_curves_and_ranks():
    found = cross_validate(CASES, NAMES, "problem", jobs=1)
    assert list(found.curves.columns) == list(range(1, CURVE + 1))
    assert len(found.curves) == len(found.results)
    assert (found.curves[found.results.ranker == "knows"] == 1).all(axis=None)
    waking = found.curves[found.results.ranker == "wakes"].iloc[0]
    assert waking[5] == 100 / (100 + 20 * (95 - 10))
    assert waking[6] == 1
    # One that looks back has no order to compare; random order is an expectation.
    assert set(found.ranks.ranker) == {"knows", "learns"}
    known = found.ranks[(found.ranks.ranker == "knows") & (found.ranks.case == "a")]
    assert known.predicted.corr(known.real) > 0.99
    assert known.predicted.min() == 1 / N
    assert known.predicted.max() == 1


def test_predictors_are_trained_on_everything():
    found = cross_validate(CASES, NAMES, "problem", jobs=1)
    assert list(found.predictors) == ["learns"]
    assert list(found.predictors["learns"].importances) == [1, 0]
    mixed = [*CASES, case("other", 1)]
    mixed[-1] = Case(**(vars(mixed[-1]) | {"features": mixed[-1].features.assign(more=1.0)}))
    assert cross_validate(mixed, NAMES[:2], "problem", jobs=1).predictors == {}


def test_a_process_without_memory_is_told_in_one_line(monkeypatch, tmp_path):
    (tmp_path / "short.py").write_text("def answer(_): raise MemoryError('32 GiB for an array')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(module, "HANDLER", "short:answer")
    with pytest.raises(KilledError, match="had too little memory"):
        cross_validate(
            [_real(c) for c in CASES], [Contender("adaptive", "adaptive")], "problem", jobs=2
        )


@pytest.mark.parametrize(
    ("how", "error", "says"),
    [
        (signal.SIGKILL, KilledError, r"was killed by SIGKILL \(.* GB were free\)$"),
        (signal.SIGABRT, WorkError, r"ended: killed by SIGABRT$"),
    ],
)
def test_a_process_that_ends_is_told_in_one_line(monkeypatch, tmp_path, how, error, says):
    (tmp_path / "ending.py").write_text(f"import os\ndef answer(_): os.kill(os.getpid(), {how})")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(module, "HANDLER", "ending:answer")
    with pytest.raises(error, match=f"^a process of the evaluation {says}"):
        cross_validate(
            [_real(c) for c in CASES], [Contender("adaptive", "adaptive")], "problem", jobs=2
        )


def test_what_a_case_is_judged_by_is_worked_out_once(monkeypatch):
    made, real = [], CaseReference.of
    monkeypatch.setattr(CaseReference, "of", lambda *given: made.append(given) or real(*given))
    cases = [case("a", 10), case("b", 20)]
    cross_validate(cases, NAMES[:2], "problem", jobs=1)
    assert len(made) == len(cases)


def test_nothing_to_learn_from():
    with pytest.raises(InputError, match="'learns' has nothing to learn from when the problem a"):
        cross_validate(CASES[:1], NAMES, "problem", jobs=1)
    found = cross_validate(CASES[:1], [NAMES[0], NAMES[1], NAMES[3]], "problem", jobs=1)
    assert len(found.results) == 3


def test_devices_of_one_problem_can_be_left_out():
    cases = [case("a", 10, "p", "one"), case("b", 20, "p", "two")]
    with pytest.raises(InputError, match="has nothing to learn from") as caught:
        cross_validate(cases, NAMES, "problem", jobs=1)
    assert "leave out one device at a time (--holdout device), " in caught.value.hint
    with pytest.raises(InputError) as caught:
        cross_validate(cases[:1], NAMES, "problem", jobs=1)
    assert "--holdout" not in caught.value.hint


def test_progress_is_told():
    told = []
    cross_validate(CASES, NAMES, "problem", jobs=1, progress=lambda *parts: told.append(parts))
    assert told[0] == (1, 12)
    assert told[-1] == (12, 12)
    assert len(told) == 12


# Who takes part --------------------------------------------------------------------------------


def test_contenders_are_named_once_and_random_order_is_there():
    found = find_contenders("heuristic, lightgbm,heuristic,")
    assert [c.name for c in found] == ["shuffle", "heuristic", "lightgbm"]
    assert [c.needs_fit for c in found] == [False, False, True]
    assert [c.seeded for c in found] == [True, False, True]
    assert [c.name for c in find_contenders("heuristic,shuffle")] == ["shuffle", "heuristic"]


def test_parameters_may_follow_a_name():
    (_, forest) = find_contenders("forest:trees=7:max_features=0.5")
    assert (forest.name, forest.ranker) == ("forest:trees=7:max_features=0.5", "forest")
    params = forest.make(seed=3).get_params()
    assert (params["trees"], params["max_features"], params["seed"]) == (7, 0.5, 3)


def test_a_seed_may_be_among_the_parameters():
    (_, forest, shuffle, tpe) = find_contenders("forest:seed=3:trees=2,shuffle:seed=4,tpe:seed=5")
    for found, seed in ((forest, 3), (shuffle, 4), (tpe, 5)):
        assert not found.seeded
        assert found.make(seed=9).get_params()["seed"] == seed
    found = cross_validate(CASES, [NAMES[0], shuffle], "problem", seeds=[0, 1], jobs=1).results
    # One random order, beside the expectation of all.
    assert column(found, "shuffle:seed=4", "seed") == [0, 0, 0]
    assert len(set(column(found, "shuffle:seed=4", "iterations_5"))) > 1


def test_a_file_that_is_called_like_a_ranker(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(create_ranker("shuffle"), "heuristic")
    save(create_ranker("shuffle"), "forest:trees=3")
    (tmp_path / "shuffle").mkdir()
    (_, plain, own, forest) = find_contenders("heuristic,./heuristic,forest:trees=3")
    assert (plain.ranker, plain.file) == ("heuristic", None)
    assert (own.name, own.ranker, str(own.file)) == ("./heuristic", "shuffle", "heuristic")
    assert (forest.ranker, forest.file) == ("forest", None)


def test_files_of_any_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("x,y", "x:y", os.fsdecode(b"\xff.p")):
        save(create_ranker("heuristic"), name)
    (_, *found) = find_contenders("x,y", "x:y,shuffle", os.fsdecode(b"\xff.p"))
    assert [(c.name, c.ranker) for c in found] == [
        ("x,y", "heuristic"), ("x:y", "heuristic"), ("\\udcff.p", "heuristic"),
    ]  # fmt: skip


def test_the_usual_rankers_can_order_what_is_there():
    folds = make_folds(CASES, "problem")

    def of(**kinds):
        cases = [replace(CASES[0], features=frame) for frame in kinds.values()]
        return usual_rankers(cases, folds)

    learners = "forest,lightgbm,adaptive"
    assert usual_rankers(CASES, folds) == learners
    assert usual_rankers(CASES[:1], make_folds(CASES[:1], "problem")) == "adaptive"
    cpu, gpu = (pd.DataFrame({name: [0.0] for name in c.names}) for c in (CPU, GPU))
    assert of(cpu=cpu) == f"heuristic,cpu,{learners}"
    assert of(gpu=gpu) == of(cpu=cpu, gpu=gpu) == f"heuristic,{learners}"


def test_a_prior_that_each_fold_trains_has_seen_nothing_before():
    folds = make_folds(CASES, "problem")
    assert list(contender_notes(find_contenders("adaptive:prior=forest"), CASES, folds)) == []


def test_where_a_fold_leaves_nothing_to_learn_from_that_is_said():
    folds = make_folds(CASES[:1], "problem")
    (note,) = contender_notes(find_contenders("adaptive,adaptive:prior=nothing"), CASES, folds)
    assert note.startswith(f"there was nothing to learn {folds[0].left_out} from: ")
    assert list(contender_notes(find_contenders("adaptive:prior=nothing"), CASES, folds)) == []


def test_the_usual_prior_learns_as_if_none_was_named():
    assert Contender("adaptive", "adaptive", {"prior": "usual"}).learns


def test_what_starts_from_a_ranker_that_has_to_learn_has_to_learn():
    found = find_contenders("adaptive:prior=forest,adaptive:prior=nothing,adaptive")
    assert [one.needs_fit for one in found[1:]] == [True, False, False]


def test_what_searches_is_limited_to_what_was_recorded():
    folds = make_folds(CASES, "problem")
    (note,) = contender_notes(find_contenders("tpe,genetic,adaptive"), CASES, folds)
    assert note.startswith(
        "limited to the recorded candidates, at most 100 of a space: tpe, genetic;"
    )


def test_what_ships_may_have_been_trained_on_what_it_is_judged_on(monkeypatch):
    class Ships(Knows):
        @property
        def parts(self):
            part = Knows()
            part.training_ = {"problems": ["a"], "devices": ["local-task on chip"]}
            return {"predictor": part}

    monkeypatch.setitem(RANKERS, "knows", Ships)
    assert NAMES[1].cases_trained_on(CASES) == ["a"]
    both = replace(CASES[0], device="another + chip")
    assert NAMES[1].cases_trained_on([both]) == ["a"]
    # Where there are others to learn from, it is trained on these.
    assert list(contender_notes(NAMES[:2], CASES, make_folds(CASES, "problem"))) == []
    (note,) = contender_notes(NAMES[:2], CASES[:1], make_folds(CASES[:1], "problem"))
    assert note.startswith("knows was trained on 1 of these 1 recordings, such as a: ")


@pytest.mark.parametrize(
    ("name", "flattered"),
    [("cpu", True), ("adaptive", True), ("adaptive:prior=nothing", False), ("heuristic", False)],
)
def test_whoever_starts_from_what_ships_knows_what_that_was_trained_on(name, flattered):
    (case,) = read_cases([ZEN3])
    folds = make_folds([case], "problem")
    notes = [*contender_notes(find_contenders(name), [case], folds)]
    assert any("by heart" in note for note in notes) == flattered


def test_what_keeps_what_ships_knows_it_where_it_is_trained_too():
    (case,) = read_cases([ZEN3])
    folds = make_folds([case, replace(case, problem="another", name="another")], "problem")
    told = {
        name: [*contender_notes(find_contenders(name), [case], folds)]
        for name in ("cpu", "cpu:prior=0.5")
    }
    assert told["cpu"] == []
    assert "by heart" in told["cpu:prior=0.5"][0]


def test_searches_of_ours_have_a_start_of_their_own_on_each_space():
    """Two spaces of a size would share a lucky one, and intervals be too narrow."""
    (case,) = read_cases([ZEN3])
    alike = [replace(case, name=name, problem=name) for name in ("one", "other")]
    searches = find_contenders("adaptive:prior=nothing")
    found = cross_validate(alike, searches, "problem", seeds=[0, 1], jobs=1).results
    found = found[found.ranker != "shuffle"]
    one, other = (found.log_iterations_5[found.case == name].tolist() for name in ("one", "other"))
    assert one != other


@pytest.mark.parametrize("given", [{"seeds": 0}, {"folds": 1}])
def test_too_few_are_refused(given, tmp_path):
    with pytest.raises(InputError, match="must be at least"):
        package.evaluate(tmp_path, quiet=True, **given)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ("forest:trees", "'trees' sets nothing"),
        ("forest:tree=3", "ranker 'forest' has no parameter 'tree'"),
        ("forest:trees=x", "trees of ranker 'forest' has to be a whole number, got 'x'"),
        ("", "list of rankers is empty"),
        (" , ", "list of rankers is empty"),
        ("lightgmb", "no ranker 'lightgmb'; did you mean 'lightgbm'"),
        ("missing.predictor", "cannot read missing.predictor: No such file"),
        ("./missing", "cannot read missing: No such file"),
        ("x" * 5000, "no ranker 'xxx"),
        ("./" + "x" * 5000, "cannot read x+: File name too long"),
    ],
)
def test_names_of_nothing_are_refused(names, says):
    with pytest.raises(InputError, match=says):
        find_contenders(names)


def test_a_saved_ranker_is_used_as_it_is(tmp_path, monkeypatch):
    learned = Learns().fit(pd.DataFrame({"level": [10.0], "time_us": [1.0]}), ["x"])
    path = tmp_path / "kept.predictor"
    save(learned, path, {"problems": ["a", "b"], "devices": ["cuda://0 on chip"]})
    monkeypatch.setattr(
        "frontrunner.models.storage.create_ranker", lambda name, **_: RANKERS[name]()
    )
    (_, kept) = find_contenders(str(path))
    assert (kept.name, kept.ranker, kept.needs_fit, kept.seeded) == (
        str(path), "learns", False, False,
    )  # fmt: skip
    assert kept.cases_trained_on([*CASES, case("b elsewhere", 20, "b", "another chip")]) == [
        "a",
        "b",
    ]
    assert NAMES[2].cases_trained_on(CASES) == []
    found = cross_validate(CASES, [kept], "problem", seeds=[0, 1], jobs=1)
    assert column(found.results, str(path), "iterations_5") == [1, 21, 61]
    assert set(column(found.results, str(path), "size_bytes")) == {path.stat().st_size}
    assert found.predictors == {}


def test_a_saved_search_draws_other_lots_with_each_seed(tmp_path):
    save(create_ranker("adaptive", prior="heuristic", batch=4, seed=9), tmp_path / "kept.predictor")
    (_, kept) = find_contenders(str(tmp_path / "kept.predictor"))
    assert kept.seeded
    made = [kept.make(seed).get_params() for seed in (3, 4)]
    assert [(one["seed"], one["batch"]) for one in made] == [(3, 4), (4, 4)]


def test_a_saved_prior_is_used_as_it_is_and_hashed(tmp_path):
    """It cannot be trained, nor may another one have the results of the first."""
    (one,) = read_cases([ZEN3])
    cases = [one, replace(one, problem="another", name="another")]
    path = tmp_path / "kept.predictor"
    digests = []
    for trees in (2, 3):
        learner = create_ranker("forest", trees=trees, min_leaf=50)
        save(learner.fit(*training_frame([one])), path, {"problems": ["x"], "devices": ["y"]})
        (_, adaptive) = find_contenders(f"adaptive:prior={path}")
        assert (adaptive.files, adaptive.is_trained, adaptive.needs_fit) == ([path], True, False)
        assert "y" in adaptive.device_warning(cases)
        found = cross_validate(cases, [adaptive], "problem", jobs=1)
        assert found.predictors == {}
        assert set(column(found.results, adaptive.name, "train_s")) == {0.0}
        digests.append(FinishedParts(tmp_path, {}, [adaptive], cases).folder)
    assert digests[0] != digests[1]


def test_orders_are_judged_where_some_candidates_are_at_random():
    """What a bundle measured is the head of one ranker's order."""
    ordered = replace(CASES[0], uniform=np.zeros(N, bool))
    with pytest.raises(InputError, match="no candidate of a was drawn at random"):
        cross_validate([ordered, *CASES[1:]], NAMES, "problem", jobs=1)


def test_it_is_told_where_random_order_has_fewer_to_draw_from(results):
    told = [note for note in data_notes(results, "problem") if "uniform sample" in note]
    assert told == []
    more = results.assign(measured=results.measured.where(results.case != "a", N + 7))
    (note,) = (note for note in data_notes(more, "problem") if "uniform sample" in note)
    assert note.startswith("of 1 recording, candidates that were not drawn at random")


def test_each_part_of_one_name_has_its_own_training_time():
    """Kinds that are evaluated together leave out a device of the same name."""
    rows = [
        {"left_out": "A100", "seed": 0, "train_s": train_s, "size_bytes": 1, "rank_s": 0.1}
        for train_s in (1.0, 1.0, 3.0)
    ]
    assert _costs(pd.DataFrame(rows))["train_s"] == 2.0


# The figures over all cases --------------------------------------------------------------------


def test_the_summary(results):
    found = summarise(results)
    assert list(found.index) == ["knows", "wakes", "shuffle", "learns"]
    learns = found.loc["learns"]
    product = 60 * 30 * 61
    assert learns.iterations_geomean == pytest.approx(product ** (1 / 3))
    # The geometric mean of 1 to 100.
    random = np.exp(np.log(np.arange(1, 101)).mean())
    assert found.loc["shuffle", "iterations_geomean"] == pytest.approx(random)
    assert learns.fewer_than_shuffle == pytest.approx(random / product ** (1 / 3))
    assert learns.of_first == pytest.approx(product ** (1 / 3))  # the first takes one of each
    assert learns.of_first_low < learns.of_first < learns.of_first_high
    assert list(found.loc["knows", ["of_first", "of_first_low", "of_first_high"]]) == [1, 1, 1]
    assert learns.worst_ratio_to_shuffle == pytest.approx(61 / 50.5)
    assert learns.seconds == pytest.approx((120 + 60 + 122) / 3)
    assert learns.best_of_16_worst <= learns.best_of_16_median < 1
    assert learns.size_bytes > 0
    assert found.loc["shuffle", "fewer_than_shuffle"] == pytest.approx(1)
    assert found.loc["knows", "score"] == pytest.approx(1)
    assert list(found.win_rate) == [1, 0, 0, 0]


def test_ties_share_a_win(results):
    tied = results.assign(iterations_5=results.iterations_5.where(results.ranker != "wakes", 1))
    assert dict(summarise(tied).win_rate) == {"knows": 0.5, "wakes": 0.5, "shuffle": 0, "learns": 0}


def test_confidence_intervals(results):
    found = summarise(results)
    learns = found.loc["learns"]
    # Of three problems, all draws may be the same one.
    assert learns.iterations_geomean_low == pytest.approx(30)
    assert learns.iterations_geomean_high == pytest.approx(61)
    assert learns.fewer_than_shuffle_low == pytest.approx(37.99 / 61, abs=1e-3)
    assert found.loc["knows", "iterations_geomean_low"] == 1
    pd.testing.assert_frame_equal(found, summarise(results))
    # Of two, the limits would be their own figures.
    alone = summarise(results[results.left_out != "a"])
    assert alone.filter(regex="_(low|high)$").isna().all(axis=None)


def test_intervals_narrow_with_more_problems():
    cases = [case(str(level), level) for level in range(0, 96, 8)]
    few, many = (
        summarise(cross_validate(some, NAMES[:3], "problem", jobs=1).results).loc["learns"]
        for some in (cases[:4], cases)
    )
    width = [np.log(f.iterations_geomean_high / f.iterations_geomean_low) for f in (few, many)]
    assert width[1] < width[0]


def test_where_the_default_wins_there_is_nothing_to_be_found(results):
    won = results.assign(default_wins=results.case == "c")
    found, rest = summarise(won), summarise(results[results.case != "c"])
    apart = found.filter(regex="^(regret|spec|train_s|rank_s|size)").columns
    pd.testing.assert_frame_equal(found.drop(columns=apart), rest.drop(columns=apart))
    assert found.regret_1_worst["learns"] == summarise(results).regret_1_worst["learns"]
    nothing = summarise(results.assign(default_wins=True))
    assert nothing.iterations_geomean.isna().all()
    assert nothing.regret_16_median.notna().all()


def test_regret_and_specs_are_summed_up():
    cases = [
        replace(one, baseline_us=default)
        for one, default in zip(CASES, (150, 100, 90), strict=True)
    ]
    found = summarise(cross_validate(cases, NAMES[:2], "problem", jobs=1).results)
    assert dict(found.loc["knows"].filter(regex="regret_.*(median|worst)$")) == dict.fromkeys(
        (f"regret_{k}_{of}" for k in (1, 8, 16, 64) for of in ("median", "worst")), 0
    )
    # Of 100, 120, ...: nothing to gain on the other two.
    assert found.spec_share["knows"] == pytest.approx(1 / 3)
    assert 0 < found.spec_share["shuffle"] < 1 / 3
    assert found.spec_share_low["knows"] == 0
    unknown = [*cases[1:], replace(cases[0], baseline_us=np.nan)]
    found = summarise(cross_validate(unknown, NAMES[:2], "problem", jobs=1).results)
    assert found.spec_share["knows"] == 0


def test_families_are_left_out():
    kernels = {"a": "gemm", "b": "gemm", "c": "conv"}
    cases = [
        replace(one, recording=Recording(one.recording.frame, replace(PROVENANCE, problem=kernel)))
        for one, kernel in zip(CASES, map(ForeignKernel, kernels.values()), strict=True)
    ]
    found = cross_validate(cases, NAMES[2:3], "family", jobs=1).results
    learned = found[found.ranker == "learns"]
    assert list(learned.left_out) == list(learned.family) == ["gemm", "gemm", "conv"]
    # From c alone, from c alone, and from a and b.
    assert list(learned.iterations_5) == [90, 80, 61]


def test_seeds_widen_an_interval():
    learns = [NAMES[0], Contender("learns", "learns", {"spread": 10})]
    found = cross_validate(CASES, learns, "problem", seeds=[0, 1, 2], jobs=1).results
    rows = found[found.ranker == "learns"]
    one_seed = np.exp(rows.groupby("case").log_iterations_5.transform("mean"))
    same = rows.assign(iterations_5=one_seed, log_iterations_5=np.log(one_seed))
    widths = [
        np.log(f.iterations_geomean_high / f.iterations_geomean_low)
        for f in (summarise(one).loc["learns"] for one in (rows, same))
    ]
    assert widths[0] > 1.1 * widths[1]


def test_seconds_are_compared_where_all_are_known():
    cases = [case("a", 10), case("b", 20), case("c", 60)]
    cases[0].seconds[0] = np.nan  # the last that `knows` would take
    found = summarise(cross_validate(cases, NAMES[:2], "problem", jobs=1).results)
    assert list(found.seconds) == [2, 101]
    for one in cases:
        one.seconds[:] = np.nan
    assert (
        summarise(cross_validate(cases, NAMES[:2], "problem", jobs=1).results).seconds.isna().all()
    )


def test_each_case_with_its_difficulty(results):
    found = by_case(results)
    assert list(found.index) == ["a", "b", "c"]
    assert list(found.difficulty) == [0.01] * 3
    assert list(found.iterations_learns) == [60, 30, 61]
    assert list(found.iterations_shuffle) == [50.5] * 3
