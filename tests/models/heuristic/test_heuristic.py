from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from frontrunner.core.errors import InputError
from frontrunner.features import extract
from frontrunner.features.cpu import CPU
from frontrunner.features.gpu import GPU
from frontrunner.features.vulkan import VULKAN
from frontrunner.models import create_ranker
from frontrunner.models.heuristic import CPU_TERMS, GPU_TERMS, VULKAN_TERMS


@pytest.fixture(scope="module")
def heuristic():
    return create_ranker("heuristic")


def first_is_better(heuristic, samples, problem, good, bad):
    frame = extract(problem, samples.TARGET, pd.DataFrame([good, bad]))
    scores = heuristic.score(frame)
    return scores[0] < scores[1]


@pytest.mark.parametrize(
    ("catalogue", "term"),
    [
        *(pytest.param(CPU, t, id=t.name) for t in CPU_TERMS),
        *(pytest.param(GPU, t, id=f"gpu-{t.name}") for t in GPU_TERMS),
        *(pytest.param(VULKAN, t, id=f"vulkan-{t.name}") for t in VULKAN_TERMS),
    ],
)
def test_every_term_has_a_reason_and_varies(catalogue, term, heuristic, samples):
    assert term.reason
    assert set(term.features) <= set(catalogue.names)
    values = [
        heuristic.explain(extract(*case))[term.name] for case in samples.cases(catalogue.name, 500)
    ]
    assert max(v.nunique() for v in values) > 1
    assert min(v.min() for v in values) >= -1e-5


def test_the_terms_add_up_to_the_score(heuristic, training):
    frame = training[0].set_index(np.arange(len(training[0]))[::-1])
    terms = heuristic.explain(frame)
    assert list(terms.columns) == [t.name for t in CPU_TERMS]
    assert list(terms.index) == list(frame.index)
    np.testing.assert_allclose(terms.sum(axis=1), heuristic.score(frame))


def test_weights_can_be_replaced(training):
    base, changed = (
        create_ranker("heuristic"),
        create_ranker("heuristic", weights={"spills": 0, "core_cycles": 9.0}),
    )
    terms, others = base.explain(training[0]), changed.explain(training[0])
    assert (others["spills"] == 0).all()
    weight = next(t.weight for t in CPU_TERMS if t.name == "core_cycles")
    np.testing.assert_allclose(others["core_cycles"], terms["core_cycles"] * 9 / weight)
    pd.testing.assert_series_equal(others["imbalance"], terms["imbalance"])


def test_gpu_terms_add_up_to_the_score_and_have_weights(samples):
    problem, target = samples.GPU_PROBLEMS["large"]
    frame = extract(problem, target, samples.gpu_candidates(problem, target, 50))
    base, changed = create_ranker("heuristic"), create_ranker("heuristic", weights={"traffic": 0})
    terms = base.explain(frame)
    assert list(terms.columns) == [t.name for t in GPU_TERMS]
    np.testing.assert_allclose(terms.sum(axis=1), base.score(frame))
    np.testing.assert_allclose(terms.drop(columns="traffic").sum(axis=1), changed.score(frame))
    with pytest.raises(InputError, match="heuristic has no term 'remainders'; it has uneven_"):
        create_ranker("heuristic", weights={"remainders": 1}).score(frame)


def test_a_frame_without_features_is_refused(heuristic):
    with pytest.raises(InputError, match="'heuristic' needs features that the frame lacks"):
        heuristic.score(pd.DataFrame({"tile_m": [16, 32]}))


def test_an_unknown_term_is_refused(training):
    with pytest.raises(InputError, match="heuristic has no term 'speed'; it has spills"):
        create_ranker("heuristic", weights={"speed": 1}).score(training[0])


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


GOOD_TILE = {
    "tile_batch": 1, "tile_m": 128, "tile_n": 128, "tile_k": 64,
    "subgroups_m": 2, "subgroups_n": 2, "subgroups_k": 1,
    "mma_m": 16, "mma_n": 16, "mma_k": 16, "qk_m": 16, "qk_n": 16, "qk_k": 16,
    "thread_m": 1, "thread_n": 1, "thread_k": 1, "lanes_k": 1,
    "subgroup_size": 64, "threads": 256, "workgroups": 1216, "shared_bytes": 32 << 10,
    "vector_distribute": 1, "igemm": 0, "stages": 2, "bank_padding": 1,
    "waves_per_eu": 0, "flush_denormals": 0,
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"thread_m": 1, "thread_n": 32}, id="neighbours read far apart"),
        pytest.param({"shared_bytes": 0}, id="what others read, too, is read from memory"),
    ],
)
def test_a_worse_candidate_of_threads_that_multiply_comes_later(samples, change):
    problem, target = samples.GPU_PROBLEMS["large"]
    own = {"mma_m": 1, "mma_n": 1, "mma_k": 1, "qk_m": 1, "qk_n": 1, "qk_k": 1}
    tile = GOOD_TILE | own | {"thread_m": 8, "thread_n": 4, "vector_distribute": 0}
    frame = extract(problem, target, pd.DataFrame([tile, tile | change]))
    good, bad = create_ranker("heuristic").score(frame)
    assert good < bad


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"tile_k": 80, "vector_distribute": 0}, id="an odd K tile"),
        pytest.param({"tile_m": 80}, id="a copy that VectorDistribute cannot lay out"),
        pytest.param({"workgroups": 1217}, id="a nearly empty last wave"),
        pytest.param({"workgroups": 152}, id="half of the units idle"),
        pytest.param({"mma_k": 4}, id="an instruction that touches more than it computes"),
        pytest.param({"threads": 64 * 5, "subgroups_m": 5, "subgroups_n": 1}, id="five subgroups"),
        pytest.param({"tile_m": 32, "tile_n": 32, "tile_k": 256}, id="little reuse"),
        pytest.param({"tile_m": 16, "tile_n": 1024, "subgroups_m": 1, "subgroups_n": 4}, id="flat"),
        pytest.param({"tile_m": 512, "tile_n": 512}, id="spills"),
        pytest.param({"tile_k": 16}, id="a K tile of a quarter of a cache line"),
    ],
)
def test_a_worse_gpu_candidate_comes_later(samples, change):
    problem, target = samples.GPU_PROBLEMS["large"]
    frame = extract(problem, target, pd.DataFrame([GOOD_TILE, GOOD_TILE | change]))
    # One thing is changed at a time, so the workgroups are not those that cover the problem.
    good, bad = create_ranker("heuristic", weights={"padding": 0}).score(frame)
    assert good < bad
