"""What MLIR and specs may hold: each way beyond the compiler is planted, and none is let in."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from frontrunner.core import InputError
from frontrunner.core.children import Child
from frontrunner.search.backend import backend_named
from frontrunner.search.linking import link_specs
from frontrunner.search.mlir import DEFAULT_FORM, spec_text
from frontrunner.search.mlir.contents import NotMlir, check_source, check_spec
from frontrunner.search.reading import read_dispatch
from frontrunner.search.reading.networks import read_network
from frontrunner.search.spec import spec_of

DATA = Path(__file__).parents[2] / "data"
CHECK = "frontrunner.search.mlir.contents"
pytestmark = pytest.mark.usefixtures("warm")


@cache
def source() -> str:
    """A dispatch as run folders hold it."""
    return read_dispatch(DATA / "matmul.mlir", "znver3").source


@cache
def spec() -> str:
    dispatch = read_dispatch(DATA / "matmul.mlir", "znver3")
    # Of the form that the compiler verifies itself, there is less to plant.
    return spec_text(spec_of(dispatch, dispatch.default)).replace(f"{DEFAULT_FORM}, ", "")


def planted(old: str, new: str, text: str) -> bytes:
    assert old in text
    return text.replace(old, new).encode()


# By what is told: what is replaced in the module of a run, and by what.
HOLES = {
    # Another format has the system's linker called, or a library written where the entry says.
    "the target 'llvm-cpu', 'system-elf-x86_64'": ("embedded-elf-x86_64", "system-elf-x86_64"),
    "the target 'llvm-cpu', 'static'": ("embedded-elf-x86_64", "static"),
    "the target entry 'static_library_output'": (
        '{cpu = "znver3"', '{static_library_output = "/tmp/planted.o", cpu = "znver3"',
    ),
    "the target entry 'link_embedded'": (
        '{cpu = "znver3"', '{link_embedded = false, cpu = "znver3"',
    ),
    "#hal.executable.object": (
        "{\n      hal.executable.export",
        'objects([#hal.executable.object<{path = "/etc/hostname"}>]) {\n'
        "      hal.executable.export",
    ),
    "#iree_codegen.pass_pipeline": (
        "builtin.module {",
        "builtin.module attributes {util.x = #iree_codegen.translation_info<pipeline = "
        '#iree_codegen.pass_pipeline<"iree-util-dump-module{path=/tmp/planted}">>} {',
    ),
    "iree_codegen.tuning_spec_mlirbc": (
        "builtin.module {",
        'builtin.module attributes {iree_codegen.tuning_spec_mlirbc = dense<1> : vector<1xi8>} {',
    ),
    "llvm.module_asm": (
        "builtin.module {", 'builtin.module attributes {llvm.module_asm = ["nop"]} {',
    ),
    "llvm.inline_asm": (
        "%c0 = arith.constant 0 : index\n",
        '%c0 = arith.constant 0 : index\nllvm.inline_asm has_side_effects "nop", "" : () -> ()\n',
    ),
    "memref.alloc": (
        "%c0 = arith.constant 0 : index\n",
        "%c0 = arith.constant 0 : index\n%odd = memref.alloc() : memref<4xf32>\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("says", HOLES)
def test_a_module_that_reaches_beyond_the_compiler_is_refused(says: str) -> None:
    text = planted(*HOLES[says], source())
    with Child(f"{CHECK}:check_source") as child, pytest.raises(InputError) as refused:
        child.call(text, timeout=60)
    assert f"holds {says}, which does more than compute on tensors" in str(refused.value)


PASS = """transform.apply_registered_pass "{}" to %arg0
    : (!transform.any_op) -> !transform.any_op
  %updated_root = transform.foreach_match"""
SPEC_HOLES = {
    "transform.apply_registered_pass": (
        "%updated_root = transform.foreach_match", "%p = " + PASS.format("iree-util-dump-module"),
    ),
    "transform.get_parent_op": (
        "%updated_root = transform.foreach_match",
        "%p = transform.get_parent_op %arg0 : (!transform.any_op) -> !transform.any_op\n"
        "  %updated_root = transform.foreach_match",
    ),
    "#iree_codegen.pass_pipeline": (
        "#iree_cpu.pipeline<DoubleTilingExpert>", '#iree_codegen.pass_pipeline<"cse">',
    ),
    "transform.print": (
        "%updated_root = transform.foreach_match",
        "transform.print %arg0 : !transform.any_op\n  %updated_root = transform.foreach_match",
    ),
}  # fmt: skip


@pytest.mark.parametrize("says", SPEC_HOLES)
def test_a_spec_that_does_more_than_match_is_refused(says: str, tmp_path: Path) -> None:
    path = tmp_path / "spec.mlir"
    path.write_bytes(planted(*SPEC_HOLES[says], spec()))
    with pytest.raises(InputError, match=f"holds {says}, which does more than match and conf"):
        link_specs([path])


def test_the_pass_that_our_own_specs_need_is_let_in_but_with_no_options() -> None:
    name = "iree-codegen-insert-batch-dim-for-batchless-conv"
    text = spec().replace("%updated_root = transform.foreach_match", "%p = " + PASS.format(name))
    check_spec(text.encode())
    optional = text.replace(f'"{name}" to', f'"{name}" with options = {{ "a" = "b" }} to')
    with pytest.raises(InputError, match=r"transform\.apply_registered_pass"):
        check_spec(optional.encode())


def test_what_users_bring_is_checked_before_it_is_compiled(tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    text = (DATA / "matmul.mlir").read_text()
    path.write_text(
        text.replace("return", 'llvm.inline_asm has_side_effects "nop", "" : () -> ()\n  return')
    )
    for read in (read_dispatch, read_network):
        with pytest.raises(InputError, match=r"x.mlir holds llvm.inline_asm"):
            read(path)


@pytest.mark.parametrize("target", ["host", "gfx942", "gfx1201", "sm_80"])
def test_what_the_compiler_makes_is_let_in(target: str) -> None:
    check_source(read_dispatch(DATA / "matmul_f16.mlir", target).source.encode())


CPU = backend_named("llvm-cpu").option_variants


@pytest.mark.parametrize("name", [n for n, one in CPU.items() if not one.concerns])
def test_what_our_own_options_make_is_let_in(name: str) -> None:
    model = read_network(DATA / "models" / "two_matmuls.mlir", iree_flags=CPU[name].flags)
    check_source(model.source.encode())


def test_what_does_not_parse_is_told() -> None:
    with pytest.raises(NotMlir, match=r"^line 1:1: custom op 'hello' is unknown"):
        check_source(b"hello")
    with pytest.raises(NotMlir):
        check_spec(b"\xff\xfe")
