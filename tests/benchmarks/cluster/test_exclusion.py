"""What is compiled and what is measured on one machine."""

from __future__ import annotations

import fcntl
import os
import threading
from contextlib import closing, suppress

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
    """Each compile begins before the one before it has ended, as of another client."""
    over, others = threading.Event(), threading.Barrier(2)

    def compile_for_ever():
        others.wait(60)
        while not over.is_set():
            with cores.compiling():
                if not over.is_set():
                    with suppress(threading.BrokenBarrierError):
                        others.wait(0.05)  # until the other one is there, too

    threads = [threading.Thread(target=compile_for_ever) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        with cores.measuring():
            over.set()
    finally:
        over.set()
        others.abort()
        for thread in threads:
            thread.join()


def test_who_fails_while_measuring_does_not_keep_the_machine(cores, tmp_path, monkeypatch):
    monkeypatch.setattr(exclusion, "LINGER_SECONDS", 0.001)
    with pytest.raises(ValueError, match="it fails"), cores.measuring():
        raise ValueError("it fails")
    with cores.compiling():
        assert is_free(tmp_path, fcntl.LOCK_SH)
