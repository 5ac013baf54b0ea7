"""Attention with attributes of its own, with values from outside, and as the compiler dumps it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from frontrunner.core import InputError, NotTunableError
from frontrunner.search import Dispatch, build_spaces, spec_of, target_flags
from frontrunner.search.enumeration import sample
from frontrunner.search.mlir import compile_with_spec
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[2] / "data"
ATTENTION = (DATA / "attention.mlir").read_text()
COMPILER = str(Path(sys.executable).with_name("iree-compile"))
pytestmark = pytest.mark.usefixtures("warm")


def with_attributes(path: Path, inherent: str = "", discardable: str = "") -> Path:
    end = "(b, m, n)>]}>"
    assert ATTENTION.count(end) == 1
    path.write_text(ATTENTION.replace(end, f"(b, m, n)>]{inherent}}}> {discardable}"))
    return path


def applied(dispatch: Dispatch, config: str, spec: Path) -> bool:
    spec.write_text(spec_of(dispatch, config).text())
    return bool(compile_with_spec(dispatch.source, dispatch.target.flags, spec)[1])


@pytest.mark.parametrize(
    "given", [{"inherent": ", decomposition_config = {use_exp2 = false}"}, {"discardable": "{a.b}"}]
)
def test_what_it_says_besides_is_matched(given: dict[str, str], tmp_path: Path) -> None:
    """A matcher compares all attributes: without one, no candidate would be applied."""
    dispatch = read_dispatch(with_attributes(tmp_path / "in.mlir", **given))
    (space,) = build_spaces(dispatch)
    (row,) = sample(space, 1, 0).to_dict("records")
    for config in (dispatch.default, space.render(row)):
        assert applied(dispatch, config, tmp_path / "spec.mlir")


@pytest.mark.parametrize(
    ("config", "target", "says"),
    [
        ("{use_exp2 = false}", "gfx942", "and configurations for GPUs have their own"),
        ("{qk_attrs = {a}}", "host", r"configures its iree_linalg_ext\.attention itself"),
    ],
)
def test_what_a_configuration_says_itself_is_refused(
    config: str, target: str, says: str, tmp_path: Path
) -> None:
    path = with_attributes(tmp_path / "in.mlir", f", decomposition_config = {config}")
    with pytest.raises(InputError, match=says) as caught:
        read_dispatch(path, target)
    assert caught.value.hint == "remove decomposition_config from the input"


@pytest.mark.parametrize("where", ["%e = ", "iree_linalg_ext.yield"])
def test_scores_that_values_from_outside_change_are_refused(where: str, tmp_path: Path) -> None:
    """As a cap by tanh does: the compiler moves constants out, too."""
    cap = "%c = arith.constant 30.0 : f32\n  "
    changed = "%y = arith.mulf %x, %c : f32\n iree_linalg_ext.yield %y"
    text = ATTENTION.replace(where, cap + where).replace("iree_linalg_ext.yield %x", changed)
    (tmp_path / "capped.mlir").write_text(text)
    with pytest.raises(NotTunableError, match="scores are changed by values from outside"):
        read_dispatch(tmp_path / "capped.mlir")


@pytest.mark.parametrize("target", ["host", "gfx942", "sm_80"])
def test_what_the_compiler_dumped_of_it_is_applied(target: str, tmp_path: Path) -> None:
    """It is configured there, and for GPUs so are its products."""
    dump = f"--iree-hal-dump-executable-benchmarks-to={tmp_path}"
    source = str(DATA / "gpu" / "attention_20x4096x64.mlir")
    given = [COMPILER, source, *target_flags(target), dump, "-o", str(tmp_path / "x")]
    subprocess.run(given, check=True)
    (file,) = tmp_path.glob("*_benchmark.mlir")
    dispatch = read_dispatch(file, target)
    assert applied(dispatch, dispatch.default, tmp_path / "spec.mlir")
