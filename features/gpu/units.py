"""What a GPU's compute units hold at once: it bounds how many workgroups share one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...search import Gpu, Target

_KIB = 1 << 10
# RDNA counts WGPs, of four SIMDs, which have two CUs each (`wgp_count` of IREE's targets).
_RDNA = re.compile(r"gfx1(0|1|20)")
_RDNA3 = re.compile(r"gfx11")
# RDNA with 1.5 times the usual registers: `Feature1_5xVGPRs` in LLVM's AMDGPU.td.
_MORE_REGISTERS = re.compile(r"gfx1(10[01]|151|20[01])")
# IREE compiles for sm_80 for these; what counts are the units that they have.
_CODE_OF_OTHERS = {"h100": 90, "h100-pcie": 90, "h200": 90}
# From that compute capability on: threads and workgroups of an SM (CUDA C++ Programming Guide,
# technical specifications per compute capability).
_RESIDENT = (
    (0, 2048, 32), (75, 1024, 16), (80, 2048, 32), (86, 1536, 16), (89, 1536, 24),
    (90, 2048, 32), (120, 1536, 24),
)  # fmt: skip


@dataclass(frozen=True)
class ComputeUnit:
    """A compute unit: NVIDIA's SM, CDNA's CU, RDNA's WGP.

    Attributes:
        register_bits: of the register file of one SIMD, for all lanes of all its subgroups.
        threads: that are resident at once.
        workgroups: that are resident at once, however small.
        shared_bytes: shared memory of all its workgroups; one of them may be allowed less.
        reserved_bytes: of it, what each workgroup takes for the system.
        line_bytes: what it fetches at once.
        operand_copies: how often a subgroup holds a matrix instruction's operands.
    """

    register_bits: int
    threads: int
    workgroups: int
    shared_bytes: int
    reserved_bytes: int = 0
    line_bytes: int = 128
    operand_copies: int = 1


def compute_unit(target: Target) -> ComputeUnit:
    """A compute unit of a target; of an unknown one, room for two of the largest workgroups."""
    gpu, arch = target.gpu, target.arch
    assert gpu is not None
    number = re.match(r"sm_(\d+)", arch)
    if number is not None:
        return _nvidia(gpu, _CODE_OF_OTHERS.get(target.name, int(number[1])))
    if _RDNA.match(arch):
        return _rdna(arch)
    if arch.startswith("gfx9"):
        return _cdna(gpu)
    threads = 2 * gpu.max_threads
    most = threads // gpu.subgroup_size
    return ComputeUnit(gpu.register_bits * gpu.subgroup_size, threads, most, gpu.shared_bytes)


def _nvidia(gpu: Gpu, capability: int) -> ComputeUnit:
    """The Programming Guide, as above, and "Shared Memory" of its sections on capabilities."""
    _, threads, workgroups = max(row for row in _RESIDENT if row[0] <= capability)
    # Since Ampere, one workgroup may have all but what each is charged for the system.
    reserved = _KIB if capability >= 80 else 0
    shared = 228 * _KIB if capability in (90, 100) else gpu.shared_bytes + reserved
    return ComputeUnit(
        # 65,536 registers in four partitions.
        register_bits=65_536 // 4 * 32,
        threads=threads,
        workgroups=workgroups,
        shared_bytes=shared,
        reserved_bytes=reserved,
        # A line has four sectors, which are fetched one by one (Nsight Compute, memory tables).
        line_bytes=32,
    )


def _rdna(arch: str) -> ComputeUnit:
    """LLVM's AMDGPUBaseInfo.cpp: `getTotalNumVGPRs` and, in WGP mode, `getMaxWorkGroupsPerCU`.

    Of its 32 barriers, workgroups of one wave need none, and others run out of threads as soon.
    """
    registers = 1536 if _MORE_REGISTERS.match(arch) else 1024
    return ComputeUnit(
        register_bits=registers * 32 * 32,
        threads=2048,
        workgroups=64,
        # A workgroup may have the half (RDNA white paper, "Local Data Share").
        shared_bytes=128 * _KIB,
        # Both halves of a wave have all of A and of B (RDNA3 ISA, 7.9 "Wave Matrix Multiply
        # Accumulate"); not so on RDNA4.
        operand_copies=2 if _RDNA3.match(arch) else 1,
    )


def _cdna(gpu: Gpu) -> ComputeUnit:
    """As above, with 16 barriers; of the 512 registers, half are AccVGPRs."""
    return ComputeUnit(
        register_bits=512 * 32 * 64,
        threads=2048,
        workgroups=32,
        shared_bytes=gpu.shared_bytes,
    )
