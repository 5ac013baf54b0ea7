"""How many bits of a thread's registers matrix instructions take for a sum."""

from __future__ import annotations

from ..problem import Problem, Target

# Those that keep two sums in a register of 32 bits: NVIDIA's in f16 (PTX ISA, fragments of
# mma.m16n8k16) and RDNA4's in f16 and bf16. RDNA3's have one in a register, and leave the other
# half as it was (the ISA documents on V_WMMA_F16_16X16X16_F16).
_PACKED = ("NV_MMA_SYNC_F16_", "WMMAR4_F16_", "WMMAR4_BF16_")


def sum_bits(problem: Problem, target: Target) -> int:
    """Of a sum in the output's type, where a matrix instruction has it."""
    assert target.gpu is not None
    types = tuple(o.dtype for o in problem.operands)
    for instruction in target.gpu.intrinsics:
        if instruction.types == types and instruction.name.startswith(_PACKED):
            return 8 * problem.output.bytes_per_element
    return 8 * problem.sum_bytes
