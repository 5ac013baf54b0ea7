"""What every ranker keeps to, plug-ins included."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from frontrunner import features
from frontrunner.core.errors import InputError
from frontrunner.models import BASE, Ranker, create, known, load, order, ranker_class, save

SMALL = {"forest": {"trees": 20}, "lightgbm": {"rounds": 20}}
CASES = [
    pytest.param(name, params, id="-".join([name, *params.get("objective", "").split()]))
    for name, params in [
        ("shuffle", {"seed": 3}),
        ("heuristic", {}),
        ("cpu", {"trust": 0.5}),
        ("forest", SMALL["forest"]),
        ("lightgbm", SMALL["lightgbm"]),
        ("lightgbm", SMALL["lightgbm"] | {"objective": "lambdarank"}),
        ("adaptive", {"prior": "heuristic", "seed": 2}),
        ("tpe", {"seed": 3}),
        ("genetic", {"batch": 4}),
        ("widest", {"sign": -2.0}),
    ]
]

# Rankers whose order has no reasons, or that do not tell them.
NOTHING_TO_EXPLAIN = {"shuffle", "adaptive", "tpe", "genetic", "widest"}

# Rankers that order by lot where nothing was measured.
BY_LOT = {"shuffle", "tpe", "genetic"}

TRAINED: dict[str, Ranker] = {}

# Trains each case anew, and loads what was saved of it.
SCRIPT = """
import json, sys
from pathlib import Path
import pandas as pd
from frontrunner.models import create, load, order
folder = Path(sys.argv[1])
data, frame = (pd.read_pickle(folder / name) for name in ("training", "unseen"))
found = {}
for key, name, params in json.loads((folder / "cases").read_text()):
    ranker = create(name, **params).fit(data.drop(columns="group"), data["group"])
    scores = load(folder / f"{key}.zip").score(frame).tolist()
    found[key] = order(ranker, frame).tolist(), scores
