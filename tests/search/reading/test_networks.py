"""Reading whole models, with the compiler."""

from __future__ import annotations

from pathlib import Path

import pytest
from iree.compiler import ir

from frontrunner.core import InputError
from frontrunner.search.mlir import new_context
from frontrunner.search.reading import index_limits, read_dispatch
from frontrunner.search.reading.networks import (
    Argument,
    Function,
    InputShapes,
    read_network,
    short_file_names,
)

MODELS = Path(__file__).parents[2] / "data" / "models"
SCALAR = (MODELS / "scalar.mlir").read_text()

F32 = "f32"

pytestmark = pytest.mark.usefixtures("warm")


def test_how_it_is_called() -> None:
    two_matmuls = read_network(MODELS / "two_matmuls.mlir")
    sizes = ((32, 256), (256, 512), (512, 1024))
    inputs = tuple(Argument(size, F32) for size in sizes)
    assert two_matmuls.functions == (Function("main", inputs, (Argument((32, 1024), F32),)),)
    assert two_matmuls.function(None) is two_matmuls.function("main")
    assert two_matmuls.target.backend == "llvm-cpu"
    assert two_matmuls.parameters == ()
    assert [str(one) for one in inputs] == ["32x256xf32", "256x512xf32", "512x1024xf32"]


WEIGHTS_IN_F16 = """
func.func @main(%x: tensor<64x32xf32>, %w: tensor<32x16xf16>) -> tensor<64x16xf32> {
  %e = tensor.empty() : tensor<32x16xf32>
  %wide = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]
    } ins(%w : tensor<32x16xf16>) outs(%e : tensor<32x16xf32>) {
    ^bb0(%a: f16, %b: f32):
      %r = arith.extf %a : f16 to f32
      linalg.yield %r : f32
  } -> tensor<32x16xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x16xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x16xf32>) -> tensor<64x16xf32>
  %y = linalg.matmul ins(%x, %wide : tensor<64x32xf32>, tensor<32x16xf32>)
    outs(%filled : tensor<64x16xf32>) -> tensor<64x16xf32>
  return %y : tensor<64x16xf32>
}
"""


def test_what_it_computes_in(tmp_path: Path) -> None:
    """Types that values are rounded to: weights that are kept in another are exact."""
    file = tmp_path / "model.mlir"
    file.write_text(WEIGHTS_IN_F16)
    assert read_network(file).computes_in == ("f32",)
    file.write_text((MODELS / "two_matmuls.mlir").read_text().replace("f32", "f16"))
    assert read_network(file).computes_in == ("f16",)


def test_each_dispatch_can_be_tuned_alone(tmp_path: Path) -> None:
    read = {}
    for one in read_network(MODELS / "two_matmuls.mlir").dispatches:
        file = tmp_path / "one.mlir"
        file.write_text(one.text)
        problem = read_dispatch(file).problem
        read[one.name] = [d.size for d in problem.dims], one.reason
    assert read == {
        "main_dispatch_0_matmul_32x512x256_f32": ([32, 512, 256], ""),
        "main_dispatch_1_matmul_32x1024x512_f32": ([32, 1024, 512], ""),
    }


def test_indices_and_what_is_not_used() -> None:
    ids, unused, table, weights = read_network(MODELS / "embedding.mlir").function("main").inputs
    assert ids == Argument((16,), "i64", rows=37)
    assert not unused.used
    assert [table, weights] == [Argument((37, 64), F32), Argument((64, 96), F32)]


# Each may be taken or not: there are 2 ** 40 sets of them.
MANY_SUMS = "%c = arith.constant 9 : i64\n%x0 = arith.minsi %id, %c : i64\n" + "".join(
    f"%c{i} = arith.constant {i + 5} : i64\n%s{i} = arith.addi %x{i}, %c{i} : i64\n"
    f"%b{i} = arith.cmpi slt, %x{i}, %c{i} : i64\n"
    f"%{'j' if i == 39 else f'x{i + 1}'} = arith.select %b{i}, %x{i}, %s{i} : i64\n"
    for i in range(40)
)


@pytest.mark.parametrize(
    ("change", "rows"),
    [
        ("%c = arith.constant 37 : i64\n %j = arith.addi %id, %c : i64", 37),  # from the end
        ("%c = arith.constant 2 : i64\n %j = arith.addi %id, %c : i64", 2),
        ("%c = arith.constant 1 : i64\n %j = arith.shli %id, %c : i64", 2),
        ("%c = arith.constant 9 : i64\n %j = arith.minsi %id, %c : i64", 37),
        (MANY_SUMS, 2),
    ],
)
def test_indices_that_are_larger_than_the_input(change: str, rows: int, tmp_path: Path) -> None:
    """Such as positions of OPT, which have 2 added: random ones would be read beyond the table."""
    text = (MODELS / "embedding.mlir").read_text()
    text = text.replace("%row = arith.index_cast %id", f"{change}\n%row = arith.index_cast %j")
    assert change in text
    (tmp_path / "m.mlir").write_text(text)
    ids, *_ = read_network(tmp_path / "m.mlir").function("main").inputs
    assert ids == Argument((16,), "i64", rows=rows)


