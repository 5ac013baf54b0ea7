"""What holds for every feature."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontrunner import features
from frontrunner.features import Theme, collect, extract
from frontrunner.search.problem import Dim, Operand, Problem, Target

CATALOGUES = pytest.mark.parametrize("catalogue", features.catalogues(), ids=lambda c: c.name)


@CATALOGUES
def test_names_are_unique(catalogue):
    assert len(set(catalogue.names)) == len(catalogue.features)


@pytest.mark.parametrize(
    "feature", [f for c in features.catalogues() for f in c.features], ids=lambda f: f.name
)
def test_is_documented_in_one_line_with_the_reason(feature):
    what, _, why = feature.doc.partition(": ")
    assert what
    assert why
    assert "\n" not in feature.doc
    assert "{}" not in feature.doc


@CATALOGUES
def test_golden_list_is_pinned_to_the_version(catalogue, golden):
    """A change of names or meaning needs a new version, and a new golden file for it."""
    pinned = json.loads(golden.FILES[catalogue.name].read_text())
    now = golden.fingerprint(catalogue)
    kept = {name: now.get(name) for name in pinned["means"]}
    if kept != pytest.approx(pinned["means"], rel=1e-4):
        assert pinned["version"] != catalogue.version, "features changed: raise the version"
    assert list(now) == list(pinned["means"]), "run tests/features/golden.py"
    assert pinned["version"] == catalogue.version


@CATALOGUES
def test_every_feature_varies(catalogue, samples):
    """Over candidates of one problem, or over problems where it describes those."""
    among, between = set(), pd.DataFrame()
    for i, (problem, target, candidates) in enumerate(samples.cases(catalogue.name, 500)):
        frame = extract(problem, target, candidates)
        among |= set(frame.columns[frame.nunique() > 1])
        between[i] = frame.iloc[0]
    if catalogue is features.CPU:
        other = Target("llvm-cpu", "neoverse-v1", "host", 64, 32, 16, (64 << 10, 2 << 20, 0))
        candidates = samples.candidates(samples.SKINNY, 1)
        between["other"] = extract(samples.SKINNY, other, candidates).iloc[0]
    context = {f.name for f in catalogue.features if f.group == "context"}
    assert set(catalogue.names) - context - among == set()
    assert context & among == set()
    assert [n for n in context if between.loc[n].nunique() < 2] == []


def tiles(problem):
    """Any nested tiles of a problem, with some levels left out."""

    @st.composite
    def row(draw):
        knobs = {}
        for dim in problem.dims:
            enclosing = dim.size
            for level in ("dist", "cache", "vec") if dim.parallel else ("cache", "vec"):
                enclosing = draw(st.integers(1, enclosing))
                knobs[f"{level}_{dim.name}"] = enclosing
        knobs["peel"] = draw(st.integers(0, 1))
        knobs["wg_x"] = draw(st.integers(-5, 5))
        return knobs

    return row()


@settings(max_examples=60, deadline=None, database=None)
@given(data=st.data())
def test_finite_and_independent_of_other_rows(data):
    samples = sys.modules["frontrunner_samples"]
    problem = data.draw(st.sampled_from(list(samples.PROBLEMS.values())))
    rows = data.draw(st.lists(tiles(problem), min_size=1, max_size=6))
    frame = pd.DataFrame(rows, index=[f"c{i}" for i in range(len(rows))])
    dropped = data.draw(st.sets(st.sampled_from(list(frame.columns)), max_size=3))
    frame = frame.drop(columns=list(dropped))
    found = extract(problem, samples.TARGET, frame)
    assert np.isfinite(found.to_numpy()).all()
    mixed = frame.sample(frac=1, random_state=data.draw(st.integers(0, 99)))
    pd.testing.assert_frame_equal(
        extract(problem, samples.TARGET, mixed).loc[frame.index], found, rtol=1e-6
    )


@CATALOGUES
def test_columns_and_index_for_every_kind(catalogue, samples):
    for problem, target, candidates in samples.cases(catalogue.name, 7):
        found = extract(problem, target, candidates.set_axis(list("gfedcba")))
        assert tuple(found.columns) == catalogue.names
        assert features.detect_catalogue(found.columns) is catalogue
        assert list(found.index) == list("gfedcba")
        assert set(found.dtypes) == {np.dtype("float32")}


def test_the_catalogue_of_other_columns_is_not_known():
    assert features.detect_catalogue(["time_us", "dist_m", "tile_m"]) is None


@CATALOGUES
def test_no_candidates(catalogue, samples):
    for problem, target, candidates in samples.cases(catalogue.name, 0):
        assert extract(problem, target, candidates).shape == (0, len(catalogue.names))


def test_a_missing_tile_is_as_large_as_the_enclosing_one(samples):
    short = pd.DataFrame([{"dist_m": 16, "dist_n": 64, "vec_m": 4, "vec_n": 16, "vec_k": 8}])
    full = short.assign(cache_m=16, cache_n=64, cache_k=2048)
    pd.testing.assert_frame_equal(
        extract(samples.SKINNY, samples.TARGET, short),
        extract(samples.SKINNY, samples.TARGET, full),
    )


def test_foreign_knobs_are_ignored(samples):
    frame = samples.candidates(samples.SKINNY, 20)
    more = frame.assign(wg_m=128, sg_n=2, intrinsic_k=16, name="x")
    pd.testing.assert_frame_equal(
        extract(samples.SKINNY, samples.TARGET, more),
        extract(samples.SKINNY, samples.TARGET, frame),
    )
    only = pd.DataFrame({"wg_m": [64, 128], "intrinsic_k": [16, 32]})
    assert np.isfinite(extract(samples.SKINNY, samples.TARGET, only).to_numpy()).all()


def test_an_output_that_is_a_scalar(samples):
    """Of a dot product."""
    problem = Problem(
        "contraction",
        "linalg.dot",
        (Dim("k", 4096, "k", False),),
        (
            Operand("lhs", "f32", (((0, 1),),)),
            Operand("rhs", "f32", (((0, 1),),)),
            Operand("out", "f32", (), output=True),
        ),
    )
    frame = samples.candidates(problem, 20)
    assert np.isfinite(extract(problem, samples.TARGET, frame).to_numpy()).all()


def test_targets_without_some_caches(samples):
    bare = Target("llvm-cpu", "generic", "host", 1, 16, 16, (32 << 10, 0, 0))
    for problem in samples.PROBLEMS.values():
        assert np.isfinite(extract(problem, bare, samples.candidates(problem, 50)).to_numpy()).all()


@CATALOGUES
def test_the_candidates_are_left_as_they_are(catalogue, samples):
    for problem, target, candidates in samples.cases(catalogue.name, 5):
        before = candidates.copy()
        extract(problem, target, candidates)
        pd.testing.assert_frame_equal(candidates, before)


def test_a_name_used_twice_is_refused():
    first, second = Theme("first"), Theme("second")

    @first.feature
    def width(view):
        """The width: a reason."""

    @second.each("{}", ["width"])
    def other(view, name):
        """The {}: a reason."""

    with pytest.raises(ValueError, match="'width' is declared twice: in 'first' and in 'second'"):
        collect((first, second))


def test_a_feature_without_a_docstring_is_refused():
    with pytest.raises(ValueError, match="'width' has no docstring"):

        @Theme("first").feature
        def width(view):
            return 0.0
