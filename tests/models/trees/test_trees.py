"""Trees as arrays: they answer as the library's that grew them, and wrong ones are refused."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys

import lightgbm
import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from frontrunner.core.errors import InputError
from frontrunner.models.trees import boosting, forest, walker
from frontrunner.models.trees.shapley import shapley_values
from frontrunner.models.trees.trees import Trees

FEATURES = 4


@pytest.fixture(scope="module")
def data():
    """Values on a coarse grid, so that some lie on thresholds; some are missing."""
    rng = np.random.default_rng(0)
    values = (rng.integers(0, 30, (300, FEATURES)) / 10).astype(np.float32)
    answers = values[:, 0] * (values[:, 1] > 1) + 0.1 * values[:, 2] + rng.normal(0, 0.1, 300)
    values[rng.random(values.shape) < 0.1] = np.nan
    return values, answers


@pytest.fixture(scope="module")
def boosted(data):
    """A booster, and its trees as arrays."""
    settings = {"num_leaves": 12, "min_data_in_leaf": 3, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(settings, lightgbm.Dataset(data[0], label=data[1]), 20)
    return booster, boosting._trees(booster.dump_model(), np.full(FEATURES, 0.25))


@pytest.fixture(scope="module")
def grown(data):
    """A forest, and its trees as arrays."""
    found = RandomForestRegressor(5, min_samples_leaf=3, random_state=0).fit(*data)
    return found, forest._trees(found)


@pytest.fixture(scope="module")
def rows(data):
    """What to ask for: also nothing but missing values, and what training never saw missing."""
    return np.vstack([data[0][:100], np.full((1, FEATURES), np.nan, np.float32)])


@pytest.mark.parametrize("which", ["boosted", "grown"])
def test_answers_are_those_of_the_library(which, rows, request):
    library, trees = request.getfixturevalue(which)
    np.testing.assert_allclose(trees.predict(rows), library.predict(rows), rtol=1e-5)


def test_a_value_that_training_never_saw_missing_counts_as_lightgbm_says(data):
    values = np.nan_to_num(data[0], nan=1.0) - 1
    settings = {"num_leaves": 12, "min_data_in_leaf": 3, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(settings, lightgbm.Dataset(values, label=data[1]), 20)
    trees = boosting._trees(booster.dump_model(), np.zeros(FEATURES))
    values[::2, 1] = values[::3, 0] = np.nan
    np.testing.assert_allclose(trees.predict(values), booster.predict(values), rtol=1e-5)


@pytest.mark.parametrize("fewest", [1, 10**9], ids=["selected", "walked"])
def test_trees_of_nothing_but_a_root(fewest, data, monkeypatch):
    monkeypatch.setattr(walker, "FEWEST_ROWS", fewest)
    settings = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 200}
    booster = lightgbm.train(settings, lightgbm.Dataset(data[0], label=data[1]), 2)
    trees = boosting._trees(booster.dump_model(), np.zeros(FEATURES))
    assert set(trees.size) == {1}
    np.testing.assert_allclose(trees.predict(data[0]), booster.predict(data[0]), rtol=1e-5)
    shares, start = shapley_values(trees, data[0][:2])
    assert not shares.any()
    assert start == pytest.approx(data[1].mean())


def test_encoded_and_decoded_they_are_the_same(boosted, rows):
    trees = boosted[1]
    again = Trees.decode(trees.encode(), FEATURES)
    np.testing.assert_array_equal(again.predict(rows), trees.predict(rows))
    assert again.encode() == trees.encode()


def one_by_one(trees, row):
    """The answer for a row, walked as `Trees` describes its nodes, and added up by two trees."""
    found = []
    for node in (np.cumsum(trees.size) - trees.size).tolist():
        while trees.left[node]:
            value = row[trees.feature[node]]
            left = trees.missing[node] if np.isnan(value) else value <= trees.threshold[node]
            node += int(trees.left[node] if left else trees.right[node])
        found.append(float(trees.value[node]))
    total = 0.0
    for at in range(0, len(found), 2):
        total += sum(found[at : at + 2])
    return total


@pytest.mark.parametrize("fewest", [1, 1_000_000], ids=["selected", "walked"])
@pytest.mark.parametrize("which", ["boosted", "grown", "sound", "infinite"])
def test_answers_are_those_of_a_plain_walk(which, fewest, data, rows, request, monkeypatch):
    """Also where splits are decided for all rows, as for long queues."""
    monkeypatch.setattr(walker, "FEWEST_ROWS", fewest)
    if which == "sound":
        trees = Trees.make(**SOUND)
    elif which == "infinite":  # scikit-learn has such thresholds where only missing values go right
        trees = Trees.make(**SOUND | {"threshold": [1, 0, 0, np.inf, -np.inf, 0, 0, 0]})
    else:
        trees = request.getfixturevalue(which)[1]
    wild = np.random.default_rng(1).choice(
        np.array([np.nan, np.inf, -np.inf, 0, 1, 1e30, -1e30], np.float32), (50, FEATURES)
    )
    asked = np.vstack([rows, wild])
    expected = [one_by_one(trees, row) for row in asked]
    assert trees.predict(asked).tolist() == expected
    finite = asked[np.isfinite(asked).all(axis=1)]  # many splits decide nothing
    assert trees.predict(finite[:2]).tolist() == [one_by_one(trees, row) for row in finite[:2]]


@pytest.mark.parametrize("which", ["boosted", "grown"])
def test_an_answer_does_not_depend_on_the_other_rows(which, rows, request, monkeypatch):
    trees = request.getfixturevalue(which)[1]
    together = trees.predict(rows)
    assert [trees.predict(row[None])[0] for row in rows] == together.tolist()
    for paths, at_once in [(1, 1), (7, 3), (64, 1000)]:
        monkeypatch.setattr(walker, "PATHS", paths)
        monkeypatch.setattr(walker, "ROWS", at_once)
        np.testing.assert_array_equal(trees.predict(rows), together)
    monkeypatch.setattr(walker, "FEWEST_ROWS", 8)
    for at_once in (1000, 32, 8):
        monkeypatch.setattr(walker, "MOST_ROWS", at_once)
        np.testing.assert_array_equal(trees.predict(rows), together)
    assert trees.predict(rows[:0]).shape == (0,)


@pytest.mark.parametrize("leaves", [walker.MOST_LEAVES, walker.MOST_LEAVES + 1])
def test_trees_of_more_leaves_than_a_byte_tells_apart_are_walked(leaves, monkeypatch):
    """Each split takes one value off, so that there are as many answers as leaves."""
    monkeypatch.setattr(walker, "FEWEST_ROWS", 1)
    inner = np.arange(leaves - 1)
    last = np.append(inner + leaves - 1, 2 * leaves - 2)
    zeros = np.zeros(2 * leaves - 1)
    left, right, threshold, value = zeros.copy(), zeros.copy(), zeros.copy(), zeros.copy()
    left[inner], right[inner], threshold[inner] = leaves - 1, 1, inner
    right[inner[-1]] = leaves
    value[last] = np.arange(leaves)
    trees = Trees.make(
        size=[2 * leaves - 1],
        left=left,
        right=right,
        feature=zeros,
        threshold=threshold,
        missing=zeros,
        value=value,
        cover=zeros + 1,
        importance=[1],
    )
    asked = np.arange(leaves, dtype=np.float32)[:, None]
    assert trees.predict(asked).tolist() == list(range(leaves))


@pytest.mark.parametrize(("most", "selects"), [(2, True), (1, False)])
def test_trees_with_many_splits_are_walked(most, selects, monkeypatch):
    """To decide each of them for each row would take longer, and memory without bound."""
    monkeypatch.setattr(walker, "FEWEST_ROWS", 1)
    monkeypatch.setattr(walker, "MOST_SPLITS", most)
    stump = {"left": [1, 0, 0], "right": [2, 0, 0], "value": [0, 1, 2], "threshold": [0.5, 0, 0]}
    trees = Trees.make(
        size=[3, 3],
        **{name: np.array(2 * numbers) for name, numbers in stump.items()},
        feature=np.zeros(6),
        missing=np.zeros(6),
        cover=np.ones(6),
        importance=[1],
    )
    walks = walker.Walker(trees)
    assert walks.predict(np.array([[0.0], [1.0]], dtype=np.float32)).tolist() == [2.0, 4.0]
    assert ("_selector" in vars(walks)) == selects


def test_walking_imports_no_heavy_library():
    """Importing scikit-learn or LightGBM takes 0.8 s, with which each run of `tune` would begin."""
    code = (
        "import sys; from frontrunner.features import CPU\n"
        "from frontrunner.models import create_ranker; import pandas as pd\n"
        "create_ranker('cpu').score(pd.DataFrame(1.0, [0, 1], list(CPU.names)))\n"
        "print([n for n in ('sklearn', 'lightgbm', 'scipy', 'joblib') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def expected(trees, row, known, start):
    """The mean answer of the tree that begins at `start` where only some features are known."""
    if trees.left[start] == 0:
        return float(trees.value[start])
    children = start + trees.left[start], start + trees.right[start]
    feature = trees.feature[start]
    if feature in known:
        value = row[feature]
        left = trees.missing[start] if np.isnan(value) else value <= trees.threshold[start]
        return expected(trees, row, known, children[0] if left else children[1])
    cover = trees.cover.astype(float)
    return sum(cover[c] * expected(trees, row, known, c) for c in children) / cover[start]


@pytest.mark.parametrize("which", ["boosted", "grown"])
def test_contributions_are_shapley_values(which, rows, request):
    """By definition: the mean change when a feature joins, over all orders of joining."""
    trees = request.getfixturevalue(which)[1]
    chosen = rows[[0, 7, 31, 100]]
    roots = np.cumsum(trees.size) - trees.size

    def worth(row, known):
        return sum(expected(trees, row, known, int(root)) for root in roots)

    shares, start = shapley_values(trees, chosen)
    for row, found in zip(chosen, shares, strict=True):
        assert start == pytest.approx(worth(row, ()))
        for feature in range(FEATURES):
            others = [f for f in range(FEATURES) if f != feature]
            wanted = sum(
                (worth(row, {*known, feature}) - worth(row, set(known)))
                / (FEATURES * math.comb(FEATURES - 1, size))
                for size in range(FEATURES)
                for known in itertools.combinations(others, size)
            )
            assert found[feature] == pytest.approx(wanted, abs=1e-9)


def test_contributions_are_those_of_lightgbm(boosted, rows):
    booster, trees = boosted
    shares, start = shapley_values(trees, rows)
    wanted = booster.predict(rows, pred_contrib=True)
    np.testing.assert_allclose(shares, wanted[:, :-1], atol=1e-6)
    np.testing.assert_allclose(start, wanted[:, -1], atol=1e-6)


# Trees that somebody made up ----------------------------------------------------------------------

# A root with two leaves, then a root whose left child has two leaves.
SOUND = {
    "size": [3, 5],
    "left": [1, 0, 0, 1, 2, 0, 0, 0],
    "right": [2, 0, 0, 2, 3, 0, 0, 0],
    "feature": [3, 0, 0, 1, 0, 0, 0, 0],
    "threshold": [1, 0, 0, 2, 1, 0, 0, 0],
    "missing": [0, 0, 0, 1, 1, 0, 0, 0],
    "value": [0, 1, 2, 0, 0, 3, 4, 5],
    "cover": [4, 2, 2, 6, 4, 2, 2, 2],
    "importance": [0.1, 0.2, 0.3, 0.4],
}


def test_the_sound_ones_are_sound():
    trees = Trees.make(**SOUND)
    values = np.array([[0, 0, 0, 0], [2, 3, 0, 2], [2, np.nan, 0, np.nan]], np.float32)
    assert trees.predict(values).tolist() == [1 + 4, 2 + 3, 2 + 5]


@pytest.mark.parametrize(
    ("piece", "values", "message"),
    [
        ("left", [9, 0, 0, 1, 2, 0, 0, 0], "impossible nodes"),
        ("left", [-1, 0, 0, 1, 2, 0, 0, 0], "impossible nodes"),
        # Into the other tree; two parents; itself; back to its parent.
        ("left", [4, 0, 0, 1, 2, 0, 0, 0], "impossible nodes"),
        ("right", [1, 0, 0, 2, 3, 0, 0, 0], "impossible nodes"),
        ("right", [0, 0, 0, 2, 3, 0, 0, 0], "impossible nodes"),
        ("right", [2, 0, 0, 2, -1, 0, 0, 0], "impossible nodes"),
        ("left", [1, 0, 0, 0, 2, 0, 0, 0], "impossible nodes"),
        ("left", [0, 0, 0, 0, 0, 0, 0, 0], "impossible nodes"),
        ("feature", [4, 0, 0, 1, 0, 0, 0, 0], "feature that does not exist"),
        ("feature", [3, 0, 4, 1, 0, 0, 0, 0], "feature that does not exist"),
        ("size", [3, 4], "sizes of its trees"),
        ("size", [8, 0], "sizes of its trees"),
        ("size", [], "sizes of its trees"),
        ("value", [0, 1, 2, 0, 0, 3, 4], "different lengths"),
        ("value", [0, 1, np.nan, 0, 0, 3, 4, 5], "impossible numbers"),
        ("threshold", [1, 0, 0, np.nan, 0, 0, 0, 0], "impossible numbers"),
        ("cover", [4, 0, 2, 6, 4, 2, 2, 2], "impossible numbers"),
        ("cover", [np.nan, 2, 2, 6, 4, 2, 2, 2], "impossible numbers"),
        ("cover", [np.inf, 2, 2, 6, 4, 2, 2, 2], "impossible numbers"),
        # More training rows than reached the parent.
        ("cover", [4, 2, 5, 6, 4, 2, 2, 2], "impossible numbers"),
        ("importance", [0.2] * 5, "different lengths"),
        ("slopes", [0, 0, 0, 0, 1], "different lengths"),
        ("slopes", [0, np.nan, 0, 0], "impossible numbers"),
    ],
)
def test_others_are_refused(piece, values, message):
    pieces = Trees.make(**SOUND).encode()
    stored = getattr(Trees.make(**SOUND), piece).dtype
    pieces[piece] = np.array(values).astype(stored).tobytes()
    with pytest.raises(InputError, match=message):
        Trees.decode(pieces, FEATURES)


def test_files_of_trees_alone_have_no_slopes():
    pieces = Trees.make(**SOUND).encode()
    del pieces["slopes"], pieces["centers"]
    assert not Trees.decode(pieces, FEATURES).slopes.any()
    with pytest.raises(InputError, match="its trees are over 4 features"):
        Trees.decode(pieces, FEATURES + 1)


def test_a_linear_function_is_added_to_trees(rows):
    plain = Trees.make(**SOUND)
    both = Trees.make(**SOUND, slopes=[0, 0, -2, 0], centers=[0, 0, 1, 0])
    # What is missing adds nothing.
    assert np.isnan(rows[:, 2]).any()
    expected = plain.predict(rows) - np.nan_to_num(2 * (rows[:, 2].astype(float) - 1))
    np.testing.assert_allclose(both.predict(rows), expected, rtol=1e-12)
    assert [feature for feature, _ in both.lines(rows)] == [2]


def test_a_circle_beside_a_tree_is_refused():
    """Each node has one parent, but no path leads from the root to three of them."""
    loop = {
        "size": [4],
        "left": [0, 1, -1, 0],
        "right": [0, 2, 0, 0],
    }
    rest = {n: np.ones(4) for n in ("feature", "threshold", "missing", "value", "cover")}
    with pytest.raises(ValueError, match="impossible nodes"):
        Trees.make(**loop, **rest, importance=np.ones(FEATURES))


def test_too_many_trees_are_refused():
    """Each takes a step in Python, however small it is."""
    names = ("left", "right", "feature", "threshold", "missing", "value")
    roots = {name: np.zeros(10_001) for name in names}
    ones = {name: np.ones(10_001) for name in ("size", "cover")}
    with pytest.raises(ValueError, match="more than 10000 trees"):
        Trees.make(**roots, **ones, importance=np.ones(FEATURES))


def test_trees_too_deep_to_explain_are_refused():
    depth = 600
    inner = np.arange(2 * depth + 1) % 2 == 0
    inner[-1] = False
    rest = {n: np.ones(len(inner)) for n in ("feature", "threshold", "missing", "value", "cover")}
    with pytest.raises(ValueError, match="deeper than 512"):
        Trees.make(
            size=[len(inner)],
            left=np.where(inner, 1, 0),
            right=np.where(inner, 2, 0),
            importance=np.ones(FEATURES),
            **rest,
        )


def test_trees_with_too_many_long_paths_to_explain_are_refused():
    """A chain that ends in a tree all of whose leaves are as deep."""
    chain, full = 300, 2**15
    nodes = np.arange(2 * full - 1)
    # The last node of the chain has the full tree, whose children follow from its own numbers.
    left = np.concatenate([np.tile([1, 0], chain), np.where(nodes < full - 1, nodes + 1, 0)])
    right = np.concatenate([np.tile([2, 0], chain), np.where(nodes < full - 1, nodes + 2, 0)])
    rest = {n: np.ones(len(left)) for n in ("feature", "threshold", "missing", "value", "cover")}
    with pytest.raises(ValueError, match="more than 5,000,000 steps from its root"):
        Trees.make(size=[len(left)], left=left, right=right, importance=np.ones(FEATURES), **rest)


@pytest.mark.parametrize("change", ["cut", "missing"])
def test_damaged_pieces_are_refused(change):
    pieces = Trees.make(**SOUND).encode()
    if change == "cut":
        pieces["left"] = pieces["left"][:-1]
    else:
        del pieces["cover"]
    with pytest.raises(InputError, match="what was learned is damaged"):
        Trees.decode(pieces, FEATURES)
