"""Shapes of public models, for `frontrunner generate KIND --preset NAME`.

Sizes follow from the models' published dimensions: BERT-base (12 heads of 64, hidden 768) on 128
tokens; Llama 2 7B (32 heads of 128, hidden 4096, inner 11008) for a prompt of 128 tokens and for
one more; the UNet of SDXL (channels 320, 640, 1280) for an image of 1024 x 1024; ResNet-50 on one
image of 224 x 224.
"""

from __future__ import annotations

from collections.abc import Iterator

from .attention import Attention
from .conv import Conv
from .matmul import Matmul
from .operation import Operation


def _bert() -> Iterator[Operation]:
    rows, hidden, inner = 128, 768, 3072
    yield Matmul(rows, hidden, hidden)
    yield Matmul(rows, inner, hidden)
    yield Matmul(rows, hidden, inner)
    yield Matmul(rows, 64, rows, batch=12)
    yield Matmul(rows, rows, 64, batch=12, transposed=("rhs",))
    yield Matmul(rows, hidden, hidden, steps=("bias",))
    yield Matmul(rows, inner, hidden, steps=("bias", "gelu"))
    yield Matmul(rows, hidden, inner, steps=("bias", "residual"))
    yield Attention(12, rows, rows, 64)


def _llama() -> Iterator[Operation]:
    hidden, inner, vocabulary = 4096, 11008, 32000
    for rows in (128, 1):
        yield Matmul(rows, hidden, hidden, transposed=("rhs",))
        yield Matmul(rows, inner, hidden, transposed=("rhs",))
        yield Matmul(rows, hidden, inner, transposed=("rhs",))
        yield Matmul(rows, vocabulary, hidden, transposed=("rhs",))
    yield Matmul(1, hidden, inner, slices=4)
    yield Matmul(128, hidden, inner, steps=("residual",))
    yield Attention(32, 128, 128, 128)
    yield Attention(32, 1, 1024, 128)


def _sdxl() -> Iterator[Operation]:
    # Size of the images, channels, filters, window.
    convs = """
        128  320  320 3    64  320  640 3    64  640  640 3    32  640 1280 3
         32 1280 1280 3    32 2560 1280 3    64 1920  640 3   128  960  320 3
         64  320  640 1    32  640 1280 1   128  640  320 1"""
    for size, channels, filters, window in _rows(convs, 4):
        yield Conv.square(size, channels, filters, window)
    yield Conv.square(64, 320, 320, 3, stride=2)
    yield Conv.square(64, 640, 640, 3, steps=("bias", "residual"))
    products = """
        4096  640 640   4096  5120  640   4096  640 2560
        1024 1280 1280  1024 10240 1280   1024 1280 5120   77 1280 2048"""
    for m, n, k in _rows(products, 3):
        yield Matmul(m, n, k)
    yield Matmul(1024, 1280, 1280, steps=("bias", "residual"))
    for heads, queries in ((10, 4096), (20, 1024)):
        yield Attention(heads, queries, queries, 64)
        yield Attention(heads, queries, 77, 64)


def _resnet50() -> Iterator[Operation]:
    yield Conv.square(112, 3, 64, 7, stride=2)
    # Of each stage: the size of its images, its inner channels, and those that come in.
    for size, inner, before in ((56, 64, 64), (28, 128, 256), (14, 256, 512), (7, 512, 1024)):
        stride, wide = 1 if size == 56 else 2, 4 * inner
        yield Conv.square(size * stride, before, inner, 1)
        yield Conv.square(size, inner, inner, 3, stride=stride)
        yield Conv.square(size, inner, wide, 1)
        yield Conv.square(size, before, wide, 1, stride=stride)
        yield Conv.square(size, wide, inner, 1)
        yield Conv.square(size, inner, inner, 3, steps=("bias", "relu"))
        yield Conv.square(size, inner, wide, 1, steps=("bias", "residual", "relu"))
    yield Matmul(1, 1000, 2048, steps=("bias",))


def _rows(table: str, width: int) -> Iterator[tuple[int, ...]]:
    numbers = [int(word) for word in table.split()]
    return (tuple(numbers[at : at + width]) for at in range(0, len(numbers), width))


# Each operation once, in f32: other types are asked of `Operation.with_types`.
PRESETS = {
    "bert": tuple(_bert()),
    "llama": tuple(_llama()),
    "sdxl": tuple(_sdxl()),
    "resnet50": tuple(dict.fromkeys(_resnet50())),
}
