"""Operations from the command lines of GPU libraries' benchmarks.

`MIOpenDriver conv...` lines, and `rocblas-bench` and `hipblaslt-bench` lines of matrix products.
Their matrices are laid out column by column: D = A B is what D' = B' A' is row by row.
"""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from textwrap import shorten

from ...core import InputError, max_bytes
from .command_options import Options
from .conv import Conv
from .matmul import Matmul
from .operation import Operation
from .types import Types

CONV, GEMM = "MIOpenDriver", ("rocblas-bench", "hipblaslt-bench")
PROGRAMS = (CONV, *GEMM)
# What the lines of a log take in memory, by what a character of it does.
GROWTH = 10
# What one of its lines may have, and what is told of what is wrong with it.
MOST_LINE, MOST_TOLD = 10_000, 300
# Where the shell takes over: nothing behind it is the program's.
_SHELL = re.compile(r"[0-9]*[<>|&;]")


def _renamed(names: Mapping[str, str]) -> dict[str, str]:
    """What an option is called here, by each of the names that it has there."""
    return {theirs: ours for ours, all_of_them in names.items() for theirs in all_of_them.split()}


_CONV_NAMES = _renamed(
    {
        "images": "n batchsize",
        "channels": "c in_channels",
        "height": "H in_h",
        "width": "W in_w",
        "filters": "k out_channels",
        "window_h": "y fil_h",
        "window_w": "x fil_w",
        "pad_h": "p pad_h",
        "pad_w": "q pad_w",
        "stride_h": "u conv_stride_h",
        "stride_w": "v conv_stride_w",
        "dilation_h": "l dilation_h",
        "dilation_w": "j dilation_w",
        "groups": "g group_count",
        "mode": "m mode",
        "direction": "F forw",
        "in_layout": "I in_layout",
        "fil_layout": "f fil_layout",
        "out_layout": "O out_layout",
        "bias": "b bias",
        "spatial": "_ spatial_dim",
        "pad_mode": "z pad_mode",
    }
)
_GEMM_NAMES = _renamed(
    {
        "m": "m sizem",
        "n": "n sizen",
        "k": "k sizek",
        "function": "f function",
        "precision": "r precision",
        "trans_a": "transposeA transA",
        "trans_b": "transposeB transB",
        "batch": "batch_count batch",
    }
) | {
    name: name
    for name in (
        "alpha beta lda ldb ldc ldd stride_a stride_b stride_c stride_d compute_type "
        "a_type b_type c_type d_type bias_type bias_vector activation_type"
    ).split()
}
# How a benchmark goes about measuring, which changes nothing of what is computed.
_CONV_ANYWAY = frozenset(
    "t time V verify i iter w wall s search P printconv S solution o dump_output".split()
)
_GEMM_ANYWAY = frozenset(
    "v verify i iters j cold_iters algo algo_method solution_index requested_solution flags device "
    "initialization scale_type workspace use_gpu_timer print_kernel_info rotating flush HMM "
    "norm_check unit_check".split()
)
_TYPES = {
    **dict.fromkeys(("h", "f16_r"), "f16"),
    **dict.fromkeys(("s", "f32_r"), "f32"),
    **dict.fromkeys(("d", "f64_r"), "f64"),
    "bf16_r": "bf16",
    "i8_r": "i8",
    "i32_r": "i32",
}
_COMPUTED = {"c_f32_r": "f32", "c_f64_r": "f64", "c_i32_r": "i32", "c_f16_r": "f16", **_TYPES}
_CONVS = {
    "conv": Types(),
    "convfp16": Types("f16", "f32"),
    "convbfp16": Types("bf16", "f32"),
    "convint8": Types("i8", "i32"),
}
_ACTIVATIONS: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "relu": ("relu",),
    "gelu": ("gelu_tanh",),
}


