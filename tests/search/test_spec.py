"""Specs: what is rendered applies, through iree-compile as it is; what is linked keeps applying."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from frontrunner.core import InputError
from frontrunner.search import Dispatch, TuningSpec, spec_of
from frontrunner.search.linking import link_specs
from frontrunner.search.mlir import spec_text
from frontrunner.search.mlir.compiler import compile_with_spec, configure_module
from frontrunner.search.reading import read_dispatch
from frontrunner.search.spec import APPLIED_MARK

Read = Callable[[str], Dispatch]
DATA = Path(__file__).parents[1] / "data"


def entry(dispatch: Dispatch, comment: str = "", config: str = "") -> TuningSpec:
    return spec_of(dispatch, config or dispatch.default, comment)


def applies(dispatch: Dispatch, spec: Path) -> bool:
    """As `compile_with_spec` tells, without what the backend does afterwards."""
    with configure_module(dispatch.source, dispatch.target.flags, spec) as (_, dispatches):
        return any(APPLIED_MARK in text for text in dispatches.values())


@pytest.mark.parametrize(
    "name",
    [
        "matmul",
        "generic_matmul",
        "matmul_bf16",
        "matmul_i8",
        "matmul_transposed_lhs",
        "matmul_fused",
        "batch_matmul",
        "matvec",
        "vecmat",
        "conv_1x1",
        "conv_nhwc",
        "conv_strided",
        "conv_dilated",
        "conv_nchw",
        "conv_depthwise",
        "conv_depthwise_nchw",
        "conv_grouped",
        "attention",
        "attention_decode",
    ],
)
def test_the_defaults_own_spec_gives_the_default(dispatch: Read, name: str, tmp_path: Path) -> None:
    given = dispatch(name)
    spec = tmp_path / "spec.mlir"
    spec.write_text(spec_text(entry(given)))
    executable, applied = compile_with_spec(given.source, given.target.flags, spec)
    assert applied
    if not given.problem.fused:  # the default configures what is fused, too
        assert executable == compile_with_spec(given.source, given.target.flags, None)[0]


@pytest.mark.parametrize("name", ["matmul", "conv_nhwc", "attention"])
def test_iree_compile_takes_the_file_as_it_is(dispatch: Read, name: str, tmp_path: Path) -> None:
    given = dispatch(name)
    spec = tmp_path / "spec.mlir"
    spec.write_text(spec_text(entry(given, "Expected speedup: 2.00x.")))
    assert "// Expected speedup: 2.00x." in spec.read_text()
    tool = Path(sys.executable).with_name("iree-compile")
    phase = "--compile-to=executable-configurations"
    command = [tool, DATA / f"{name}.mlir", *given.target.flags, phase, "-o", "-"]
    done = subprocess.run(
        [*command, f"--iree-codegen-tuning-spec-path={spec}"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "__frontrunner_spec_applied__" in done.stdout


def test_a_spec_matches_its_dispatch_and_nothing_else(dispatch: Read, tmp_path: Path) -> None:
    names = ["matmul", "matmul_odd", "matmul_transposed_rhs", "conv_nhwc", "attention"]
    for name in names:
        spec = tmp_path / f"{name}.mlir"
        spec.write_text(spec_text(entry(dispatch(name))))
        assert [n for n in names if applies(dispatch(n), spec)] == [name]


def test_linked_specs_apply_to_all_their_dispatches(dispatch: Read, tmp_path: Path) -> None:
    names = ["matmul", "conv_nhwc", "attention"]
    paths = [tmp_path / f"{n}.mlir" for n in names]
    for name, path in zip(names, paths, strict=True):
        path.write_text(spec_text(entry(dispatch(name))))
    linked = link_specs(paths)
    assert (len(linked.matchers), linked.dropped, linked.conflicts) == (3, (), ())
    together = tmp_path / "linked.mlir"
    together.write_text(linked.text)
    assert all(applies(dispatch(n), together) for n in names)
    assert not applies(dispatch("matmul_odd"), together)
    again = link_specs([together, paths[0]])
    assert len(again.matchers) == 3
    assert len(again.dropped) == 1


def test_the_newer_spec_wins_and_conflicts_are_named(dispatch: Read, tmp_path: Path) -> None:
    given = read_dispatch(DATA / "matmul.mlir", "znver3")
    old, new = tmp_path / "old.mlir", tmp_path / "new.mlir"
    old.write_text("\ufeff" + spec_text(entry(given)))  # as some editors write it
    changed = given.default.replace("vector_reduction = [0, 0, 8]", "vector_reduction = [0, 0, 4]")
    assert changed != given.default
    new.write_text(spec_text(entry(given, config=changed)))
    linked = link_specs([old, new])
    assert len(linked.matchers) == 1
    assert len(linked.conflicts) == 1
    assert "old.mlir is overridden by" in linked.conflicts[0]
    assert "vector_reduction = [0, 0, 4]" in linked.text
    assert "vector_reduction = [0, 0, 8]" not in linked.text
    assert link_specs([new, old]).text.count("vector_reduction = [0, 0, 4]") == 0
    same = link_specs([old, old])
    assert (len(same.matchers), len(same.dropped), same.conflicts) == (1, 1, ())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("not mlir", "is not a tuning spec"),
        ("module {}", "0 entry points"),
        ("", "is not a tuning spec|0 entry points"),
    ],
)
def test_what_is_no_spec_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "spec.mlir"
    path.write_text(text)
    with pytest.raises(InputError, match=says) as caught:
        link_specs([path])
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="cannot read"):
        link_specs([tmp_path / "missing.mlir"])
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InputError, match="is not a regular file"):
        link_specs([tmp_path / "fifo"])
