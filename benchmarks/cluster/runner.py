"""Runs candidates on the devices of a cluster, and compiles them on its cores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import TypeVar

from ...core import InputError, KilledError, Notify, WorkError, first_line
from ...search import Dispatch, ExecutablePipeline
from ..compiling import call_of, raise_if_killed, save_log
from ..measuring import (
    CHANGED,
    OK,
    OTHER_INPUTS,
    CompileOutcome,
    Device,
    DeviceScreening,
    Finals,
    Outcome,
    RunFailed,
    confirm,
    run_heats,
    verify_on,
)
from ..runners import QueueCompiler, forget_slow
from .client import AGAIN_SECONDS, ALONE_SECONDS
from .devices import ClusterDevices
from .exclusion import MachineCores
from .lanes import MOST_TRIES, Lane
from .messages import HostLost, OfferedDevice
from .streaming import AHEAD, stream

# Devices that finals are measured on: rounds on more of them tell no more in the same time.
MOST_IN_FINALS = 4
# Devices that are started at a time: all of a thousand at once keep each other from connecting.
MOST_STARTING = 256

Found = TypeVar("Found")


class ClusterRunner:
    """A runner on the devices of other hosts.

    All devices are of one kind; those that join while it runs are used, too. Each has its own
    baseline and is compared with that only.

    Args:
        devices: what to measure and to compile on; closed with this.
        folder: where executables go on this machine; what is there is removed.
        logs: where what was said about failed candidates is kept.
        jobs: compile workers of this machine, where the cluster has none; as many as cores if None.
        seed: of the inputs.
        notify: told when devices are set aside, and when they are back.
        on_device: told of a device how many candidates it has measured, and what it does.
        builder: what makes candidates' executables, if IREE's compiler does not.
    """

    def __init__(
        self,
        devices: ClusterDevices,
        dispatch: Dispatch,
        render_config: Callable[[int], str],
        folder: Path,
        logs: Path,
        *,
        jobs: int | None = None,
        seed: int = 0,
        notify: Notify,
        on_device: Callable[[str, int, str], None] = lambda name, done, doing: None,
        builder: ExecutablePipeline | None = None,
    ) -> None:
        self._devices = devices
        self._notify = notify
        self._on_device = on_device
        self._drifts: dict[str, float] = {}
        self._seed = seed
        self._call = call_of(dispatch)
        compilers = devices.compilers()
        self._compiler = QueueCompiler(dispatch, render_config, folder, jobs, builder, compilers)
        # What compiles elsewhere keeps apart from what measures there.
        self._cores = nullcontext if compilers else MachineCores().compiling
        self._save_log = partial(save_log, logs)
        self._executables: dict[int, Path] = {}
        self._lanes = [self._lane(one) for _, one in devices.chosen.devices]
        self.fingerprints = (devices.kind,)
        self.batch = AHEAD * len(self._lanes)

    def start(self, known: Mapping[int, Outcome]) -> dict[str, float]:
        self._known = dict(known)  # a device that joins reads it in a thread of its own
        self._default = self._compiler.default()
        with ThreadPoolExecutor(min(len(self._lanes), MOST_STARTING)) as pool:
            try:
                found = list(pool.map(_start, self._lanes))
            except BaseException:  # Ctrl-C does not wait for answers
                self._devices.cluster.give_up()
                raise
        times, noted = {}, self._devices.noted
        for lane, time_us in zip(self._lanes, found, strict=True):
            if time_us is None:
                self._tell(lane)
            else:
                times[lane.name] = time_us
                if lane.name in noted:  # by a run that is over
                    self._devices.tell(lane.name, "", lane.drift)
        if not times:
            reasons = ", ".join(f"{lane.name}: {lane.set_aside}" for lane in self._lanes)
            raise WorkError(f"no device of the cluster works: {reasons}", "see to its hosts")
        return times

    def run(
        self, batch: Sequence[int], should_continue: Callable[[], bool] = lambda: True
    ) -> Iterator[tuple[int, Outcome]]:
        left = list(batch)

        def take(count: int) -> list[int]:
            taken, left[:] = left[:count], left[count:]
            return taken

        return self.stream(take, should_continue)

    def stream(
        self, take: Callable[[int], Sequence[int]], should_continue: Callable[[], bool]
    ) -> Iterator[tuple[int, Outcome]]:
        """Yields outcomes in the order in which devices are done."""
        measured = stream(
            take,
            should_continue,
            self._compile,
            self._compiler.jobs,
            self._lanes,
            self._join,
            self._tell,
            self._devices.cluster.give_up,
        )
        return forget_slow(measured, self._executables)

    def executables(
        self, indices: Sequence[int], outcomes: Mapping[int, Outcome]
    ) -> dict[int, Path]:
        """Those of an earlier session are compiled again."""
        for index in indices:
            if index not in self._executables:
                compiled = raise_if_killed(self._compile(index), f"finalist {index + 1}")
                if compiled.digest != outcomes[index].executable:
                    self._executables.pop(index, None)
        return {i: self._executables[i] for i in indices if i in self._executables}

    @property
    def default(self) -> Path:
        return self._default.executable

    def finals(self, contenders: Sequence[int], outcomes: Mapping[int, Outcome]) -> Finals:
        executables = self.executables(contenders, outcomes)
        changed = [(index, CHANGED) for index in contenders if index not in executables]
        found = self._on_devices(lambda devices: run_heats(devices, executables, self._seed))
        return found.with_failed(changed)

    def confirm(self, index: int) -> Finals:
        executable = self._executables[index]
        return self._on_devices(lambda devices: confirm(devices, index, executable, self._seed))

    def verify(self, index: int, spec: str) -> None:
        executable = self._executables[index]
        if spec:
            compiled = self._compiler.compile_winner(spec)
            if compiled.kind != OK:
                raise RunFailed(compiled.kind, compiled.reason)
            executable = compiled.executable
        seed = self._seed + OTHER_INPUTS

        def verify(devices: Sequence[Device]) -> None:
            (lane,) = (one for one in self._lanes if one.device is devices[0])
            devices[0].close()  # there may be no room for both; it starts again when it is asked
            verify_on([self._connect(lane.name, seed)], executable)

        self._on_devices(verify)

    def measured(self) -> dict[str, int]:
        """How many candidates each device has measured."""
        return {lane.name: lane.measured for lane in self._lanes}

    def close(self) -> None:
        with ExitStack() as stack:  # also where one does not end
            stack.callback(self._devices.close)
            stack.callback(self._compiler.close)
            for lane in self._lanes:
                stack.callback(lane.close)

    def _lane(self, offered: OfferedDevice) -> Lane:
        return Lane(offered, partial(self._connect, offered.name), self._screening, self._show)

    def _join(self) -> list[Lane]:
        """Devices that are there since the last time; each is started by its own thread."""
        lanes = [self._lane(one) for one in self._devices.joined()]
        for lane in lanes:
            self._notify(f"{lane.name} joins")
        self._lanes += lanes
        return lanes

    def _tell(self, lane: Lane) -> None:
        """Tells the user, and others by the host, that a device is set aside, or back."""
        text = f"set aside: {lane.set_aside}" if lane.set_aside else ""
        self._notify(f"{lane.name} is {text or 'back'}")
        self._devices.tell(lane.name, text, lane.drift)

    def _show(self, lane: Lane) -> None:
        self._on_device(lane.name, lane.measured, lane.doing)
        if lane.drift != self._drifts.setdefault(lane.name, 1.0):
            self._drifts[lane.name] = lane.drift
            self._devices.tell(lane.name, "", lane.drift)

    def _on_devices(self, do: Callable[[Sequence[Device]], Found]) -> Found:
        """Does something on devices that work; where one is at fault meanwhile, again on others.

        Raises:
            KilledError: what was done was killed from outside, on a host that is there.
            WorkError: there was no device for long, or too many were at fault.
        """
        until = time.monotonic() + ALONE_SECONDS
        faults = 0
        while True:
            for lane in self._lanes:
                if lane.device is None:
                    _start(lane)
            working = [lane for lane in self._lanes if lane.device is not None][:MOST_IN_FINALS]
            if not working:
                if time.monotonic() < until and not self._devices.cluster.wait(AGAIN_SECONDS):
                    continue
                raise WorkError("no device of the cluster is left", "resume the run when one is")
            try:
                return do([lane.device for lane in working if lane.device is not None])
            except WorkError as lost:
                faults += 1
                killed = isinstance(lost, KilledError) and not isinstance(lost, HostLost)
                if killed or faults >= MOST_TRIES:
                    raise
                self._notify(f"measuring again: {first_line(lost)}")
                until = time.monotonic() + ALONE_SECONDS
                for lane in working:
                    lane.put_aside(first_line(lost))

    def _compile(self, index: int) -> CompileOutcome:
        with self._cores():
            compiled = self._compiler.compile_one(index)
        if compiled.kind == OK:
            self._executables[index] = compiled.executable
        return compiled

    def _connect(self, name: str, seed: int | None = None) -> Device:
        return self._devices.connect(
            name, self._call, self.default, self._seed if seed is None else seed
        )

    def _screening(self, device: Device) -> DeviceScreening:
        screening = DeviceScreening(device, self._default.digest, self._save_log)
        for index, outcome in self._known.items():
            if outcome.device == device.name:
                screening.note(index, outcome)
        return screening


def _start(lane: Lane) -> float | None:
    """Microseconds that the default takes; None where the device is set aside."""
    try:
        return lane.start()
    except (WorkError, InputError) as error:  # such as a host without the memory for it
        lane.put_aside(first_line(error))
        return None
