"""What a compute unit holds, by what makers and LLVM say of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from frontrunner.features.gpu.units import ComputeUnit, compute_unit

KIB = 1 << 10
SM = 512 * 32 * 32  # bits of a partition's registers


def nvidia(threads, workgroups, shared, reserved=KIB):
    return ComputeUnit(SM, threads, workgroups, shared * KIB, reserved, line_bytes=32)


@pytest.mark.parametrize(
    ("arch", "allowed", "unit"),
    [
        ("sm_70", 96, nvidia(2048, 32, 96, reserved=0)),
        ("sm_75", 64, nvidia(1024, 16, 64, reserved=0)),
        ("sm_80", 163, nvidia(2048, 32, 164)),
        ("sm_86", 99, nvidia(1536, 16, 100)),
        ("sm_87", 163, nvidia(1536, 16, 164)),
        ("sm_89", 99, nvidia(1536, 24, 100)),
        ("sm_90a", 227, nvidia(2048, 32, 228)),
        ("sm_100", 227, nvidia(2048, 32, 228)),
        ("sm_120", 99, nvidia(1536, 24, 100)),
        ("sm_121", 99, nvidia(1536, 24, 100)),
    ],
)
def test_of_nvidia(samples, arch, allowed, unit):
    gpu = replace(samples.SM_80.gpu, shared_bytes=allowed * KIB)
    assert compute_unit(replace(samples.SM_80, arch=arch, name=arch, gpu=gpu)) == unit


@pytest.mark.parametrize("name", ["h100", "h100-pcie", "h200"])
def test_of_hopper_whose_code_is_for_ampere(samples, name):
    assert compute_unit(replace(samples.SM_80, name=name)) == nvidia(2048, 32, 228)


@pytest.mark.parametrize(
    ("arch", "registers", "copies"),
    [
        ("gfx1030", 1024, 1),
        ("gfx1100", 1536, 2),
        ("gfx1101", 1536, 2),
        ("gfx1102", 1024, 2),
        ("gfx1103", 1024, 2),
        ("gfx1151", 1536, 2),
        ("gfx1200", 1536, 1),
        ("gfx1201", 1536, 1),
    ],
)
def test_of_rdna(samples, arch, registers, copies):
    unit = ComputeUnit(registers * 32 * 32, 2048, 64, 128 * KIB, operand_copies=copies)
    assert compute_unit(replace(samples.RDNA3, arch=arch)) == unit


@pytest.mark.parametrize("arch", ["gfx908", "gfx90a", "gfx942", "gfx950"])
def test_of_cdna(samples, arch):
    gpu = replace(samples.GFX942.gpu, shared_bytes=160 * KIB)
    unit = ComputeUnit(512 * 32 * 64, 2048, 32, 160 * KIB)
    assert compute_unit(replace(samples.GFX942, arch=arch, gpu=gpu)) == unit


def test_of_an_unknown_one(samples):
    """Two of the largest workgroups, and what one may use."""
    unit = compute_unit(replace(samples.RDNA3, arch="new"))
    assert unit == ComputeUnit(8192 * 32, 2048, 64, 64 * KIB)
