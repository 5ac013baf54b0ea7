"""Rankers on other people's kernels, of which only the knobs are known."""

from __future__ import annotations

import json
import zipfile
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from frontrunner.core.errors import InputError
from frontrunner.features import extract_knobs, generic_catalogue_of_frames
from frontrunner.features.cpu import CPU
from frontrunner.features.gpu import GPU
from frontrunner.models import create_ranker, load, order, save

SMALL = [("forest", {"trees": 10}), ("lightgbm", {"rounds": 20})]


def kernel(count, seed, **others):
    """Candidates with features, and times on a made-up GPU that likes blocks of 128 threads."""
    rng = np.random.default_rng(seed)
    knobs = pd.DataFrame(
        {
            "block x": rng.choice([16, 32, 64, 128], count),
            "block.y": rng.choice([1, 2, 4, 8], count),
            "padding": rng.random(count) < 0.5,
            "layout": rng.choice(["row major", "column, major"], count),
            **others,
        }
    )
    found = extract_knobs(generic_catalogue_of_frames([knobs]), knobs)
    threads = knobs["block x"] * knobs["block.y"]
    cost = np.abs(np.log2(threads / 128)) + knobs["padding"] + (knobs["layout"] == "row major")
    times = np.exp(cost + rng.normal(0, 0.02, count))
    return found.assign(time_us=np.where(threads > 512, np.nan, times))


@pytest.fixture(scope="module")
def recorded():
    return pd.concat([kernel(150, 0), kernel(150, 1)], ignore_index=True), np.repeat([0, 1], 150)


@pytest.mark.parametrize(("name", "params"), SMALL)
def test_it_learns_and_is_kept(name, params, recorded, tmp_path):
    ranker = create_ranker(name, **params).fit(*recorded)
    unseen = kernel(200, 2)
    first = unseen["time_us"].iloc[order(ranker, unseen)[:5]]
    assert first.min() < 1.1 * unseen["time_us"].min()
    save(ranker, tmp_path / "ranker")
    loaded = load(tmp_path / "ranker")
    assert loaded.catalogue_ == ranker.catalogue_
    assert loaded.catalogue_.name == "generic"
    np.testing.assert_array_equal(loaded.score(unseen), ranker.score(unseen))
    other = unseen[unseen.columns[::-1]]
    np.testing.assert_array_equal(loaded.score(other), ranker.score(unseen))


@pytest.mark.parametrize(("name", "params"), SMALL)
def test_other_candidates_are_refused(name, params, recorded):
    ranker = create_ranker(name, **params).fit(*recorded)
    cpu = pd.DataFrame(0.0, index=range(3), columns=list(CPU.names))
    says = f"'{name}' orders candidates for other people's kernels, and these are for CPUs"
    with pytest.raises(InputError, match=says):
        ranker.score(cpu)
    fewer = kernel(3, 0).drop(columns="knob.padding")
    with pytest.raises(InputError, match=rf"'{name}' needs features .*: knob\.padding"):
        ranker.score(fewer)


@pytest.mark.parametrize(("name", "params"), SMALL)
def test_words_that_no_candidate_has_are_known(name, params, recorded):
    """A file that lacks one of a knob's words says nothing of it."""
    ranker = create_ranker(name, **params).fit(*recorded)
    whole = kernel(40, 0)
    some = whole[whole["is.layout.row%20major"] == 0]
    np.testing.assert_array_equal(
        ranker.score(some.drop(columns="is.layout.row%20major")), ranker.score(some)
    )


@pytest.mark.parametrize(("name", "params"), SMALL)
def test_words_that_are_no_numbers_any_more_are_known(name, params):
    modes = np.random.default_rng(0).choice(["1", "2"], 150)
    frame = kernel(150, 0, mode=modes)
    ranker = create_ranker(name, **params).fit(frame, np.zeros(150))
    assert "number.mode" in ranker.catalogue_.names
    others = kernel(40, 1, mode=np.where(np.arange(40) == 7, "", "2"))
    assert "number.mode" not in others
    assert np.isfinite(ranker.score(others)).all()


