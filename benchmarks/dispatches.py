"""Writes dispatches: plain linalg functions of given sizes and types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Shape = Sequence[int]

_MAPS = {
    "lhs": "affine_map<(m, n, k) -> (k, m)>",
    "rhs": "affine_map<(m, n, k) -> (n, k)>",
}


def matmul(
    m: int,
    n: int,
    k: int,
    types: str = "f32,f32,f32",
    *,
    transposed: str = "",
    steps: Sequence[str] = (),
) -> tuple[str, str]:
    """A matrix product; `transposed` names the operand (`lhs` or `rhs`) that is.

    Args:
        steps: elementwise work on the result, as models have it; see `STEPS`.

    Returns:
        A name that explains itself, and the MLIR.
    """
    lhs, rhs, out = types.split(",")
    a = [k, m] if transposed == "lhs" else [m, k]
    b = [n, k] if transposed == "rhs" else [k, n]
    maps = [
        _MAPS["lhs"] if transposed == "lhs" else "affine_map<(m, n, k) -> (m, k)>",
        _MAPS["rhs"] if transposed == "rhs" else "affine_map<(m, n, k) -> (k, n)>",
        "affine_map<(m, n, k) -> (m, n)>",
    ]
    attributes = f"indexing_maps = [{', '.join(maps)}]" if transposed else ""
    suffix = f"_transposed_{transposed}" if transposed else ""
    name = "_".join([f"matmul_{m}x{n}x{k}_{types.replace(',', '_')}{suffix}", *steps])
    op = f"linalg.matmul {attributes}"
    return name, _product(name, op, a, b, [m, n], (lhs, rhs, out), steps)


def batch_matmul(batch: int, m: int, n: int, k: int) -> tuple[str, str]:
    """Matrix products side by side, in f32."""
    name = f"batch_matmul_{batch}x{m}x{n}x{k}_f32"
    shapes = ([batch, m, k], [batch, k, n], [batch, m, n])
    return name, _product(name, "linalg.batch_matmul", *shapes)


def matvec(m: int, k: int) -> tuple[str, str]:
    """A matrix times a vector, in f32."""
    name = f"matvec_{m}x{k}_f32"
    return name, _product(name, "linalg.matvec", [m, k], [k], [m])


def conv(
    size: int,
    channels: int,
    filters: int,
    window: int,
    *,
    images: int = 1,
    stride: int = 1,
    layout: str = "nhwc",
    types: str = "f32,f32,f32",
    steps: Sequence[str] = (),
) -> tuple[str, str]:
    """A square 2-d convolution, with `size` outputs a side; depthwise if `filters` is 0.

    Args:
        steps: elementwise work on the result, of channels-last layouts; see `STEPS`.
    """
    image = (size - 1) * stride + window
    options = f"{{strides = dense<{stride}> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}}"
    lhs, rhs, out = types.split(",")
    suffix = types.replace(",", "_") if len({lhs, rhs, out}) > 1 else out
    suffix = "_".join([suffix, *steps])
    outputs = f"{f'{images}x' if images > 1 else ''}{size}x{size}x{channels}"
    if not filters:
        name = f"depthwise_{layout}_{outputs}_{window}x{window}_s{stride}_{suffix}"
        op = f"linalg.depthwise_conv_2d_nhwc_hwc {options}"
        shapes = ([images, image, image, channels], [window, window, channels])
        return name, _product(
            name, op, *shapes, [images, size, size, channels], (lhs, rhs, out), steps
        )
    name = f"conv_{layout}_{outputs}x{filters}_{window}x{window}_s{stride}_{suffix}"
    if layout == "nhwc":
        op = f"linalg.conv_2d_nhwc_hwcf {options}"
        shapes = ([images, image, image, channels], [window, window, channels, filters])
        return name, _product(
            name, op, *shapes, [images, size, size, filters], (lhs, rhs, out), steps
        )
    op = f"linalg.conv_2d_nchw_fchw {options}"
    shapes = ([images, channels, image, image], [filters, channels, window, window])
    return name, _product(name, op, *shapes, [images, filters, size, size], (lhs, rhs, out))


def attention(heads: int, queries: int, keys: int, width: int) -> tuple[str, str]:
    """Scaled dot-product attention in f32."""
    name = f"attention_{heads}x{queries}x{keys}x{width}_f32"
    q, kv = (f"tensor<{heads}x{n}x{width}xf32>" for n in (queries, keys))
    loops = "affine_map<(b, m, n, k1, k2) -> "
    maps = ", ".join(f"{loops}({d})>" for d in ("b, m, k1", "b, k2, k1", "b, k2, n", "", "b, m, n"))
    return name, (
        f"func.func @{name}(%q: {q}, %k: {kv}, %v: {kv}) -> {q} {{\n"
        f"  %scale = arith.constant {width**-0.5:.8f} : f32\n"
        f"  %empty = tensor.empty() : {q}\n"
        f"  %result = iree_linalg_ext.attention <{{indexing_maps = [{maps}]}}>\n"
        f"    ins(%q, %k, %v, %scale : {q}, {kv}, {kv}, f32) outs(%empty : {q}) {{\n"
        "  ^bb0(%score: f32):\n    iree_linalg_ext.yield %score : f32\n"
        f"  }} -> {q}\n  return %result : {q}\n}}\n"
    )


# Elementwise work on a value %x of a result, by name: the lines of MLIR that compute it. `%with` is
# the element of a further operand, where there is one.
STEPS = {
    "bias": ("%{n} = arith.addf %x, %with : {t}",),
    "residual": ("%{n} = arith.addf %x, %with : {t}",),
    "relu": ("%zero_{n} = arith.constant 0.0 : {t}", "%{n} = arith.maximumf %x, %zero_{n} : {t}"),
    "relu6": (
        "%zero_{n} = arith.constant 0.0 : {t}",
        "%six_{n} = arith.constant 6.0 : {t}",
        "%above_{n} = arith.maximumf %x, %zero_{n} : {t}",
        "%{n} = arith.minimumf %above_{n}, %six_{n} : {t}",
    ),
    "gelu": (
        "%half_{n} = arith.constant 0.5 : {t}",
        "%one_{n} = arith.constant 1.0 : {t}",
        "%root_{n} = arith.constant 0.70710678 : {t}",
        "%scaled_{n} = arith.mulf %x, %root_{n} : {t}",
        "%erf_{n} = math.erf %scaled_{n} : {t}",
        "%sum_{n} = arith.addf %erf_{n}, %one_{n} : {t}",
        "%part_{n} = arith.mulf %x, %half_{n} : {t}",
        "%{n} = arith.mulf %part_{n}, %sum_{n} : {t}",
    ),
}


def _product(
    name: str,
    op: str,
    lhs: Shape,
    rhs: Shape,
    out: Shape,
    types: tuple[str, str, str] = ("f32", "f32", "f32"),
    steps: Sequence[str] = (),
) -> str:
    a, b, c = (
        f"tensor<{'x'.join(map(str, shape))}x{dtype}>"
        for shape, dtype in zip((lhs, rhs, out), types, strict=True)
    )
    zero = "0" if types[2].startswith("i") else "0.0"
    # A bias is added along the channels, which are last.
    operands = {"bias": f"tensor<{out[-1]}x{types[2]}>", "residual": c}
    more = "".join(f", %{s}: {operands[s]}" for s in steps if s in operands)
    return (
        f"func.func @{name}(%lhs: {a}, %rhs: {b}{more}) -> {c} {{\n"
        f"  %zero = arith.constant {zero} : {types[2]}\n"
        f"  %empty = tensor.empty() : {c}\n"
        f"  %init = linalg.fill ins(%zero : {types[2]}) outs(%empty : {c}) -> {c}\n"
        f"  %result = {op} ins(%lhs, %rhs : {a}, {b}) outs(%init : {c}) -> {c}\n"
        f"{_elementwise(steps, operands, c, len(out), types[2])}"
        f"  return %{'fused' if steps else 'result'} : {c}\n}}\n"
    )


def _elementwise(
    steps: Sequence[str], operands: Mapping[str, str], result: str, rank: int, dtype: str
) -> str:
    """One generic op that takes the result through all steps."""
    if not steps:
        return ""
    dims = [f"d{i}" for i in range(rank)]
    whole, last = (
        f"affine_map<({', '.join(dims)}) -> ({', '.join(d)})>" for d in (dims, dims[-1:])
    )
    used = [s for s in steps if s in operands]
    maps = [whole, *(last if s == "bias" else whole for s in used), whole]
    values = ", ".join(["%result", *(f"%{s}" for s in used)])
    kinds = ", ".join([result, *(operands[s] for s in used)])
    scalars = [f"%{n}: {dtype}" for n in ("in", *(f"of_{s}" for s in used), "old")]
    lines, value = [], "%in"
    for step in steps:
        for line in STEPS[step]:
            code = line.format(n=f"after_{step}", t=dtype)
            lines.append(code.replace("%x", value).replace("%with", f"%of_{step}"))
        value = f"%after_{step}"
    body = "".join(f"    {line}\n" for line in lines)
    parallel = ", ".join(['"parallel"'] * rank)
    return (
        f"  %fused = linalg.generic {{indexing_maps = [{', '.join(maps)}],\n"
        f"      iterator_types = [{parallel}]}}\n"
        f"    ins({values} : {kinds}) outs(%empty : {result}) {{\n"
        f"  ^bb0({', '.join(scalars)}):\n{body}    linalg.yield {value} : {dtype}\n"
        f"  }} -> {result}\n"
    )
