"""Checks of what a ranker is: its parameters, how it is trained, explained and kept."""

from __future__ import annotations

import inspect
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from ..ordering import order
from ..ranker import BASE
from ..registry import ENTRY_POINTS, ranker_class
from ..storage import load, save
from .checked_ranker import CheckedRanker, check, refusal, require, require_equal, scores_of
from .processes import results_in_other_processes
from .samples import measured_candidates, unseen_candidates


@check
def check_is_registered(subject: CheckedRanker) -> None:
    """Its class is found by its `name`, so that `--ranker NAME` and saved files find it."""
    cls = subject.cls
    wrong = refusal(lambda: ranker_class(cls.name))
    hint = f"announce it as {cls.name!r} in the entry-point group {ENTRY_POINTS!r} and install it"
    require(wrong is None, f"{wrong}; {hint}")
    found = ranker_class(cls.name)
    require(found is cls, f"the name {cls.name!r} stands for {found!r}, not for {cls!r}; {hint}")


@check
def check_constructor_only_stores_parameters(subject: CheckedRanker) -> None:
    """`__init__` stores each parameter under its own name, unchanged, and does nothing else."""
    signature = inspect.signature(subject.cls).parameters.values()
    lacking = [p.name for p in signature if p.default is p.empty]
    require(not lacking, f"parameters of __init__ have to have defaults, {lacking} have none")
    expected = {p.name: p.default for p in signature} | subject.params
    ranker = subject.make()
    require(
        vars(ranker) == expected,
        f"__init__ has to store its parameters and nothing else: attributes are {vars(ranker)}, "
        f"expected {expected}",
    )
    require(
        ranker.get_params() == expected,
        f"get_params() gives {ranker.get_params()}, expected {expected}",
    )


@check
def check_fit_returns_self(subject: CheckedRanker) -> None:
    """`fit` returns the ranker itself, which then is fitted and has the parameters it had."""
    ranker = subject.make()
    require(
        ranker.is_fitted is not ranker.needs_fit,
        f"before fit(), is_fitted has to be {not ranker.needs_fit}, as needs_fit is "
        f"{ranker.needs_fit}; got {ranker.is_fitted}",
    )
    found = ranker.fit(*measured_candidates())
    require(found is ranker, f"fit() has to return self, got {found!r}")
    require(ranker.is_fitted is True, f"after fit(), is_fitted is {ranker.is_fitted}")
    params = subject.make().get_params()
    require(
        ranker.get_params() == params,
        f"fit() has changed the parameters to {ranker.get_params()}, expected {params}; "
        "what is learned belongs into other attributes, whose names end in _",
    )


@check
def check_fit_leaves_the_data_alone(subject: CheckedRanker) -> None:
    """`fit` changes neither the frame nor the groups, which belong to the caller."""
    frame, groups = measured_candidates()
    before, groups_before = frame.copy(), groups.copy()
    subject.make().fit(frame, groups)
    try:
        pd.testing.assert_frame_equal(frame, before)
    except AssertionError as error:
        raise AssertionError(f"fit() has changed the frame that it was given: {error}") from error
    require_equal(groups == groups_before, [True] * len(groups), "fit() has changed the groups")


@check
def check_contributions_add_up(subject: CheckedRanker) -> None:
    """`contributions` add up to the scores and have reasons, or it says that there are none."""
    ranker, frame = subject.trained, measured_candidates()[0]
    rows = np.random.default_rng(0).integers(0, len(frame), 20).tolist()
    wrong = refusal(lambda: ranker.contributions(frame, rows))
    if wrong is not None:
        expected = f"{subject.name!r} has nothing to explain"
        require(expected in wrong, f"the refusal has to say that {expected}, got: {wrong}")
        return
    found = ranker.contributions(frame, rows)
    scores = scores_of(ranker, frame)[rows]
    require(
        np.allclose(found.sum(axis=1), scores, rtol=1e-7, atol=1e-9),
        f"contributions() add up to {found.sum(axis=1).tolist()}, not to the scores "
        f"{scores.tolist()}",
    )
    labels = list(frame.index[rows])
    require(list(found.index) == labels, f"rows are {list(found.index)}, expected {labels}")
    require(found.columns[-1] == BASE, f"the last column has to be {BASE!r}")
    reasons = ranker.reasons(frame)
    require(
        set(reasons) == set(found.columns) - {BASE},
        f"reasons() has to have one for each column of contributions() but {BASE!r}, no others",
    )
    require(
        all(r.text and set(r.features) <= set(frame.columns) for r in reasons.values()),
        "each reason has to have a text, and features that the frame has",
    )
    empty = ranker.contributions(frame.head(0)).shape
    require(empty == (0, found.shape[1]), f"of no rows, contributions() has the shape {empty}")


@check
def check_same_when_saved_and_loaded(subject: CheckedRanker) -> None:
    """Written to a file and read again, also twice, it scores exactly the same."""
    ranker = subject.trained
    with tempfile.TemporaryDirectory() as folder:
        save(ranker, Path(folder) / "first")
        loaded = load(Path(folder) / "first")
        save(loaded, Path(folder) / "second")
        again = load(Path(folder) / "second")
    require(type(loaded) is type(ranker), f"load() gives a {type(loaded)}, not a {type(ranker)}")
    require(
        loaded.get_params() == ranker.get_params(),
        f"loaded, it has the parameters {loaded.get_params()}, expected {ranker.get_params()}",
    )
    for other, how in ((loaded, "loaded"), (again, "saved, loaded, saved and loaded again")):
        for frame in (measured_candidates()[0], unseen_candidates()):
            require_equal(
                scores_of(other, frame),
                scores_of(ranker, frame),
                f"{how}, it scores otherwise; dump() and restore() have to keep all that counts",
            )


@check
def check_same_in_another_process(subject: CheckedRanker) -> None:
    """In other processes, trained there or loaded from a file, it orders and scores the same.

    Chance has to come from a seed, and nothing may depend on how strings hash.
    """
    frame = unseen_candidates()
    ordered, scores = order(subject.trained, frame), scores_of(subject.trained, frame)
    for found in results_in_other_processes(subject):
        require_equal(found["order"], ordered, "trained in another process, it orders otherwise")
        require_equal(found["scores"], scores, "loaded in another process, it scores otherwise")
