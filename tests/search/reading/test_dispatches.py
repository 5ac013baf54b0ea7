"""Reading dispatches with the real compiler."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from frontrunner.core import InputError, NotTunableError
from frontrunner.core.decoding import decode
from frontrunner.search import Dispatch, Problem, build_spaces, target_flags
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[2] / "data"
COMPILER = str(Path(sys.executable).with_name("iree-compile"))
Read = Callable[[str], Dispatch]
pytestmark = pytest.mark.usefixtures("warm")


def roles(problem: Problem) -> dict[str, tuple[int, str]]:
    return {d.name: (d.size, d.role) for d in problem.dims}


@pytest.mark.parametrize(
    ("name", "kind", "dims", "types"),
    [
        ("matmul", "contraction", {"m": (64, "m"), "n": (128, "n"), "k": (96, "k")}, "f32 f32 f32"),
        (
            "generic_matmul",
            "contraction",
            {"m": (64, "m"), "n": (128, "n"), "k": (96, "k")},
            "f32 f32 f32",
        ),
        (
            "matmul_bf16",
            "contraction",
            {"m": (32, "m"), "n": (48, "n"), "k": (64, "k")},
            "bf16 bf16 f32",
        ),
        (
            "matmul_f16",
            "contraction",
            {"m": (32, "m"), "n": (48, "n"), "k": (64, "k")},
            "f16 f16 f32",
        ),
        ("matmul_i8", "contraction", {"m": (32, "m"), "n": (48, "n"), "k": (64, "k")}, "i8 i8 i32"),
        (
            "batch_matmul",
            "contraction",
            {"batch": (4, "batch"), "m": (32, "m"), "n": (48, "n"), "k": (64, "k")},
            "f32 f32 f32",
        ),
        ("matvec", "contraction", {"m": (256, "m"), "k": (128, "k")}, "f32 f32 f32"),
        ("vecmat", "contraction", {"n": (256, "n"), "k": (128, "k")}, "f32 f32 f32"),
        # The compiler turns a 1x1 convolution into a matrix product before it tunes it.
        (
            "conv_1x1",
            "contraction",
            {"m": (256, "m"), "n": (32, "n"), "k": (16, "k")},
            "f32 f32 f32",
        ),
        (
            "conv_nhwc",
            "convolution",
            {
                "batch": (1, "m"), "oh": (16, "m"), "ow": (16, "m"), "oc": (32, "n"),
                "fh": (3, "k"), "fw": (3, "k"), "ic": (16, "k"),
            },
            "f32 f32 f32",
        ),
        (
            "conv_nchw",
            "convolution",
            {
                "batch": (1, "m"), "oc": (32, "n"), "oh": (16, "m"), "ow": (16, "m"),
                "ic": (16, "k"), "fh": (3, "k"), "fw": (3, "k"),
            },
            "f32 f32 f32",
        ),
        (
            "conv_depthwise",
            "convolution",
            {
                "batch": (1, "m"), "oh": (16, "m"), "ow": (16, "m"), "c": (32, "n"),
                "fh": (3, "k"), "fw": (3, "k"),
            },
            "f32 f32 f32",
        ),
        (
            "attention",
            "attention",
            {
                "batch": (4, "batch"), "m": (32, "m"), "n": (16, "n"),
                "k1": (16, "k"), "k2": (64, "k"),
            },
            "f32 f32 f32 f32",
        ),
        (
            "attention_decode",
            "attention",
            {"batch": (4, "batch"), "n": (16, "n"), "k1": (16, "k"), "k2": (64, "k")},
            "f32 f32 f32 f32",
        ),
        (
            "attention_grouped",
            "attention",
            {
                "batch": (2, "batch"), "m0": (4, "m"), "m1": (32, "m"), "n": (64, "n"),
                "k1": (64, "k"), "k2": (48, "k"),
            },
            "f32 f32 f32 f32",
        ),
    ],
)  # fmt: skip
def test_names_the_root_ops_dims_and_types(
    dispatch: Read, name: str, kind: str, dims: dict[str, tuple[int, str]], types: str
) -> None:
    problem = dispatch(name).problem
    assert problem.kind == kind
    assert roles(problem) == dims
    assert " ".join(o.dtype for o in problem.operands) == types


def test_paths_may_be_text() -> None:
    assert read_dispatch(str(DATA / "matmul.mlir")).problem.kind == "contraction"


@pytest.mark.parametrize(
    ("name", "trait"),
    [
        ("conv_strided", ("stride", 2)),
        ("conv_dilated", ("dilation", 2)),
        ("conv_depthwise", ("depthwise", 1)),
        ("conv_grouped", ("grouped", 1)),
    ],
)
def test_convolution_traits(dispatch: Read, name: str, trait: tuple[str, int]) -> None:
    assert trait in dispatch(name).problem.traits


def test_operand_indexing_tells_layouts_apart(dispatch: Read) -> None:
    by_layout = {
        name: dispatch(name).problem.operands[1].index
        for name in ("matmul_transposed_lhs", "matmul_transposed_rhs")
    }
    assert by_layout["matmul_transposed_lhs"] == (((2, 1),), ((1, 1),))
    assert by_layout["matmul_transposed_rhs"] == (((1, 1),), ((2, 1),))
    image = dispatch("conv_strided").problem.operands[0].index[1]
    assert image == ((1, 2), (4, 1))


def test_fused_consumers_are_kept(dispatch: Read) -> None:
    fused = dispatch("matmul_fused")
    assert fused.problem.fused == ("linalg.generic",)
    assert [t.shape for t in fused.inputs] == [(64, 96), (96, 128), (128,)]


def test_target_facts_come_from_the_compiler(dispatch: Read) -> None:
    target = dispatch("matmul").target
    assert target.vector_bytes in (16, 32, 64)
    assert target.registers in (16, 32)
    assert target.arch not in ("", "host")


def test_problem_survives_a_round_trip(dispatch: Read) -> None:
    for name in ("matmul", "conv_strided", "attention"):
        problem = dispatch(name).problem
        assert decode(Problem, json.loads(json.dumps(problem.to_dict()))) == problem


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("matmul", "benchmarks"),
        ("conv_nhwc", "benchmarks"),
        ("matmul_fused", "benchmarks"),
        ("matmul", "sources"),
    ],
)
def test_reads_files_that_the_compiler_dumped(
    dispatch: Read, name: str, what: str, tmp_path: Path
) -> None:
    flags = dispatch(name).target.flags
    dump = f"--iree-hal-dump-executable-{what}-to={tmp_path}"
    source = DATA / f"{name}.mlir"
    subprocess.run([COMPILER, str(source), *flags, dump, "-o", str(tmp_path / "x")], check=True)
    (file,) = tmp_path.glob("*.mlir")
    dumped = read_dispatch(file)
    plain = dispatch(name)
    assert dumped.problem == plain.problem
    # Output shapes differ where the compiler dropped unit dims; the elements do not.
    assert [t.dtype for t in dumped.outputs] == [t.dtype for t in plain.outputs]
    assert len(dumped.inputs) == len(plain.inputs)
    assert dumped.default == plain.default


def test_reads_what_was_dumped_of_a_function_whose_name_mlir_quotes(
    dispatch: Read, tmp_path: Path
) -> None:
    plain = dispatch("matmul")
    source = tmp_path / "quoted.mlir"
    text = (DATA / "matmul.mlir").read_text()
    source.write_text(re.sub(r"func.func @\w+", 'func.func @"my-matmul"', text))
    dump = f"--iree-hal-dump-executable-benchmarks-to={tmp_path}"
    given = [COMPILER, str(source), *plain.target.flags, dump, "-o", str(tmp_path / "x")]
    subprocess.run(given, check=True)
    (file,) = tmp_path.glob("*_benchmark.mlir")
    assert '@"my-matmul' in file.read_text()
    assert read_dispatch(file).problem == plain.problem


def test_reads_what_was_dumped_for_a_device_with_a_name(dispatch: Read, tmp_path: Path) -> None:
    plain = dispatch("matmul")
    flags = [f.replace("device=local", "device=here=local") for f in plain.target.flags]
    dump = f"--iree-hal-dump-executable-benchmarks-to={tmp_path}"
    given = [COMPILER, str(DATA / "matmul.mlir"), *flags, dump, "-o", str(tmp_path / "x")]
    subprocess.run(given, check=True)
    (file,) = tmp_path.glob("*_benchmark.mlir")
    assert "util.global private @here" in file.read_text()
    assert read_dispatch(file).problem == plain.problem


def test_what_is_lowered_already_is_no_dispatch_to_tune(dispatch: Read, tmp_path: Path) -> None:
    """As `--compile-to` writes it; its kernel is LLVM's."""
    flags, path = dispatch("matmul").target.flags, tmp_path / "lowered.mlir"
    given = [COMPILER, str(DATA / "matmul.mlir"), *flags, "--compile-to=executable-targets"]
    subprocess.run([*given, "-o", str(path)], check=True)
    with pytest.raises(InputError, match="is lowered already"):
        read_dispatch(path)