print(json.dumps(found))
"""


def case_id(name, params):
    return "-".join([name, *params.get("objective", "").split()])


@pytest.fixture(scope="module")
def elsewhere(training, unseen, install_into, tmp_path_factory):
    """What all cases come to in two other processes, in which strings hash otherwise."""
    folder = tmp_path_factory.mktemp("elsewhere")
    training[0].assign(group=training[1]).to_pickle(folder / "training")
    unseen.to_pickle(folder / "unseen")
    cases = [(case_id(*case.values), *case.values) for case in CASES]
    (folder / "cases").write_text(json.dumps(cases))
    with pytest.MonkeyPatch.context() as patch:
        site = install_into(folder, patch)
        for key, name, params in cases:
            save(create(name, **params).fit(*training), folder / f"{key}.zip")
    found = []
    for seed in ("0", "1"):
        path = os.pathsep.join([str(site), *sys.path])
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(folder)],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(json.loads(done.stdout))
    return found


def test_every_built_in_ranker_is_a_case():
    assert {info.name for info in known()} <= {case.values[0] for case in CASES}


@pytest.mark.parametrize(("name", "params"), CASES)
class TestRanker:
    @pytest.fixture(autouse=True)
    def plug_in(self, install):
        self.site = install()

    @pytest.fixture
    def ranker(self, name, params, training):
        """Trained once per case, as no test changes it; the plug-in is installed anew each time."""
        if name == "widest":
            return create(name, **params).fit(*training)
        key = json.dumps([name, params])
        if key not in TRAINED:
            TRAINED[key] = create(name, **params).fit(*training)
        return TRAINED[key]

    def test_constructor_only_stores_its_parameters(self, name, params):
        cls = ranker_class(name)
        ranker = cls(**params)
        defaults = {p.name: p.default for p in inspect.signature(cls).parameters.values()}
        assert ranker.get_params() == defaults | params
        assert vars(ranker) == defaults | params
        assert ranker.name == name

    def test_fit_returns_self_and_keeps_the_data(self, name, params, training):
        frame, groups = training
        before = frame.copy()
        ranker = create(name, **params)
        assert ranker.is_fitted is not ranker.needs_fit
        assert ranker.fit(frame, groups) is ranker
        assert ranker.is_fitted
        assert ranker.get_params() == create(name, **params).get_params()
        pd.testing.assert_frame_equal(frame, before)

    def test_orders_every_candidate_once(self, ranker, training):
        frame, _ = training
        assert sorted(order(ranker, frame)) == list(range(len(frame)))

    def test_lower_scores_run_first(self, ranker, training):
        scores = np.asarray(ranker.score(training[0]))
        assert (np.diff(scores[order(ranker, training[0])]) >= 0).all()
        assert len(np.unique(scores)) > 1

    def test_contributions_add_up_to_the_score(self, ranker, name, training):
        frame = training[0]
        rows = np.random.default_rng(0).integers(0, len(frame), 20)
        if name in NOTHING_TO_EXPLAIN:
            with pytest.raises(InputError, match=f"'{name}' has nothing to explain"):
                ranker.contributions(frame, rows)
            return
        found = ranker.contributions(frame, rows)
        np.testing.assert_allclose(found.sum(axis=1), ranker.score(frame)[rows], atol=1e-9)
        assert list(found.index) == list(frame.index[rows])
        assert found.columns[-1] == BASE
        reasons = ranker.reasons(frame)
        assert set(reasons) == set(found.columns) - {BASE}
        assert all(r.text and set(r.features) <= set(frame.columns) for r in reasons.values())
        assert set(ranker.parts) <= set(found.columns)
        assert ranker.contributions(frame.head(0)).shape == (0, found.shape[1])

    def test_other_columns_and_the_order_of_columns_do_not_matter(self, ranker, training):
        frame = training[0]
        other = frame[frame.columns[::-1]].assign(time_us=1.0, dist_m=7, note="x")
        np.testing.assert_array_equal(ranker.score(other), ranker.score(frame))

    def test_missing_features_are_named(self, ranker, name, training):
        if name in BY_LOT:
            ranker.score(training[0][[]])
            return
        with pytest.raises(InputError, match=rf"'{name}' needs features.*vec_n_log2|vec_k_log2"):
            ranker.score(training[0].drop(columns=["vec_n_log2", "vec_k_log2"]))

    def test_the_same_in_another_process(self, ranker, name, params, unseen, elsewhere):
        for found in elsewhere:
            ordered, scores = found[case_id(name, params)]
            assert ordered == order(ranker, unseen).tolist()
            np.testing.assert_array_equal(scores, ranker.score(unseen))

    def test_saved_and_loaded_it_scores_the_same(self, ranker, training, unseen, tmp_path):
        save(ranker, tmp_path / "ranker.zip")
        loaded = load(tmp_path / "ranker.zip")
        assert type(loaded) is type(ranker)
        assert loaded.get_params() == ranker.get_params()
        for frame in (training[0], unseen):
            np.testing.assert_array_equal(loaded.score(frame), ranker.score(frame))
        save(loaded, tmp_path / "again.zip")
        again = load(tmp_path / "again.zip")
        np.testing.assert_array_equal(again.score(unseen), ranker.score(unseen))

    def test_nan_and_infinite_features(self, ranker, training):
        frame = training[0].head(40).copy()
        frame.loc[3, :] = np.nan
        frame.loc[5, "vec_n_log2"] = np.inf
        frame.loc[7, "register_pressure"] = -np.inf
        assert sorted(order(ranker, frame)) == list(range(40))

    def test_trained_with_nan_and_constant_features(self, name, params, training):
        frame, groups = training[0].copy(), training[1]
        frame["vec_m_log2"] = 1.0
        frame.loc[::3, "register_pressure"] = np.nan
        frame["conflicts_rhs"] = np.nan
        ranker = create(name, **params).fit(frame, groups)
        assert sorted(order(ranker, frame)) == list(range(len(frame)))

    def test_all_features_constant(self, name, params, training):
        frame = training[0].copy()
        frame.loc[:, list(features.CPU.names)] = 1.0
        ranker = create(name, **params).fit(frame, training[1])
        expected = np.arange(len(frame))
        if name in BY_LOT | {"adaptive"}:  # by lot, as nothing else tells candidates apart
            assert sorted(order(ranker, frame)) == list(expected)
        else:
            np.testing.assert_array_equal(order(ranker, frame), expected)

    @pytest.mark.parametrize("rows", [0, 1])
    def test_empty_and_single_row_frames(self, ranker, training, rows):
        frame = training[0].head(rows)
        assert np.asarray(ranker.score(frame)).shape == (rows,)
        assert order(ranker, frame).tolist() == list(range(rows))

    def test_an_unseen_kind(self, ranker, unseen):
        assert sorted(order(ranker, unseen)) == list(range(len(unseen)))
        assert np.isfinite(ranker.score(unseen)).all()

    @pytest.mark.parametrize(
        "sizes", [[1], [600], [1, 1, 598], [1] * 600, [2, 3, 595]], ids=lambda s: f"{len(s)} groups"
    )
    def test_groups_of_any_size(self, name, params, training, sizes):
        frame = training[0].head(sum(sizes)).copy()
        frame["time_us"] = frame["time_us"].fillna(1e9) if sizes == [1] else frame["time_us"]
        groups = np.repeat(np.arange(len(sizes)), sizes)
        ranker = create(name, **params).fit(frame, groups)
        assert np.isfinite(ranker.score(training[0])).all()

    def test_groups_may_be_mixed_up_and_named_by_anything(self, name, params, training):
        frame, groups = training
        rows = np.random.default_rng(0).permutation(len(frame))
        ranker = create(name, **params).fit(frame.iloc[rows], pd.Series(groups[rows], index=rows))
        assert sorted(order(ranker, frame)) == list(range(len(frame)))

    def test_a_group_without_any_success(self, name, params, training):
        frame, groups = training[0].copy(), training[1]
        frame.loc[groups == "odd", "time_us"] = np.nan
        ranker = create(name, **params).fit(frame, groups)
        assert np.isfinite(ranker.score(frame)).all()


def test_plug_in_module_is_the_one_installed_for_the_test(install):
    site = install()
    assert Path(sys.modules[ranker_class("widest").__module__].__file__).parent == site
