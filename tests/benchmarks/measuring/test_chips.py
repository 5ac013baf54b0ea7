"""Chips by URIs, what runs on them, and drivers' threads that spin while nothing is to be done."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from frontrunner.benchmarks.bundle import run
from frontrunner.benchmarks.measuring import Budget, chips
from frontrunner.benchmarks.measuring.chips import (
    LEAST_PRIORITY,
    TASKS,
    calm_spinning_threads,
    check_drivers,
    check_subgroups,
    check_uris,
    fingerprint,
)
from frontrunner.core import Child, InputError, WorkError


def test_fingerprints_name_the_chip() -> None:
    assert fingerprint("local-task").startswith("local-task on ")
    assert len(fingerprint("local-task")) > len("local-task on ")


def test_a_device_must_run_what_the_backend_makes() -> None:
    cpu = ("local-task", "local-sync")
    check_drivers(cpu, cpu, "znver4")
    check_drivers(["cuda://0", "cuda://1"], ["cuda"], "sm_90")
    check_drivers(["hip://GPU-12"], ["hip"], "gfx942")
    with pytest.raises(InputError, match="'local-task' does not run code for sm_90") as caught:
        check_drivers(["local-task"], ["cuda"], "sm_90")
    assert caught.value.hint == "use cuda"
    with pytest.raises(InputError, match="'cuda://0' does not run code for znver4") as caught:
        check_drivers(["cuda://0"], cpu, "znver4", ", or think again")
    assert caught.value.hint == "use local-task or local-sync, or think again"


def test_a_device_is_named_once() -> None:
    with pytest.raises(InputError, match="'cuda://0' is named twice"):
        check_uris(["cuda://0", "cuda://1", "cuda://0"])


def test_a_bundle_measures_no_device_in_two_lanes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = SimpleNamespace(drivers=("cuda",), arch="sm_90", subgroup_sizes=())
    monkeypatch.setattr(run, "Bundle", lambda path: SimpleNamespace(manifest=manifest))
    monkeypatch.setattr(chips, "chip_of", lambda uri: chips.Chip("NVIDIA H100", "GPU-a1"))
    devices, out = ["cuda", "cuda://0"], tmp_path / "results.jsonl"
    with pytest.raises(InputError, match="cuda and cuda://0 are one device"):
        run.run_bundle(tmp_path / "a.bundle", devices, out, Budget(), print)


@pytest.mark.parametrize("driver", ["cuda", "hip", "vulkan"])
def test_a_gpu_that_is_not_there_is_one_clear_line(driver: str) -> None:
    # No machine has a thousand.
    with pytest.raises(WorkError, match=f"device {driver}://999 does not answer: ") as caught:
        fingerprint(f"{driver}://999")
    assert "\n" not in str(caught.value)


class Driver:
    def query_available_devices(self) -> list[dict[str, object]]:
        return [
            {"device_id": 1, "path": "GPU-a1", "name": "NVIDIA H100"},
            {"device_id": 2, "path": "GPU-b2", "name": "NVIDIA H100"},
        ]


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("cuda", "GPU-a1"),
        ("cuda://0", "GPU-a1"),
        ("cuda://1", "GPU-b2"),
        ("cuda://GPU-b2", "GPU-b2"),
    ],
)
def test_gpus_are_told_apart(uri: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chips.rt, "get_driver", lambda name: Driver())
    assert chips.identify(uri) == chips.Chip("NVIDIA H100", path)
    with pytest.raises(ValueError, match="there is no cuda://2 among the 2 devices"):
        chips.identify("cuda://2")


def test_gpus_without_uuids_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    alike = [{"device_id": n, "path": "GPU-XX", "name": "MI300X"} for n in (1, 2)]
    driver = SimpleNamespace(query_available_devices=lambda: alike)
    monkeypatch.setattr(chips.rt, "get_driver", lambda name: driver)
    found = [chips.identify(uri).path for uri in ("hip", "hip://0", "hip://1")]
    assert found == ["GPU-XX#0", "GPU-XX#0", "GPU-XX#1"]


class VulkanDriver(Driver):
    def dump_device_info(self, device_id: int) -> str:
        return f"subgroup: size=8 minSubgroupSize={8 * device_id} maxSubgroupSize=16" * device_id


def test_subgroups_of_vulkan_devices_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chips.rt, "get_driver", lambda name: VulkanDriver())
    assert chips.identify("vulkan").subgroups == (8, 16)
    assert chips.identify("cuda").subgroups == (0, 0)


@pytest.mark.parametrize(
    ("here", "right"),
    [((8, 8), False), ((4, 8), False), ((8, 32), True), ((16, 16), True), ((0, 0), True)],
)
def test_devices_with_other_subgroups_than_code_needs_are_refused(
    here: tuple[int, int], right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chips, "chip_of", lambda uri: chips.Chip("some", subgroups=here))
    if right:
        check_subgroups(["vulkan"], (16, 64))
        return
    words = "(4 to )?8 threads, and this code is for 16 or 64: it computes something else"
    with pytest.raises(InputError, match=words):
        check_subgroups(["vulkan"], (16, 64))


def priority(thread: int | None) -> int:
    assert thread is not None
    return os.getpriority(os.PRIO_PROCESS, thread)


@contextmanager
def running(work: Callable[[threading.Event], object]) -> Iterator[threading.Thread]:
    """A thread that works until the event that it is given is set."""
    ended = threading.Event()
    thread = threading.Thread(target=work, args=[ended], daemon=True)
    thread.start()
    yield thread
    ended.set()
    thread.join()


def spin(ended: threading.Event) -> None:
    while not ended.is_set():
        pass


@pytest.mark.skipif(
    not any(TASKS.glob("*/schedstat")), reason="the system does not say how long threads ran"
)
def test_who_spins_gets_the_least_priority() -> None:
    with running(spin) as spinning, running(threading.Event.wait) as waiting:
        usual = priority(waiting.native_id)
        found = calm_spinning_threads(0.3)
        assert spinning.native_id in found
        assert waiting.native_id not in found
        assert threading.get_native_id() not in found
        assert priority(spinning.native_id) == LEAST_PRIORITY
        assert priority(waiting.native_id) == usual


def usual_spinners(uri: str) -> list[int]:
    """The threads that spin at a usual priority beside an open device.

    In a child process, since a device stays open.
    """
    from frontrunner.benchmarks.measuring import open_device

    open_device(uri)
    before = {int(thread): priority(int(thread)) for thread in os.listdir(TASKS)}
    return [t for t in calm_spinning_threads(0.3) if before.get(t, 0) < LEAST_PRIORITY]


@pytest.mark.usefixtures("vulkan_device")
def test_no_thread_of_a_driver_spins_at_the_usual_priority() -> None:
    with Child(f"{__name__}:usual_spinners") as child:
        assert child.call("vulkan") == []
