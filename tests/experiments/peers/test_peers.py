"""Other people's searches: by their own code, on what a recording holds."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import random
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from frontrunner.core import InputError
from frontrunner.experiments.learning import read_cases
from frontrunner.experiments.peers import PEERS, find_peer, peer_order
from frontrunner.experiments.peers.objective import (
    MAX_REPEATS,
    RecordedObjective,
    SearchOver,
    Subject,
)

SIZES = (8, 6, 5)
# So many are compared: what a search asks for after it repeats itself is not its own.
FIRST = 40
# Candidates at random before a Gaussian process chooses: from there on rounding decides between
# those that promise the same, which depends on where arrays lie in memory (kt_bayes: 30 % of runs).
AT_RANDOM = {"kt_bayes": 20, "sklearn_gp": 10, "optuna_gp": 10}
INSTALLED = [
    name for name, peer in PEERS.items() if all(map(importlib.util.find_spec, peer.libraries))
]


def time_of(a: int, b: int, c: int) -> float | str:
    if a == 16 and c == 3:
        return "RuntimeFailedConfig"
    return 1 + abs(a - 32) / 16 + (b - 3) ** 2 / 5 + (0.4 if c % 2 else 0.0) + (a * b * c % 7) / 9


def cache_file(path, device="x", restrictions=()):
    """A Kernel Tuner cache over all configurations, in the order in which its solver lists them."""
    from kernel_tuner.searchspace import Searchspace

    parameters = {
        "a": [8 * i for i in range(1, SIZES[0] + 1)],
        "b": list(range(SIZES[1])),
        "c": list(range(SIZES[2])),
    }
    listed = Searchspace(parameters, list(restrictions), 1024).list
    entries = {
        ",".join(map(str, config)): {
            **dict(zip(parameters, config, strict=True)),
            "time": time_of(*config),
            "compile_time": 1.0,
            "verification_time": 0.0,
            "benchmark_time": 1.0,
        }
        for config in listed
    }
    content = {
        "device_name": device,
        "kernel_name": "k",
        "problem_size": [1],
        "tune_params_keys": list(parameters),
        "tune_params": parameters,
        "objective": "time",
        "cache": entries,
    }
    path.write_text(json.dumps(content))
    return parameters


def few(taken):
    return len(taken) >= 48


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    path = tmp_path_factory.mktemp("cache") / "kernel.json"
    cache_file(path)
    return read_cases([path])[0]


@pytest.mark.parametrize("name", INSTALLED)
def test_a_peer_orders_all_candidates_and_the_same_way_with_the_same_seed(name, case):
    before = (random.getstate(), np.random.get_state()[1].tolist())
    # Each of its choices takes half a second.
    enough = (lambda taken: len(taken) >= 16) if name == "optuna_gp" else few
    orders = [peer_order(find_peer(name), case, (), seed, enough) for seed in (1, 1, 2)]
    assert sorted(orders[0]) == list(range(len(case.times)))
    same = AT_RANDOM.get(name, len(case.times))
    np.testing.assert_array_equal(orders[0][:same], orders[1][:same])
    assert list(orders[0]) != list(orders[2])
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


@pytest.mark.parametrize("name", ["kt_genetic", "kt_annealing", "lfbo"])
def test_a_search_finds_the_best_sooner_than_at_random(name, case):
    best = int(np.nanargmin(case.times))
    found = lambda taken: np.nanmin(taken) <= case.times[best]  # noqa: E731
    orders = [peer_order(find_peer(name), case, (), seed, found) for seed in range(5)]
    taken = [list(order).index(best) for order in orders]
    assert np.mean(taken) < 0.75 * (len(case.times) - 1) / 2


@pytest.mark.parametrize(
    ("name", "strategy"),
    [
        ("kt_random", "random_sample"),
        ("kt_genetic", "genetic_algorithm"),
        ("kt_annealing", "simulated_annealing"),
        ("kt_pso", "pso"),
    ],
)
def test_the_order_is_that_of_kernel_tuners_own_tool(name, strategy, tmp_path):
    """`tune_kernel` simulates, with the restrictions of the space and the same seed."""
    from kernel_tuner import tune_kernel

    path = tmp_path / "kernel.json"
    restrictions = ["a * b <= 160"]
    parameters = cache_file(path, restrictions=restrictions)
    case = read_cases([path])[0]
    random.seed(3)
    np.random.seed(3)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results, _ = tune_kernel(
            "k",
            "__global__ void k() {}",
            1,
            [],
            parameters,
            restrictions=restrictions,
            strategy=strategy,
            strategy_options={"max_fevals": len(case.times)},
            cache=str(path),
            simulation_mode=True,
            quiet=True,
            lang="CUDA",
        )
    its = list(dict.fromkeys((r["a"], r["b"], r["c"]) for r in results))
    ours = [tuple(case.knobs.iloc[row]) for row in peer_order(find_peer(name), case, (), seed=3)]
    assert len(its) > FIRST
    assert ours[:FIRST] == its[:FIRST]


def test_what_donors_did_best_is_tried_first(tmp_path):
    for device in ("x", "y"):
        cache_file(tmp_path / f"{device}.json", device)
    here, there = read_cases([tmp_path / "x.json"])[0], read_cases([tmp_path / "y.json"])[0]
    peer = find_peer("tree_top10")
    rows = peer_order(peer, here, [there], seed=0)
    assert set(rows[:10]) == set(np.argsort(here.times, kind="stable")[:10])
    assert set(peer_order(peer, here, [], seed=0)[:10]) != set(rows[:10])


def test_asking_ends_where_it_is_enough_and_where_nothing_new_is_asked_for():
    times = np.arange(1.0, 101.0)
    ask = RecordedObjective(times, lambda taken: len(taken) >= 20, None)
    with pytest.raises(SearchOver):
        [ask(row) for row in range(100)]
    assert ask.rows == list(range(32))
    ask = RecordedObjective(times, lambda taken: False, len(times) + 1)
    asked = [ask(row) for row in range(len(times))]
    with pytest.raises(SearchOver):  # not after hundreds of repetitions
        ask(0)
    assert len(asked) == len(times)
    ask = RecordedObjective(times, lambda taken: False, 5)
    with pytest.raises(SearchOver):
        [ask(row) for row in range(100)]
    assert ask.rows == list(range(5))
    ask = RecordedObjective(times, lambda taken: False, 5)
    with pytest.raises(SearchOver):  # known ones count where a model is made for each choice
        [ask(row // 3) for row in range(100)]
    assert ask.rows == list(range(3))
    ask = RecordedObjective(times, lambda taken: False, None)
    with pytest.raises(SearchOver):
        [ask(7) for _ in range(MAX_REPEATS + 2)]
    assert ask.rows == [7]


def test_a_knob_that_some_candidates_lack_has_its_values_in_order():
    in_kernel_tuner = pytest.importorskip("frontrunner.experiments.peers.in_kernel_tuner")
    knobs = pd.DataFrame(
        {
            "tile": [1024, np.nan, 16, 128],
            "kind": pd.Series(["a", None, "c", "a"], dtype="string"),
            "flag": [True, None, False, True],
        }
    )
    found = in_kernel_tuner._as_parameters(knobs)
    assert found["tile"].tolist() == [1024, 15, 16, 128]
    assert sorted(found["kind"]) == ["", "a", "a", "c"]
    assert sorted(found["flag"]) == ["", "False", "True", "True"]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("name", INSTALLED)
def test_a_space_of_a_few_candidates_is_ordered(name, count, case):
    """Also where a search would start with more than there are."""
    parts = ("times", "knobs", "features", "seconds")
    small = replace(case, **{part: getattr(case, part)[:count] for part in parts})
    assert sorted(peer_order(find_peer(name), small, (), 0)) == list(range(count))


def test_a_peer_that_is_not_installed_is_refused_in_words(monkeypatch):
    monkeypatch.setattr("frontrunner.experiments.peers.registry.find_spec", lambda name: None)
    with pytest.raises(InputError, match="needs kernel_tuner"):
        find_peer("kt_pso")
    with pytest.raises(InputError, match="needs optuna") as refused:
        find_peer("optuna_gp")
    assert "[baselines]" in refused.value.hint and "torch" in refused.value.hint


def test_a_library_of_another_version_is_told(monkeypatch):
    def other(name, package):
        raise ImportError("cannot import name 'TuningBudget' from 'kernel_tuner.util'")

    monkeypatch.setattr("frontrunner.experiments.peers.registry.find_spec", lambda name: object())
    monkeypatch.setattr("frontrunner.experiments.peers.registry.import_module", other)
    with pytest.raises(InputError, match="'kt_pso' cannot be used: cannot import name 'TuningB"):
        find_peer("kt_pso")


@pytest.mark.skipif("optuna_tpe" not in INSTALLED, reason="Optuna is not installed")
def test_optuna_is_not_told_that_a_failure_was_the_fastest(case, monkeypatch):
    """Not even where nothing ran before."""
    import optuna

    told, real, asked = [], optuna.Study.tell, []

    def tell(study, trial, values=None, **more):
        told.append(values)
        return real(study, trial, values, **more)

    def ask(row):
        asked.append(row)
        if len(asked) > 20:
            raise SearchOver
        return np.nan if len(asked) < 4 else 5.0

    monkeypatch.setattr(optuna.Study, "tell", tell)
    subject = Subject(case.knobs, {}, (), case.device, 0, ask)
    with pytest.raises(SearchOver):
        find_peer("optuna_tpe").search(subject)
    assert told[:3] == [None] * 3
    assert all(value >= 5.0 for value in told[3:])


def test_noise_is_no_hope_of_something_better():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    from frontrunner.experiments.peers.in_sklearn import latent

    rng = np.random.default_rng(0)
    inputs, others, times = rng.random((20, 3)), rng.random((9, 3)), rng.standard_normal(20)
    signal = ConstantKernel(1.0) * Matern(0.5 * np.ones(3), nu=2.5)
    noisy = GaussianProcessRegressor(signal + WhiteKernel(0.2), alpha=0, optimizer=None)
    # The same process, by scikit-learn's other way to say that measurements are noisy.
    same = GaussianProcessRegressor(signal, alpha=0.2, optimizer=None)
    expected = same.fit(inputs, times).predict(others, return_std=True)
    np.testing.assert_allclose(latent(noisy.fit(inputs, times), others), expected)
