"""Command lines of GPU libraries' benchmarks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from frontrunner.benchmarks.operations import Conv, Conv3d, Matmul, Types, commands
from frontrunner.benchmarks.operations.commands import CommandLine, read_commands
from frontrunner.core import InputError
from frontrunner.core.limits import limit_bytes

HALF = Types("f16", "f32")


def read(path: Path, *lines: str) -> list[CommandLine]:
    path.write_text("\n".join(lines))
    return read_commands(path)


CONV = "./bin/MIOpenDriver conv -n 16 -c 64 -H 56 -W 28 -k 128 -y 3 -x 1 -p 1 -q 0 -u 2 -v 1"
GEMM = "rocblas-bench -f gemm_ex -m 1024 -n 64 -k 4096 --a_type f16_r --b_type f16_r"


BENCH = "hipblaslt-bench -r f32_r"
# As hipBLASLt logs it.
LOGGED = (
    "hipblaslt-bench --api_method c -m 48 -n 176 -k 1024 --lda 48 --ldb 176 --ldc 48 --ldd 48 "
    "--alpha 1.000000 --beta 0.000000 --transA N --transB T --batch_count 1 --a_type bf16_r "
    "--b_type bf16_r --c_type bf16_r --d_type bf16_r --scale_type f32_r --compute_type f32_r "
    "--algo_method index --solution_index 218160 --activation_type none"
)
# Two images of 6 channels, 7 rows and 8 columns, and 10 filters of 3 by 2.
BACK = "MIOpenDriver conv -n 2 -c 6 -H 7 -W 8 -k 10 -y 3 -x 2 -p 1 -q 0 -u 2 -v 1 -l 1 -j 2"


def graph(
    *nodes: dict, dtype: str = "half", last: bool = False, others: dict[int, dict] | None = None
) -> str:
    """A graph as hipDNN logs it: two images of 6 channels, 10 filters, and what is added."""
    shapes = {1: [2, 6, 7, 8], 2: [10, 6, 3, 2], 3: [2, 10, 4, 6], 4: [1, 10, 1, 1]}

    def strides(n: int, c: int, h: int, w: int) -> list[int]:
        return [c * h * w, 1, c * w, c] if last else [c * h * w, h * w, w, 1]

    tensors = [
        {"uid": uid, "dims": dims, "strides": strides(*dims), "data_type": dtype, **changes}
        for uid, dims in shapes.items()
        for changes in [(others or {}).get(uid, {})]
    ]
    return "[info] graph: " + json.dumps({"nodes": nodes, "tensors": tensors}) + " built"


def conv_node(direction: str, post: tuple[int, ...] = (1, 0)) -> dict:
    names = {"Fwd": ("x", "w", "y"), "Bwd": ("dx", "w", "dy"), "Wrw": ("x", "dw", "dy")}[direction]
    given = dict(zip((f"{name}_tensor_uid" for name in names), (1, 2, 3), strict=True))
    pads = {"pre_padding": [1, 0], "post_padding": list(post)}
    return {
        "type": f"Convolution{direction}Attributes",
        "inputs": given,
        "outputs": {},
        "parameters": {"stride": [2, 1], "dilation": [1, 2], **pads},
    }


def pointwise(mode: str, added: int) -> dict:
    inputs = {"in_0_tensor_uid": 3, "in_1_tensor_uid": added}
    return {"type": "PointwiseAttributes", "operation": mode, "inputs": inputs}


def relu(**clips: float | None) -> dict:
    """As hipDNN writes it."""
    clips = {f"relu_{name}": value for name, value in clips.items()}
    inputs = {"operation": "relu_fwd", "in_0_tensor_uid": 3, "in_1_tensor_uid": None, **clips}
    return {"type": "PointwiseAttributes", "inputs": inputs, "outputs": {"out_0_tensor_uid": 5}}


def added_product(dims: list[int]) -> str:
    """A product of 64 rows and 128 columns, and what is added."""
    shapes = {1: [64, 32], 2: [32, 128], 3: [64, 128], 4: dims}
    tensors = [{"uid": uid, "dims": one, "data_type": "float"} for uid, one in shapes.items()]
    nodes = [*PRODUCT["nodes"], pointwise("add", 4)]
    return json.dumps({"tensors": tensors, "nodes": nodes})


def strided_product(*strides: int) -> str:
    """Three products, of 4 rows and 5 columns on the left."""
    left, right = PRODUCT["tensors"]
    return json.dumps({**PRODUCT, "tensors": [{**left, "strides": strides}, right]})


HALF_CONV = Conv(7, 7, 8, 8, (3, 3), layout="nchw", types=HALF, steps=("truncate",))
BACK_DATA = Conv(7, 8, 10, 6, (3, 2), 2, (1, 1), (1, 2), layout="nchw")
BACK_WEIGHTS = Conv(3, 2, 2, 10, (4, 6), 6, (1, 2), (2, 1), layout="nchw")
PRODUCT = {
    "tensors": [
        {"uid": 1, "dims": [3, 4, 5], "strides": [20, 5, 1], "data_type": "bfloat16"},
        {"uid": 2, "dims": [3, 5, 6], "strides": [30, 1, 5], "data_type": "bfloat16"},
    ],
    "nodes": [
        {
            "type": "MatmulAttributes",
            "inputs": {"a_tensor_uid": 1, "b_tensor_uid": 2},
            "outputs": {"c_tensor_uid": 3},
        }
    ],
}


@pytest.mark.parametrize(
    ("line", "operation"),
    [
        (f"{BACK} -F 2", BACK_DATA),
        (f"{BACK} -F 4", BACK_WEIGHTS),
        (graph(conv_node("Bwd"), dtype="float"), BACK_DATA),
        (graph(conv_node("Wrw"), dtype="float"), BACK_WEIGHTS),
        (
            graph(conv_node("Fwd"), pointwise("ADD", 4), pointwise("RELU_FWD", 4), last=True),
            Conv(
                4, 6, 6, 10, (3, 2), 2, (2, 1), (1, 2), layout="nhwc_fhwc", types=HALF,
                steps=("bias", "relu", "truncate"),
            ),
        ),
        (
            "hipblaslt-bench -m 8 -n 4 -k 16 --a_type f8_fnuz_r --b_type f8_fnuz_r --c_type f32_r "
            "--d_type f32_r --compute_type f32_r",
            Matmul(4, 8, 16, Types("f8E4M3FNUZ", "f32")),
        ),
        (
            graph(conv_node("Fwd"), relu(upper_clip=6.0, lower_clip=None), dtype="float"),
            Conv(
                4, 6, 6, 10, (3, 2), 2, (2, 1), (1, 2), layout="nchw", steps=("relu6",),
            ),
        ),
        (added_product([1, 128]), Matmul(64, 128, 32, steps=("bias",))),
        (
            f"{LOGGED} --stride_a 0 --stride_b 0 --stride_c 0 --stride_d 0 --scaleA 0 --scaleB 0 "
            "--scaleC 0 --scaleD 0 --bias_type f32_r --splitk 1 --wgm 8 --any_stride --rotating 0 "
            "--cold_iters 0 --iters 0",
            Matmul(
                176, 48, 1024, Types("bf16", "f32"), transposed=("lhs",), steps=("truncate",)
            ),
        ),
        (
            json.dumps(PRODUCT),
            Matmul(
                4, 6, 5, Types("bf16", "f32"), batch=3, transposed=("rhs",), steps=("truncate",)
            ),
        ),
        (
            "bin/fusilli_benchmark_driver --iter 10 conv -F 1 --bf16 -n 2 -c 8 --in_d 3 -H 6 -W 5 "
            "-k 4 --fil_d 2 -y 1 -x 3 --pad_d 0 -p 0 -q 1 --conv_stride_d 1 -u 2 -v 1 "
            "--dilation_d 1 -l 1 -j 1 --in_layout NDHWC --out_layout NDHWC --fil_layout NDHWC "
            "--spatial_dim 3 --bias",
            Conv3d(
                2, 3, 5, 8, 4, (2, 1, 3), 2, (1, 2, 1), types=Types("bf16", "f32"),
                steps=("bias", "truncate"),
            ),
        ),
        ("convfp16 -n 1 -c 8 -H 9 -W 9 -k 8 -y 3 -x 3 -F 1 -t 1; make", HALF_CONV),
        ("conv --mode 1 --fp16 -n 1 -c 8 -H 9 -W 9 -k 8 -y 3 -x 3 --spatial_dim 2", HALF_CONV),
        (
            f"{CONV} -l 1 -j 1 -m conv -g 1 -F 1 -t 1 -V 0 >> log.txt 2>&1",
            Conv(28, 28, 64, 128, (3, 1), 16, (2, 1), layout="nchw"),
        ),
        (
            "MIOPEN_LOG=1 MIOpenDriver convfp16 -n 1 -c 8 -H 9 -W 9 -k 8 -y 3 -x 3 -l 2 -j 2 "
            "-g 4 --in_layout NHWC --fil_layout=NHWC --out_layout NHWC",
            Conv(
                5, 5, 8, 8, (3, 3), dilation=(2, 2), groups=4, layout="nhwc_fhwc", types=HALF,
                steps=("truncate",),
            ),
        ),
        # Column by column, so D' = B' A': m and n change places, and so do A and B.
        (
            "./rocblas-bench -f gemm -r f32_r --transposeA T --transposeB N -m 128 -n 256 -k 512 "
            "--alpha 1.0 --lda 512 --ldb 512 --beta 0.0 --ldc 128",
            Matmul(256, 128, 512, transposed=("rhs",)),
        ),
        (
            f"{GEMM} --transposeB T --ldb 64 --c_type f16_r --d_type f16_r --compute_type f32_r",
            Matmul(64, 1024, 4096, HALF, transposed=("lhs",), steps=("truncate",)),
        ),
        (
            "hipblaslt-bench -m 8 -n 4 -k 16 --batch_count 3 --stride_a 128 --stride_b 64 "
            "--stride_c 32 --stride_d 32 --precision bf16_r --d_type f32_r --c_type f32_r "
            "--compute_type c_f32_r -v",
            Matmul(4, 8, 16, Types("bf16", "f32"), batch=3),
        ),
        (
            "hipblaslt-bench -m 8 -n 4 -k 16 -r f32_r --beta 1 --bias_vector "
            "--activation_type gelu",
            Matmul(4, 8, 16, steps=("residual", "bias", "gelu_tanh")),
        ),
        (
            "hipblaslt-bench -m 8 -n 4 -k 16 --a_type i8_r --b_type i8_r --c_type i32_r "
            "--d_type i32_r --compute_type i32_r",
            Matmul(4, 8, 16, Types("i8", "i32")),
        ),
    ],
)  # fmt: skip
def test_what_lines_compute(tmp_path, line, operation):
    assert read(tmp_path / "lines.txt", "# a comment", line, "its output: 12 us") == [
        CommandLine(2, operation)
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (f"{CONV} --tensor_vect 1", "not understood: --tensor_vect"),
        (f"{CONV} -F 3", "-F 3 is not supported, only 0, 1, 2, 4 is"),
        (f"{CONV} -F 2 -g 2", "the backward data of grouped convolutions is not supported"),
        (f"{CONV} -F 4 -b 1", "-b 1 is not supported, 0 with this direction is"),
        (f"{CONV} -_ 3", "depth is missing"),
        (
            f"{CONV} -_ 3 --in_d 4 --fil_d 1 -g 2",
            "grouped convolutions in three dimensions are not supported",
        ),
        ("fusilli_benchmark_driver --iter 3 sdpa -n 1", "only conv is understood"),
        (f"{BENCH} --grouped_gemm -m 4 -n 4", "k is missing"),
        (f"{BENCH} --grouped_gemm -m 4 8 -n 4 -k 4", "groups have to be given equally often"),
        ('{"nodes": [], "tensors": []}', "the graph lacks something: ValueError"),
        (
            '{"nodes": [{"type": "Norm"}], "tensors": []}',
            "Norm is not understood, MatmulAttributes",
        ),
        ('x "nodes" y', "the graph lacks something: ValueError"),
        (
            graph(conv_node("Fwd"), others={2: {"data_type": "float"}}),
            "operands of several types are not supported",
        ),
        (
            graph(conv_node("Fwd"), others={2: {"strides": [36, 1, 12, 6]}}),
            "an image and filters of which one has channels last",
        ),
        (
            graph(conv_node("Fwd"), others={1: {"strides": [672, 56, 8, 1]}}),
            "strides (672, 56, 8, 1) of (2, 6, 7, 8) leave gaps",
        ),
        (graph(conv_node("Fwd"), dtype="int8"), "type int8 is not understood, float, half"),
        (graph(conv_node("Fwd", post=(0, 1))), "pads that differ before and behind"),
        (graph(conv_node("Fwd"), pointwise("tanh", 4)), "PointwiseAttributes tanh is not"),
        (graph(conv_node("Fwd"), pointwise("add", 3)), "only what has a value for each channel"),
        (graph(conv_node("Fwd"), relu(lower_clip_slope=0.1)), "relu_fwd is understood as it is"),
        (
            graph(conv_node("Wrw"), pointwise("add", 4), others={4: {"dims": [1, 6, 1, 1]}}),
            "what is added to the gradient of filters is not supported",
        ),
        (strided_product(5, 15, 1), "strides (5, 15, 1) of (3, 4, 5) are neither row by row nor"),
        (strided_product(1, 15, 3), "strides (1, 15, 3) of (3, 4, 5) are neither row by row nor"),
        (added_product([64, 1]), "only what has a value for each channel"),
        (added_product([1, 1]), "only what has a value for each channel"),
        (f"{CONV} -m trans", "-m trans is not supported"),
        (f"{CONV} -I NHWC -f NCHW", "-f NCHW is not supported, only NHWC is"),
        (f"{CONV} -g 3", "64 channels and 128 filters cannot be split into 3 groups"),
        (CONV.replace("-H 56", "-H 1").replace("-p 1", "-p 0"), "height must be at least 1"),
        (CONV.replace("-k 128", ""), "filters is missing"),
        (CONV.replace("-k 128", "-k many"), "-k many is not a whole number"),
        (CONV.replace("-k 128", "-k 1_6"), "-k 1_6 is not a whole number"),
        (CONV.replace("-k 128", "-k ٣"), "-k ٣ is not a whole number"),
        (CONV.replace("-k 128", f"-k {2**31}"), "filters must be at least 1 and at most"),
        (f"{CONV} -g 1 --group_count 2", "-g is given twice, as 1 and 2"),
        (CONV.replace("conv ", "pool "), "'pool' is not understood"),
        (f"{GEMM} --ldb 6144", "--ldb 6144 is not supported, only 4096, without gaps, is"),
        (f"{GEMM} --alpha 2", "--alpha 2 is not supported, only 1 is"),
        (f"{GEMM} --beta 0.5", "--beta 0.5 is not supported, only 0 and 1 is"),
        (f"{GEMM} --transposeA C", "--transposeA C is not supported"),
        (f"{GEMM} --scaleE 1 out.txt", "not understood: --scaleE, out.txt"),
        (f"{GEMM} --scaleD 1", "--scaleD 1 is not supported, only 0 is"),
        (
            f"{LOGGED} --bias_vector --bias_type default",
            "what is added to sums in f32 has to be in f32, too",
        ),
        (f"{BENCH} -m 8 -n 4 -k 2 --bias_vector --bias_source a", "--bias_source a is not supp"),
        (f"{BENCH} -m 8 -n 4 -k 2 --bias_vector --bias_type i4_r", "--bias_type i4_r is not supp"),
        (f"{GEMM} --scaleA 1", "--scaleA 1 is not supported, only 0 is"),
        ("rocblas-bench -f gemv -m 1 -n 1 -k 1", "-f gemv is not supported"),
        ("rocblas-bench -m 1 -n 1 -k 1 -r f4_r", "type f4_r is not understood"),
        ("hipblaslt-bench -m 1 -n 1 -k 1", "element types are missing"),
        ("hipblaslt-bench -m 1 -n 1 -k 1 -r i8_r", "element types 'i8,i8,f32' are not supported"),
        (f"{GEMM} --batch_count 0", "--batch_count 0 is not supported"),
        ("rocblas-bench -m 1 -n 1 -k 1 --bias_type h", "not understood here: --bias_type"),
        (
            f"{GEMM} --c_type h --d_type h --compute_type s --beta 1",
            "what is added to sums in f32 has to be in f32, too",
        ),
        ("rocblas-bench -m 1 -n 1 -k 1 --a_type h", "types f16, f32, f32, f32 summed up in"),
    ],
)
def test_what_is_not_understood_is_named(tmp_path, line, problem):
    (found,) = read(tmp_path / "lines.txt", line)
    assert found.operation is None
    assert problem in found.problem


def test_each_group_of_products_is_one(tmp_path):
    line = f"{BENCH} --grouped_gemm -m 8 -n 4 -k 2 --ldb 2 -m 16 -n 4 -k 6 --ldb 6 --transA N"
    found = read(tmp_path / "lines.txt", line, f"{BENCH} --grouped_gemm -m 8 16 -n 4 4 -k 2 6")
    assert [(one.number, one.operation) for one in found] == [
        (number, operation)
        for number in (1, 2)
        for operation in (Matmul(4, 8, 2), Matmul(4, 16, 6))
    ]


def test_gradients_are_forward_convolutions():
    """Of the sum over a result times weights `dy`, by differences, which are exact in f64."""
    random = np.random.default_rng(0)
    forward = Conv(4, 6, 6, 10, (3, 2), 2, (2, 1), (1, 2), layout="nchw")
    x = random.integers(-4, 5, (2, 6, 9, 8)).astype(np.float64)  # padded: a row on either side
    w = random.integers(-4, 5, (10, 6, 3, 2)).astype(np.float64)
    dy = random.integers(-4, 5, (2, 10, 4, 6)).astype(np.float64)
    f64 = np.dtype(np.float64)

    def loss(x, w):
        return float((forward.compute([x, w], f64) * dy).sum())

    # Zeros between the rows, and as many around as the window reaches.
    spread = np.zeros((2, 10, 9, 10))
    spread[:, :, 1:8:2, 2:8] = dy
    turned = w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
    dx = BACK_DATA.compute([spread, turned], f64)
    dw = BACK_WEIGHTS.compute([x.transpose(1, 0, 2, 3), dy.transpose(1, 0, 2, 3)], f64)
    for at in [(0, 0, 0, 0), (1, 5, 6, 7), (0, 3, 2, 4)]:
        more = x.copy()
        more[at[0], at[1], at[2] + 1, at[3]] += 1
        assert dx[at] == loss(more, w) - loss(x, w)
    for image, channel, row, column in [(0, 0, 0, 0), (9, 5, 2, 1), (4, 2, 1, 1)]:
        more = w.copy()
        more[image, channel, row, column] += 1
        assert dw[channel, image, row, column] == loss(x, more) - loss(x, w)


def test_lines_as_shells_take_them(tmp_path):
    lines = ["rocblas-bench -m 8 \\", "  -n 4 -k 2  # as before", "rocblas-bench -m 8 -n 4 -k 3"]
    found = read(tmp_path / "lines.txt", "\ufeff" + lines[0], *lines[1:])
    assert found == [CommandLine(1, Matmul(4, 8, 2)), CommandLine(3, Matmul(4, 8, 3))]


def test_what_is_long_is_not_told_in_full(tmp_path):
    (found,) = read(tmp_path / "lines.txt", f"rocblas-bench -m {'9' * 1000} -n 4 -k 2")
    assert len(found.problem) <= 300
    (found,) = read(tmp_path / "lines.txt", f"rocblas-bench -m 8 {'-n 4 ' * 10_000}")
    assert found.problem == "over 10,000 characters"
    # Added to each other one by one, they would be copied for minutes.
    (found,) = read(tmp_path / "lines.txt", "rocblas-bench -m 8 \\", *400_000 * ["-n 4 \\"])
    assert found.problem == "over 10,000 characters"


def test_several_commands_in_a_line(tmp_path):
    line = "rocblas-bench -m 8 -n 4 -k 2 && ./rocblas-bench -m 8 -n 4 -k 3 --odd"
    first, second = read(tmp_path / "lines.txt", line)
    assert first.operation == Matmul(4, 8, 2)
    assert second.problem == "not understood: --odd"


def test_a_file_without_such_lines(tmp_path):
    with pytest.raises(InputError, match="holds no command line that is understood"):
        read(tmp_path / "lines.txt", "make", "# MIOpenDriver conv -n 1", "")
    with pytest.raises(InputError, match="cannot read"):
        read_commands(tmp_path)


def test_a_log_of_more_text_than_the_limit_allows(tmp_path):
    path = tmp_path / "log"
    path.write_text(f"{CONV}\n" + "\n" * 100_000)
    with limit_bytes(10 * path.stat().st_size):
        assert len(read_commands(path)) == 1
    refused = pytest.raises(InputError, match=r"log is longer than [\d,]+ characters")
    with limit_bytes(10 * path.stat().st_size - 10), refused as told:
        read_commands(path)
    assert "raise --max-bytes" in told.value.hint


def test_all_that_a_log_holds_is_forgotten_with_it(tmp_path):
    read(tmp_path / "log", *(f"line {number}" for number in range(10_000)), CONV)
    assert commands._commands.cache_info().currsize <= 1024
