"""The checks for rankers find what is wrong: one defect for each of them."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module

import pytest

from frontrunner.models import Ranker, ranker_class, testing
from frontrunner.models.testing import (
    CHECKS,
    RankerCheck,
    check_ranker,
    measured_candidates,
    ranker_checks,
)

# A sound ranker that learns, and explains its order, and the same one that looks back.
SOUND = """
import json, os
import numpy as np, pandas as pd
from frontrunner.core import InputError
from frontrunner.models import BASE, AdaptiveRanker, Ranker, Reason, feature_matrix


class Sound(Ranker):
    name = "sound"
    needs_fit = True

    def __init__(self, *, sign=-1.0, seed=0):
        self.sign = sign
        self.seed = seed

    @property
    def is_fitted(self):
        return hasattr(self, "offset_")

    def fit(self, frame, groups):
        self.offset_ = float(np.nan_to_num(frame["time_us"]).mean())
        return self

    def score(self, frame):
        wide = feature_matrix(frame, ["vec_n_log2"], self.name)[:, 0].astype(float)
        return self.sign * np.nan_to_num(wide) + self.offset_

    def contributions(self, frame, rows=None):
        chosen = frame if rows is None else frame.iloc[list(rows)]
        wide = self.score(chosen) - self.offset_
        return pd.DataFrame({"vec_n_log2": wide, BASE: self.offset_}, index=chosen.index)

    def reasons(self, frame):
        return {"vec_n_log2": Reason("wide vectors are fast", ("vec_n_log2",))}

    def dump(self):
        return {"offset": json.dumps(self.offset_).encode()}

    def restore(self, payload):
        self.offset_ = json.loads(payload["offset"])
        return self


class Looking(AdaptiveRanker, Sound):
    name = "looking"
    measured_ = None

    def __init__(self, *, sign=-1.0, seed=0, batch=4):
        self.sign = sign
        self.seed = seed
        self.batch = batch

    def observe(self, measured):
        self.measured_ = measured
        return self

    def score(self, frame):
        turn = 1 if self.measured_ is None else -1
        return turn * Sound.score(self, frame)

    contributions = Ranker.contributions
