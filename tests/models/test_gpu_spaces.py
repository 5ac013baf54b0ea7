"""GPU features and terms over the spaces that the compiler states.

With what is known to fail, which recordings of earlier spaces have, too.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from frontrunner.benchmarks.operations import Attention, Conv, Matmul, Matvec, Types
from frontrunner.core import InputError
from frontrunner.features import extract
from frontrunner.features.gpu import GPU
from frontrunner.models import create_ranker, order
from frontrunner.models.heuristic import GPU_TERMS
from frontrunner.search import build_spaces
from frontrunner.search.enumeration.enumeration import add_derived_columns, sample
from frontrunner.search.gpu import EXTRA_KNOBS
from frontrunner.search.reading import read_dispatch

CONV = Conv.square(32, 128, 640, 3, types=Types("f16", "f32"))
ATTENTION = Attention(20, 4096, 1024, 64, "f16")
DISPATCHES = (
    Matmul(1000, 1280, 5000, Types("f16", "f32"), transposed=("rhs",)),
    # In f16, both instructions of gfx942 touch the same number of elements per multiply-add.
    Matmul(1280, 1024, 1024, Types("i8", "i32")),
    CONV,
    ATTENTION,
    Matvec(4096, 4096),
    # Without matrix instructions, and columns that threads share.
    Matmul(1, 4096, 1024),
)


def extras_of(dispatch):
    """Those that some pipeline of the dispatch has; others are refused."""
    found = {}
    for name, values in EXTRA_KNOBS.items():
        with suppress(InputError):
            build_spaces(dispatch, extras={name: values})
            found[name] = values
    return found


@pytest.fixture(scope="module")
def spaces(tmp_path_factory):
    """By dispatch: the candidates of all its spaces, with what each pipeline is called."""
    found = {}
    for operation in DISPATCHES:
        path = tmp_path_factory.mktemp("dispatches") / f"{operation.name}.mlir"
        path.write_text(operation.mlir())
        dispatch = read_dispatch(path, "gfx942")
        frames = []
        for space in build_spaces(dispatch, extras=extras_of(dispatch)):
            stated = tuple(c for c in space.constraints if not c.known_failure)
            wide = replace(space, constraints=stated)
            candidates = add_derived_columns(wide, sample(wide, 400, seed=0))
            features = extract(dispatch.problem, dispatch.target, candidates)
            frames.append(features.assign(pipeline=space.pipeline))
        found[operation.name] = pd.concat(frames, ignore_index=True)
    return found


def test_all_features_are_finite_and_vary(spaces):
    varying = set()
    for frame in spaces.values():
        features = frame[list(GPU.names)]
        assert np.isfinite(features.to_numpy()).all()
        varying |= set(features.columns[features.nunique() > 1])
    about_the_problem = {f.name for f in GPU.features if f.group == "context"}
    assert set(GPU.names) - varying == about_the_problem


def test_every_term_of_the_heuristic_varies(spaces):
    varying = set()
    for frame in spaces.values():
        terms = create_ranker("heuristic").explain(frame)
        assert terms.to_numpy().min() >= -1e-5
        varying |= set(terms.columns[terms.nunique() > 1])
    assert varying == {t.name for t in GPU_TERMS}


def test_spaces_of_one_dispatch_are_ordered_together(spaces):
    frame = next(f for f in spaces.values() if f["pipeline"].nunique() > 2)
    first = frame.iloc[order(create_ranker("heuristic"), frame)[:400]]
    assert first["pipeline"].nunique() > 1


def test_likely_failures_come_last(spaces):
    """The last half holds nine of ten candidates that fail to compile."""
    for frame in spaces.values():
        failing = (frame[["uneven_vector_distribute", "qk_misfit"]] > 0).any(axis=1).to_numpy()
        ranks = np.argsort(order(create_ranker("heuristic"), frame)) / len(frame)
        assert not failing.any() or np.quantile(ranks[failing], 0.1) > 0.5
