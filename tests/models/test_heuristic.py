from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from frontrunner.features import NAMES, extract
from frontrunner.models import TERMS, create
from frontrunner.search.errors import InputError


@pytest.fixture(scope="module")
def heuristic():
    return create("heuristic")


def first_is_better(heuristic, samples, problem, good, bad):
    frame = extract(problem, samples.TARGET, pd.DataFrame([good, bad]))
    scores = heuristic.score(frame)
    return scores[0] < scores[1]


@pytest.mark.parametrize("term", TERMS, ids=lambda t: t.name)
def test_every_term_has_a_reason_and_varies_over_real_spaces(term, heuristic, samples):
    assert term.reason
    assert set(term.features) <= set(NAMES)
    values = [
        heuristic.explain(extract(p, samples.TARGET, samples.candidates(p, 500)))[term.name]
        for p in samples.PROBLEMS.values()
    ]
    assert max(v.nunique() for v in values) > 1
    assert min(v.min() for v in values) >= -1e-5


def test_the_terms_add_up_to_the_score(heuristic, training):
    frame = training[0].set_index(np.arange(len(training[0]))[::-1])
    terms = heuristic.explain(frame)
    assert list(terms.columns) == [t.name for t in TERMS]
    assert list(terms.index) == list(frame.index)
    np.testing.assert_allclose(terms.sum(axis=1), heuristic.score(frame))


def test_weights_can_be_replaced(training):
    base, changed = create("heuristic"), create("heuristic", weights={"spills": 0, "traffic": 9.0})
    terms, others = base.explain(training[0]), changed.explain(training[0])
    assert (others["spills"] == 0).all()
    weight = next(t.weight for t in TERMS if t.name == "traffic")
    np.testing.assert_allclose(others["traffic"], terms["traffic"] * 9 / weight)
    pd.testing.assert_series_equal(others["imbalance"], terms["imbalance"])


def test_an_unknown_term_is_refused(training):
    with pytest.raises(InputError, match="heuristic has no term 'speed'; it has spills"):
        create("heuristic", weights={"speed": 1}).score(training[0])


GOOD = {
    "dist_m": 32, "dist_n": 256, "cache_m": 32, "cache_n": 256, "cache_k": 256,
    "vec_m": 8, "vec_n": 32, "vec_k": 4, "peel": 0,
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"dist_n": 64, "cache_n": 64}, id="256 bytes of each 8 KiB row"),
        pytest.param({"vec_m": 32, "vec_n": 128}, id="spills"),
        pytest.param({"vec_m": 1, "vec_n": 16}, id="no reuse in registers"),
        pytest.param({"vec_n": 4}, id="a quarter of the lanes"),
        pytest.param({"vec_n": 20}, id="odd vectors and remainders"),
        pytest.param({"dist_n": 1024, "cache_n": 1024}, id="two workgroups for eight cores"),
        pytest.param({"vec_k": 48}, id="a huge unrolled reduction"),
        pytest.param({"dist_m": 1, "cache_m": 1, "vec_m": 1}, id="every row fetches all of rhs"),
    ],
)
def test_a_good_skinny_matmul_comes_before_a_bad_one(heuristic, samples, change):
    assert first_is_better(heuristic, samples, samples.SKINNY, GOOD, GOOD | change)


def test_a_good_convolution_comes_before_a_bad_one(heuristic, samples):
    good = {
        "dist_batch": 1, "dist_oh": 7, "dist_ow": 56, "dist_oc": 128, "vec_batch": 1, "vec_oh": 1,
        "vec_ow": 8, "vec_oc": 32, "vec_fh": 1, "vec_fw": 1, "vec_ic": 4,
    }  # fmt: skip
    bad = good | {"vec_ow": 1, "vec_oc": 8}
    assert first_is_better(heuristic, samples, samples.PROBLEMS["conv"], good, bad)


def test_good_tiles_beat_random_ones(heuristic, samples):
    frame = samples.candidates(samples.SKINNY, 500)
    rows = pd.concat([pd.DataFrame([GOOD]), frame], ignore_index=True)
    scores = heuristic.score(extract(samples.SKINNY, samples.TARGET, rows))
    assert (scores < scores[0]).sum() <= 5
