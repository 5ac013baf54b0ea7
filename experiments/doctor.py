"""What `frontrunner doctor` finds out. It works when half of what it looks for is missing."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .. import __version__
from ..core import (
    ChildTimeout,
    FrontrunnerError,
    InputError,
    Progress,
    WorkError,
    first_line,
    format_size,
    installed_version,
    last_line,
    processor_name,
    run_tool,
    usable_cores,
)
from ..search import known_backends
from ..search.cpu import host_caches
from ..search.vulkan import LIVE, PREFIX, ask_device, choose_profile
from .machine_checks import Check, check_machine, nearest_folder
from .observing import find_store

NOT_INSTALLED = "not installed"

PACKAGES = (
    "iree-base-compiler",
    "iree-base-runtime",
    "z3-solver",
    "numpy",
    "pandas",
    "pyarrow",
    "scipy",
    "joblib",
    "scikit-learn",
    "lightgbm",
    "matplotlib",
    "mlflow",
    "click",
    "rich",
)

# Device to what makes it answer; the drivers of the first two are in the runtime itself.
DEVICES = {
    "local-sync": "reinstall iree-base-runtime",
    "local-task": "reinstall iree-base-runtime",
    "cuda": "for NVIDIA GPUs, install the NVIDIA driver (libcuda.so)",
    "hip": "for AMD GPUs, install ROCm (libamdhip64.so)",
    "vulkan": (
        "for other GPUs, install a Vulkan loader and driver (libvulkan.so.1); a driver that "
        "computes on the CPU: apt-get install mesa-vulkan-drivers libvulkan1"
    ),
}

DEVICE_PROBE = """
import json, sys
import iree.runtime as runtime
try:
    devices = runtime.get_driver(sys.argv[1]).query_available_devices()
    if devices:
        runtime.get_device(sys.argv[1])
    print(json.dumps({"names": [d["name"] or d["path"] for d in devices]}))
except Exception as error:
    print(json.dumps({"error": str(error)}))
"""

# Compiles a kernel for this CPU, runs it on random inputs and checks what comes out.
SMOKE_PROBE = """
import json, sys
try:
    import iree.compiler
    import iree.runtime as runtime
    import numpy as np
    source = '''func.func @add(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
      %c = arith.addf %a, %b : tensor<64xf32>
      return %c : tensor<64xf32>
    }'''
    flags = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
             "--iree-llvmcpu-target-cpu=host"]
    binary = iree.compiler.compile_str(source, extra_args=flags)
    context = runtime.SystemContext(config=runtime.Config("local-task"))
    context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, binary))
    a, b = np.random.default_rng(int(sys.argv[1])).standard_normal((2, 64), dtype=np.float32)
    right = bool(np.allclose(context.modules.module["add"](a, b).to_host(), a + b))
    print(json.dumps({} if right else {"error": "the kernel computed something wrong"}))
except Exception as error:
    print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
"""


@dataclass(frozen=True)
class Probe:
    """The result of one check."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True)
class Missing:
    """Something that is not there, and how to get it."""

    what: str
    remedy: str


@dataclass(frozen=True)
class Cpu:
    """This machine's processor; caches in bytes."""

    model: str
    cores: int
    caches: tuple[int, ...]

    def describe(self) -> str:
        sizes = "/".join(f"{size / 1024:,.0f}" for size in self.caches)
        return f"{self.model}, {self.cores} cores, L1d/L2/L3 {sizes} KiB"