"""

# By check: the class that the broken one is made from, its body, and what is said of it.
DEFECTS = {
    "check_is_registered": (
        "Sound",
        "    name = 'other'",
        "no ranker 'other'.*; announce it as 'other' in the entry-point group",
    ),
    "check_constructor_only_stores_parameters": (
        "Sound",
        """
    def __init__(self, *, sign=-1.0, seed=0):
        self.sign = abs(sign)
        self.seed = seed""",
        "__init__ has to store its parameters and nothing else",
    ),
    "check_fit_returns_self": (
        "Sound",
        """
    def fit(self, frame, groups):
        super().fit(frame, groups)""",
        "fit\\(\\) has to return self, got None",
    ),
    "check_fit_leaves_the_data_alone": (
        "Sound",
        """
    def fit(self, frame, groups):
        frame["time_us"] = frame["time_us"].fillna(1e9)
        return super().fit(frame, groups)""",
        "fit\\(\\) has changed the frame",
    ),
    "check_orders_every_candidate_once": (
        "Sound",
        """
    def score(self, frame):
        return super().score(frame)[1:]""",
        "one number per row, of shape \\(600,\\), got \\(599,\\)",
    ),
    "check_scores_differ": (
        "Sound",
        """
    def score(self, frame):
        return 0 * super().score(frame)""",
        "all 600 candidates have the score",
    ),
    "check_scoring_leaves_everything_alone": (
        "Sound",
        """
    def score(self, frame):
        self.offset_ += 1
        return super().score(frame)""",
        "asked again, it scores otherwise",
    ),
    "check_other_columns_do_not_matter": (
        "Sound",
        """
    def score(self, frame):
        return frame.iloc[:, 0].to_numpy(float)""",
        "columns in another order",
    ),
    "check_missing_columns_are_named": (
        "Sound",
        """
    def score(self, frame):
        if "vec_n_log2" not in frame.columns:
            return np.zeros(len(frame))
        return super().score(frame)""",
        "without the columns .* it scores otherwise",
    ),
    "check_missing_and_infinite_features": (
        "Sound",
        """
    def score(self, frame):
        return frame["vec_n_log2"].to_numpy().astype(float)[np.isfinite(frame["vec_n_log2"])]""",
        "one number per row, of shape \\(40,\\)",
    ),
    "check_empty_and_single_row_frames": (
        "Sound",
        """
    def score(self, frame):
        return super().score(frame) - frame["vec_n_log2"].to_numpy().max()""",
        "it raises ValueError: zero-size array",
    ),
    "check_chunks_score_alike": (
        "Sound",
        """
    row_by_row = True
    def score(self, frame):
        return pd.Series(super().score(frame)).rank().to_numpy()""",
        "in chunks of 1 it scores otherwise",
    ),
    "check_unseen_kind_of_problem": (
        "Sound",
        """
    def fit(self, frame, groups):
        self.seen_ = frame["flops_log2"].max()
        return super().fit(frame, groups)
    def score(self, frame):
        known = frame["flops_log2"] <= self.seen_
        return np.where(known, super().score(frame), np.nan)""",
        "has to return finite numbers",
    ),
    "check_learns_from_missing_features": (
        "Sound",
        """
    def fit(self, frame, groups):
        if frame["conflicts_rhs"].isna().any():
            raise ValueError("Input X contains NaN")
        return super().fit(frame, groups)""",
        "it raises ValueError: Input X contains NaN",
    ),
    "check_learns_from_constant_features": (
        "Sound",
        """
    def fit(self, frame, groups):
        self.spread_ = 1 // int(np.ptp(frame["vec_n_log2"]))
        return super().fit(frame, groups)""",
        "it raises ZeroDivisionError",
    ),
    "check_groups_of_any_size": (
        "Sound",
        """
    def fit(self, frame, groups):
        super().fit(frame, groups)
        self.offset_ /= len(frame) > 1 or np.inf * 0
        return self""",
        "has to return finite numbers",
    ),
    "check_groups_in_any_order": (
        "Sound",
        """
    def fit(self, frame, groups):
        assert list(groups) == sorted(groups, key=list(groups).index), "rows of a group are apart"
        return super().fit(frame, groups)""",
        "rows of a group are apart",
    ),
    "check_group_without_success": (
        "Sound",
        """
    def fit(self, frame, groups):
        best = frame["time_us"].groupby(np.asarray(groups)).min()
        super().fit(frame, groups)
        self.offset_ = float(best.to_numpy().sum())
        return self""",
        "has to return finite numbers",
    ),
    "check_observing_reorders_what_is_left": (
        "Looking",
        """
    def observe(self, measured):
        self.count_ = getattr(self, "count_", 0) + len(measured)
        return self
    def score(self, frame):
        return Sound.score(self, frame) + getattr(self, "count_", 0)""",
        "what was observed before still counts",
    ),
    "check_contributions_add_up": (
        "Sound",
        """
    def contributions(self, frame, rows=None):
        return super().contributions(frame, rows).assign(**{BASE: 0.0})""",
        "contributions\\(\\) add up to",
    ),
    "check_same_when_saved_and_loaded": (
        "Sound",
        """
    def restore(self, payload):
        self.offset_ = float(round(json.loads(payload["offset"])))
        return self""",
        "loaded, it scores otherwise",
    ),
    "check_same_in_another_process": (
        "Sound",
        """
    def fit(self, frame, groups):
        super().fit(frame, groups)
        self.lot_ = [hash(name) % 7 - 3 for name in frame.columns]
        return self
    def dump(self):
        return {**super().dump(), "lot": json.dumps(self.lot_).encode()}
    def restore(self, payload):
        self.lot_ = json.loads(payload["lot"])
        return super().restore(payload)
    def score(self, frame):
        lot = self.lot_ * (1 + len(frame) // len(self.lot_))
        return super().score(frame) + lot[:len(frame)]""",
        "trained in another process, it orders otherwise",
    ),
}


@pytest.fixture
def broken(install):
    """Installs a ranker with a defect; returns its class."""

    def make(base: str, body: str) -> type[Ranker]:
        code = f'{SOUND}\n\nclass Broken({base}):\n    name = "broken"\n{body}\n'
        install(name="broken", target="frontrunner_broken:Broken", dist="broken", code=code)
        return import_module("frontrunner_broken").Broken

    return make


@pytest.mark.parametrize("name", ["sound", "looking"])
def test_a_sound_ranker_passes_all(name, install):
    install(name=name, target=f"frontrunner_{name}:{name.title()}", dist=name, code=SOUND)
    check_ranker(name)


def test_each_check_has_a_defect():
    assert [check.__name__ for check in CHECKS] == list(DEFECTS)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_defect_is_found(check, broken):
    base, body, message = DEFECTS[check.__name__]
    cls = broken(base, body)
    with pytest.raises(AssertionError, match=f"fails {check.__name__}: ") as caught:
        check(cls)
    assert caught.match(message)


MORE = [
    (
        "check_fit_returns_self",
        "    is_fitted = True",
        "before fit\\(\\), is_fitted has to be False",
    ),
    (
        "check_fit_returns_self",
        "    def fit(self, frame, groups):\n        self.sign = 2\n"
        "        return super().fit(frame, groups)",
        "fit\\(\\) has changed the parameters",
    ),
    (
        "check_constructor_only_stores_parameters",
        "    def __init__(self, sign, seed=0):\n        self.sign, self.seed = sign, seed",
        "have to have defaults, \\['sign'\\] have none",
    ),
    (
        "check_constructor_only_stores_parameters",
        "    def __init__(self, *, seed=0):\n        self.seed, self.model_ = seed, None",
        "attributes are .*model_",
    ),
    (
        "check_missing_columns_are_named",
        "    def score(self, frame):\n        return frame['vec_n_log2'].to_numpy(float)",
        "it raises KeyError",
    ),
    (
        "check_contributions_add_up",
        "    def contributions(self, frame, rows=None):\n        raise InputError('no')",
        "has to say that 'broken' has nothing to explain",
    ),
    (
        "check_same_in_another_process",
        "    def fit(self, frame, groups):\n        self.offset_ = float(os.getpid())\n"
        "        return self\n"
        "    def restore(self, payload):\n        self.offset_ = float(os.getpid())\n"
        "        return self",
        "loaded in another process, it scores otherwise",
    ),
]


@pytest.mark.parametrize(("name", "body", "message"), MORE, ids=lambda value: value[:40])
def test_more_defects_are_found(name, body, message, broken):
    cls = broken("Sound", body)
    with pytest.raises(AssertionError, match=f"fails {name}: ") as caught:
        getattr(testing, name)(cls)
    assert caught.match(message)


def test_a_class_that_is_not_announced_is_told_so():
    class Mine(Ranker):
        name = "mine"

        def score(self, frame):
            return frame["vec_n_log2"]

    with pytest.raises(AssertionError, match=r"no ranker 'mine'.*'frontrunner\.rankers'"):
        check_ranker(Mine)


def test_a_ranker_is_given_by_name_class_or_factory():
    from frontrunner.models import create_ranker

    for given in ("shuffle", ranker_class("shuffle"), lambda: create_ranker("shuffle")):
        testing.check_orders_every_candidate_once(given)
    testing.check_constructor_only_stores_parameters("shuffle", seed=3)
    testing.check_constructor_only_stores_parameters(lambda: create_ranker("shuffle", seed=3))


def test_checks_are_named_for_tests_and_look_nothing_up_before_they_run():
    checks = ranker_checks("nonsense", ("shuffle", {"seed": 3}))
    assert len(checks) == 2 * len(CHECKS)
    assert all(isinstance(check, RankerCheck) for check in checks)
    assert str(checks[0]) == "check_is_registered-nonsense"
    assert str(checks[-1]) == "check_same_in_another_process-shuffle-seed=3"
    with pytest.raises(AssertionError, match="no ranker 'nonsense'"):
        checks[0]()


def test_every_check_says_what_it_holds():
    for check in CHECKS:
        assert len(check.__doc__) > 30
        assert getattr(testing, check.__name__) is check
    assert {name for name in testing.__all__ if name.startswith("check_")} == {
        "check_ranker",
        *(check.__name__ for check in CHECKS),
    }


def test_the_data_is_new_each_time():
    frame, groups = measured_candidates()
    frame.loc[:, :] = 0.0
    groups[:] = "x"
    again = measured_candidates()
    assert (again[0]["vec_n_log2"] != 0).any()
    assert set(again[1]) == {"skinny", "odd", "transposed", "batch"}


def test_pytest_is_not_needed():
    code = (
        "import sys; sys.modules['pytest'] = None\n"
        "from frontrunner.models.testing import check_orders_every_candidate_once as check\n"
        "check('heuristic')"
    )
    path = os.pathsep.join(filter(None, sys.path))
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path}, check=True)
