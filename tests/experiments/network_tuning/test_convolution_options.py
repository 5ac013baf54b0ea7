"""Options of the compiler that change convolutions, for whole models: real compiles and runs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from frontrunner.experiments.network_tuning.bases import Base
from frontrunner.experiments.network_tuning.finishing import kept_flag
from frontrunner.experiments.network_tuning.planning.folder import NetworkFolder
from frontrunner.experiments.network_tuning.planning.variants import named, variants_of
from frontrunner.search import Target, flags_text, target_flags

HOST = Target("llvm-cpu", "znver3", "host", 2, 32, 16, (1, 2, 3))
CompareWith = Callable[[str, str], tuple[Base, Base]]


@pytest.mark.parametrize(("type_", "stride"), [("f32", 1), ("f32", 2), ("f16", 2), ("bf16", 1)])
def test_channels_last_compute_the_same(type_: str, stride: int, compare_with: CompareWith) -> None:
    """Of depthwise convolutions, too, which the compiler's pass leaves as they are."""
    plain, base = compare_with(depthwise(type_, stride), "channels last")
    side = 16 // stride + 1
    assert loops_of(plain) == f"{side}x{side}x16x3x3"
    assert loops_of(base) == f"Dx{side}x{side}xDx3x3"


def test_other_depthwise_convolutions_stay_as_they_are(compare_with: CompareWith) -> None:
    """The script has no part for windows with holes."""
    holes = depthwise("f32", 1).replace("dilations = dense<1>", "dilations = dense<2>")
    holes = holes.replace("x17x17x", "x15x15x")
    plain, base = compare_with(holes, "channels last")
    assert loops_of(base) == loops_of(plain) == "15x15x16x3x3"


@pytest.mark.parametrize(("type_", "stride"), [("f32", 1), ("f32", 2), ("f16", 2), ("bf16", 1)])
def test_pooling_with_channels_last_computes_the_same(
    type_: str, stride: int, compare_with: CompareWith
) -> None:
    """Behind a convolution, whose channels come last, too."""
    plain, base = compare_with(pooling(type_, stride), "channels last")
    side = 17 // stride
    assert f"_conv_16x{side}x{side}x3x3_" in names_of(plain)
    assert f"_conv_{side}x{side}x16x3x3_" in names_of(base)


@pytest.mark.parametrize(
    ("type_", "side", "window", "stride", "product"),
    [
        ("f32", 7, 3, 1, True),
        ("f32", 4, 3, 2, True),
        ("f16", 8, 2, 2, True),
        ("bf16", 7, 3, 1, True),
        ("f32", 9, 3, 1, False),
        ("f32", 7, 1, 1, False),
    ],
)
def test_convolutions_of_small_images_as_products_compute_the_same(
    type_: str, side: int, window: int, stride: int, product: bool, compare_with: CompareWith
) -> None:
    """Up to 8x8 pixels; windows of one point need no copy."""
    text = convolution(type_, side, window, stride)
    _, base = compare_with(text, "small images as tiled products")
    copied = f"_{side}x{side}x{window}x{window}x16_" in names_of(base)
    assert copied == product
    assert ("mmt4d" in names_of(base)) == product


@pytest.mark.parametrize(
    ("type_", "stride"), [("f32", 1), ("f32", 2), ("f32", 5), ("f16", 2), ("bf16", 1)]
)
def test_convolutions_over_sequences_as_products_compute_the_same(
    type_: str, stride: int, compare_with: CompareWith
) -> None:
    plain, base = compare_with(sequence(type_, stride), "sequences as products")
    assert "_conv_2x32x20x16x3_" in names_of(plain)
    assert "_conv_" not in names_of(base)


@pytest.mark.parametrize(
    ("type_", "window", "product"),
    [("f32", 16, True), ("f16", 20, True), ("bf16", 16, True), ("f32", 15, False)],
)
def test_groups_with_long_windows_as_products_compute_the_same(
    type_: str, window: int, product: bool, compare_with: CompareWith
) -> None:
    """Those with short ones are sums of few products, which have a space."""
    plain, base = compare_with(groups(type_, window), "sequences as products")
    assert "_conv_" in names_of(plain)
    assert ("_conv_" in names_of(base)) != product


def test_the_compiler_takes_the_flags_that_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From any folder, and where the run's has a space in its name."""
    monkeypatch.chdir(tmp_path)
    folder = NetworkFolder(Path("my run"))
    flags = named("channels last", variants_of("auto", HOST)).flags
    kept = [kept_flag(folder, flag) for flag in flags]
    folder.flags.write_text(flags_text([*target_flags("host"), *kept]))
    (folder.path / "model.mlir").write_text(depthwise("f32", 1))
    compiler = Path(sys.executable).with_name("iree-compile")
    command = [compiler, "model.mlir", "@flags.txt", "--compile-to=preprocessing"]
    done = subprocess.run(command, cwd=folder.path, check=True, capture_output=True, text=True)
    assert "depthwise_conv_2d_nhwc_hwc" in done.stdout
    assert str(folder.scripts) in " ".join(kept)


