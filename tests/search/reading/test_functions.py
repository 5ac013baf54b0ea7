"""Files that hold several functions, several parts, or constants where inputs are expected."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from frontrunner.core import InputError
from frontrunner.search.mlir import new_context
from frontrunner.search.reading import functions_of, read_dispatch

PRODUCT = """func.func @{name}(%a: tensor<8x{k}xf32>, %b: tensor<{k}x8xf32>) -> tensor<8x8xf32> {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = linalg.matmul ins(%a, %b : tensor<8x{k}xf32>, tensor<{k}x8xf32>)
      outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}}
"""
CONSTANTS = """func.func @conv() -> tensor<1x8x14x14xf32> {
  %x = CONSTANT dense<1.5> : tensor<1x4x16x16xf32>
  %w = CONSTANT dense<0.5> : tensor<8x4x3x3xf32>
  %f = arith.constant dense<0.0> : tensor<1x8x14x14xf32>
  %r = linalg.conv_2d_nchw_fchw
      ins(%x, %w : tensor<1x4x16x16xf32>, tensor<8x4x3x3xf32>)
      outs(%f : tensor<1x8x14x14xf32>) -> tensor<1x8x14x14xf32>
  return %r : tensor<1x8x14x14xf32>
}
"""

pytestmark = pytest.mark.usefixtures("warm")


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "several.mlir"
        path.write_text(text)
        return path

    return write


def sizes(dispatch):
    return {dim.name: dim.size for dim in dispatch.problem.dims}


@pytest.mark.parametrize("between", ["", "// -----\n"])
def test_one_of_several_is_chosen_by_its_name(write, between):
    path = write(PRODUCT.format(name="one", k=16) + between + PRODUCT.format(name="two", k=32))
    assert functions_of(path) == ("one", "two")
    assert sizes(read_dispatch(path, function="two"))["k"] == 32
    assert sizes(read_dispatch(path, function="one"))["k"] == 16
    with pytest.raises(InputError, match=r"holds 2 public functions \(one, two\)") as error:
        read_dispatch(path)
    assert "--function NAME" in error.value.hint
    with pytest.raises(InputError, match="no function 'three'") as error:
        read_dispatch(path, function="three")
    assert error.value.hint == "there are: one, two"


def test_parts_whose_functions_have_one_name_are_refused_with_a_way_out(write):
    path = write(
        PRODUCT.format(name="main", k=16) + "// -----\n" + PRODUCT.format(name="main", k=32)
    )
    with pytest.raises(InputError, match="holds 2 functions 'main'") as error:
        read_dispatch(path, function="main")
    assert error.value.hint == "rename one, or put the parts into files of their own"


def test_parts_that_do_not_parse_are_passed_over(write):
    path = write("not MLIR\n// -----\n" + PRODUCT.format(name="one", k=16))
    assert functions_of(path) == ()
    assert sizes(read_dispatch(path))["k"] == 16
    with pytest.raises(
        InputError, match=r"no function 'two'; a part does not parse: .*custom op 'not'"
    ):
        read_dispatch(path, function="two")


def test_comments_are_no_ends_of_parts(write):
    """Of what parses as a whole."""
    text = PRODUCT.format(name="one", k=16).replace("%r =", "// ----- the product -----\n  %r =")
    assert sizes(read_dispatch(write(text)))["k"] == 16
    shared = "!tile = tensor<8x8xf32>\n// ------------\n"
    text = shared + PRODUCT.format(name="one", k=16).replace("-> tensor<8x8xf32> {", "-> !tile {")
    assert sizes(read_dispatch(write(text)))["k"] == 16


def test_what_is_wrong_is_told_where_no_part_parses(write):
    text = PRODUCT.format(name="one", k=16).replace("return %r", "return %nothing")
    with pytest.raises(InputError, match="undeclared SSA value"):
        read_dispatch(write(f"{text}// -----\n{text}"))


def test_initializers_stay_with_what_they_store_to(write):
    text = """util.global private mutable @scale : tensor<8x8xf32>