SHIFTED = """
  %se = tensor.empty() : tensor<16xi64>
  %shifted = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%ids : tensor<16xi64>) outs(%se : tensor<16xi64>) {
  ^bb0(%id: i64, %out: i64):
    %two = arith.constant 2 : i64
    %more = arith.addi %id, %two : i64
    linalg.yield %more : i64
  } -> tensor<16xi64>
  %far = util.optimization_barrier %shifted : tensor<16xi64>
  %zero = arith"""


def test_indices_that_another_dispatch_makes_larger(tmp_path: Path) -> None:
    text = (MODELS / "embedding.mlir").read_text().replace("  %zero = arith", SHIFTED, 1)
    text = text.replace(
        "ins(%ids : tensor<16xi64>) outs(%rows", "ins(%far : tensor<16xi64>) outs(%rows"
    )
    (tmp_path / "m.mlir").write_text(text)
    network = read_network(tmp_path / "m.mlir")
    assert len(network.dispatches) == 3  # else one kernel did it all
    assert network.function("main").inputs[0] == Argument((16,), "i64", rows=2)


@pytest.mark.parametrize(
    ("type_", "followed"),
    [
        ("tensor<?x768xf32>", False),
        ("tensor<4x?xbf16>", False),
        ("f32", False),
        ("tensor<?xi64>", True),
        ("index", True),
    ],
)
def test_no_index_is_made_of_floats(type_: str, followed: bool) -> None:
    with new_context():
        assert index_limits._is_integer(ir.Type.parse(type_)) == followed


def test_an_input_that_is_returned_is_an_output(tmp_path: Path) -> None:
    """It comes first, so that what is computed is looked for in its place."""
    text = PASSED_ON.replace("USED", "%x")
    (tmp_path / "m.mlir").write_text(text)
    function = read_network(tmp_path / "m.mlir").function("main")
    assert function.outputs == (Argument((4, 6), F32), Argument((4, 8), F32))
    (tmp_path / "m.mlir").write_text(PASSED_ON.replace("USED", "%v"))
    with pytest.raises(InputError, match="does not compute, nor use otherwise"):
        read_network(tmp_path / "m.mlir")


def test_what_is_returned_has_to_be_tensors(tmp_path: Path) -> None:
    text = PASSED_ON.replace("USED, %y : tensor<4x6xf32>", "%n, %y : i32")
    text = text.replace("(tensor<4x6xf32>, tensor<4x8xf32>) {", "(i32, tensor<4x8xf32>) {")
    text = text.replace("%zero", "%n = arith.constant 7 : i32\n  %zero", 1)
    (tmp_path / "m.mlir").write_text(text)
    with pytest.raises(InputError, match="returns a value of type i32, which is no tensor"):
        read_network(tmp_path / "m.mlir")


def test_functions_that_are_not_called_may_return_what_they_like(tmp_path: Path) -> None:
    helper = "func.func @helper(%n: i32) -> i32 {\n  return %n : i32\n}\n"
    file = tmp_path / "m.mlir"
    file.write_text(helper + PASSED_ON.replace("USED", "%x"))
    assert [one.name for one in read_network(file).functions] == ["main"]
    with pytest.raises(InputError, match="helper returns a value of type i32"):
        read_network(file, shapes=InputShapes(("helper",)))


PASSED_ON = """
func.func @main(%x: tensor<4x6xf32>, %v: tensor<4x6xf32>, %w: tensor<6x8xf32>)
    -> (tensor<4x6xf32>, tensor<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<4x6xf32>, tensor<6x8xf32>)
    outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  return USED, %y : tensor<4x6xf32>, tensor<4x8xf32>
}
"""


def test_a_table_whose_rows_are_not_known(tmp_path: Path) -> None:
    text = (MODELS / "embedding.mlir").read_text().replace("37x64", "?x64")
    (tmp_path / "m.mlir").write_text(text)
    ids, *_ = read_network(tmp_path / "m.mlir").function("main").inputs
    assert ids == Argument((16,), "i64")