@pytest.mark.parametrize(
    ("made", "asked"),
    [
        ("znver4", "znver3"),
        ("x86-64", "aarch64"),
        ("aarch64", "generic"),
        ("aarch64", "host"),  # whichever this is, it has a name of its own
        ("gfx1100", "mi300x"),
        ("sm_86", "a100"),
        ("sm_80", "gfx942"),
    ],
)
def test_what_was_dumped_for_another_target_is_refused(
    made: str, asked: str, tmp_path: Path
) -> None:
    dump = f"--iree-hal-dump-executable-benchmarks-to={tmp_path}"
    given = [COMPILER, str(DATA / "matmul.mlir"), *target_flags(made), dump]
    subprocess.run([*given, "-o", str(tmp_path / "x")], check=True)
    (file,) = tmp_path.glob("*_benchmark.mlir")
    with pytest.raises(InputError, match=f"was dumped for .*, the target is {asked}") as caught:
        read_dispatch(file, asked)
    if made == "aarch64":  # of which the compiler says that its processor is "generic"
        assert caught.value.hint == "give --target aarch64"
    assert read_dispatch(file, made).problem == read_dispatch(DATA / "matmul.mlir", made).problem


@pytest.mark.parametrize(
    ("name", "error", "says"),
    [
        ("bad_softmax", NotTunableError, "linalg.softmax"),
        ("bad_gather", NotTunableError, r"linalg.generic \(elementwise\)"),
        ("bad_dynamic", InputError, "dynamic shape"),
        ("bad_two_roots", InputError, "2 root ops"),
    ],
)
def test_what_cannot_be_tuned_is_named(name: str, error: type[InputError], says: str) -> None:
    with pytest.raises(error, match=says):
        read_dispatch(DATA / f"{name}.mlir")