@dataclass(frozen=True)
class CommandLine:
    """What became of one line.

    Attributes:
        operation: None where it is not understood.
        problem: what is not understood of it.
    """

    number: int
    operation: Operation | None
    problem: str = ""


def read_commands(path: Path) -> list[CommandLine]:
    """The lines of a file that run one of `PROGRAMS`; others are comments, or output.

    Raises:
        InputError: the file cannot be read, or has no such line.
    """
    most = max_bytes() // GROWTH
    try:
        # Also from what is no regular file: lines are picked from logs, as in `<(grep MIOpen log)`.
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            text = file.read(most + 1)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", "give another file") from error
    if len(text) > most:
        raise InputError(
            f"{path} is longer than {most:,} characters",
            f"pick the lines of {', '.join(PROGRAMS)} from it, or raise --max-bytes",
        )
    found = list(_lines(line.removesuffix("\n") for line in io.StringIO(text)))
    if not found:
        raise InputError(
            f"{path} holds no command line that is understood",
            f"give lines of {', '.join(PROGRAMS)}",
        )
    return found


def _lines(lines: Iterable[str]) -> Iterator[CommandLine]:
    whole, first = "", 1
    for number, line in enumerate(lines, 1):
        whole += line
        if whole.endswith("\\"):
            whole = whole.removesuffix("\\")
            continue
        if any(program in whole for program in PROGRAMS):
            for operation, problem in _commands(whole):
                yield CommandLine(first, operation, problem)
        whole, first = "", number + 1


@lru_cache(maxsize=1024)
def _commands(line: str) -> list[tuple[Operation | None, str]]:
    """What a line runs, if anything; logs hold the same line many times."""
    if len(line) > MOST_LINE:
        return [(None, f"over {MOST_LINE:,} characters")]
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        words = line.split()
    found: list[tuple[Operation | None, str]] = []
    for place, word in enumerate(words):
        if (program := Path(word).name) in PROGRAMS:
            rest = list(_until_shell(words[place + 1 :]))
            try:
                found.append((_conv(rest) if program == CONV else _gemm(program, rest), ""))
            except InputError as error:
                found.append((None, shorten(str(error), MOST_TOLD, placeholder=" ...")))
    return found


