"""The function that repeats a dispatch, beside its own."""

from __future__ import annotations

from pathlib import Path

import iree.runtime as rt
import numpy as np
import pytest

from frontrunner.search.mlir import add_repeated, compile_with_spec
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[2] / "data"
SITE = "stream.cmd.dispatch @"

pytestmark = pytest.mark.usefixtures("warm")


def test_it_computes_the_same_in_so_many_runs() -> None:
    dispatch = read_dispatch(DATA / "matmul.mlir")
    source, name = add_repeated(dispatch.source, dispatch.function, 3)
    assert dispatch.source.count(SITE) == 1
    assert source.count(SITE) == 4
    # Line numbers of executables stay as they are.
    assert source.startswith(dispatch.source.rstrip().removesuffix("}"))
    executable, _ = compile_with_spec(source, dispatch.target.flags, None)
    module = rt.load_vm_module(
        rt.VmModule.copy_buffer(rt.VmInstance(), executable), rt.Config("local-task")
    )
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(t.shape).astype(np.float32) for t in dispatch.inputs]
    once, repeated = (module[f](*inputs).to_host() for f in (dispatch.function, name))
    np.testing.assert_array_equal(once, repeated)


def test_a_function_that_waits_in_between_is_left_alone() -> None:
    dispatch = read_dispatch(DATA / "matmul.mlir")
    start = dispatch.source.index("%", dispatch.source.index(" = stream.cmd.execute") - 4)
    end = dispatch.source.index("=> !stream.timepoint", start)
    execute = dispatch.source[start : end + len("=> !stream.timepoint")]
    name = execute.partition(" ")[0]
    twice = dispatch.source.replace(execute, f"{execute.replace(name, '%again', 1)}\n    {execute}")
    assert add_repeated(twice, dispatch.function, 3) == (twice, "")


def test_devices_of_gpus_have_it_and_cpus_do_not() -> None:
    for target, repeats in (("sm_80", 32), ("gfx942", 32), ("host", 1)):
        dispatch = read_dispatch(DATA / "matmul.mlir", target)
        assert dispatch.repeats == repeats
        assert bool(dispatch.repeated) == (repeats > 1)


def test_what_follows_the_module_stays_there() -> None:
    """The bytes of large constants do."""
    dispatch = read_dispatch(DATA / "matmul.mlir")
    resources = '{-#\n  dialect_resources: {builtin: {x: "0x04000000FF"}}\n#-}'
    source, name = add_repeated(f"{dispatch.source}\n{resources}\n", dispatch.function, 2)
    assert name
    assert source.endswith(f"}}\n{resources}\n\n")
    assert source.count(SITE) == 3


def test_a_module_without_such_a_function_is_left_alone() -> None:
    source = read_dispatch(DATA / "matmul.mlir").source
    assert add_repeated(source, "other", 2) == (source, "")
