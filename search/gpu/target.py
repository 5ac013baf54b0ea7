"""GPU targets: what the compiler's target attribute says about one."""

from __future__ import annotations

import re
from typing import Any

from ..problem import Gpu, Intrinsic, Target

# What target attributes lack. Compute units of the largest chip of an architecture, where only the
# architecture is named (its SKUs carry their own count): IREE's KnownTargets.cpp for AMD; for
# NVIDIA the architecture white papers (TU102, A100, GA102 as RTX 3090, AD102 as RTX 4090, GB202 as
# 5090).
_LARGEST = {
    "gfx908": 120, "gfx90a": 110, "gfx942": 304, "gfx950": 256,
    "gfx1100": 48, "gfx1101": 30, "gfx1102": 16, "gfx1200": 16, "gfx1201": 32,
    "sm_75": 72, "sm_80": 108, "sm_86": 82, "sm_89": 128, "sm_120": 170,
}  # fmt: skip
_USUAL_UNITS = 64
# Chips that IREE 3.13 does not know, or counts as one where they are two devices: compute units and
# L2 bytes (NVIDIA's white papers on Hopper, for SXM cards and PCIe's, and on Ada; data sheets of
# A10, A10G and A16, of which one of four chips; AMD's white paper on CDNA2, one of two dies). Those
# that it does not know run code of a chip that it does, and what counts is what they have.
# With the 108 units of an A100, the heuristic's first near-optimal candidate is the 20th on an H200
# (geometric mean of ten dispatches), with 132 the 8th.
_CHIPS = {
    "h100": (132, 50 << 20), "h200": (132, 50 << 20), "h100-pcie": (114, 50 << 20),
    "l4": (58, 48 << 20), "l40s": (142, 96 << 20),
    "a10": (72, 6 << 20), "a10g": (80, 6 << 20), "a16": (10, 1 << 20),
    "mi250x": (110, 8 << 20), "mi250": (104, 8 << 20),
}  # fmt: skip
# L2 bytes: AMD CDNA3 white paper (4 MiB per die, eight dies), RDNA3 and RDNA4 product pages, NVIDIA
# white papers as above.
_L2 = {
    "gfx908": 8 << 20, "gfx90a": 8 << 20, "gfx942": 32 << 20, "gfx950": 32 << 20,
    "gfx1100": 6 << 20, "gfx1201": 8 << 20,
    "sm_80": 40 << 20, "sm_86": 6 << 20, "sm_89": 72 << 20, "sm_120": 96 << 20,
}  # fmt: skip
_USUAL_L2 = 4 << 20
# IREE gives sm_86 the shared memory of sm_80; of its chips' 100 KB a workgroup may use 99 (CUDA C++
# Programming Guide, compute capabilities).
_SHARED = {"sm_86": 99 << 10}
# NVIDIA attributes say nothing of these; CUDA C++ Programming Guide, compute capabilities: four
# schedulers per SM, 255 registers of 32 bits per thread, 128-bit loads, 32 banks.
_SIMDS, _REGISTER_BITS, _LOAD_BITS, _BANKS = 4, 255 * 32, 128, 32


def gpu_target(attribute: Any, name: str) -> Target:
    """A target from the compiler's attribute, in the child that holds it."""
    from iree.compiler.dialects import iree_gpu

    text = str(attribute)
    units, l2_bytes = _CHIPS.get(name, (0, 0))
    info = iree_gpu.TargetInfo.get_gpu_target_info(attribute)
    intrinsics = []
    for kind in info.mma_intrinsics:
        # Virtual ones are put together from real ones, and `MMAAttr.get` crashes on them.
        if not isinstance(kind, iree_gpu.MMAIntrinsic):
            continue
        mma = iree_gpu.MMAAttr.get(kind)
        m, n, k = mma.mnk_shape
        a, b, c = (str(t) for t in mma.abc_element_types)
        intrinsics.append(Intrinsic(str(kind), m, n, k, (a, b, c)))
    gpu = Gpu(
        subgroup_sizes=tuple(info.subgroup_size_choices),
        max_threads=info.max_thread_count_per_workgroup,
        shared_bytes=_SHARED.get(info.arch, info.max_workgroup_memory_bytes),
        simds=_number(text, "simds_per_wgp") or _SIMDS,
        register_bits=_number(text, "vgpr_space_bits") or _REGISTER_BITS,
        load_bits=_number(text, "max_load_instruction_bits") or _LOAD_BITS,
        banks=_number(text, "workgroup_memory_bank_count") or _BANKS,
        intrinsics=tuple(intrinsics),
    )
    return Target(
        backend=text.split('"')[1],
        arch=info.arch,
        name=name,
        cores=units or _number(text, "wgp_count") or largest_units(info.arch, _USUAL_UNITS),
        vector_bytes=gpu.load_bits // 8,
        registers=gpu.register_bits // 32,
        cache_bytes=(gpu.shared_bytes, l2_bytes or _L2.get(info.arch, _USUAL_L2), 0),
        gpu=gpu,
    )


def largest_units(arch: str, usual: int) -> int:
    """Compute units of the largest chip of an architecture; a usual number of one not known."""
    return _LARGEST.get(arch, usual)


def _number(text: str, field: str) -> int:
    """A field of the attribute that the bindings do not offer; 0 where it is missing."""
    found = re.search(rf"\b{field} = (\d+)", text)
    return int(found[1]) if found else 0
