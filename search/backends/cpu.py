"""LLVM's code for CPUs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..backend import Backend, CompilerOptions, Extras, Spaces
from ..preprocessing import Preprocessing

if TYPE_CHECKING:
    from ..dispatch import Dispatch
    from ..problem import Target


# The names that LLVM has for 64-bit Arm, wherever one compiles: its default is this machine's kind.
_AARCH64 = re.compile(
    r"aarch64|(apple|cortex-[ax]|neoverse|ampere|thunderx|oryon)[\w-]*|a64fx|grace"
)


def _flags(name: str) -> tuple[str, ...]:
    if not _AARCH64.fullmatch(name):
        return (f"--iree-llvmcpu-target-cpu={name}",)
    cpu = "generic" if name == "aarch64" else name
    return ("--iree-llvmcpu-target-triple=aarch64-linux-gnu", f"--iree-llvmcpu-target-cpu={cpu}")


def _describe(attribute: Any, name: str) -> Target:
    from ..cpu import cpu_target

    return cpu_target(attribute, name)


def _spaces(dispatch: Dispatch, extras: Extras) -> Spaces:
    from ..cpu import cpu_spaces

    return cpu_spaces(dispatch)


_EARLY_DATA_TILING = "--iree-global-opt-data-tiling"
_AGGRESSIVE_FUSION = "--iree-dispatch-creation-enable-aggressive-fusion"
# Two batched products with a softmax between them, each a dispatch: of Whisper-tiny's encoder over
# 500 tokens, the best tiles of the attention op take 25 ms (Zen 4), and of the products 15.
_ATTENTION_AS_PRODUCTS = Preprocessing(
    passes=(
        "iree-linalg-ext-convert-attention-to-online-attention",
        "iree-linalg-ext-decompose-attention",
    )
).flag
# Attention whose keys have the head dim first, and whose values are not transposed: of 8 heads,
# 1,024 tokens and a head dim of 40 the best of 48 tiles takes 13 ms, and 30 otherwise (AVX-512).
_TRANSPOSED_KEYS = (
    Preprocessing((Path(__file__).with_name("transposed_keys.mlir"),)).flag,
    "--iree-global-opt-enable-attention-v-transpose=false",
)
# The compiler's pass leaves depthwise convolutions and pooling as they are. Of 96 channels, windows
# of 3x3 with stride 2 take 0.30 ms with the best of 32 candidates, and 0.11 by default so; a ResNet
# takes 34.9 ms untuned with its pooling as it is, and 33.7 so (AVX-512).
_CHANNELS_LAST = Preprocessing(
    (Path(__file__).with_name("channels_last.mlir"),),
    ("iree-preprocessing-convert-conv-to-channels-last",),
)
# The best of 100 candidates of a convolution of 7x7 pixels, 3x3 and 512 channels takes 1.4 ms, of
# the same as a product 0.9; with 14x14 pixels and 256 channels both take 0.8. In a ResNet, where
# filters come from memory, 2.0 and 1.4 ms, and 1.2 where they are laid out for products (AVX-512).
_SMALL_IMAGES = Preprocessing((Path(__file__).with_name("small_images_as_products.mlir"),))
# A wav2vec 2.0 of 1,076 ms takes 158 ms so, untuned; 176 where activations are computed anew for
# each window (AVX-512).
_SEQUENCES = Preprocessing((Path(__file__).with_name("sequences_as_products.mlir"),)).flag
_CONV, _ATTENTION = "conv", "attention"
# What makes some of the models of `make models` faster: of some 20 options that were tried. Those
# that were best most often come first, since there may be no time for all.
_VARIANTS = {
    "channels last": CompilerOptions((_CHANNELS_LAST.flag,), _CONV),
    "small images as tiled products": CompilerOptions(
        (_CHANNELS_LAST.joined(_SMALL_IMAGES).flag, _EARLY_DATA_TILING), _CONV, tunable=False
    ),
    "im2col": CompilerOptions(("--iree-global-opt-use-im2col-for-convs",), _CONV),
    "sequences as products": CompilerOptions((_SEQUENCES,), _CONV),
    "data tiling": CompilerOptions(("--iree-opt-data-tiling",), tunable=False),
    "attention as products": CompilerOptions((_ATTENTION_AS_PRODUCTS,), _ATTENTION),
    "transposed keys": CompilerOptions(_TRANSPOSED_KEYS, _ATTENTION),
    "O3": CompilerOptions(("--iree-opt-level=O3",)),
    "attention as fused products": CompilerOptions(
        (_ATTENTION_AS_PRODUCTS, _AGGRESSIVE_FUSION), _ATTENTION
    ),
    "microkernels": CompilerOptions(
        ("--iree-opt-data-tiling", "--iree-llvmcpu-enable-ukernels=all"), tunable=False
    ),
    "early data tiling": CompilerOptions((_EARLY_DATA_TILING,), tunable=False),
    "aggressive fusion": CompilerOptions((_AGGRESSIVE_FUSION,)),
    "propagated transposes": CompilerOptions(
        (
            "--iree-opt-aggressively-propagate-transposes",
            "--iree-global-opt-propagate-transposes-through-conv",
        )
    ),
    "1x1 convolutions as products": CompilerOptions(
        (Preprocessing(passes=("iree-preprocessing-convert-1x1-filter-conv2d-to-matmul",)).flag,),
        _CONV,
    ),
    "inner tiles": CompilerOptions(
        ("--iree-opt-data-tiling", "--iree-llvmcpu-enable-inner-tiled"), tunable=False
    ),
}

BACKENDS = (
    Backend(
        name="llvm-cpu",
        names="",
        examples="'host' or a CPU that LLVM knows, such as znver4 or neoverse-n1",
        unknown=("is not a recognized processor",),
        flags=(
            "--iree-hal-target-device=local",
            "--iree-hal-local-target-device-backends=llvm-cpu",
        ),
        target_flags=_flags,
        form=r"embedded-elf-\w+",
        describe=_describe,
        spaces=_spaces,
        features="cpu",
        drivers=("local-task", "local-sync"),
        option_variants=_VARIANTS,
    ),
)
