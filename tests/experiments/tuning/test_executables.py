"""A pipeline with a compiler of its own: the C kernel of `examples`, installed and tuned."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import iree.runtime as rt
import numpy as np
import pandas as pd
import pytest

import frontrunner
from frontrunner.core import InputError
from frontrunner.experiments.tuning import TuneResult
from frontrunner.experiments.tuning.compile_result import CompileResult
from frontrunner.search import build_spaces, known_pipelines
from frontrunner.search.enumeration import enumerate_space
from frontrunner.search.reading import read_dispatch

MATMUL = Path(__file__).parents[2] / "data" / "matmul.mlir"
BROKEN = """
#if ROWS == 2
#error two rows are one too many
#endif
"""

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
    pytest.mark.usefixtures("brief", "untracked"),
]


@pytest.fixture
def installed(install_example: Callable[[str], Path]) -> Path:
    """The package, where it was installed."""
    return install_example("c_kernel") / "c_kernel"


def tuned(out: Path, **options: object) -> TuneResult | CompileResult:
    given = {"pipeline": "CKernel", "ranker": "heuristic", "budget": 3, "quiet": True, "out": out}
    return frontrunner.tune(MATMUL, **{**given, **options})  # type: ignore[arg-type]


@pytest.mark.usefixtures("installed")
def test_it_is_tried_only_where_it_is_asked_for() -> None:
    dispatch = read_dispatch(MATMUL)
    assert [space.pipeline for space in build_spaces(dispatch)] == ["DoubleTilingExpert"]
    (space,) = build_spaces(dispatch, "CKernel")
    width = dispatch.target.vector_bytes // 4
    frame = enumerate_space(space)
    assert len(frame) > 50
    assert (64 % frame["tile_m"] == 0).all() and (128 % frame["tile_n"] == 0).all()
    assert (frame["tile_n"] % (frame["vectors"] * width) == 0).all()


@pytest.mark.usefixtures("installed")
@pytest.mark.slow
def test_what_it_builds_is_verified_measured_and_kept(tmp_path: Path) -> None:
    result = tuned(tmp_path / "run")
    assert isinstance(result, TuneResult)
    assert result.outcomes == {"ok": 3}
    assert result.spec is None
    assert (result.executable is None) == (result.winner is None)
    # What is continued goes on with the same kernels, and what is complete is only read.
    more = frontrunner.resume(tmp_path / "run", budget=5, quiet=True)
    assert more.outcomes == {"ok": 5}
    assert frontrunner.resume(tmp_path / "run", quiet=True) == more


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
def test_a_winner_is_a_module_that_computes_the_product(
    tmp_path: Path, plant_default: Callable[[Path], None]
) -> None:
    plant_default(MATMUL)
    result = tuned(tmp_path / "run", budget=4)
    assert isinstance(result, TuneResult)
    assert result.executable is not None
    assert result.speedup_ci[0] > 1
    module = rt.load_vm_flatbuffer_file(str(result.executable), driver="local-sync")
    random = np.random.default_rng(0)
    a = random.standard_normal((64, 96), np.float32)
    b = random.standard_normal((96, 128), np.float32)
    found = np.asarray(module.matmul(a, b))
    np.testing.assert_allclose(found, a @ b, rtol=1e-4, atol=1e-4)
    assert "executable" in "\n".join(result.summary_lines())
    result.executable.write_bytes(b"another")
    with pytest.raises(InputError, match=r"winner.vmfb is not the winner's"):
        frontrunner.resume(tmp_path / "run", quiet=True)


@pytest.mark.slow
def test_what_does_not_build_and_what_is_wrong_is_told(installed: Path, tmp_path: Path) -> None:
    kernel = installed / "kernel.c"
    wrong = kernel.read_text().replace("sum[ROWS][VECTORS] = {0}", "sum[ROWS][VECTORS] = {1}")
    kernel.write_text(BROKEN + wrong)
    result = tuned(tmp_path / "run", ranker="shuffle", budget=24, compile_only=True)
    assert isinstance(result, CompileResult)
    rows = pd.read_parquet(tmp_path / "run" / "queue.parquet")["rows"][:24]
    failed = int((rows == 2).sum())
    assert 0 < failed < 24
    assert result.outcomes == {"ok": 24 - failed, "compile_failed": failed}
    assert "cc gave 1" in (tmp_path / "run" / "outcomes.jsonl").read_text()
    assert "two rows are one too many" in next((tmp_path / "run" / "logs").iterdir()).read_text()
    measured = tuned(tmp_path / "measured", ranker="shuffle", budget=3)
    assert isinstance(measured, TuneResult)
    assert set(measured.outcomes) <= {"compile_failed", "wrong_result"}
    assert measured.executable is None


@pytest.mark.usefixtures("installed")
def test_what_needs_the_compiler_is_refused(tmp_path: Path) -> None:
    for refused in (
        lambda: frontrunner.record(MATMUL, out=tmp_path / "a", pipeline="CKernel", quiet=True),
        lambda: tuned(tmp_path / "b", keep_failures=tmp_path / "failures"),
    ):
        with pytest.raises(InputError, match="CKernel makes executables by itself"):
            refused()
    assert known_pipelines().keys() == {"CKernel"}
