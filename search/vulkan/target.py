"""Vulkan targets: what the compiler's target attribute says about a profile."""

from __future__ import annotations

import re
from typing import Any

from ..gpu import largest_units
from ..problem import Gpu, Target
from .live import PREFIX

# What profiles lack, since they stand for families of chips: SIMD units and registers of RDNA and
# Valhall, the widest load of SPIR-V without extensions, banks as on all desktop chips, and a number
# of compute units between those of a phone (4 to 12) and a small desktop GPU.
_SIMDS, _REGISTER_BITS, _LOAD_BITS, _BANKS, _UNITS = 4, 128 * 32, 128, 32, 16
# Of desktop GPUs whose architecture is not told: the largest of RDNA have 20 to 48 WGPs.
_DESKTOP, _DESKTOP_UNITS = re.compile(r"sm_|gfx|[cr]dna"), 40
_L2_BYTES = 2 << 20
# Of NVIDIA's, the compiler knows the chip's shared memory; their Vulkan drivers give 48 KiB of it.
_NVIDIA_SHARED_BYTES = 48 << 10


def vulkan_target(attribute: Any, name: str) -> Target:
    """A target from the compiler's attribute."""
    text = str(attribute)
    arch = text.partition('arch = "')[2].partition('"')[0]
    shared = _number(text, "max_workgroup_memory_bytes")
    gpu = Gpu(
        subgroup_sizes=_numbers(text, "subgroup_size_choices"),
        max_threads=_number(text, "max_thread_count_per_workgroup"),
        shared_bytes=min(shared, _NVIDIA_SHARED_BYTES) if arch.startswith("sm_") else shared,
        simds=_number(text, "simds_per_wgp") or _SIMDS,
        register_bits=_number(text, "vgpr_space_bits") or _REGISTER_BITS,
        load_bits=_LOAD_BITS,
        banks=_BANKS,
        intrinsics=(),
        types=_types(text),
    )
    return Target(
        backend="vulkan-spirv",
        arch=arch,
        name=name,
        cores=_number(text, "wgp_count") or _units(arch or name.removeprefix(PREFIX)),
        vector_bytes=gpu.load_bits // 8,
        registers=gpu.register_bits // 32,
        cache_bytes=(gpu.shared_bytes, _L2_BYTES, 0),
        gpu=gpu,
    )


def _units(arch: str) -> int:
    return largest_units(arch, _DESKTOP_UNITS) if _DESKTOP.match(arch) else _UNITS


def _types(text: str) -> tuple[str, ...]:
    """What shaders compute with and storage buffers hold."""
    computed = re.search(r"compute = ([\w|]+)", text)
    stored = re.search(r"storage = ([\w|]+)", text)
    words = computed[1].split("|") if computed else []
    widths = {int(w[1:]) for w in stored[1].split("|")} if stored else set()
    # fp16 is f16, int8 is i8.
    found = {word.replace("fp", "f").replace("int", "i") for word in words}
    return tuple(sorted(t for t in found if int(t[1:]) in widths))


def _number(text: str, field: str) -> int:
    """A field of the attribute; 0 where it is missing."""
    found = re.search(rf"\b{field} = (\d+)", text)
    return int(found[1]) if found else 0


def _numbers(text: str, field: str) -> tuple[int, ...]:
    found = re.search(rf"\b{field} = \[([\d, ]+)\]", text)
    return tuple(int(n) for n in found[1].split(",")) if found else ()
