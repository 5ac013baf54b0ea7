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
from frontrunner.experiments.network_tuning.folder import NetworkFolder
from frontrunner.experiments.network_tuning.variants import named, variants_of
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
    """As torch exports it: 16 channels, windows of 3x3."""
    side = 16 // stride + 1
    image, window = f"tensor<1x16x19x19x{type_}>", f"tensor<16x3x3x{type_}>"
    sums = f"tensor<1x16x{side}x{side}xf32>"
    attributes = f"dilations = dense<1> : vector<2xi64>, strides = dense<{stride}> : vector<2xi64>"
    return f"""
func.func @depthwise(%x: {image}, %w: {window}) -> {sums} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {sums}
  %z = linalg.fill ins(%zero : f32) outs(%e : {sums}) -> {sums}
  %r = linalg.depthwise_conv_2d_nchw_chw {{{attributes}}}
    ins(%x, %w : {image}, {window}) outs(%z : {sums}) -> {sums}
  return %r : {sums}
}}
"""


def loops_of(base: Base) -> str:
    """The compiler names dispatches for their loops; behind a barrier, some sizes are dynamic."""
    (found,) = re.findall(r"_conv_([\dDx]+)_", " ".join(d.name for d in base.network.dispatches))
    return found
