"""Working beside each other, or alone: who waits for whom."""

from __future__ import annotations

import os
import threading

import pytest

from frontrunner.core.child_pool import ChildPool
from frontrunner.core.children import Child, ChildDied
from frontrunner.core.errors import KilledError
from frontrunner.core.shared_lock import SharedLock


def start(*works) -> list[threading.Thread]:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    return threads


def waiting(lock: SharedLock) -> None:
    """Until somebody waits to be alone."""
    while not lock._waiting:
        os.sched_yield()


def test_many_work_beside_each_other() -> None:
    lock, met = SharedLock(), threading.Barrier(3)

    def work() -> None:
        with lock.shared():
            met.wait(60)

    for thread in start(work, work, work):
        thread.join()
    assert not met.broken


def test_who_waits_to_be_alone_goes_before_who_comes_later() -> None:
    lock, order, go = SharedLock(), [], threading.Event()

    def first() -> None:
        with lock.shared():
            go.wait()
            order.append("first")

    def alone() -> None:
        with lock.exclusive():
            order.append("alone")

    def later() -> None:
        with lock.shared():
            order.append("later")

    with lock.shared():
        threads = start(first, alone)
        waiting(lock)
        threads += start(later)
        go.set()
    for thread in threads:
        thread.join()
    assert order == ["first", "alone", "later"]


def test_several_are_alone_one_after_the_other() -> None:
    lock, inside, go = SharedLock(), [], threading.Event()

    def alone(name: str) -> None:
        with lock.exclusive():
            inside.append(name)
            go.wait(60)

    threads = start(lambda: alone("first"))
    while not inside:
        os.sched_yield()
    threads += start(lambda: alone("second"))
    while not lock._waiting and len(inside) < 2:
        os.sched_yield()
    assert inside == ["first"]
    go.set()
    for thread in threads:
        thread.join()
    assert inside == ["first", "second"]


def test_an_error_gives_the_turn_back() -> None:
    lock = SharedLock()
    with pytest.raises(ValueError, match="beside"), lock.shared():
        raise ValueError("beside")
    with pytest.raises(ValueError, match="alone"), lock.exclusive():
        raise ValueError("alone")
    with lock.exclusive(), pytest.raises(KeyError):
        raise KeyError
    with lock.shared():
        pass


class Work:
    """That is killed so many times."""

    def __init__(self, kills: int) -> None:
        self.kills = kills
        self.tries: list[str] = []

    def __call__(self, child: Child, item: str) -> str:
        self.tries.append(item)
        if len(self.tries) <= self.kills:
            raise KilledError(f"killed at try {len(self.tries)}")
        return item.upper()


@pytest.mark.parametrize("kills", [0, 1])
def test_a_pool_tries_again_what_was_killed(kills: int) -> None:
    work = Work(kills)
    with ChildPool("nobody:nothing", 2) as pool:
        assert pool.run(work, "a") == "A"
        assert list(pool.map(work, ["b", "c"])) == ["B", "C"]
    assert len(work.tries) == 3 + kills


def test_a_pool_tells_what_was_killed_twice() -> None:
    with ChildPool("nobody:nothing", 2) as pool:
        with pytest.raises(KilledError, match="at try 2"):
            pool.run(Work(2), "a")
        told = pool.run(Work(2), "a", lambda item, error: f"{item}: {error}")
        assert told == "a: killed at try 2"
        assert pool.run(Work(0), "a") == "A"


@pytest.mark.parametrize("most", [0, 1])
def test_a_pool_whose_threads_do_not_start_can_be_asked_later(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[threading.Thread] = []
    begin = threading.Thread.start

    def begin_some(thread: threading.Thread) -> None:
        if len(begun) == most:
            raise RuntimeError("can't start new thread")
        begun.append(thread)
        begin(thread)

    with ChildPool("nobody:nothing", 2) as pool:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", begin_some)
            with pytest.raises(KilledError, match="the system starts no 2 threads"):
                list(pool.map(Work(0), ["a", "b"]))
        assert list(pool.map(Work(0), ["a", "b"])) == ["A", "B"]


def test_all_of_a_pool_may_be_killed_at_once() -> None:
    """Each then tries again alone, and nobody waits for ever."""
    met, seen = threading.Barrier(4), set()

    def work(child: Child, item: int) -> int:
        if item not in seen:
            seen.add(item)
            met.wait(60)
            raise KilledError("killed")
        return item

    with ChildPool("nobody:nothing", 4) as pool:
        assert list(pool.map(work, range(4))) == [0, 1, 2, 3]


def test_nothing_is_tried_again_in_a_pool_that_was_closed() -> None:
    pool = ChildPool("nobody:nothing", 2)
    go, tries, ends = threading.Event(), [], []

    def beside() -> None:
        pool.run(lambda child, item: go.wait(), None)

    def killed(child: Child, item: object) -> None:
        tries.append(item)
        raise KilledError("killed")

    def again() -> None:
        try:
            pool.run(killed, None)
        except ChildDied as end:
            ends.append(str(end))

    threads = start(beside, again)
    waiting(pool._lock)
    pool.close()
    go.set()
    for thread in threads:
        thread.join()
    assert (len(tries), ends) == (1, ["its pool was closed"])


def pid(_: object) -> int:
    """What a child answers."""
    return os.getpid()


def ask(child: Child, item: int) -> int:
    answer: int = child.call(item)
    return answer


def test_who_takes_all_results_and_lets_go_leaves_children_running() -> None:
    """`next` for each item does not end the generator, and a new child takes seconds to import."""
    with ChildPool(f"{__name__}:pid", 1) as pool:
        pids = []
        for _ in range(2):
            results = pool.map(ask, [1, 2])
            pids += [next(results), next(results)]
            results.close()
        assert len(set(pids)) == 1
        given_up = pool.map(ask, [1, 2, 3])
        next(given_up)
        given_up.close()
        assert not any(child.running for child in pool._all)
