"""What is read of a folder of dispatches, and what is no longer as it was written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from frontrunner.benchmarks.operations import Matmul
from frontrunner.core import InputError
from frontrunner.experiments.profiling.folder import find_generated

KNOWN = {"name": "c001", "pipeline": "P", "knobs": {"vec_m": 8}}
CONFIGURED = {"target": "host", "configurations": [KNOWN]}


@pytest.fixture
def folder(made, tmp_path: Path) -> Path:
    (found,) = made(tmp_path, Matmul(8, 8, 8)).iterdir()
    return found


@pytest.mark.parametrize("text", ["{", "[]", '{"operation": "sort"}', '{"operation": "matmul"}'])
def test_a_damaged_description(folder, text):
    (folder / "operation.json").write_text(text)
    with pytest.raises(InputError, match="does not hold what was written there"):
        find_generated(folder)


def test_a_description_of_another_dispatch(folder):
    path = folder / "operation.json"
    path.write_text(path.read_text().replace("8", "9", 1))
    with pytest.raises(InputError, match=r"operation.json does not describe .*8x8x8"):
        find_generated(folder)


def test_somebody_elses_beside_ours(folder):
    (folder / "other.mlir").touch()
    ours, other = find_generated(folder)
    assert (ours.operation, other.operation) == (Matmul(8, 8, 8), None)


def test_configurations_of_nothing(folder):
    (folder / "configurations.json").write_text(json.dumps(CONFIGURED))
    (found,) = find_generated(folder)
    assert [c.name for c in found.configurations] == ["c001"]
    (folder / "operation.json").unlink()
    with pytest.raises(InputError, match=r"is there, but no operation.json beside it"):
        find_generated(folder)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"name": "../other"}, "'../other' names no configuration"),
        ({"name": "default"}, "'default' names no configuration"),
        ({"name": 5}, "not int"),
        ({"knobs": {"vec_m": 10**20}}, "vec_m is 1000"),
        ({"knobs": {"vec_m": "8"}}, "vec_m is '8'"),
        ({"knobs": 8}, "no attribute 'items'"),
        ({"more": 8}, "'more'"),
    ],
)
def test_damaged_configurations(folder, change, problem):
    text = json.dumps({**CONFIGURED, "configurations": [KNOWN | change]})
    (folder / "configurations.json").write_text(text)
    with pytest.raises(InputError, match="does not hold what was written there") as refused:
        find_generated(folder)
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"target": None}, "the target is None"),
        ({"configurations": [KNOWN, KNOWN]}, "two have the same name"),
        ({"configurations": {}}, "the configurations are {}"),
    ],
)
def test_damaged_lists_of_configurations(folder, change, problem):
    (folder / "configurations.json").write_text(json.dumps(CONFIGURED | change))
    with pytest.raises(InputError, match=problem):
        find_generated(folder)


def test_a_name_that_is_no_text(folder):
    (folder / "\udcff.mlir").touch()
    with pytest.raises(InputError, match=r"the name of .*\\udcff.mlir is not in UTF-8"):
        find_generated(folder)