util.initializer {
  %c = arith.constant dense<2.0> : tensor<8x8xf32>
  util.global.store %c, @scale : tensor<8x8xf32>
  util.return
}
func.func @scaled(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %s = util.global.load @scale : tensor<8x8xf32>
  %r = arith.mulf %a, %s : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
"""
    path = write(text + PRODUCT.format(name="one", k=16))
    assert sizes(read_dispatch(path, function="one"))["k"] == 16


def test_two_parts_with_one_name(write):
    path = write(PRODUCT.format(name="one", k=16) + "// -----\n" + PRODUCT.format(name="one", k=8))
    with pytest.raises(InputError, match="2 functions 'one'"):
        read_dispatch(path, function="one")


def test_a_function_that_calls_another(write):
    """Which is private meanwhile, and stays."""
    outer = (
        PRODUCT.format(name="inner", k=16)
        + """
func.func @outer(%a: tensor<8x16xf32>, %b: tensor<16x8xf32>) -> tensor<8x8xf32> {
  %r = func.call @inner(%a, %b) : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
"""
    )
    assert sizes(read_dispatch(write(outer), function="outer"))["k"] == 16


@pytest.mark.parametrize("constant", ["arith.constant", "util.unfoldable_constant"])
def test_constants_that_are_read_become_inputs(write, constant):
    """The compiler would compute all of it beforehand."""
    dispatch = read_dispatch(write(CONSTANTS.replace("CONSTANT", constant)))
    assert dispatch.problem.kind == "convolution"
    assert [tensor.shape for tensor in dispatch.inputs] == [(1, 4, 16, 16), (8, 4, 3, 3)]


def test_files_with_one_function_cost_no_process(write, monkeypatch):
    monkeypatch.setattr("frontrunner.search.reading.dispatches.Child", None)
    assert functions_of(write(PRODUCT.format(name="one", k=16))) == ()


@pytest.mark.parametrize("dialect", ["flow", "stream"])
def test_weights_in_an_archive(write, dialect):
    path = write(
        f'util.global private @w = #{dialect}.parameter.named<"model"::"w"> : tensor<16x8xf32>\n'
        + PRODUCT.format(name="one", k=16)
    )
    with pytest.raises(InputError, match="archive of parameters") as error:
        read_dispatch(path)
    assert f"frontrunner tune-model {path} --parameters" in error.value.hint


def test_what_others_hold_does_not_count(write):
    """Ops that they configure themselves, weights in archives, kinds that nothing tunes."""
    product = PRODUCT.format(name="configured", k=16)
    config = "#iree_cpu.lowering_config<distribution = [8, 8, 0]>"
    configured = product.replace("matmul ins", f"matmul {{lowering_config = {config}}} ins")
    weights = (
        'util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<16x8xf32>\n'
        "func.func @weighted() -> tensor<16x8xf32> {\n"
        "  %w = util.global.load @w : tensor<16x8xf32>\n"
        "  return %w : tensor<16x8xf32>\n}\n"
    )
    path = write(configured + weights + PRODUCT.format(name="plain", k=32))
    assert sizes(read_dispatch(path, function="plain"))["k"] == 32
    with pytest.raises(InputError, match=r"configures its linalg\.matmul itself"):
        read_dispatch(path, function="configured")
    with pytest.raises(InputError, match="archive of parameters"):
        read_dispatch(path, function="weighted")


def test_functions_of_bytecode_are_told_apart(write, tmp_path):
    text = PRODUCT.format(name="one", k=16) + PRODUCT.format(name="two", k=32)
    with new_context():
        module = ir.Module.parse(text)
        with (tmp_path / "two.mlirbc").open("wb") as file:
            module.operation.write_bytecode(file)
    assert functions_of(tmp_path / "two.mlirbc") == ("one", "two")
    assert sizes(read_dispatch(tmp_path / "two.mlirbc", function="two"))["k"] == 32
