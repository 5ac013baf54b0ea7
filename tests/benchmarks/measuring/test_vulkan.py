"""Kernels that hang, do not load or lose the device, on a Vulkan device such as Mesa's for CPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from frontrunner.benchmarks.compiling import Compiler, call_of
from frontrunner.benchmarks.measuring import kernel
from frontrunner.benchmarks.measuring.device import Device, RunFailed
from frontrunner.benchmarks.measuring.timing import Timing
from frontrunner.core import Child
from frontrunner.search import Dispatch
from frontrunner.search.reading import read_dispatch

from .test_device import HALF, HANG, build

DATA = Path(__file__).parents[2] / "data"
# The first word of a shader in SPIR-V.
MAGIC = bytes.fromhex("03022307")


pytestmark = pytest.mark.usefixtures("vulkan_device")


@pytest.fixture(scope="module")
def shader() -> Dispatch:
    return read_dispatch(DATA / "matmul.mlir", "vulkan")


@pytest.fixture(scope="module")
def default(shader: Dispatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with Compiler(shader, tmp_path_factory.mktemp("default"), jobs=1) as compiler:
        return compiler.baseline().executable


@pytest.fixture
def vulkan(shader: Dispatch, default: Path) -> Iterator[Device]:
    device = Device("vulkan", call_of(shader), default, seed=0)
    device.measure_baseline(0.02)
    yield device
    device.close()


@pytest.mark.slow
def test_a_shader_that_hangs_costs_one_candidate(
    vulkan: Device,
    shader: Dispatch,
    default: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("GRACE", "DRIVER_COMPILE_SECONDS"):
        monkeypatch.setattr(f"frontrunner.benchmarks.measuring.device.{name}", 0.5)
    with pytest.raises(RunFailed, match="no answer within") as caught:
        vulkan.measure(build(shader, HANG, tmp_path / "hang.vmfb"), 0.02)
    assert caught.value.kind == "timeout"
    monkeypatch.undo()
    assert vulkan.measure(default, 0.02) > 0


def test_a_shader_that_does_not_load_costs_one_candidate(
    vulkan: Device, default: Path, tmp_path: Path
) -> None:
    data = default.read_bytes()
    assert data.count(MAGIC) == 1
    broken = tmp_path / "broken.vmfb"
    broken.write_bytes(data.replace(MAGIC, bytes(4)))
    with pytest.raises(RunFailed) as caught:
        vulkan.measure(broken, 0.02)
    assert caught.value.kind in ("crashed", "wrong_result")
    assert vulkan.measure(default, 0.02) > 0


def test_a_lost_device_is_opened_anew(
    vulkan: Device, default: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a process has opened answers nothing any more, whatever it is asked."""
    call, lost = Child.call, vulkan._child._process

    def call_lost(child: Child, request: object, timeout: float | None = None) -> object:
        if child._process is lost:
            raise RuntimeError("RuntimeError: c/vulkan/device.cc: ABORTED; VK_ERROR_DEVICE_LOST")
        return call(child, request, timeout)

    monkeypatch.setattr(Child, "call", call_lost)
    with pytest.raises(RunFailed, match="VK_ERROR_DEVICE_LOST"):
        vulkan.measure(default, 0.02)
    assert vulkan.measure(default, 0.02) > 0


def test_what_is_not_written_is_not_taken_for_what_was_there(
    vulkan: Device, shader: Dispatch, default: Path, tmp_path: Path
) -> None:
    """Memory is not cleared, and what the default has left there would be right."""
    half = build(shader, HALF, tmp_path / "half.vmfb")
    assert vulkan.measure(default, 0.02) > 0
    with pytest.raises(RunFailed) as caught:
        vulkan.measure(half, 0.02)
    assert caught.value.kind == "wrong_result"


@pytest.mark.parametrize("software", [True, False])
def test_short_kernels_of_a_gpu_are_timed_in_groups(
    software: bool, shader: Dispatch, default: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a driver on this CPU they are not, where groups are disturbed more often than runs."""
    monkeypatch.setattr(kernel, "is_software", lambda chip: software)
    monkeypatch.setattr(kernel, "REPEATED_US", 1e9)
    asked: list[bool] = []
    limits: list[float] = []
    run = kernel.LoadedExecutable.run

    def record(self: kernel.LoadedExecutable, arguments: Any, *, repeated: bool = False) -> Any:
        asked.append(repeated)
        return run(self, arguments, repeated=repeated)

    def time_runs(
        run: Callable[[], object], seconds: float, limit: float = 1e9, **_: int
    ) -> Timing:
        run()
        limits.append(limit)
        return Timing((640.0,))

    monkeypatch.setattr(kernel.LoadedExecutable, "run", record)
    kernel.answer(kernel.SetupRequest("vulkan", call_of(shader), default, seed=0))
    monkeypatch.setattr(kernel, "time_runs", time_runs)
    timing = kernel.answer(kernel.MeasureRequest(default, 0.01, give_up_us=1e6))
    assert asked[-2:] == [not software] * 2  # the first one is not timed
    assert timing == Timing((640.0,) if software else (20.0,))
    assert limits[-1] == (1e6 if software else 32e6)
