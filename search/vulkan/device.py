"""What a Vulkan device can do, as its driver and `vulkaninfo` say."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core import Child, InputError, child_errors
from ..problem import Gpu

TIMEOUT, LIMITS_TIMEOUT = 60.0, 10.0
# What every Vulkan device of the last years can do: 128 threads, 16 KiB, no subgroup operations.
BASELINE = "vp_android_baseline_2022"
# In the runtime's words: what a shader needs to compute with a type and to keep it in buffers.
_FEATURES = {
    "f16": ("shaderFloat16", "storageBuffer16BitAccess"),
    "i8": ("shaderInt8", "storageBuffer8BitAccess"),
}
# The pipeline whose kernels sum up over subgroups, and what SPIR-V declares in any kernel whose
# threads exchange values in them: `OpCapability GroupNonUniform...` of one kind or another.
_REDUCTION = "SubgroupReduce"
_EXCHANGES = re.compile(rb"\x11\0\x02\0[\x3e-\x44]\0\0\0", re.DOTALL)
# It is not installed, hangs, or writes something else.
_NO_LIMITS = (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError)
_INSTALL = (
    "install a Vulkan driver (for this CPU: apt-get install mesa-vulkan-drivers libvulkan1), or "
    f"name a profile: --target {BASELINE} --compile-only"
)


@dataclass(frozen=True)
class VulkanDevice:
    """What a device can do.

    Attributes:
        vendor: by PCI.
        missing: types of elements that its shaders have not.
        max_threads: per workgroup; 0 where it is not known, since `vulkaninfo` is not installed.
        shared_bytes: shared memory that one workgroup may use; likewise.
    """

    vendor: int
    missing: tuple[str, ...] = ()
    max_threads: int = 0
    shared_bytes: int = 0


def ask_device(path: str = "") -> VulkanDevice:
    """What a device of this machine can do.

    Args:
        path: the driver's name of it; by default the device that the runtime takes first.

    Raises:
        InputError: none answers.
        KilledError: the process that asks was killed.
    """
    failed = "no Vulkan device answers"
    # Drivers crash.
    with (
        child_errors("asking for a Vulkan device", InputError, failed, _INSTALL),
        Child(f"{__name__}:read_device") as child,
    ):
        found: VulkanDevice = child.call(path, timeout=TIMEOUT)
    return found


def shortages(device: VulkanDevice, gpu: Gpu) -> Iterator[str]:
    """What a device has less of than code for a profile may use."""
    if 0 < device.max_threads < gpu.max_threads:
        yield f"{device.max_threads:,} threads per workgroup (of {gpu.max_threads:,})"
    if 0 < device.shared_bytes < gpu.shared_bytes:
        yield f"{device.shared_bytes:,} bytes of shared memory (of {gpu.shared_bytes:,})"
    yield from (f"no {name}" for name in device.missing if name in gpu.types)


def exchanges_in_subgroups(code: str | bytes) -> bool:
    """Whether threads of a kernel exchange values in subgroups.

    Args:
        code: an executable, or the configuration of its kernel.
    """
    return _REDUCTION in code if isinstance(code, str) else bool(_EXCHANGES.search(code))


def read_device(path: str) -> VulkanDevice:
    """The child's side.

    Raises:
        RuntimeError: there is no such device.
    """
    import iree.runtime as rt

    driver = rt.get_driver("vulkan")
    devices = driver.query_available_devices()
    for position, device in enumerate(devices):
        if path in ("", device["path"]):
            told = driver.dump_device_info(device["device_id"])
            return parse_device(told, _limits(position))
    raise RuntimeError(f"none of {len(devices)} devices is {path}" if path else "there is none")


def parse_device(told: str, limits: dict[str, Any]) -> VulkanDevice:
    """A device from what the runtime tells about it, and from the limits of its driver."""
    vendor = re.search(r"^vendor_id: 0x([0-9a-f]+)", told, re.MULTILINE)
    return VulkanDevice(
        vendor=int(vendor[1], 16) if vendor else 0,
        missing=tuple(
            name
            for name, needed in _FEATURES.items()
            if any(f"{feature}=no" in told for feature in needed)
        ),
        max_threads=limits.get("maxComputeWorkGroupInvocations", 0),
        shared_bytes=limits.get("maxComputeSharedMemorySize", 0),
    )


def _limits(position: int) -> dict[str, Any]:
    """The limits of a device, by Vulkan's names; none where `vulkaninfo` does not tell them.

    IREE's runtime does not tell them.
    """
    with tempfile.TemporaryDirectory() as folder, suppress(*_NO_LIMITS):
        # It writes a file that it names by the device, to where it is started.
        line = ["vulkaninfo", f"--json={position}"]
        subprocess.run(line, cwd=folder, capture_output=True, timeout=LIMITS_TIMEOUT, check=False)
        (file,) = Path(folder).glob("*.json")
        properties = json.loads(file.read_text())["capabilities"]["device"]["properties"]
        limits: dict[str, Any] = properties["VkPhysicalDeviceProperties"]["limits"]
        return limits
    return {}
