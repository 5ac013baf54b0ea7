"""Products of matrices from the command lines of `rocblas-bench` and `hipblaslt-bench`.

Their matrices are laid out column by column: D = A B is what D' = B' A' is row by row.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...core import InputError
from .command_options import Options, renamed
from .matmul import Matmul
from .operation import Operation
from .types import Types

GEMM = ("rocblas-bench", "hipblaslt-bench")
GROUPED = "--grouped_gemm"
# What a line of grouped products has for each of them.
_SIZES = frozenset("m n k lda ldb ldc ldd stride_a stride_b stride_c stride_d".split())

_NAMES = renamed(
    {
        "m": "m sizem",
        "n": "n sizen",
        "k": "k sizek",
        "function": "f function",
        "precision": "r precision",
        "trans_a": "transposeA transA",
        "trans_b": "transposeB transB",
        "batch": "batch_count batch",
        "scale_a": "scaleA",
        "scale_b": "scaleB",
        "scale_c": "scaleC",
        "scale_d": "scaleD",
    }
) | {
    name: name
    for name in (
        "alpha beta lda ldb ldc ldd stride_a stride_b stride_c stride_d compute_type "
        "a_type b_type c_type d_type bias_type bias_vector bias_source "
        "activation_type"
    ).split()
}
# How a benchmark goes about measuring, which changes nothing of what is computed.
_ANYWAY = frozenset(
    "v verify i iters j cold_iters algo algo_method solution_index requested_solution flags device "
    "initialization scale_type workspace use_gpu_timer print_kernel_info rotating flush HMM "
    "norm_check unit_check grouped_gemm use_user_args api_method any_stride splitk wgm bench_time "
    "cold_bench_time skip_slow_solution_ratio log_function_name c_equal_d".split()
)
_TYPES = {
    **dict.fromkeys(("h", "f16_r"), "f16"),
    **dict.fromkeys(("s", "f32_r"), "f32"),
    **dict.fromkeys(("d", "f64_r"), "f64"),
    "bf16_r": "bf16",
    "f8_r": "f8E4M3FN",
    "bf8_r": "f8E5M2",
    "f8_fnuz_r": "f8E4M3FNUZ",
    "bf8_fnuz_r": "f8E5M2FNUZ",
    "i8_r": "i8",
    "i32_r": "i32",
}
_COMPUTED = {"c_f32_r": "f32", "c_f64_r": "f64", "c_i32_r": "i32", "c_f16_r": "f16", **_TYPES}
_ACTIVATIONS: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "relu": ("relu",),
    "gelu": ("gelu_tanh",),
}


def gemms(program: str, words: list[str]) -> list[Operation]:
    """The operations of a line, of the words behind the program: one for each group.

    Raises:
        InputError: it is not understood.
    """
    grouped = GROUPED in words
    options = Options(words, _NAMES, _ANYWAY, several=_SIZES if grouped else frozenset())
    if not grouped:
        return [_gemm(program, options)]
    return [_gemm(program, group) for group in options.groups()]


def _gemm(program: str, options: Options) -> Operation:
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
    for name in ("scale_a", "scale_b", "scale_c", "scale_d"):
        options.only(name, "0")
    if program != GEMM[0]:
        for name in ("bias_type", "bias_source"):
            options.word(name, "")  # told where there is no bias, too
    if _float(options, "alpha", 1.0) != 1.0:
        raise options.refused("alpha", "only 1")
    beta = _float(options, "beta", 0.0)
    if beta not in (0.0, 1.0):
        raise options.refused("beta", "only 0 and 1")
    activation = options.only("activation_type", *_ACTIVATIONS)
    types, narrow = _types(program, options)
    biased = options.word("bias_vector", "0") not in ("0", "false")
    bias_type = options.word("bias_type", "default") if biased else "default"
    if bias_type != "default" and _TYPES.get(bias_type) != types.sums:
        raise options.refused("bias_type", f"only {types.sums}")
    if biased:
        options.only("bias_source", "d")
    if narrow and (beta == 1.0 or (biased and bias_type == "default")):
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
    size = shape[0] * shape[1]
    found = options.number(f"stride_{name}", size)  # told of one matrix, too, where it says nothing
    if batch > 1 and found != size:
        raise options.refused(f"stride_{name}", f"only {size}, without gaps,")
    if options.number(f"ld{name}", shape[0]) != shape[0]:
        raise options.refused(f"ld{name}", f"only {shape[0]}, without gaps,")


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