@pytest.mark.parametrize("name", ["matmul", "batch_matmul"])
def test_what_is_tiled_after_specs_are_applied_is_refused(name: str) -> None:
    """Candidates would compile, one by one, and none be applied."""
    path = DATA / f"{name}.mlir"
    with pytest.raises(NotTunableError, match="tiled after tuning specs") as caught:
        read_dispatch(path, iree_flags=("--iree-opt-data-tiling",))
    *_, other = caught.value.hint.split(" instead")[0].split()
    early = read_dispatch(path, iree_flags=(other,))
    assert [space.pipeline for space in build_spaces(early)] == ["Mmt4dTilingExpert"]


@pytest.mark.parametrize("element", ["i4", "complex<f32>"])
def test_types_that_are_not_tuned_are_named(element: str, tmp_path: Path) -> None:
    """A product in one of them is a contraction, which the kinds in other hints would allow."""
    zero = "complex.constant [0.0 : f32, 0.0 : f32]" if "f32" in element else "arith.constant 0"
    text = (DATA / "matmul.mlir").read_text().replace("f32", "TYPE")
    text = text.replace("arith.constant 0.0", zero).replace("TYPE", element)
    path = tmp_path / "odd.mlir"
    path.write_text(text)
    with pytest.raises(NotTunableError, match=f"computes linalg.matmul in {element}") as caught:
        read_dispatch(path)
    assert caught.value.hint.startswith("frontrunner tunes what is in i1, i8, ")


def test_what_torch_exports_is_called_through_fences(tmp_path: Path) -> None:
    """It would compile, and then could not be called."""
    a, b, out = (f"!torch.vtensor<[{size}],f32>" for size in ("64,96", "96,32", "64,32"))
    path = tmp_path / "torch.mlir"
    path.write_text(
        f"func.func @main(%a: {a}, %b: {b}) -> {out} {{\n"
        f"  %0 = torch.aten.mm %a, %b : {a}, {b} -> {out}\n  return %0 : {out}\n}}\n"
    )
    with pytest.raises(InputError, match="is called through fences, as torch exports it") as caught:
        read_dispatch(path)
    assert f"frontrunner tune-model {path}" in caught.value.hint


