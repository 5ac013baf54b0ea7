"""Real tuning on a Vulkan device, such as Mesa's for CPUs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import frontrunner
from frontrunner.benchmarks.measuring import Budget, Device, chip_of
from frontrunner.cli import main
from frontrunner.core import InputError
from frontrunner.experiments import doctor
from frontrunner.experiments.bundling.selection import Selection, choose
from frontrunner.experiments.device_checks import check_devices
from frontrunner.experiments.observing.progress import Observer
from frontrunner.experiments.tuning import RunFolder, TuneOptions, TuneResult
from frontrunner.search.reading import read_dispatch
from frontrunner.search.vulkan import live

DATA = Path(__file__).parents[2] / "data"


pytestmark = pytest.mark.usefixtures("vulkan_device", "brief", "untracked")


@pytest.fixture
def without_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    live._live_profile.cache_clear()
    for name in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        monkeypatch.setenv(name, str(tmp_path / "none.json"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["matmul", "conv_nhwc"])
def test_a_run_measures_verifies_and_goes_on(name: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    given = {"target": "vulkan", "ranker": "heuristic", "pool": 500, "quiet": True}
    result = frontrunner.tune(DATA / f"{name}.mlir", out=run, budget=2, **given)
    assert isinstance(result, TuneResult)
    assert result.outcomes["ok"] >= 1
    assert sum(result.outcomes.values()) == 2
    more = frontrunner.resume(run, budget=3, quiet=True)
    assert sum(more.outcomes.values()) == 3


@pytest.mark.slow
def test_a_recording_is_read_and_learned_from(tmp_path: Path) -> None:
    given = {"candidates": 4, "top": 1, "adaptive": 0, "target": "vulkan", "quiet": True}
    source, made = DATA / "matmul.mlir", tmp_path / "made"
    recorded = frontrunner.record(source, made, **given)
    frame = frontrunner.read_recording(recorded.path).frame
    assert frame["pipeline"].nunique() > 1
    assert (frame["kind"] == "ok").sum() > 2
    predictor = tmp_path / "lightgbm.predictor"
    frontrunner.train([recorded.path], predictor)
    assert predictor.exists()
    # If one pipeline is asked for, no other's are recorded.
    of_one = {"target": "vulkan", "pool": 500, "pipeline": "BaseDistribute"}
    options = TuneOptions(input=source, out=made, budget=Budget(4), **of_one)
    dispatch = read_dispatch(source, "vulkan")
    chosen = choose(options, Selection(top=1, adaptive=0), dispatch, (), Observer())
    assert {*chosen["pipeline"]} == {"BaseDistribute"}


@pytest.mark.slow
def test_what_is_generated_for_it_is_profiled_on_it(tmp_path: Path) -> None:
    sizes = {"m": 16, "n": 16, "k": 16, "dtypes": ["f32"]}
    given = {"configurations": 1, "pool": 100, "target": "vulkan", "quiet": True}
    made = frontrunner.generate("matmul", out=tmp_path / "made", **sizes, **given)
    profiled = frontrunner.profile(made.out, target="vulkan", quiet=True)
    assert len(profiled.rows) == 2
    assert not profiled.failed


def test_what_was_measured_is_read_where_there_is_no_driver(
    tmp_path: Path, without_driver: None
) -> None:
    """The profile is kept, not that it was this machine's."""
    with pytest.raises(InputError, match="no Vulkan device answers") as caught:
        frontrunner.tune(DATA / "matmul.mlir", target="vulkan", budget=1, quiet=True)
    assert "apt-get install mesa-vulkan-drivers" in caught.value.hint
    run = tmp_path / "run"
    given = {"target": "vulkan-valhall4", "ranker": "heuristic", "pool": 100, "quiet": True}
    frontrunner.tune(DATA / "matmul.mlir", out=run, budget=2, compile_only=True, **given)
    assert RunFolder(run).load().manifest.options.target == "vulkan-valhall4"


def test_the_profile_is_kept(tmp_path: Path) -> None:
    run = tmp_path / "run"
    given = {"target": "vulkan", "ranker": "heuristic", "pool": 100, "quiet": True}
    frontrunner.tune(DATA / "matmul.mlir", out=run, budget=1, compile_only=True, **given)
    kept = RunFolder(run).load().manifest.options.target
    assert kept == live.resolve_profile("vulkan") != "vulkan"


def test_mesas_driver_for_cpus_shares_the_cores() -> None:
    on_cpu = chip_of("vulkan").name.startswith("llvmpipe")
    device = Device("vulkan", call=None, baseline=None, seed=0)  # type: ignore[arg-type]
    assert device.shares_cores == on_cpu


@pytest.mark.parametrize("command", ["tune", "record"])
def test_a_device_on_which_the_default_is_wrong_is_refused(command: str, tmp_path: Path) -> None:
    if chip_of("vulkan").subgroups != (8, 8):
        pytest.skip("this device is not lavapipe on 256 bits, whose subgroups have 8 threads")
    run = getattr(frontrunner, command)
    with pytest.raises(InputError, match="has subgroups of 8 threads, and this code is for 16"):
        run(DATA / "matvec.mlir", out=tmp_path / "out", target="vulkan", quiet=True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("name", "right"), [("matvec", False), ("matmul", True)])
def test_a_bundle_is_refused_where_its_default_is_wrong(
    name: str, right: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if chip_of("vulkan").subgroups != (8, 8):
        pytest.skip("this device is not lavapipe on 256 bits, whose subgroups have 8 threads")
    bundle, results = tmp_path / "a.bundle", tmp_path / "results.jsonl"
    few = ("--target", "vulkan-valhall4", "--budget", "1", "--pool", "100")
    assert main(["bundle", "pack", str(DATA / f"{name}.mlir"), *few, "--out", str(bundle)]) == 0
    capsys.readouterr()
    words = [sys.executable, str(bundle), "--device", "vulkan", "--no-finals"]
    words += ["--out", str(results)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ran.returncode == 0) == right, ran.stderr
    assert right or "subgroups of 8 threads, and this code is for 16" in ran.stderr
    assert results.exists() == right


def test_a_device_with_less_than_the_profile_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`vulkaninfo` says so, which this stands in for: no device here has so little."""
    limits = {"maxComputeWorkGroupInvocations": 64, "maxComputeSharedMemorySize": 1 << 20}
    properties = {"VkPhysicalDeviceProperties": {"limits": limits}}
    told = tmp_path / "told.json"
    told.write_text(json.dumps({"capabilities": {"device": {"properties": properties}}}))
    script = tmp_path / "vulkaninfo"
    script.write_text(f'#!/bin/sh\ncp "{told}" "$PWD/VP_VULKANINFO_some (chip).json"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    target = read_dispatch(DATA / "matmul.mlir", "vulkan-valhall4").target
    said: list[str] = []
    check_devices(["vulkan"], target, said.append)
    (warning,) = said
    assert warning.startswith("warning: device vulkan has 64 threads per workgroup (of 512): code")
    assert "64 threads" in doctor.probe_device("vulkan").detail
