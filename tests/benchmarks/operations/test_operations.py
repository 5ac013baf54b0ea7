"""What operations are called and compute; that IREE computes the same is in `test_profile.py`."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from frontrunner.benchmarks.operations import (
    Attention,
    Conv,
    Matmul,
    Matvec,
    Operation,
    Types,
    from_dict,
    parse_types,
)
from frontrunner.benchmarks.operations.presets import PRESETS
from frontrunner.benchmarks.operations.types import narrow
from frontrunner.benchmarks.verifying.inputs import make_inputs
from frontrunner.core import InputError

F16 = Types("f16", "f32")


def inputs_of(operation: Operation) -> list[np.ndarray]:
    return make_inputs([(t.shape, t.dtype) for t in operation.inputs.values()], 1)


@pytest.mark.parametrize(
    ("operation", "name"),
    [
        (Matmul(512, 768, 1024, Types("f16", "f16")), "matmul_512x768x1024_f16_f16_f16"),
        (Matmul(2, 3, 4, transposed=("lhs",)), "matmul_2x3x4_f32_f32_f32_transposed_lhs"),
        (Matmul(2, 3, 4, F16, batch=5), "batch_matmul_5x2x3x4_f16_f16_f32"),
        (Matmul(2, 3, 4, slices=2, steps=("bias",)), "splitk2_2x3x4_f32_f32_f32_bias"),
        (Matvec(2, 3), "matvec_2x3_f32"),
        (Conv.square(7, 3, 5, 3), "conv_nhwc_7x7x3x5_3x3_s1_f32"),
        (Conv.square(7, 6, 0, 3, stride=2), "depthwise_nhwc_7x7x6_3x3_s2_f32"),
        (
            Conv(4, 6, 8, 4, (3, 5), 2, (1, 2), (2, 2), 2, "nchw", F16, ("bias", "relu")),
            "conv_nchw_2x4x6x8x4_3x5_s1x2_d2_g2_f16_f16_f32_bias_relu",
        ),
        (Attention(2, 3, 4, 8, "bf16"), "attention_2x3x4x8_bf16"),
    ],
)
def test_names_tell_what_an_operation_is(operation, name):
    assert operation.name == name
    assert f"func.func @{name}(" in operation.mlir()


def test_names_tell_operations_apart_and_operations_survive_json():
    every = [o for operations in PRESETS.values() for o in operations]
    assert len({o.name for o in every}) == len({*every}) > 60
    for operation in [*every, Conv(4, 6, 8, 4, (3, 5), 2, (1, 2), (2, 2), 2, "nchw", F16)]:
        assert from_dict(json.loads(json.dumps(operation.to_dict()))) == operation


def naive_conv(operation: Conv) -> np.ndarray:
    """One value at a time, with dims n, f, h, w."""
    lhs, rhs = inputs_of(operation)[:2]
    image, taps = operation.nchw(lhs).astype(float), operation.fchw(rhs).astype(float)
    shape = (operation.images, operation.filters, operation.height, operation.width)
    found = np.zeros(shape)
    per = operation.filters // operation.groups
    depth = operation.channels // operation.groups
    for n, f, y, x in np.ndindex(*shape):
        first = f // per * depth
        rows = y * operation.stride[0] + operation.dilation[0] * np.arange(operation.window[0])
        columns = x * operation.stride[1] + operation.dilation[1] * np.arange(operation.window[1])
        seen = image[n, first : first + depth][:, rows][:, :, columns]
        found[n, f, y, x] = (seen * taps[f]).sum()
    return found


@pytest.mark.parametrize("layout", ["nhwc", "nchw", "nhwc_fhwc"])
@pytest.mark.parametrize(
    "fields",
    [
        {"channels": 3, "filters": 4},
        {"channels": 4, "filters": 6, "groups": 2},
        {"channels": 4, "filters": 4, "groups": 4},
        {"channels": 3, "filters": 2, "stride": (2, 1), "dilation": (1, 2), "window": (2, 3)},
    ],
)
def test_the_reference_of_convolutions(layout, fields):
    operation = Conv(height=3, width=4, images=2, layout=layout, **fields)
    got = operation.nchw(operation.reference(inputs_of(operation)))
    assert got == pytest.approx(naive_conv(operation), rel=1e-5, abs=1e-6)


def test_the_reference_of_attention():
    operation = Attention(2, 3, 5, 4)
    q, k, v = (x.astype(float) for x in inputs_of(operation))
    for head, row in np.ndindex(2, 3):
        weights = np.exp([q[head, row] @ key / 2 for key in k[head]])
        expected = weights @ v[head] / weights.sum()
        assert operation.reference([q, k, v])[head, row] == pytest.approx(expected, rel=1e-5)


def test_integers_are_exact_and_wrap_around():
    operation = Matmul(1, 1, 200_000, Types("i8", "i32"))
    ones = np.full((1, 200_000), 127, np.int8)
    expected = np.int64(127 * 127 * 200_000).astype(np.int32)
    assert operation.reference([ones, ones.T]) == expected < 0
    large = np.full((1, 3), 2**30, np.int32)
    assert Matmul(1, 1, 3, Types("i32", "i32")).reference([large, large.T]) == 0


def test_steps_are_computed_in_order():
    operation = Matmul(2, 3, 4, steps=("bias", "residual", "relu"))
    lhs, rhs, bias, residual = inputs_of(operation)
    expected = np.maximum(lhs @ rhs + bias + residual, 0)
    assert operation.reference([lhs, rhs, bias, residual]) == pytest.approx(expected, rel=1e-5)
    text = operation.mlir()
    assert text.index("%after_bias =") < text.index("%after_residual =") < text.index("maximumf")


def test_quantized_results_use_their_8_bits():
    operation = Matmul(64, 64, 512, Types("i8", "i32"), steps=("quantize",))
    found = operation.reference(inputs_of(operation))
    assert found.dtype == np.int8
    assert 8 < found.std() < 64
    assert np.abs(found.astype(int)).max() > 64


def test_bf16_is_rounded_to_the_nearest():
    values = np.array([1.0, 1.01171875, -2.71828, 3.0e38], np.float64)
    # As hardware does it: 1.01171875 lies in the middle, and goes to the even one.
    bits = [0x3F80, 0x3F82, 0xC02E, 0x7F62]
    assert narrow(values, "bf16").tolist() == bits


def test_tolerances_follow_the_sums_and_the_result():
    wide = Matmul(8, 8, 1024, F16)
    assert wide.tolerance.worst < 1e-4
    assert 1e-3 < replace(wide, steps=("truncate",)).tolerance.worst < 3e-3
    assert replace(wide, types=Types("f16", "f16")).tolerance.worst > 0.04
    assert Attention(1, 8, 64, 64, "f16").tolerance.worst < 1e-2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Matmul(0, 1, 1), "m must be at least 1 and at most 2,147,483,647, got 0"),
        (lambda: Matmul(1, 1, 10, slices=3), "k = 10 cannot be split into 3 equal slices"),
        (lambda: Matmul(1, 1, 1, steps=("gelo",)), "no step 'gelo' can be fused"),
        (lambda: Matmul(1, 1, 1, steps=("bias", "bias")), "bias is fused twice"),
        (lambda: Matmul(1, 1, 1, steps=("quantize",)), "quantize cannot be fused to sums in f32"),
        (lambda: Matmul(1, 1, 1, F16, steps=("truncate", "relu")), "truncate comes last"),
        (lambda: Matmul(1, 1, 1, steps=("truncate",)), "truncate needs sums that are wider"),
        (
            lambda: Matmul(1, 1, 1, Types("i8", "i32"), steps=("gelu",)),
            "gelu cannot be fused to sums in i32",
        ),
        (lambda: Conv.square(4, 3, 4, 3, layout="hwc"), "no layout 'hwc'"),
        (lambda: Conv(4, 4, 4, 4, groups=3), "4 channels and 4 filters cannot be split into 3"),
        (lambda: Conv(4, 4, 4, 4, stride=(0, 1)), "stride_h must be at least 1"),
        (lambda: Attention(1, 1, 1, 1, "i8"), "attention in i8 is not supported"),
        (lambda: Types("f32", "f16"), "element types 'f32,f32,f16' are not supported"),
        (lambda: parse_types("f16,f32,f32"), "element types 'f16,f32,f32' are not supported"),
        (lambda: parse_types("f8"), "element types 'f8' are not supported"),
    ],
)
def test_what_cannot_be(make, message):
    with pytest.raises(InputError, match=re.escape(message)):
        make()


def test_types_as_users_write_them():
    assert parse_types("f16") == parse_types(" f16, f16,f32 ") == F16
    assert parse_types("i8") == Types("i8", "i32")


def test_smaller_ones_are_of_the_same_kind():
    for operations in PRESETS.values():
        for operation in operations:
            small = operation.scaled_down(16)
            assert (small.kind, small.fused) == (operation.kind, operation.fused)
            assert max(small.output.shape) < max(operation.output.shape)
            assert operation.scaled_down(3).name  # also where it divides nothing
    grouped = Conv(32, 32, 64, 64, groups=4).scaled_down(8)
    assert (grouped.groups, grouped.channels, grouped.height) == (4, 8, 4)
    assert Conv.square(32, 64, 0, 3).scaled_down(8).depthwise
