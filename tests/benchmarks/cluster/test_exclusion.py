"""What is compiled and what is measured on one machine."""

from __future__ import annotations

import fcntl
import os
import threading
from contextlib import closing

import pytest

from frontrunner.benchmarks.cluster import exclusion
from frontrunner.benchmarks.cluster.exclusion import MachineCores


def is_free(folder, how):
    """Whether another process could have the lock now."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(handle)


@pytest.fixture
def cores(tmp_path, monkeypatch):
    # Other tests compile and measure meanwhile.
    monkeypatch.setattr(exclusion, "temporary_folder", lambda: tmp_path / "of-a-process")
    with closing(MachineCores()) as cores:
        yield cores


def test_several_compile_and_one_measures(cores, tmp_path):
    with cores.compiling(), cores.compiling():
        assert is_free(tmp_path, fcntl.LOCK_SH)
        assert not is_free(tmp_path, fcntl.LOCK_EX)
    with cores.measuring():
        assert not is_free(tmp_path, fcntl.LOCK_SH)


def test_what_is_measured_next_finds_the_machine_quiet(cores, tmp_path, monkeypatch):
    monkeypatch.setattr(exclusion, "LINGER_SECONDS", 3600.0)
    with cores.measuring():
        pass
    assert not is_free(tmp_path, fcntl.LOCK_SH)
    with cores.measuring():
        assert not is_free(tmp_path, fcntl.LOCK_SH)
    cores.close()
    assert is_free(tmp_path, fcntl.LOCK_EX)


def test_then_compiling_goes_on(cores, tmp_path, monkeypatch):
    monkeypatch.setattr(exclusion, "LINGER_SECONDS", 0.001)
    for _ in range(3):
        with cores.measuring():
            pass
        with cores.compiling():
            assert is_free(tmp_path, fcntl.LOCK_SH)


def test_who_measures_has_a_turn_where_compiling_never_ends(cores):
    """Each compile ends when another client's has begun, if that can."""
    over, entered, measured = threading.Event(), threading.Condition(), threading.Event()
    entries = [0, 0]

    def compile_for_ever(own, other):
        while not over.is_set():
            with cores.compiling(), entered:
                before = entries[other]
                entries[own] += 1
                entered.notify_all()
                entered.wait_for(lambda b=before: entries[other] > b or over.is_set(), 0.2)

    def measure():
        with cores.measuring():
            measured.set()

    threads = [threading.Thread(target=compile_for_ever, args=who) for who in ((0, 1), (1, 0))]
    for thread in threads:
        thread.start()
    with entered:
        assert entered.wait_for(lambda: min(entries) > 1, 60)
    threads.append(threading.Thread(target=measure))
    threads[-1].start()
    try:
        assert measured.wait(20)
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_who_fails_while_measuring_does_not_keep_the_machine(cores, tmp_path, monkeypatch):
    monkeypatch.setattr(exclusion, "LINGER_SECONDS", 0.001)
    with pytest.raises(ValueError, match="it fails"), cores.measuring():
        raise ValueError("it fails")
    with cores.compiling():
        assert is_free(tmp_path, fcntl.LOCK_SH)
