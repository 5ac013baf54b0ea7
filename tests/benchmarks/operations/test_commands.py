"""Command lines of GPU libraries' benchmarks."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontrunner.benchmarks.operations import Conv, Matmul, Types, commands
from frontrunner.benchmarks.operations.commands import CommandLine, read_commands
from frontrunner.core import InputError
from frontrunner.core.limits import limit_bytes

HALF = Types("f16", "f32")


def read(path: Path, *lines: str) -> list[CommandLine]:
    path.write_text("\n".join(lines))
    return read_commands(path)


CONV = "./bin/MIOpenDriver conv -n 16 -c 64 -H 56 -W 28 -k 128 -y 3 -x 1 -p 1 -q 0 -u 2 -v 1"
GEMM = "rocblas-bench -f gemm_ex -m 1024 -n 64 -k 4096 --a_type f16_r --b_type f16_r"


@pytest.mark.parametrize(
    ("line", "operation"),
    [
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
        (f"{CONV} -F 2", "-F 2 is not supported, only 0, 1 is"),
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
        (f"{GEMM} --scaleA 1 out.txt", "not understood: --scaleA, out.txt"),
        ("rocblas-bench -f gemv -m 1 -n 1 -k 1", "-f gemv is not supported"),
        ("rocblas-bench -m 1 -n 1 -k 1 -r f8_r", "type f8_r is not understood"),
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


def test_lines_as_shells_take_them(tmp_path):
    lines = ["rocblas-bench -m 8 \\", "  -n 4 -k 2  # as before", "rocblas-bench -m 8 -n 4 -k 3"]
    found = read(tmp_path / "lines.txt", "\ufeff" + lines[0], *lines[1:])
    assert found == [CommandLine(1, Matmul(4, 8, 2)), CommandLine(3, Matmul(4, 8, 3))]


def test_what_is_long_is_not_told_in_full(tmp_path):
    (found,) = read(tmp_path / "lines.txt", f"rocblas-bench -m {'9' * 1000} -n 4 -k 2")
    assert len(found.problem) <= 300
    (found,) = read(tmp_path / "lines.txt", f"rocblas-bench -m 8 {'-n 4 ' * 10_000}")
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
