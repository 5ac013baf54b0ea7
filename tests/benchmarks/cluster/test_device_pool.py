"""Devices that are handed out, lost and handed out again."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from frontrunner.benchmarks.cluster import DevicePool, HostLost


class Named:
    """Stands for a device."""

    def __init__(self, name: str) -> None:
        self.name = name

    def close(self) -> None:
        closed.append(self.name)


closed: list[str] = []


def test_what_a_lost_device_did_is_done_by_another_and_it_comes_back() -> None:
    said: list[str] = []
    connected: list[str] = []

    def connect(name: str) -> Any:
        connected.append(name)
        return Named(name)

    pool = DevicePool(["a", "b"], connect, said.append, again=0.0, alone=30.0)
    lost = {"a"}

    def work(device: Any) -> str:
        if device.name in lost:
            lost.clear()
            raise HostLost(f"{device.name} is gone")
        return str(device.name)

    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda _: pool.run(work), range(50)))
    assert set(found) <= {"a", "b"}
    assert said == ["a is set aside: a is gone"]
    while pool.run(work) != "a":  # it is handed out again
        pass
    assert sorted(connected) == ["a", "a", "b"]
    pool.close()
    assert sorted(closed) == ["a", "b"]


def test_nothing_is_waited_for_for_ever_and_errors_free_the_device() -> None:
    pool = DevicePool(["a"], lambda name: Named(name), lambda _: None, again=600.0, alone=0.01)  # type: ignore[arg-type,return-value]

    def fail(_: Any) -> None:
        raise ValueError("its own")

    for _ in range(2):
        with pytest.raises(ValueError, match="its own"):
            pool.run(fail)

    def lose(_: Any) -> None:
        raise HostLost("gone")

    with pytest.raises(HostLost, match="no device of the cluster was there"):
        pool.run(lose)


def test_hosts_that_stay_lost_end_the_work_although_they_are_tried_again() -> None:
    said: list[str] = []
    pool = DevicePool(["a"], lambda name: Named(name), said.append, again=0.0, alone=0.3)  # type: ignore[arg-type,return-value]

    def lose(_: Any) -> None:
        raise HostLost("gone")

    with pytest.raises(HostLost, match="no device of the cluster was there"):
        pool.run(lose)
    assert said == ["a is set aside: gone"]


def test_closing_ends_what_waits_for_a_device() -> None:
    pool = DevicePool([], lambda name: Named(name), lambda _: None, alone=600.0)  # type: ignore[arg-type,return-value]
    with ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(pool.run, lambda device: None) for _ in range(2)]
        pool.close()
        for one in waiting:
            with pytest.raises(HostLost, match="was ended"):
                one.result()


def test_while_one_works_the_others_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = DevicePool(["a"], lambda name: Named(name), lambda _: None, alone=0.01)  # type: ignore[arg-type,return-value]
    get, waited, done = pool._free.get, threading.Semaphore(0), threading.Event()

    def count(timeout: float) -> str:
        try:
            return get(timeout=timeout)
        finally:
            waited.release()

    def work(device: Any) -> str:
        done.wait(60)
        return str(device.name)

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(pool.run, work)
        while not pool._busy:
            pass
        monkeypatch.setattr(pool, "_free", SimpleNamespace(get=count, put=pool._free.put))
        second = threads.submit(pool.run, work)
        for _ in range(3):  # the time that one without any waits is long over
            assert waited.acquire(timeout=60)
        done.set()
        assert [first.result(), second.result()] == ["a", "a"]


def test_a_device_that_was_lost_is_busy_again_once_it_has_answered() -> None:
    pool = DevicePool(["a"], lambda name: Named(name), lambda _: None, again=0.0, alone=60.0)  # type: ignore[arg-type,return-value]
    busy: list[set[str]] = []
    answers = iter([False, True])

    def ask(device: Any) -> None:
        busy.append({*pool._busy})
        if not next(answers):
            raise HostLost("gone")

    pool.run(lambda device: busy.append({*pool._busy}), ask)
    assert busy == [{"a"}, set(), {"a"}]


def test_several_pieces_of_work_are_done_on_one_device_unless_it_is_lost() -> None:
    pool = DevicePool(["a", "b"], lambda name: Named(name), lambda _: None, again=600.0)  # type: ignore[arg-type,return-value]

    def work(device: Any) -> str:
        return str(device.name)

    def lose(device: Any) -> str:
        if device.name == "a":
            raise HostLost("a is gone")
        return work(device)

    with pool.keeping() as kept:
        assert [pool.run(work, kept=kept) for _ in range(3)] == ["a", "a", "a"]
        assert [pool.run(work) for _ in range(2)] == ["b", "b"]
        assert pool.run(lose, kept=kept) == "b"
        assert kept.name == "b"
    assert pool.run(work) == "b"
