"""Measures what this folder holds on this machine's GPU, without a network.

    python run.py [--minutes 20] [--driver cuda] [--device cuda://0] [--out results.zip]

Needs Python 3.10 or newer with NumPy. The IREE runtime is unpacked from `wheels`. Bundles are
measured in order, the most valuable first, and again in further rounds while there is time. Ctrl-C
ends it at any moment, and the same command goes on from there: `results.zip` holds what has been
measured. Where it is killed, bring `results.work`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
# For a driver to answer; and what a bundle may take beyond its time.
DRIVER_SECONDS, GRACE_SECONDS = 60, 60
# For PyTorch to time its own kernels.
TORCH_SECONDS = 120
# No bundle is begun with less left.
LEAST_SECONDS = 15
ASK = """
import sys
import iree.runtime
from iree.runtime import version
found = iree.runtime.get_driver(sys.argv[1]).query_available_devices()
print(version.VERSION, [device["name"] or device["path"] for device in found])
sys.exit(not found)
"""
INSTALL = {
    "cuda": "NVIDIA's driver: `nvidia-smi` has to list the GPU",
    "hip": "AMD's driver and ROCm: `rocminfo` has to list the GPU",
    "vulkan": "libvulkan1 and the GPU's Vulkan driver: `vulkaninfo` has to list it",
}
# What tells which machine it was.
TOLD_BY = (
    ["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm,power.limit", "--format=csv"],
    ["rocm-smi", "--showproductname", "--showdriverversion"],
    ["vulkaninfo", "--summary"],
    ["lscpu"],
)


class Failed(Exception):
    """Something is missing; the message says what, and the hint what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def install(runtime: str, folder: Path) -> Mapping[str, str]:
    """Unpacks the runtime for this Python; returns the environment that finds it."""
    wheels = sorted((HERE / "wheels").glob("*.whl"))
    site = folder / f"site-{sys.implementation.cache_tag}-{runtime}"
    environment = {**os.environ, "PYTHONPATH": str(site)}
    fitting = [wheel for wheel in wheels if fits(wheel)]
    if fitting and not (site / ".whole").exists():
        for path in fitting:
            with zipfile.ZipFile(path) as wheel:
                wheel.extractall(site)
        (site / ".whole").touch()
    missing = run([sys.executable, "-c", "import numpy, iree.runtime"], environment)
    if missing.returncode:
        last = (missing.stderr.strip().splitlines() or ["it does not start"])[-1]
        has = sorted({w.name.split("-")[2] for w in wheels}) or ["none"]
        raise Failed(
            f"the IREE runtime does not start in Python {platform.python_version()}: {last}",
            f"there are wheels for {', '.join(has)}: start this with one that has NumPy, or "
            f"pip install numpy iree-base-runtime=={runtime}",
        )
    return environment


def fits(wheel: Path) -> bool:
    """Whether this Python takes it: its own version's, or an older one's stable interface."""
    _, _, python, abi, _ = wheel.stem.split("-")
    this = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    return python == this or (abi == "abi3" and int(python[3:]) <= sys.version_info[1])


