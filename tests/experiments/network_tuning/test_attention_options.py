"""Options of the compiler that change attention, for whole models: real compiles and runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from frontrunner.benchmarks.networks import NetworkRunner
from frontrunner.experiments.network_tuning.bases import Base, BaseMaker
from frontrunner.experiments.network_tuning.device import make_setup
from frontrunner.experiments.network_tuning.finishing import kept_flag
from frontrunner.experiments.network_tuning.planning.folder import NetworkFolder
from frontrunner.experiments.network_tuning.planning.options import NetworkOptions
from frontrunner.experiments.network_tuning.planning.variants import named, variants_of
from frontrunner.search import Preprocessing, Target
from frontrunner.search.reading import read_network

DATA = Path(__file__).parents[2] / "data"
CompareWith = Callable[[str, str], tuple[Base, Base]]
HOST = Target("llvm-cpu", "znver3", "host", 2, 32, 16, (1, 2, 3))


@pytest.mark.parametrize("file", ["attention_grouped", "attention_decode"])
def test_products_compute_what_attention_does(file: str, warm: None, tmp_path: Path) -> None:
    """Of grouped queries under a mask, and of one query; alone, and with other passes."""
    model = DATA / f"{file}.mlir"
    options = NetworkOptions(model, jobs=2)
    network = read_network(model)
    auto = variants_of("auto", network.target)
    split, fused, last = (
        named(name, auto)
        for name in ("attention as products", "attention as fused products", "channels last")
    )
    both = last.with_flags_of(split)
    assert both is not None
    maker = BaseMaker(model, options, tmp_path, print)
    plain = maker.plain(network)
    assert "attention" in named_for(plain)
    with NetworkRunner(make_setup(network, options, "local-task", tmp_path)) as runner:
        for variant, base in maker.make([split, fused, both], plain).items():
            assert isinstance(base, Base), f"{variant.name}: {base}"
            assert len(base.network.dispatches) > len(plain.network.dispatches)
            assert "attention" not in named_for(base)
            assert "_like_" in named_for(base)
            runner.compare_outputs(base.compiled.executable, plain.compiled.executable)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("type_", "mask", "scale"),
    [
        ("f32", "", "f32"),
        ("f32", "i1", "f32"),
        ("f32", "of the same type", "f32"),
        ("f16", "i1", "f32"),
        ("f16", "of the same type", "f16"),
        ("bf16", "of the same type", "f32"),
        ("bf16", "", "bf16"),
    ],
)
def test_transposed_keys_compute_the_same(
    type_: str, mask: str, scale: str, compare_with: CompareWith
) -> None:
    model = attention(type_, type_ if mask == "of the same type" else mask, scale)
    plain, base = compare_with(model, "transposed keys")
    assert "tensor<4x48x32x" in keys_of(plain)
    assert "tensor<4x32x48x" in keys_of(base)


@pytest.mark.slow
def test_other_attention_keeps_its_keys(compare_with: CompareWith) -> None:
    """Scores that are capped, and keys that come transposed: the script has no part for them."""
    usual = attention("f32", "")
    capped = usual.replace(
        "iree_linalg_ext.yield %s", "%c = math.tanh %s : f32\n iree_linalg_ext.yield %c"
    )
    transposed = usual.replace("(b, k2, k1)", "(b, k1, k2)").replace(
        "%k: tensor<4x48x32xf32>", "%k: tensor<4x32x48xf32>"
    )
    transposed = transposed.replace(
        "ins(%q, %k, %v, %scale : tensor<4x16x32xf32>, tensor<4x48x32xf32>",
        "ins(%q, %k, %v, %scale : tensor<4x16x32xf32>, tensor<4x32x48xf32>",
    )
    for text in (capped, transposed):
        assert text != usual
        plain, base = compare_with(text, "transposed keys")
        assert keys_of(base) == keys_of(plain)


def test_scripts_are_kept_beside_the_flags(tmp_path: Path) -> None:
    """So that flags go on to mean the same when frontrunner is another version, or gone."""
    auto = variants_of("auto", HOST)
    both = named("transposed keys", auto).with_flags_of(named("channels last", auto))
    assert both is not None
    flag, other = both.flags
    kept, original = (
        Preprocessing.of(one) for one in (kept_flag(NetworkFolder(tmp_path), flag), flag)
    )
    assert kept is not None
    assert original is not None
    names = ["1_transposed_keys.mlir", "2_channels_last.mlir"]
    assert kept.scripts == tuple(tmp_path / "scripts" / name for name in names)
    assert [s.read_bytes() for s in kept.scripts] == [s.read_bytes() for s in original.scripts]
    assert kept.passes == original.passes == ("iree-preprocessing-convert-conv-to-channels-last",)
    assert kept_flag(NetworkFolder(tmp_path), other) == other
    unnameable = NetworkFolder(tmp_path / "{braces}")
    assert kept_flag(unnameable, flag) == flag


def attention(type_: str, mask: str, scale: str = "f32") -> str:
    """As torch exports it: 4 heads, 16 queries, 48 keys, a head dim of 32."""
    masks = ["affine_map<(b, m, n, k1, k2) -> (b, m, k2)>"] if mask else []
    maps = ", ".join([
        "affine_map<(b, m, n, k1, k2) -> (b, m, k1)>",
        "affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>",
        "affine_map<(b, m, n, k1, k2) -> (b, k2, n)>",
        "affine_map<(b, m, n, k1, k2) -> ()>",
        *masks,
        "affine_map<(b, m, n, k1, k2) -> (b, m, n)>",
    ])  # fmt: skip
    out, keys = f"tensor<4x16x32x{type_}>", f"tensor<4x48x32x{type_}>"
    argument, use = (f", %mask: tensor<4x16x48x{mask}>", ", %mask") if mask else ("", "")
    used = f", tensor<4x16x48x{mask}>" if mask else ""
    return f"""
func.func @attention(%q: {out}, %k: {keys}, %v: {keys}{argument}) -> {out} {{
  %scale = arith.constant 0.125 : {scale}
  %e = tensor.empty() : {out}
  %r = iree_linalg_ext.attention <{{indexing_maps = [{maps}]}}>
    ins(%q, %k, %v, %scale{use} : {out}, {keys}, {keys}, {scale}{used}) outs(%e : {out}) {{
    ^bb0(%s: f32):
      iree_linalg_ext.yield %s : f32
  }} -> {out}
  return %r : {out}
}}
"""


def keys_of(base: Base) -> str:
    """The types of what attention reads."""
    found = [
        line
        for one in base.network.dispatches
        for line in one.text.splitlines()
        if "iree_linalg_ext.attention" in line
    ]
    (line,) = found
    return line.partition("ins(")[2].partition("outs(")[0]


def named_for(base: Base) -> str:
    """The compiler names dispatches for what they compute."""
    return " ".join(one.name.partition("_dispatch_")[2] for one in base.network.dispatches)
