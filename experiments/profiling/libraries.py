"""Other libraries, each in a process of its own, timed on what dispatches compute."""

from __future__ import annotations

from collections.abc import Sequence

from ...benchmarks.libraries import (
    REQUIRED_PACKAGES,
    TimingReply,
    TimingRequest,
    installed_libraries,
)
from ...benchmarks.measuring import CRASHED, KEEP_MEMORY, KILLED, TIMEOUT, WRONG_RESULT, RunFailed
from ...benchmarks.operations import Operation
from ...core import Child, ChildDied, ChildKilled, ChildTimeout, InputError, first_line
from .log import UNSUPPORTED

# Seconds that a library may take for one operation, with the reference that it is compared with.
LIBRARY_TIMEOUT = 300.0
NONE = "none"


def parse_libraries(text: str | None, *, on_cpu: bool) -> tuple[str, ...]:
    """Libraries to compare with: as named, `none`, or those that are installed.

    Args:
        on_cpu: whether dispatches run where libraries do; if not, none is the default.

    Raises:
        InputError: there is no such library, or it is not installed.
    """
    there = installed_libraries()
    if text is None:
        return tuple(there) if on_cpu else ()
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if names == (NONE,):
        return ()
    if NONE in names:
        raise InputError(f"--providers: {text} is none, and others", "give one or the other")
    for name in names:
        if name not in REQUIRED_PACKAGES:
            raise InputError(
                f"--providers: no library {name!r}",
                f"there are: {', '.join([*REQUIRED_PACKAGES, NONE])}",
            )
        if name not in there:
            raise InputError(
                f"--providers: {name} is not installed",
                f"pip install {' '.join(REQUIRED_PACKAGES[name])}",
            )
    return names


class Libraries:
    """The processes of some libraries; they start when they are first asked.

    Args:
        threads: that each may use.
    """

    def __init__(self, names: Sequence[str], threads: int) -> None:
        self._threads = threads
        # BLAS reads how many when it is loaded; memory is kept as it is for dispatches.
        variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        env = {**KEEP_MEMORY, **dict.fromkeys(variables, str(threads))}
        handler = "frontrunner.benchmarks.libraries.providers:answer"
        self._children = {name: Child(handler, env=env) for name in names}

    def time(
        self, name: str, operation: Operation, seed: int, seconds: float, *, verify: bool
    ) -> tuple[float, ...]:
        """The times of single runs, in microseconds.

        Raises:
            RunFailed: the library does not compute it, or something else, or was killed, twice.
        """
        trial = TimingRequest(name, operation, seed, seconds, self._threads, verify)
        try:
            found: TimingReply = self._children[name].call_with_retry(
                trial, timeout=LIBRARY_TIMEOUT
            )
        except ChildKilled as death:
            raise RunFailed(KILLED, f"{name} was {death}, twice") from death
        except ChildDied as death:
            raise RunFailed(CRASHED, first_line(death)) from death
        except ChildTimeout as late:
            raise RunFailed(TIMEOUT, str(late)) from late
        except RuntimeError as error:
            raise RunFailed(CRASHED, first_line(error)) from error
        if found.timing is None:
            raise RunFailed(UNSUPPORTED, found.unsupported)
        if found.timing.wrong is not None:
            raise RunFailed(WRONG_RESULT, found.timing.wrong)
        return found.timing.samples_us

    def close(self) -> None:
        for child in self._children.values():
            child.close()

    def __enter__(self) -> Libraries:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
