"""Keeps what is compiled and what is measured on the same cores of a machine apart."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ...core import SharedLock, temporary_folder

# How long a machine stays quiet for the next measurement. Candidates that are compiled are asked
# for one after the other, some milliseconds apart: were compiling let in between them, each would
# wait for what is being compiled, on one core while the other has nothing to do (two cores of
# Emerald Rapids: 435 ms a candidate, where a run without a cluster takes 382).
LINGER_SECONDS = 0.02


class MachineCores:
    """A lock of all workers of a user on this machine: many compile, or one measures alone.

    It is on the folder that their temporary files have in common, so that no file is left. Within a
    worker, who waits to be alone goes before what is compiled next: that of other clients may never
    end.
    """

    def __init__(self) -> None:
        self._measuring = threading.Lock()
        self._turns = SharedLock()
        self._held: int | None = None  # the lock, while a measurement has it or was just over
        self._measured = 0

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Waits until nothing is measured."""
        with self._turns.shared():
            handle = _locked(fcntl.LOCK_SH)
            try:
                yield
            finally:
                os.close(handle)  # which gives the lock back

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Waits until nothing is compiled, and keeps it so for what is measured next."""
        with self._measuring:
            if self._held is None:
                with self._turns.exclusive():
                    self._held = _locked(fcntl.LOCK_EX)
            try:
                yield
            finally:
                self._measured += 1
                later = threading.Timer(LINGER_SECONDS, self._release, (self._measured,))
                later.daemon = True
                later.start()

    def close(self) -> None:
        """Lets compiling in at once."""
        self._release(self._measured)

    def _release(self, measured: int) -> None:
        """Lets compiling in, unless something else was measured meanwhile."""
        with self._measuring:
            if measured == self._measured and self._held is not None:
                os.close(self._held)
                self._held = None


def _locked(how: int) -> int:
    shared = temporary_folder().parent
    # A worker that another process of ours started has its folder within that one's.
    shared = next((p for p in reversed(shared.parents) if p.name == shared.name), shared)
    handle = os.open(shared, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, how)
    except BaseException:
        os.close(handle)
        raise
    return handle