def answering(drivers: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Those of the drivers that have a device; says why others have none."""
    found = []
    for driver in drivers:
        asked = run([sys.executable, "-c", ASK, driver], environment, DRIVER_SECONDS)
        if asked.returncode == 0:
            say(f"{driver}: runtime {asked.stdout.strip()}")
            found.append(driver)
            continue
        words = asked.stderr.strip().splitlines()
        why = words[-1][:300] if words else "it has no device"
        say(f"warning: {driver} does not answer: {why}")
        say(f"hint: it needs {INSTALL.get(driver, 'a driver of the runtime')}")
    if not found:
        raise Failed(
            f"no device answers of {', '.join(drivers)}", "see to a driver, then start this again"
        )
    return found


def measure(
    bundles: Sequence[Mapping[str, str]],
    out: Path,
    environment: Mapping[str, str],
    device: str | None,
    until: float,
) -> None:
    """Runs the bundles one after the other, first briefly, then in further rounds."""
    results = out.with_suffix(".work")
    results.mkdir(exist_ok=True)
    half = time.monotonic() + (until - time.monotonic()) / 2
    for more in ((), ("--record",)):
        if more and device is None and any(bundle["driver"] == "cuda" for bundle in bundles):
            time_torch(out, until - time.monotonic())
        for place, bundle in enumerate(bundles):
            left = until - time.monotonic()
            if left < LEAST_SECONDS:
                return
            # All of them in the first half; what is left over falls to those that come later.
            end = until if more else half
            share = max(0.0, end - time.monotonic()) / (len(bundles) - place)
            log = results / f"{Path(bundle['file']).stem}.jsonl"
            command = [sys.executable, str(HERE / bundle["file"]), "--no-finals", *more]
            command += ["--out", str(log)]
            command += ["--minutes", f"{max(share - 10, 5) / 60:.3f}"]
            command += ["--device", device or bundle["driver"]]
            say(f"{bundle['file']} {' '.join(more)}, {share:.0f} s")
            began = time.monotonic()
            try:
                code = wait(command, environment, min(share + GRACE_SECONDS, left))
            finally:
                pack(results, out)
            say(f"{bundle['file']}: exit {code} after {time.monotonic() - began:.0f} s")


def time_torch(out: Path, left: float) -> None:
    """Has PyTorch time its own kernels on the first GPU, where it is installed, and once."""
    times = out.with_suffix(".work") / "torch.json"
    if times.exists() or left < LEAST_SECONDS:
        return
    command = [sys.executable, str(HERE / "torch_times.py"), str(HERE / "kit.json"), str(times)]
    told = run(command, os.environ, min(TORCH_SECONDS, left))
    if not times.exists():  # nor is it tried again
        times.write_text('{"us": {}}')
    words = told.stderr.strip().splitlines() or [""]
    say("\n".join(words) if told.returncode == 0 else f"no times of PyTorch's: {words[-1][:300]}")
    pack(times.parent, out)


def wait(command: Sequence[str], environment: Mapping[str, str], seconds: float) -> int:
    """Runs a command, which is interrupted when its time is up; returns its exit code."""
    process = subprocess.Popen(command, env=environment)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        try:
            return process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()
    except BaseException:
        process.send_signal(signal.SIGINT)
        process.wait()
        raise


def pack(results: Path, out: Path) -> None:
    """Writes all results into one file, whole or not at all."""
    draft = out.with_suffix(".part")
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("machine.txt", machine())
        for log in sorted([*results.glob("*.jsonl"), *results.glob("torch.json")]):
            archive.write(log, log.name)
    draft.replace(out)


def machine() -> str:
    """What the machine says of itself."""
    told = [f"{platform.platform()}, Python {platform.python_version()}"]
    for command in TOLD_BY:
        try:
            said = subprocess.run(command, capture_output=True, text=True, timeout=30).stdout
        except (OSError, subprocess.TimeoutExpired) as error:
            said = f"({error})"
        told.append(f"$ {' '.join(command)}\n{said.strip()[:4000]}")
    return "\n\n".join(told) + "\n"


def run(
    command: Sequence[str], environment: Mapping[str, str], seconds: float = 120
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end; one that hangs has failed."""
    try:
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"no answer within {seconds} s")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures the bundles of this folder.")
    parser.add_argument(
        "--minutes", type=float, default=20, help="end after so many, or one more [20]"
    )
    parser.add_argument("--driver", help="only bundles for this driver, such as cuda or vulkan")
    parser.add_argument("--device", help="such as cuda://0; needs --driver [the driver's first]")
    parser.add_argument("--out", type=Path, default=Path("results.zip"), help="[results.zip]")
    parser.add_argument(
        "--site", type=Path, default=HERE, help="where to unpack the runtime [here]"
    )
    given = parser.parse_args()
    if given.device and not given.driver:
        raise Failed("--device was given without --driver", "name its driver, too")
    until = time.monotonic() + 60 * given.minutes
    kit = json.loads((HERE / "kit.json").read_text())
    bundles = [b for b in kit["bundles"] if given.driver in (None, b["driver"])]
    if not bundles:
        here = sorted({b["driver"] for b in kit["bundles"]})
        raise Failed(f"no bundle is for {given.driver}", f"there are some for {', '.join(here)}")
    environment = install(kit["runtime"], given.site)
    drivers = answering(list(dict.fromkeys(b["driver"] for b in bundles)), environment)
    bundles = [b for b in bundles if b["driver"] in drivers]
    measure(bundles, given.out, environment, given.device, until)
    if not given.out.exists():
        raise Failed("nothing was measured", f"give more than {given.minutes:g} --minutes")
    say(f"results are in {given.out}: bring it back")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        say(f"error: {failure}")
        say(f"hint: {failure.hint}")
        sys.exit(2)
    except KeyboardInterrupt:
        say("error: interrupted")
        say("hint: the same command goes on from here")
        sys.exit(130)