@dataclass(frozen=True)
class Diagnosis:
    """All that was found out.

    Attributes:
        versions: package to version, or `not installed`.
        smoke: compiling and running one kernel on the CPU.
        tracking: whether MLflow's store can be used.
        checks: what makes times vary, or keeps results from being kept.
    """

    versions: dict[str, str]
    devices: tuple[Probe, ...]
    cpu: Cpu
    smoke: Probe
    tracking: Probe
    missing: tuple[Missing, ...]
    checks: tuple[Check, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether this machine's CPU can be tuned for."""
        return self.smoke.ok and all(p.ok for p in self.devices if p.name == "local-task")

    def to_dict(self) -> dict[str, Any]:
        return {"ok": self.ok} | asdict(self)


def diagnose(seed: int = 0, progress: Progress = lambda done, total: None) -> Diagnosis:
    """Looks at everything.

    Args:
        seed: for the inputs of the kernel that is tried.
        progress: is told how many of how many parts are done.
    """
    parts = len(DEVICES) + 2
    versions = package_versions()
    devices: list[Probe] = []
    for name in DEVICES:
        devices.append(probe_device(name))
        progress(len(devices), parts)
    smoke = probe_smoke(seed)
    progress(parts - 1, parts)
    missing = [
        Missing(name, f"pip install {name}")
        for name, found in versions.items()
        if found == NOT_INSTALLED
    ]
    missing += [
        Missing(f"device {probe.name}", DEVICES[probe.name]) for probe in devices if not probe.ok
    ]
    return Diagnosis(
        versions,
        tuple(devices),
        read_cpu(),
        smoke,
        probe_tracking(),
        tuple(missing),
        check_machine(),
    )


def package_versions() -> dict[str, str]:
    """Versions of Python and of the packages that matter."""
    found = {"python": platform.python_version(), "frontrunner": __version__}
    return found | {name: installed_version(name) or NOT_INSTALLED for name in PACKAGES}


def probe_device(name: str, timeout_s: float = 30.0) -> Probe:
    """Asks one device whether it is there, where a driver that crashes or hangs does no harm."""
    answer = _ask(DEVICE_PROBE, [name], timeout_s)
    if "error" in answer:
        return Probe(name, False, _first_words(answer["error"]))
    if not answer["names"]:
        return Probe(name, False, "no device found")
    details = [", ".join(answer["names"])]
    try:
        backends = [one for one in known_backends().values() if name in one.drivers]
    except InputError as error:  # another package brings one that cannot be used
        return Probe(name, False, "; ".join(filter(None, [str(error), error.hint])))
    targets = [one.target_of_chip(chip) for one in backends for chip in answer["names"]]
    if told := ", ".join(dict.fromkeys(filter(None, targets))):
        details.append(f"--target {told}")
    if name == "vulkan":
        details += _first_vulkan_device()
    return Probe(name, True, "; ".join(details))


def _first_vulkan_device() -> list[str]:
    """What the first one can do, and which profile suits it."""
    try:
        device = ask_device()
    except FrontrunnerError:
        return []
    limits = "limits not known, which takes vulkaninfo: apt-get install vulkan-tools"
    if device.max_threads:
        limits = f"{device.max_threads:,} threads, {format_size(device.shared_bytes)} shared"
    return [limits, f"--target {LIVE} is {PREFIX}{choose_profile(device)}"]


def probe_smoke(seed: int, timeout_s: float = 60.0) -> Probe:
    """Compiles and runs a kernel on the CPU."""
    answer = _ask(SMOKE_PROBE, [str(seed)], timeout_s)
    detail = _first_words(answer["error"]) if "error" in answer else "a kernel computed right"
    return Probe("compile and run on the CPU", "error" not in answer, detail)


def probe_tracking() -> Probe:
    """Whether MLflow's store can be written, as far as that shows without touching it."""
    name = "MLflow store"
    try:
        store = find_store()
    except OSError as error:
        return Probe(name, False, f"{error.strerror}: runs go untracked")
    uri = store.uri
    if not uri.startswith("sqlite:///"):
        return Probe(name, True, f"MLFLOW_TRACKING_URI is set ({_host(uri)}), not contacted")
    path = Path(uri.removeprefix("sqlite:///"))
    # The user's own folder is made by the first run.
    place = nearest_folder(path) if store.artifacts else path if path.exists() else path.parent
    ok = os.access(place, os.W_OK)
    return Probe(name, ok, str(path) if ok else f"{place} cannot be written: runs go untracked")


def _host(uri: str) -> str:
    """What a URI may be told by: a password may stand in it, before the host or after."""
    host = None
    with suppress(ValueError):
        host = urlsplit(uri).hostname
    return host or uri.partition(":")[0]


def read_cpu() -> Cpu:
    """Facts about this machine's processor."""
    return Cpu(processor_name(), usable_cores(), host_caches())


def _ask(code: str, arguments: Sequence[str], timeout_s: float) -> dict[str, Any]:
    """Runs a probe in a process of its own; what goes wrong there is an `error` here."""
    try:
        done = run_tool([sys.executable, "-P", "-c", code, *arguments], timeout_s)
    except ChildTimeout:
        return {"error": f"no answer within {timeout_s:g} s"}
    except (WorkError, OSError) as error:
        return {"error": str(error)}
    if done.code < 0:
        return {"error": f"crashed with signal {-done.code}"}
    lines = done.out.splitlines()
    if done.code or not lines:
        return {"error": last_line(done.err)}
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


def _first_words(error: str) -> str:
    """The telling part of a runtime's message: `<where>: <CODE>; <what>; <advice>`."""
    line = first_line(error.strip()) or "no reason given"
    parts = line.split("; ")
    return (parts[1] if len(parts) > 1 else line).rstrip(" :")