def test_numbers_that_are_no_tensors_are_refused(tmp_path: Path) -> None:
    text = (DATA / "matmul.mlir").read_text()
    path = tmp_path / "scaled.mlir"
    path.write_text(text.replace("%a: ", "%scale: f32, %a: ", 1))
    assert "%scale" in path.read_text()
    with pytest.raises(InputError, match="takes or gives a f32, expected tensors") as caught:
        read_dispatch(path)
    assert caught.value.hint == "give a tensor without dimensions in its place"


@pytest.mark.parametrize(
    ("types", "says"),
    [
        ("memref<64x96xf32>", "takes or gives a memref<64x96xf32>, expected tensors"),
        ("tensor<0x96xf32>", "tensor<0x96xf32> has no elements"),
    ],
)
def test_buffers_and_what_is_empty_are_refused(types: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.mlir"
    path.write_text(f"func.func @f(%a: {types}) -> {types} {{\n  return %a : {types}\n}}\n")
    with pytest.raises(InputError, match=says):
        read_dispatch(path)


def test_names_may_look_like_types(tmp_path: Path) -> None:
    text = (DATA / "matmul.mlir").read_text()
    path = tmp_path / "arrow.mlir"
    named = '%a: tensor<64x96xf32> {iree.abi.name = "x -> tensor<3xf32> y"}'
    path.write_text(text.replace("@matmul", '@"a->b"').replace("%a: tensor<64x96xf32>", named, 1))
    assert '"a->b"' in path.read_text() and "iree.abi.name" in path.read_text()
    usual, odd = read_dispatch(DATA / "matmul.mlir"), read_dispatch(path)
    assert (odd.inputs, odd.outputs) == (usual.inputs, usual.outputs)


def test_of_a_model_a_few_ops_are_named(tmp_path: Path) -> None:
    kind = "tensor<8x8xf32>"
    products = "".join(
        f"  %{at + 1} = linalg.matmul ins(%{at}, %b : {kind}, {kind}) outs(%b : {kind}) -> {kind}\n"
        for at in range(5)
    )
    head = f"func.func @f(%a: {kind}, %b: {kind}) -> {kind} {{\n  %0 = tensor.empty() : {kind}\n"
    path = tmp_path / "model.mlir"
    path.write_text(f"{head}{products}  return %5 : {kind}\n}}\n")
    with pytest.raises(InputError, match=r"holds 5 root ops: .* and 2 more; expected 1") as caught:
        read_dispatch(path)
    assert "frontrunner tune-model" in caught.value.hint


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b"hello, world", "is not MLIR"),
        (b"\x00\xff\x80ELF", "is not MLIR"),
        (b"module {}", "0 public functions"),
        (
            b"func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }",
            "not tunable",
        ),
    ],
)
def test_what_is_not_a_dispatch_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "in.mlir"
    file.write_bytes(content)
    with pytest.raises(InputError, match=says) as caught:
        read_dispatch(file)
    assert "\n" not in str(caught.value)


def test_missing_file_and_unknown_target() -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_dispatch(DATA / "nothing_here.mlir")
    with pytest.raises(InputError, match="unknown target"):
        read_dispatch(DATA / "matmul.mlir", target="pentium-9000")
    with pytest.raises(InputError, match="unknown target"):
        read_dispatch(DATA / "matmul.mlir", target="no such; thing")


def test_what_is_configured_in_the_input_is_refused(tmp_path: Path) -> None:
    """Specs pass it over, so that no candidate could apply."""
    path = tmp_path / "matmul.mlir"
    text = (DATA / "matmul.mlir").read_text()
    config = "#iree_cpu.lowering_config<distribution = [8, 8, 0]>"
    path.write_text(
        text.replace("linalg.matmul ", f"linalg.matmul {{lowering_config = {config}}} ")
    )
    with pytest.raises(InputError, match=r"configures its linalg.matmul itself \(lowering_config"):
        read_dispatch(path)


def test_f64_is_kept_and_told_of(tmp_path: Path) -> None:
    """The compiler makes f32 of it by default."""
    path = tmp_path / "double.mlir"
    path.write_text((DATA / "matmul.mlir").read_text().replace("f32", "f64"))
    dispatch = read_dispatch(path)
    assert [o.dtype for o in dispatch.problem.operands] == ["f64"] * 3
    assert "f64" in dispatch.source
    assert "iree-compile makes f32 of it without --iree-input-demote" in dispatch.f64_remark
    assert read_dispatch(DATA / "matmul.mlir").f64_remark == ""


def test_its_text_leaves_out_the_module(dispatch: Read) -> None:
    assert len(repr(dispatch("matmul"))) < 2000
