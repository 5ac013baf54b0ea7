"""CPU targets: what the compiler's target attribute says about one, and what this machine says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...core import allowed_cpus
from ..problem import Target

# L1d, L2, L3 where the machine does not tell (a target other than this host): a common server core.
DEFAULT_CACHES = (32 * 1024, 1024 * 1024, 32 * 1024 * 1024)


def cpu_target(attribute: Any, name: str) -> Target:
    """A target from the compiler's attribute, with this machine's cores; `host` has its caches."""
    text = str(attribute)
    features = set(_between(text, 'cpu_features = "', '"').split(","))
    arch = _between(text, 'cpu = "', '"') or name
    arm = "aarch64" in _between(text, 'target_triple = "', '"')
    # 32 vector registers with AVX-512 and on AArch64, 16 on other x86.
    many = "+avx512f" in features or arm
    return Target(
        backend="llvm-cpu",
        # x86 has a processor that is called so, too.
        arch="aarch64" if arm and arch == "generic" else arch,
        name=name,
        cores=allowed_cpus(),
        vector_bytes=int(_between(text, "native_vector_size = ", " ") or "16"),
        registers=32 if many else 16,
        cache_bytes=host_caches() if name == "host" else DEFAULT_CACHES,
    )


def host_caches() -> tuple[int, int, int]:
    """Bytes of this machine's L1d, L2 and L3; `DEFAULT_CACHES` where the system does not say."""
    sizes: dict[int, int] = {}
    units = {"K": 1024, "M": 1024**2, "G": 1024**3}
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
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


def _between(text: str, before: str, after: str) -> str:
    """A field of an attribute whose dialect has no Python binding."""
    return text.partition(before)[2].partition(after)[0]