def _until_shell(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        if _SHELL.match(word):
            return
        yield word


def _conv(words: list[str]) -> Operation:
    name = words[0] if words else ""
    if name not in _CONVS:
        raise InputError(f"{name!r} is not understood, {', '.join(_CONVS)} are")
    options = Options(words[1:], _CONV_NAMES, _CONV_ANYWAY)
    options.only("mode", "conv")
    options.only("direction", "0", "1")
    options.only("spatial", "2")
    options.only("pad_mode", "default")
    options.only("bias", "0")
    layout = options.only("in_layout", "NCHW", "NHWC")
    options.only("fil_layout", layout)
    options.only("out_layout", layout)
    window, pad = options.pair("window", None), options.pair("pad", 0)
    stride, dilation = options.pair("stride", 1), options.pair("dilation", 1)
    if min(*window, *stride, *dilation) < 1 or min(pad) < 0:
        raise InputError("windows, strides and dilations are at least 1, pads at least 0")
    sizes = options.number("height"), options.number("width")
    height, width = (
        (n + 2 * pad[i] - dilation[i] * (window[i] - 1) - 1) // stride[i] + 1
        for i, n in enumerate(sizes)
    )
    types = _CONVS[name]
    found = Conv(
        height=height,
        width=width,
        channels=options.number("channels"),
        filters=options.number("filters"),
        window=window,
        images=options.number("images"),
        stride=stride,
        dilation=dilation,
        groups=options.number("groups", 1),
        layout="nchw" if layout == "NCHW" else "nhwc_fhwc",
        types=types,
        steps=("truncate",) if types.operands in ("f16", "bf16") else (),
    )
    options.check_all_read()
    return found


def _gemm(program: str, words: list[str]) -> Operation:
    options = Options(words, _GEMM_NAMES, _GEMM_ANYWAY)
    options.only(
        "function", "gemm", "gemm_ex", "gemm_strided_batched", "gemm_strided_batched_ex", "matmul"
    )
    m, n, k = (options.number(name) for name in "mnk")
    batch = options.number("batch", 1)
    if batch < 1:
        raise options.refused("batch", "only 1 and more")
    swapped_a = options.only("trans_a", "N", "T") == "T"
    swapped_b = options.only("trans_b", "N", "T") == "T"
    _check_tight(options, "a", (k, m) if swapped_a else (m, k), batch)
    _check_tight(options, "b", (n, k) if swapped_b else (k, n), batch)
    for name in "cd":
        _check_tight(options, name, (m, n), batch)
    if _float(options, "alpha", 1.0) != 1.0:
        raise options.refused("alpha", "only 1")
    beta = _float(options, "beta", 0.0)
    if beta not in (0.0, 1.0):
        raise options.refused("beta", "only 0 and 1")
    activation = options.only("activation_type", *_ACTIVATIONS)
    types, narrow = _types(program, options)
    biased = options.word("bias_vector", "0") not in ("0", "false")
    if biased and _TYPES.get(options.word("bias_type", ""), types.sums) != types.sums:
        raise options.refused("bias_type", f"only {types.sums}")
    if narrow and (beta == 1.0 or (biased and not options.given("bias_type"))):
        raise InputError(f"what is added to sums in {types.sums} has to be in {types.sums}, too")
    steps = [("residual", beta == 1.0), ("bias", biased)]
    found = Matmul(
        m=n,
        n=m,
        k=k,
        types=types,
        batch=batch if batch > 1 else 0,
        transposed=(*(("lhs",) if swapped_b else ()), *(("rhs",) if swapped_a else ())),
        steps=(
            *(name for name, used in steps if used),
            *_ACTIVATIONS[activation],
            *(("truncate",) if narrow else ()),
        ),
    )
    options.check_all_read()
    return found


def _check_tight(options: Options, name: str, shape: tuple[int, int], batch: int) -> None:
    """Refuses matrices with gaps, between columns or between matrices."""
    tight = {f"ld{name}": shape[0]}
    if batch > 1:
        tight[f"stride_{name}"] = shape[0] * shape[1]
    for option, size in tight.items():
        if options.number(option, size) != size:
            raise options.refused(option, f"only {size}, without gaps,")


def _float(options: Options, name: str, default: float) -> float:
    try:
        return float(options.word(name, str(default)))
    except ValueError:
        raise options.refused(name, "a number") from None


def _types(program: str, options: Options) -> tuple[Types, bool]:
    """Element types, and whether the result is narrower than the sums."""
    default = options.word("precision", "f32_r" if program == GEMM[0] else "")
    words = {name: options.word(f"{name}_type", default) for name in "abcd"}
    if "" in words.values():
        # Versions of hipblaslt-bench differ in what they take then.
        raise InputError("element types are missing: -r, or --a_type and the others")
    if missing := [word for word in words.values() if word not in _TYPES]:
        raise InputError(f"type {missing[0]} is not understood, {', '.join(_TYPES)} are")
    a, b, c, d = (_TYPES[word] for word in words.values())
    computed = options.word("compute_type", "")
    if computed and computed not in _COMPUTED:
        raise options.refused("compute_type", ", ".join(_COMPUTED))
    usual = "f32" if a == "bf16" or program != GEMM[0] else a
    sums = _COMPUTED[computed] if computed else usual
    if a != b or c != d or d not in (a, sums):
        raise InputError(f"types {a}, {b}, {c}, {d} summed up in {sums} are not supported")
    types = Types(a, sums)
    narrow = d != sums
    if narrow and types.is_integer:
        raise InputError(f"sums in {sums} to a result in {d} are not supported")
    return types, narrow