def depthwise(type_: str, stride: int) -> str:
    """16 channels, windows of 3x3."""
    side = 16 // stride + 1
    return convolving(
        "depthwise_conv_2d_nchw_chw", type_, "1x16x19x19", "16x3x3", f"1x16x{side}x{side}", stride
    )


def convolution(type_: str, side: int, window: int, stride: int) -> str:
    """16 channels, 32 filters."""
    wide = (side - 1) * stride + window
    image, filters = f"1x16x{wide}x{wide}", f"32x16x{window}x{window}"
    return convolving("conv_2d_nchw_fchw", type_, image, filters, f"1x32x{side}x{side}", stride)


def sequence(type_: str, stride: int) -> str:
    """16 channels, 32 filters of 3 points, 20 points."""
    image = f"2x16x{19 * stride + 3}"
    return convolving("conv_1d_ncw_fcw", type_, image, "32x16x3", "2x32x20", stride, dims=1)


def groups(type_: str, window: int) -> str:
    """Over a sequence: 2 groups of 8 channels and 4 filters, 20 points."""
    image, filters = f"1x2x8x{19 + window}x1", f"2x4x8x{window}x1"
    return convolving("conv_2d_ngchw_gfchw", type_, image, filters, "1x2x4x20x1", 1)


def convolving(
    op: str, type_: str, image: str, filters: str, sums: str, stride: int, dims: int = 2
) -> str:
    """A convolution as torch exports it: sums are in f32."""
    image, filters = f"tensor<{image}x{type_}>", f"tensor<{filters}x{type_}>"
    sums, pairs = f"tensor<{sums}xf32>", f"vector<{dims}xi64>"
    attributes = f"dilations = dense<1> : {pairs}, strides = dense<{stride}> : {pairs}"
    return f"""
func.func @main(%x: {image}, %w: {filters}) -> {sums} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {sums}
  %z = linalg.fill ins(%zero : f32) outs(%e : {sums}) -> {sums}
  %r = linalg.{op} {{{attributes}}}
    ins(%x, %w : {image}, {filters}) outs(%z : {sums}) -> {sums}
  return %r : {sums}
}}
"""


def pooling(type_: str, stride: int) -> str:
    """As torch exports it: a convolution of 16 filters, and the largest of windows of 3x3."""
    side = 17 // stride
    image, filters = f"tensor<1x8x21x21x{type_}>", f"tensor<16x8x3x3x{type_}>"
    sums, inner = "tensor<1x16x19x19xf32>", f"tensor<1x16x19x19x{type_}>"
    out = f"tensor<1x16x{side}x{side}x{type_}>"
    attributes = "dilations = dense<1> : vector<2xi64>, strides = dense<{}> : vector<2xi64>"
    narrow = (
        ""
        if type_ == "f32"
        else f"""
  %n = tensor.empty() : {inner}
  %s = linalg.generic {{indexing_maps = [#same, #same],
    iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
    ins(%r : {sums}) outs(%n : {inner}) {{
  ^bb0(%a: f32, %b: {type_}):
    %t = arith.truncf %a : f32 to {type_}
    linalg.yield %t : {type_}
  }} -> {inner}"""
    )
    return f"""
#same = affine_map<(n, c, h, w) -> (n, c, h, w)>
func.func @pooling(%x: {image}, %w: {filters}) -> {out} {{
  %zero = arith.constant 0.0 : f32
  %least = arith.constant -65504.0 : {type_}
  %e = tensor.empty() : {sums}
  %z = linalg.fill ins(%zero : f32) outs(%e : {sums}) -> {sums}
  %r = linalg.conv_2d_nchw_fchw {{{attributes.format(1)}}}
    ins(%x, %w : {image}, {filters}) outs(%z : {sums}) -> {sums}{narrow}
  %v = tensor.empty() : tensor<3x3x{type_}>
  %o = tensor.empty() : {out}
  %m = linalg.fill ins(%least : {type_}) outs(%o : {out}) -> {out}
  %p = linalg.pooling_nchw_max {{{attributes.format(stride)}}}
    ins({"%s" if narrow else "%r"}, %v : {inner}, tensor<3x3x{type_}>) outs(%m : {out}) -> {out}
  return %p : {out}
}}
"""


def names_of(base: Base) -> str:
    """The compiler names dispatches for their loops."""
    return " ".join(d.name for d in base.network.dispatches)


def loops_of(base: Base) -> str:
    """The compiler names dispatches for their loops; behind a barrier, some sizes are dynamic."""
    (found,) = re.findall(r"_conv_([\dDx]+)_", names_of(base))
    return found
