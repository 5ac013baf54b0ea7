"""Where a model's time goes, dispatch by dispatch: the runtime's own profile of a few runs."""

from __future__ import annotations

import json
import signal
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core import (
    ChildTimeout,
    KilledError,
    WorkError,
    check_free_space,
    describe_kill,
    run_program,
)
from ..measuring import PROFILE_SECONDS, shares_cores
from .inputs import FunctionCall
from .kernel import NetworkSetup

TIMEOUT = 600.0
RUNS = 5
# In its first run a model touches its memory for the first time, and a driver may compile kernels.
LEAST_RUNS = 2
# Beyond these, a profile of a fast model takes longer to read than to make.
MOST_RUNS = 50


@dataclass(frozen=True)
class DispatchTime:
    """What one dispatch takes in a run of a model.

    Attributes:
        count: how many times a run dispatches it.
        time_us: of a run, all counts together, each as fast as it is in any run of the profile.
    """

    name: str
    count: float
    time_us: float


@dataclass(frozen=True)
class ProfileRequest:
    """Asks a child process for what `profile` finds."""

    executable: Path
    setup: NetworkSetup
    runs: float


def profile_runs(run_us: float) -> float:
    """How many runs of a model a profile is to have, by what its dispatches take in one.

    Less than one where a run is of many calls: fewer of them say as much.
    """
    return min(MOST_RUNS, PROFILE_SECONDS * 1e6 / max(1.0, run_us))


def answer(request: ProfileRequest) -> list[DispatchTime]:
    """The child's side."""
    return profile(request.executable, request.setup, request.runs)


def profile(executable: Path, setup: NetworkSetup, runs: float = RUNS) -> list[DispatchTime]:
    """Profiles runs of a model, on the first sets of its inputs.

    Where they are made of several calls, what counts more is called more often, but at least twice.

    Raises:
        WorkError: the tools of the runtime fail.
        KilledError: one was killed from outside.
    """
    found: dict[str, DispatchTime] = {}
    for call in (one for one in setup.calls if one.weight):
        times = max(LEAST_RUNS, min(MOST_RUNS, round(runs * call.weight)))
        for one in fastest_times(profile_events(executable, setup, call, times), times):
            before = found.get(one.name, DispatchTime(one.name, 0.0, 0.0))
            found[one.name] = DispatchTime(
                one.name,
                before.count + call.weight * one.count,
                before.time_us + call.weight * one.time_us,
            )
    return list(found.values())


def profile_events(
    executable: Path, setup: NetworkSetup, call: FunctionCall, times: int
) -> list[dict[str, Any]]:
    """What the runtime's profiler tells of some runs of a call: each time of each dispatch.

    Raises:
        WorkError, KilledError: as `profile`.
    """
    mode = "host-execution" if shares_cores(setup.device) else "dispatch-events"
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "profile"
        _run(
            "iree-benchmark-module",
            f"--device={setup.device}",
            f"--module={executable}",
            f"--function={call.function}",
            *(f"--input={one.tool_argument()}" for one in call.inputs[0]),
            *(f"--parameters={scope}={path}" for scope, path in setup.parameters),
            f"--benchmark_min_time={times}x",
            f"--device_profiling_mode={mode}",
            f"--device_profiling_output={data}",
        )
        printed = _run("iree-profile", "dispatch", "--dispatch_events", "--format=jsonl", str(data))
    return [json.loads(line) for line in printed.splitlines()]


def fastest_times(events: Iterable[Mapping[str, Any]], runs: int) -> list[DispatchTime]:
    """What dispatches take in one of several runs, by what a profile tells of each time.

    What runs beside a model only ever slows it down, and a driver may compile a kernel when it is
    run first (lavapipe: 220 ms for a product that takes 0.2). So each of a run's times counts as
    the least of all runs. Profiles of 0.4 s of seven models, again and again on two busy cores,
    strayed by 8 % so, and by 13 % where means counted (`studies.profile_noise`).
    """
    return [
        DispatchTime(name, len(times) / runs, _fastest_run(times, runs) / 1e3)
        for name, times in durations_ns(events).items()
    ]


def durations_ns(events: Iterable[Mapping[str, Any]]) -> dict[str, list[int]]:
    """Each time of each dispatch; the name is the function's, without its executable."""
    found: dict[str, list[int]] = {}
    for event in events:
        if str(event.get("type")).endswith("dispatch_event") and event["valid"]:
            found.setdefault(str(event["key"]), []).append(event["duration_ns"])
    return found


def _fastest_run(times: Sequence[int], runs: int) -> float:
    each, rest = divmod(len(times), runs)
    if rest:  # not all runs do the same
        return sum(times) / runs
    # A function of dynamic sizes may take longer at one place of a run than at another.
    return sum(min(times[place::each]) for place in range(each))


def _run(tool: str, *arguments: str) -> str:
    """What a tool of the runtime's wheel prints.

    Raises:
        NoRoomError: it fails, and there is no room for what it writes.
        WorkError: it fails, with the first line of what it says.
    """
    import iree._runtime_libs as wheel

    try:
        done = run_program([str(Path(wheel.__file__).parent / tool), *arguments], TIMEOUT)
    except ChildTimeout:
        raise WorkError(f"{tool} gave no answer in {TIMEOUT:.0f} s") from None
    if done.code == -signal.SIGKILL:
        raise KilledError(f"{tool} was {describe_kill()}")
    if done.code:
        check_free_space()
        words = [line for line in done.err.splitlines() if line.strip()]
        raise WorkError(f"{tool} failed: {words[0] if words else f'exit {done.code}'}")
    return done.out
