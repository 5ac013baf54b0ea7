"""A first, short measurement of each candidate: devices turn executables into outcomes.

Times are compared by their ratio to the baseline of the device that they were measured on, since
chips differ, also those of one name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from ...core import merge_in_threads
from .constants import BASELINE_SECONDS, BATCH_PER_DEVICE, GIVE_UP_RATIO, SCREEN_SECONDS
from .device import Device, RunFailed
from .outcome import BASELINE, KILLED, OK, CompileOutcome, Outcome

CompiledCandidate = tuple[int, CompileOutcome]
MeasuredCandidate = tuple[int, Outcome]


class Screening:
    """Measures batches of compiled candidates, identical executables once per device.

    Args:
        devices: started devices; candidates take turns on them.
        baseline: digest of the compiler's default.
        known: outcomes of an earlier session, by queue position.
        save_log: told what was said of candidates that failed, by queue position, in full.
    """

    def __init__(
        self,
        devices: Sequence[Device],
        baseline: str,
        known: Mapping[int, Outcome],
        save_log: Callable[[int, str], None] | None = None,
    ) -> None:
        self._lanes = [DeviceScreening(device, baseline, save_log) for device in devices]
        by_name = {lane.device.name: lane for lane in self._lanes}
        for index, outcome in known.items():
            if outcome.device in by_name:
                by_name[outcome.device].note(index, outcome)

    def measure(
        self, batch: Sequence[CompiledCandidate], should_continue: Callable[[], bool] = lambda: True
    ) -> Iterator[MeasuredCandidate]:
        """Measures the candidates, and every device's baseline before each few of its own.

        Args:
            should_continue: asked before each candidate; what is being measured when it says no is
                still yielded.

        Yields:
            Outcomes as soon as they are known: in the order of the batch on the CPU, where devices
            share the cores and take turns, and per device on GPUs, which work at the same time.
        """
        if any(lane.device.shares_cores for lane in self._lanes):
            yield from self._in_turn(self._lanes, batch, should_continue)
        else:
            yield from merge_in_threads(
                [self._in_turn([lane], batch, should_continue) for lane in self._lanes]
            )

    def _in_turn(
        self,
        lanes: Sequence[DeviceScreening],
        batch: Sequence[CompiledCandidate],
        should_continue: Callable[[], bool],
    ) -> Iterator[MeasuredCandidate]:
        since = dict.fromkeys(lanes, BATCH_PER_DEVICE)
        for index, compiled in batch:
            lane = self._lanes[index % len(self._lanes)]
            if lane in since:
                if not should_continue():
                    return
                # Of many cores, a batch has hundreds: the machine is another by its end.
                if since[lane] >= BATCH_PER_DEVICE:
                    lane.device.measure_baseline(BASELINE_SECONDS)
                    since[lane] = 0
                since[lane] += 1
                yield index, lane.measure(index, compiled)


class DeviceScreening:
    """One device and what is known of its candidates.

    Args:
        baseline, save_log: as of `Screening`.
    """

    def __init__(
        self, device: Device, baseline: str, save_log: Callable[[int, str], None] | None = None
    ) -> None:
        self.device = device
        self._save_log = save_log or _forget
        default = Outcome(OK, time_us=1.0, baseline_us=1.0)
        self._seen: dict[str, MeasuredCandidate] = {baseline: (BASELINE, default)}
        self._best = float("inf")

    def note(self, index: int, outcome: Outcome) -> None:
        # Of what was killed nothing is known: another with that executable has its own try.
        if outcome.executable and outcome.stage != "compile" and outcome.kind != KILLED:
            self._seen.setdefault(outcome.executable, (index, outcome))
        if outcome.relative is not None:
            self._best = min(self._best, outcome.relative)

    def measure(self, index: int, compiled: CompileOutcome) -> Outcome:
        outcome = self.try_out(index, compiled)
        self.note(index, outcome)
        return outcome

    def try_out(self, index: int, compiled: CompileOutcome) -> Outcome:
        """What becomes of a candidate, without taking it for known."""
        device = self.device
        common = Outcome(
            compiled.kind,
            executable=compiled.digest,
            compile_s=round(compiled.seconds, 3),
            device=device.name,
            baseline_us=device.baseline_us,
        )
        if compiled.kind != OK:
            self._save_log(index, compiled.log)
            return replace(common, stage="compile", reason=compiled.reason, baseline_us=None)
        if compiled.digest in self._seen:
            first, twin = self._seen[compiled.digest]
            # In units of its own baseline: the machine may have drifted since.
            time_us = None if twin.relative is None else twin.relative * device.baseline_us
            return replace(
                common, kind=twin.kind, stage=twin.stage, reason=twin.reason,
                time_us=time_us, same_as=first,
            )  # fmt: skip
        try:
            time_us = device.measure(
                compiled.executable,
                SCREEN_SECONDS,
                give_up_us=GIVE_UP_RATIO * self._best * device.baseline_us,
            )
        except RunFailed as failure:
            self._save_log(index, str(failure.__cause__ or ""))
            return replace(common, kind=failure.kind, stage="run", reason=str(failure))
        return replace(common, time_us=time_us)


def _forget(index: int, log: str) -> None:
    pass
