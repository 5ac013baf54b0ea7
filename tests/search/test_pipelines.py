"""A codegen pipeline of another package: installed, enumerated, ordered, tuned to a spec."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from frontrunner.benchmarks.measuring import Budget
from frontrunner.core import InputError
from frontrunner.experiments.observing.progress import Observer
from frontrunner.experiments.queue import make_queue, spaces_of
from frontrunner.experiments.tuning import TuneOptions, TuneResult, start_run
from frontrunner.models import resolve_ranker
from frontrunner.search import backend_named, build_spaces, known_pipelines, spec_of
from frontrunner.search.enumeration import enumerate_space
from frontrunner.search.mlir import compile_with_spec, spec_text
from frontrunner.search.reading import read_dispatch

MATMUL = Path(__file__).parents[1] / "data" / "matmul.mlir"


@pytest.fixture
def installed(install_example: Callable[[str], Path]) -> None:
    """The example's package, as pip installs it."""
    install_example("square_tiles")


@pytest.mark.usefixtures("installed")
def test_its_candidates_are_enumerated_and_compiled(tmp_path: Path) -> None:
    dispatch = read_dispatch(MATMUL)
    names = [space.pipeline for space in build_spaces(dispatch)]
    assert names == ["DoubleTilingExpert", "SquareTiles"]
    (space,) = build_spaces(dispatch, "SquareTiles")
    frame = enumerate_space(space)
    assert sorted(frame.itertuples(index=False, name=None)) == [
        (tile, columns) for tile in (8, 16, 32, 64) for columns in (4, 8, 16, 32) if tile >= columns
    ]
    spec = tmp_path / "spec.mlir"
    spec.write_text(spec_text(spec_of(dispatch, space.render({"tile": 32, "columns": 8}))))
    assert compile_with_spec(dispatch.source, dispatch.target.flags, spec)[1]
    # A convolution is none of its.
    assert len(build_spaces(read_dispatch(MATMUL.with_name("conv_nhwc.mlir")))) == 1


@pytest.mark.usefixtures("installed")
def test_its_knobs_are_none_of_the_compilers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A queue tells by its columns which of those were set free, on the target that has them."""
    dispatch = read_dispatch(MATMUL)
    queue = make_queue(dispatch, resolve_ranker("shuffle"), pool=20, seed=0).assign(stages=2)
    assert {*spaces_of(dispatch, queue)} == {"DoubleTilingExpert", "SquareTiles"}
    monkeypatch.setitem(backend_named("llvm-cpu").extras, "tile", (1, 2))  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="SquareTiles of another package has a knob 'tile'"):
        build_spaces(dispatch)


@pytest.mark.usefixtures("installed", "brief")
def test_its_candidates_are_ordered_and_tuned(tmp_path: Path) -> None:
    dispatch = read_dispatch(MATMUL)
    queue = make_queue(dispatch, resolve_ranker("heuristic"), pool=50, seed=0)
    assert set(queue["pipeline"]) == {"DoubleTilingExpert", "SquareTiles"}
    # Rankers see more than that all are alike.
    ordered = make_queue(
        dispatch, resolve_ranker("heuristic"), pool=50, seed=1, pipeline="SquareTiles"
    )
    shuffled = make_queue(
        dispatch, resolve_ranker("heuristic"), pool=50, seed=2, pipeline="SquareTiles"
    )
    assert ordered[["tile", "columns"]].equals(shuffled[["tile", "columns"]])
    options = TuneOptions(
        input=MATMUL,
        out=tmp_path / "run",
        budget=Budget(candidates=4),
        ranker="heuristic",
        pipeline="SquareTiles",
    )
    result = start_run(options, Observer(), tracked=False)
    assert isinstance(result, TuneResult)
    assert result.outcomes == {"ok": 4}


def test_one_that_cannot_be_used_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "bad-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bad\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[frontrunner.pipelines]\nmine = bad_pipeline:Mine\n")
    monkeypatch.syspath_prepend(tmp_path)
    dispatch = read_dispatch(MATMUL)
    for text, says in (
        ("class Mine: name = 'mine'\n", "is not a frontrunner.search.Pipeline"),
        (
            "from frontrunner.search import Pipeline\nclass Mine(Pipeline): name = 'mine'\n",
            "cannot be made .TypeError: Can't instantiate abstract class",
        ),
        ("import nothing_like_it\n", "cannot be imported"),
    ):
        (tmp_path / "bad_pipeline.py").write_text(text)
        sys.modules.pop("bad_pipeline", None)
        known_pipelines.cache_clear()
        with pytest.raises(InputError, match=says):
            build_spaces(dispatch)
    monkeypatch.undo()
    known_pipelines.cache_clear()
