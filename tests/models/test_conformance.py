"""The checks that ship for plug-ins, on the built-in rankers and on a plug-in; and what is more."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from frontrunner import features
from frontrunner.core.errors import InputError
from frontrunner.models import create_ranker, list_rankers, order, ranker_class
from frontrunner.models.testing import check_fit_returns_self, check_ranker, ranker_checks

SMALL = {"forest": {"trees": 20}, "lightgbm": {"rounds": 20}}
CASES = [
    ("shuffle", {"seed": 3}),
    ("heuristic", {}),
    ("cpu", {"prior": 0.5}),
    ("forest", SMALL["forest"]),
    ("lightgbm", SMALL["lightgbm"]),
    ("lightgbm", SMALL["lightgbm"] | {"objective": "lambdarank"}),
    ("adaptive", {"prior": "heuristic", "seed": 2}),
    ("tpe", {"seed": 3}),
    ("genetic", {"batch": 4}),
]
PLUG_IN = ("widest", {"sign": -2.0})

# Rankers whose order has no reasons, or that do not tell them.
NOTHING_TO_EXPLAIN = {"shuffle", "adaptive", "tpe", "genetic", "widest"}

# Rankers that order at random where nothing was measured.
AT_RANDOM = {"shuffle", "tpe", "genetic"}


def test_every_built_in_ranker_is_a_case():
    assert {info.name for info in list_rankers()} == {name for name, _ in CASES}


@pytest.mark.parametrize("check", ranker_checks(*CASES), ids=str)
def test_a_built_in_ranker(check):
    check()


def test_a_check_by_itself(install):
    install()
    name, params = PLUG_IN
    check_fit_returns_self(name, **params)


def test_all_at_once(install):
    site = install()
    name, params = PLUG_IN
    check_ranker(name, **params)
    assert Path(sys.modules[ranker_class(name).__module__].__file__).parent == site


@pytest.mark.parametrize(("name", "params"), [*CASES, PLUG_IN], ids=lambda value: str(value))
class TestMoreThanPlugInsHaveToKeep:
    @pytest.fixture(autouse=True)
    def plug_in(self, install):
        install()

    def test_whether_it_explains_its_order(self, name, params, training):
        ranker = create_ranker(name, **params).fit(*training)
        if name in NOTHING_TO_EXPLAIN:
            with pytest.raises(InputError, match=f"'{name}' has nothing to explain"):
                ranker.contributions(training[0])
        else:
            assert len(ranker.contributions(training[0].head(5))) == 5

    def test_whether_it_needs_features(self, name, params, training):
        ranker = create_ranker(name, **params).fit(*training)
        if name in AT_RANDOM:
            ranker.score(training[0][[]])
            return
        with pytest.raises(InputError, match=rf"'{name}' needs features.*(vec_n_log2|vec_k_log2)"):
            ranker.score(training[0].drop(columns=["vec_n_log2", "vec_k_log2"]))

    def test_candidates_that_no_feature_tells_apart_keep_their_order(self, name, params, training):
        frame = training[0].copy()
        frame.loc[:, list(features.CPU.names)] = 1.0
        found = order(create_ranker(name, **params).fit(frame, training[1]), frame)
        if name not in AT_RANDOM | {"adaptive"}:  # these go at random
            np.testing.assert_array_equal(found, np.arange(len(frame)))