def test_what_is_for_our_targets_refuses_them(recorded):
    frame = recorded[0]
    with pytest.raises(InputError, match="'heuristic' knows nothing of other people's kernels"):
        create_ranker("heuristic").score(frame)
    with pytest.raises(InputError, match="for CPUs, and these are for other people's") as caught:
        create_ranker("cpu").score(frame)
    assert "heuristic" not in caught.value.hint
    with pytest.raises(InputError, match="for CPUs, and these are for other people's"):
        create_ranker("cpu").fit(*recorded)
    assert sorted(order(create_ranker("shuffle"), frame)) == list(range(len(frame)))


@pytest.mark.parametrize("catalogue", [CPU, GPU], ids=lambda c: c.name)
def test_kernels_and_our_candidates_do_not_mix(catalogue, recorded):
    ours = pd.DataFrame(0.0, index=range(9), columns=list(catalogue.names)).assign(time_us=1.0)
    frame = pd.concat([recorded[0], ours])
    with pytest.raises(InputError, match="candidates of different kinds of targets"):
        create_ranker("forest").fit(frame, np.zeros(len(frame)))


def test_different_kernels_do_not_mix(recorded):
    knobs = pd.DataFrame({"padding": [True, False], "unroll": [1, 2]})
    other = extract_knobs(generic_catalogue_of_frames([knobs]), knobs).assign(time_us=1.0)
    frame = pd.concat([recorded[0], other])
    with pytest.raises(InputError, match=r"needs features .*: product\.block%20x\.unroll"):
        create_ranker("forest").fit(frame, np.zeros(len(frame)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda said: said.update(version=99), "it was trained on version 99"),
        (lambda said: said["names"].append("knob.more"), "it lacks log2.more, pow2.more, product"),
        (lambda said: said["names"].append("more"), "it has more beyond them"),
        (lambda said: said.update(names=["more"]), "it has more beyond them"),
        (lambda said: said["names"].reverse(), "they come in another order"),
        (
            lambda said: said.update(names=[f"knob.k{i}" for i in range(5000)]),
            "cannot use .*: a kernel with 5000 knobs has too many features",
        ),
    ],
)
def test_files_with_other_features_are_refused(change, message, recorded, tmp_path):
    path = tmp_path / "ranker"
    save(create_ranker("forest", trees=1).fit(*recorded), path)
    with zipfile.ZipFile(path) as archive:
        pieces = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(pieces["manifest.json"])
    change(manifest["features"])
    pieces["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in pieces.items():
            archive.writestr(name, data)
    with pytest.raises(InputError, match=message):
        load(path)


def test_an_order_of_loops_is_learned_better_than_as_a_number():
    """Times depend on which loops are next to each other, and on which of two comes first."""
    orders = list(permutations("012345"))
    rng = np.random.default_rng(0)
    cost = np.array(
        [
            (abs(o.index("1") - o.index("3")) > 1)
            + (abs(o.index("2") - o.index("5")) > 1)
            + (o.index("0") > o.index("4"))
            for o in orders
        ]
    )
    times = np.exp(cost + rng.normal(0, 0.05, len(orders)))
    seen = rng.permutation(len(orders)) < 300
    knobs = pd.DataFrame({"loops": [f"[{', '.join(o)}]" for o in orders]})
    coded = pd.DataFrame({"loops": pd.factorize(knobs["loops"], sort=True)[0]})

    def best_of_the_first_16(candidates):
        features = extract_knobs(generic_catalogue_of_frames([candidates]), candidates)
        frame = features[seen].assign(time_us=times[seen])
        ranker = create_ranker("lightgbm").fit(frame, np.zeros(seen.sum()))
        return (cost[~seen][order(ranker, features[~seen])[:16]] == 0).sum()

    found = best_of_the_first_16(knobs), best_of_the_first_16(coded)
    assert found[0] >= 14
    assert found[1] <= 8