def test_dynamic_shapes() -> None:
    model = read_network(MODELS / "dynamic.mlir")
    assert model.function(None).inputs[0] == Argument((None, 64), F32)
    assert model.function(None).outputs == (Argument((None, 96), F32),)
    (dispatch,) = model.dispatches
    assert (dispatch.text, dispatch.reason) == ("", "dynamic shapes")


@pytest.mark.parametrize("scope", ["model", ""])
def test_weights_in_archives(scope: str, tmp_path: Path) -> None:
    text = (MODELS / "weights.mlir").read_text()
    if not scope:
        text = text.replace('"model"::', "")
    (tmp_path / "m.mlir").write_text(text)
    assert read_network(tmp_path / "m.mlir").parameters == ((scope, "w"),)


def test_what_data_tiling_lays_out_cannot_be_compiled_by_itself() -> None:
    tiled = read_network(MODELS / "two_matmuls.mlir", iree_flags=("--iree-opt-data-tiling",))
    assert {(one.text, one.reason) for one in tiled.dispatches} == {
        ("", "its operands are tiled by another dispatch")
    }


def test_several_functions() -> None:
    model = read_network(MODELS / "two_functions.mlir")
    assert [f.name for f in model.functions] == ["encode", "decode"]
    assert model.function("decode").inputs == (Argument((8, 32), F32),)
    with pytest.raises(InputError, match="the model has 2 functions: encode, decode"):
        model.function(None)
    with pytest.raises(InputError, match="no function 'forward'") as caught:
        model.function("forward")
    assert caught.value.hint == "there are: encode, decode"


def test_what_torch_exports_is_called_through_fences(tmp_path: Path) -> None:
    tensor = "!torch.vtensor<[4,4],f32>"
    (tmp_path / "m.mlir").write_text(
        f"func.func @main(%a: {tensor}, %ids: !torch.vtensor<[3],si64>) -> {tensor} {{\n"
        f"  %0 = torch.aten.relu %a : {tensor} -> {tensor}\n"
        f"  return %0 : {tensor}\n}}\n"
    )
    (function,) = read_network(tmp_path / "m.mlir").functions
    assert function.name == "main"
    assert function.inputs[0] == Argument((4, 4), F32)
    assert not function.inputs[1].used


EXTERNAL = """
func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = math.exp %x : tensor<4xf32>
  %z = call @elsewhere(%y) : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}
"""


def test_functions_of_other_modules_are_not_the_models(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(EXTERNAL)
    assert [f.name for f in read_network(tmp_path / "m.mlir").functions] == ["main"]


WRONG_TYPE = """
func.func @main(%x: tensor<4xf32>) -> tensor<5xf32> {
  return %x : tensor<4xf32>
}
"""
IDENTITY = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"


def test_numbers_are_inputs() -> None:
    (function,) = read_network(MODELS / "scalar.mlir").functions
    assert [str(one) for one in function.inputs] == ["32x256xf32", "256x512xf32", "f32", "i32"]
    assert [one.number for one in function.inputs] == [False, False, True, True]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("hello", "does not compile: line 1:1: custom op 'hello' is unknown"),
        (WRONG_TYPE, "does not compile: line 3:3: type of return operand 0"),
        (WRONG_TYPE.replace("main", "m" * 900), "does not compile: line 3:3: type of"),
        ("module {}", "has no public function"),
        (IDENTITY, "dispatches nothing"),
        (
            SCALAR.replace("%shift: i32", "%shift: i1").replace(": i32", ": i1"),
            "main takes a value of type i1, which is neither",
        ),
    ],
)
def test_refused(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "m.mlir"
    file.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_network(file)
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)
    assert caught.value.hint


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a regular file"):
        read_network(tmp_path)
    with pytest.raises(InputError, match="No such file"):
        read_network(tmp_path / "gone.mlir")


def test_short_names_do_not_collide() -> None:
    names = ["main$async_dispatch_0_matmul", "init_dispatch_1_softmax", "init_dispatch_0_matmul"]
    assert short_file_names(names) == {
        "main$async_dispatch_0_matmul": "main_async_dispatch_0_matmul",
        "init_dispatch_1_softmax": "dispatch_1_softmax",
        "init_dispatch_0_matmul": "init_dispatch_0_matmul",
    }
    assert short_file_names(names[:2])[names[0]] == "dispatch_0_matmul"
    # Also of functions whose names only letters tell apart that no file has in its name.
    long = "dispatch_" + 300 * "g"
    odd = ["größe$dispatch_0", "gröte$dispatch_0", f"{long}_1", f"{long}_2", "dispatch_1_1"]
    short = short_file_names([*odd, "dispatch_ö1", "dispatch_ü1"])
    assert len({*short.values()}) == len(short) == 7
    assert all(name.isascii() and len(name) < 160 for name in short.values())
