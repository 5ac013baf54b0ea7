"""`frontrunner`, started so that a run takes seconds, its clock jumps, and its answers are wrong.

SIGUSR1 has the clock jump a day ahead, SIGUSR2 a day back. A worker tells the lie that the file
`lie` in its working folder names, once. All end with the thread that started them.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

DAY = 86400.0
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
LIE = Path("lie")
# Where a worker listens, and where clients are told to find it.
PORT, CONTACT = "FRONTRUNNER_CHAOS_PORT", "FRONTRUNNER_CHAOS_CONTACT"
_ROOT = (__package__ or "").partition(".")[0]
_BRIEF = {
    "FIRST_BASELINE_SECONDS": 0.01,
    "BASELINE_SECONDS": 0.01,
    "SCREEN_SECONDS": 0.01,
    "HEATS_SECONDS": 0.1,
    "HEAT_TURN": 0.005,
    "FINALS_SECONDS": 0.1,
    "FINALS_TURN": 0.005,
    "NOISY_SECONDS": 0.0,
}


def main() -> int:
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    _let_the_clock_jump()
    constants = _module("benchmarks.measuring.constants")
    for name, seconds in _BRIEF.items():  # before others import them by name
        setattr(constants, name, seconds)
    # Logging to MLflow takes seconds, and the loop that ends commands has it.
    _module("experiments.observing.tracking").Tracker.start = lambda *_, **__: None
    if sys.argv[1] == "worker":
        _listen_behind_a_proxy()
        _let_it_lie()
    frontrunner: Callable[[], int] = _module("cli").main
    return frontrunner()


def _module(name: str) -> Any:
    return importlib.import_module(f"{_ROOT}.{name}")


def _let_the_clock_jump() -> None:
    now, ahead = time.time, 0.0

    def jump(number: int, _: object) -> None:
        nonlocal ahead
        ahead += DAY if number == signal.SIGUSR1 else -DAY

    signal.signal(signal.SIGUSR1, jump)
    signal.signal(signal.SIGUSR2, jump)
    time.time = lambda: now() + ahead


def _listen_behind_a_proxy() -> None:
    if PORT in os.environ:
        serving = _module("benchmarks.cluster.serving")
        port, contact = int(os.environ[PORT]), os.environ[CONTACT]
        serving.Worker = partial(serving.Worker, port=port, contact_address=contact)


def _another_file(answer: Any) -> Any:
    """One bit is not as it was."""
    data = bytearray(answer.file)
    data[len(data) // 2] ^= 1
    return replace(answer, file=bytes(data))


def _another_digest(answer: Any) -> Any:
    return replace(answer, value=replace(answer.value, digest="0" * len(answer.value.digest)))


def _another_time(samples: tuple[Any, ...]) -> Callable[[Any], Any]:
    return lambda answer: replace(answer, value=replace(answer.value, samples_us=samples))


# By their names: a field that the answer's value has to have, and what becomes of the answer.
LIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "another file": ("digest", _another_file),
    "another digest": ("digest", _another_digest),
    "no reply": ("digest", lambda answer: replace(answer, value=None)),
    "no file": ("digest", lambda answer: replace(answer, file=None)),
    "a time below zero": ("samples_us", _another_time((-1.0, -1.0, -1.0))),
    "a time that is no number": ("samples_us", _another_time((math.nan,) * 3)),
    "no time": ("samples_us", _another_time(())),
    "a text for a time": ("samples_us", _another_time(("soon",))),
    "another value": ("samples_us", lambda answer: replace(answer, value="soon")),
    "no answer": ("samples_us", lambda answer: None),
}


def _let_it_lie() -> None:
    host = _module("benchmarks.cluster.host").Host
    do = host.do

    def lie(self: Any, work: Any) -> Any:
        answer = do(self, work)
        with suppress(FileNotFoundError):
            field, change = LIES[LIE.read_text()]
            if answer.raised is None and hasattr(answer.value, field):
                LIE.unlink()
                return change(answer)
        return answer

    host.do = lie


if __name__ == "__main__":
    sys.exit(main())
