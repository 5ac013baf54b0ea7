"""Features of knobs that nobody explained."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import pytest

from frontrunner.core import InputError
from frontrunner.core.limits import RAISE_LIMIT_HINT, limit_bytes
from frontrunner.features import (
    GENERIC,
    detect_catalogue,
    extract_knobs,
    generic_catalogue,
    generic_catalogue_of_frames,
    parse_generic_catalogue,
)
from frontrunner.features.cpu import CPU


def one(**knobs: object) -> pd.Series:
    frame = pd.DataFrame({name: [value] for name, value in knobs.items()})
    return extract_knobs(generic_catalogue_of_frames([frame]), frame).iloc[0]


@pytest.mark.parametrize(
    ("knobs", "expected"),
    [
        ({"a": 8}, {"knob.a": 8, "log2.a": math.log2(9), "pow2.a": 1}),
        ({"a": 0}, {"knob.a": 0, "log2.a": 0, "pow2.a": 0}),
        ({"a": -4}, {"knob.a": -4, "log2.a": -math.log2(5), "pow2.a": 0}),
        ({"a": 0.25}, {"knob.a": 0.25, "log2.a": math.log2(1.25), "pow2.a": 1}),
        ({"a": 12.5}, {"knob.a": 12.5, "pow2.a": 0}),
        ({"a": True}, {"knob.a": 1, "log2.a": 1, "pow2.a": 1}),
        ({"a": math.nan}, {"knob.a": 0, "log2.a": 0, "pow2.a": 0}),
        ({"b": 32, "a": 4}, {"product.a.b": 128, "ratio.a.b": 0.125}),
        ({"a": 4, "b": 0}, {"product.a.b": 0, "ratio.a.b": 0}),
        ({"a": "cubic"}, {"is.a.cubic": 1}),
    ],
)
def test_values(knobs: dict[str, object], expected: dict[str, float]) -> None:
    found = one(**knobs)
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_names_are_those_of_the_knobs_in_their_order() -> None:
    frame = pd.DataFrame({"y": [1, 2], "mode": ["b", "a"], "x": [True, False]})
    found = extract_knobs(generic_catalogue_of_frames([frame]), frame)
    assert list(found) == [
        "knob.x", "knob.y", "log2.x", "log2.y", "pow2.x", "pow2.y",
        "product.x.y", "ratio.x.y", "is.mode.a", "is.mode.b",
    ]  # fmt: skip
    assert found["is.mode.a"].tolist() == [0, 1]
    assert (found.dtypes == np.float32).all()


def test_all_values_are_finite() -> None:
    huge = [1e300, -1e300, math.inf, -math.inf, math.nan, 0, 1e-300]
    frame = pd.DataFrame({"a": huge, "b": huge[::-1], "c": [True, None] * 3 + [False]})
    found = extract_knobs(generic_catalogue_of_frames([frame]), frame)
    assert np.isfinite(found.to_numpy()).all()


def test_the_index_is_the_candidates() -> None:
    frame = pd.DataFrame({"a": [1, 2]}, index=[7, 3])
    assert extract_knobs(generic_catalogue_of_frames([frame]), frame).index.tolist() == [7, 3]


def test_words_have_the_values_of_all_frames() -> None:
    frames = [pd.DataFrame({"a": values}) for values in (["x", "y"], ["z", None])]
    catalogue = generic_catalogue_of_frames(frames)
    assert catalogue.names == ("is.a.", "is.a.x", "is.a.y", "is.a.z")
    assert extract_knobs(catalogue, frames[1])["is.a."].tolist() == [0, 1]


ODD = ["a.b", "c d", "é", "x[0]", "%2E", "k:v", "a"]


def test_the_catalogue_is_told_from_its_names() -> None:
    catalogue = generic_catalogue(ODD, {"mode.1": ["a.b", "", "{1, 2}"]})
    assert parse_generic_catalogue(catalogue.names) == catalogue
    assert parse_generic_catalogue([*catalogue.names[::-1], "time_us"]) == catalogue
    assert detect_catalogue(pd.Index(catalogue.names)) == catalogue
    assert catalogue.name == GENERIC
    # What LightGBM takes as a feature's name.
    assert not any(set(name) & set('[]{}":, ') for name in catalogue.names)
    assert all(name.isascii() for name in catalogue.names)


def test_other_columns_are_not_taken_for_knobs() -> None:
    assert detect_catalogue(CPU.names) is CPU
    assert detect_catalogue(["time_us", "knobs", "knob.a.b", "is.a"]) is None


def test_a_missing_knob_is_named() -> None:
    with pytest.raises(InputError, match="lack the knob 'b'"):
        extract_knobs(generic_catalogue(["a", "b"]), pd.DataFrame({"a": [1]}))
    with pytest.raises(InputError, match="lack the knob 'b', or its values are no numbers"):
        extract_knobs(generic_catalogue(["b"]), pd.DataFrame({"b": ["x"]}))
    with pytest.raises(InputError, match="lack the knob 'b'"):
        extract_knobs(generic_catalogue([], {"b": ["x"]}), pd.DataFrame({"a": [1]}))


def test_too_many_knobs_are_refused() -> None:
    with pytest.raises(InputError, match="101 knobs has too many features"):
        parse_generic_catalogue(f"knob.k{i}" for i in range(101))


@pytest.mark.parametrize("words", [[f"w{i}" for i in range(10_001)], ["x" * 1001]])
def test_words_of_which_there_would_be_too_many_features(words: list[str]) -> None:
    with pytest.raises(InputError, match=r"different words, .* has too many features") as refused:
        generic_catalogue_of_frames([pd.DataFrame({"a": words})])
    assert refused.value.hint == "leave such knobs out"
    with pytest.raises(InputError, match="too many features"):
        parse_generic_catalogue(f"is.a.{word}" for word in words)


def test_features_that_do_not_fit_are_not_computed() -> None:
    frame = pd.DataFrame({"a": [f"w{i}" for i in range(1000)]})
    catalogue = generic_catalogue_of_frames([frame])
    extract_knobs(catalogue, frame)
    refused = pytest.raises(InputError, match="table of features is too large: it has 1,000 rows")
    with limit_bytes(8_000_000), refused as told:
        extract_knobs(catalogue, frame)
    assert told.value.hint == RAISE_LIMIT_HINT


ORDERS = ["[0, 2, 1]", "(2, 1, 0)", '["1", "0", "2"]', ""]


def test_an_order_is_told_by_places_and_neighbours() -> None:
    frame = pd.DataFrame({"loops": ORDERS, "x": [1, 2, 3, 4]})
    found = extract_knobs(generic_catalogue_of_frames([frame]), frame)
    assert [name for name in found if "loops" in name] == [
        *(f"place.loops.{e}" for e in (0, 1, 2)),
        *(f"beside.loops.{pair}" for pair in ("0.1", "0.2", "1.2")),
        *(f"before.loops.{pair}" for pair in ("0.1", "0.2", "1.2")),
    ]
    assert found["place.loops.2"].tolist() == [2, 1, 3, 0]
    assert found["beside.loops.0.1"].tolist() == [0, 1, 1, 0]
    assert found["before.loops.0.2"].tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize(
    "values",
    [
        ["[0, 1]", "[0, 2]"],
        ["[0, 0]"],
        ["[0, 1]", "one"],
        ["[0]"],
        ["[[0, 1], 2]"],
        ["(0, 1]"],
        [str(list(range(17)))],
    ],
)
def test_what_is_no_order_is_a_word(values: list[str]) -> None:
    catalogue = generic_catalogue_of_frames([pd.DataFrame({"a": values})])
    assert all(name.startswith("is.a.") for name in catalogue.names)


def test_elements_come_in_one_order_whatever_the_values_are() -> None:
    frames = [pd.DataFrame({"a": [v]}) for v in ("[10, 9, i, j]", "[j, 10, i, 9]")]
    assert generic_catalogue_of_frames(frames[:1]) == generic_catalogue_of_frames(frames[1:])
    assert generic_catalogue_of_frames(frames).names[:3] == ("place.a.9", "place.a.10", "place.a.i")


def test_words_that_are_numbers_have_a_size_too() -> None:
    frame = pd.DataFrame({"a": ["2", "16", "0.5"]})
    found = extract_knobs(generic_catalogue_of_frames([frame]), frame)
    assert list(found) == ["is.a.0%2E5", "is.a.16", "is.a.2", "number.a"]
    assert found["number.a"].tolist() == [2, 16, 0.5]


def test_orders_are_told_from_names() -> None:
    catalogue = generic_catalogue(["x"], {"w": ["1", "2"]}, {"a.b": ["i j", "10", "9"]})
    assert parse_generic_catalogue(reversed(catalogue.names)) == catalogue
    with pytest.raises(InputError, match="an order of 17 things has too many features"):
        parse_generic_catalogue(f"place.a.{e}" for e in range(17))
    assert pickle.loads(pickle.dumps(catalogue)).names == catalogue.names
