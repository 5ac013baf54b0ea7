"""Targets: the facts that spaces and features need."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...core import usable_cores
from ..gpu import gpu_target
from ..problem import Target

# L1d, L2, L3 where the machine does not tell (a target other than this host): a common server core.
DEFAULT_CACHES = (32 * 1024, 1024 * 1024, 32 * 1024 * 1024)

# What the compiler says of names that it does not know; most of it while it crashes.
_UNKNOWN_TARGET = (
    "is not a recognized processor",
    "Unknown CUDA target",
    "Unknown ROCM target",
    "missing GPU target",
)


def says_unknown_target(message: str) -> bool:
    """Whether the compiler failed because it does not know the target."""
    return any(words in message for words in _UNKNOWN_TARGET)


def describe_target(name: str, executable_target: Mapping[str, Any]) -> Target:
    """Facts from the compiler's own target attribute; a CPU's caches and cores from the machine."""
    if "gpu" in executable_target:
        return gpu_target(dict(executable_target), name)
    features = set(executable_target["cpu_features"].split(","))
    arch = executable_target["cpu"] or name
    # 32 vector registers with AVX-512 and on AArch64, 16 on other x86.
    many = "+avx512f" in features or "aarch64" in executable_target["triple"]
    return Target(
        backend="llvm-cpu",
        arch=arch,
        name=name,
        cores=usable_cores(),
        vector_bytes=int(executable_target["native_vector_size"]),
        registers=32 if many else 16,
        cache_bytes=host_caches() if name == "host" else DEFAULT_CACHES,
    )


def host_caches(root: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> tuple[int, int, int]:
    """Bytes of this machine's L1d, L2 and L3; `DEFAULT_CACHES` where the system does not say."""
    sizes: dict[int, int] = {}
    units = {"K": 1024, "M": 1024**2, "G": 1024**3}
    for index in root.glob("index*"):
        try:
            kind, level, size = (
                (index / leaf).read_text().strip() for leaf in ("type", "level", "size")
            )
            if kind != "Instruction":
                sizes[int(level)] = int(size[:-1]) * units[size[-1]]
        except (OSError, ValueError, KeyError):
            continue
    if 1 not in sizes:
        return DEFAULT_CACHES
    return sizes[1], sizes.get(2, 0), sizes.get(3, 0)
