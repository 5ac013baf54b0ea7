"""The table of sizes: its rows can be made, and their figures are those of the predictor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from frontrunner.core import InputError
from frontrunner.experiments.dataset.provenance import ForeignKernel
from frontrunner.experiments.evaluation.contenders import Contender
from frontrunner.experiments.evaluation.cross_validation import cross_validate
from frontrunner.experiments.learning.cases import Case, read_cases
from frontrunner.experiments.learning.predictors import train
from frontrunner.experiments.studies import predictor_sizes
from frontrunner.experiments.studies.predictor_sizes import COLUMNS, CONFIGURATIONS, measure


@pytest.fixture
def cases(tmp_path: Path, record_sample: Callable[..., Path]) -> list[Case]:
    for name in ("odd", "conv"):
        record_sample(tmp_path / f"{name}.parquet", name)
    return read_cases([tmp_path])


def test_a_row_for_each_configuration() -> None:
    assert len({c.name for c in CONFIGURATIONS}) == len(CONFIGURATIONS)
    for contender in CONFIGURATIONS:
        assert contender.params.items() <= contender.make(seed=0).get_params().items()


def test_the_figures_of_a_predictor(cases: list[Case], tmp_path: Path) -> None:
    figures = measure(Contender("small", "lightgbm", {"rounds": 3}), cases)
    assert tuple(figures) == COLUMNS
    assert all(value > 0 for value in figures.values())
    same = train(tmp_path, tmp_path / "x", params={"rounds": 3})
    assert figures["file kB"] == same.size_bytes / 1e3


def test_a_predictor_is_trained_beside_no_other(
    cases: list[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[int | None] = []

    def judge(*given: Any, **options: Any) -> Any:
        jobs.append(options.get("jobs"))
        return cross_validate(*given, **options)

    monkeypatch.setattr(predictor_sizes, "cross_validate", judge)
    measure(Contender("small", "lightgbm", {"rounds": 1}), cases)
    assert jobs == [1]


def test_other_peoples_kernels_are_refused(cases: list[Case]) -> None:
    recording = cases[0].recording
    provenance = replace(recording.provenance, problem=ForeignKernel("k"), target=None)
    foreign = replace(cases[0], recording=replace(recording, provenance=provenance))
    with pytest.raises(InputError, match="somebody else's kernel"):
        measure(CONFIGURATIONS[0], [foreign])
