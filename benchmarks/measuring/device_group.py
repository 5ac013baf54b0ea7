"""The devices of a run: candidates take turns on them, and finalists run on each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Protocol

from ..verifying import Call
from .chips import fingerprint
from .constants import FIRST_BASELINE_SECONDS
from .device import Device
from .estimate import Repeat
from .finals import OTHER_INPUTS, Finals, verify_on
from .heats import confirm, run_heats
from .outcome import CompileOutcome, Outcome
from .rounds import measure_again
from .screening import CompiledCandidate, MeasuredCandidate, Screening


class DeviceSource(Protocol):
    """Where devices are."""

    def connect(self, name: str, call: Call, baseline: Path | None, seed: int) -> Device:
        """A device that is not started yet; arguments as of `Device`."""

    def fingerprint(self, name: str) -> str:
        """As the function `fingerprint`."""


class _Here:
    """This machine's devices, by their URIs."""

    def connect(self, name: str, call: Call, baseline: Path | None, seed: int) -> Device:
        return Device(name, call, baseline, seed)

    def fingerprint(self, name: str) -> str:
        return fingerprint(name)


HERE: DeviceSource = _Here()


class DeviceGroup:
    """Devices that measure executables of one dispatch.

    Args:
        uris: the devices, as the source knows them.
        seed: of the inputs and of the order in the finals.
        save_log: told what was said of candidates that failed, by queue position, in full.
        source: where they are.
    """

    def __init__(
        self,
        uris: Sequence[str],
        call: Call,
        seed: int,
        save_log: Callable[[int, str], None] | None = None,
        source: DeviceSource = HERE,
    ) -> None:
        self.uris = tuple(uris)
        self._source = source
        self._call = call
        self._seed = seed
        self._save_log = save_log
        self._devices: list[Device] = []

    @cached_property
    def fingerprints(self) -> tuple[str, ...]:
        """Their fingerprints."""
        return tuple(self._source.fingerprint(uri) for uri in self.uris)

    def start(self, baseline: CompileOutcome, known: Mapping[int, Outcome]) -> dict[str, float]:
        """Starts the devices, or starts them again with another default.

        Args:
            baseline: the compiler's default.
            known: outcomes of earlier sessions.

        Returns:
            Microseconds that the default takes, by device.
        """
        self.close()
        self.baseline = baseline.executable
        times = {}
        for uri in self.uris:
            device = self._source.connect(uri, self._call, baseline.executable, self._seed)
            self._devices.append(device)
            device.start()
            times[uri] = device.measure_baseline(FIRST_BASELINE_SECONDS)
        self._screening = Screening(self._devices, baseline.digest, known, self._save_log)
        return times

    def screen(
        self, batch: Sequence[CompiledCandidate], should_continue: Callable[[], bool]
    ) -> Iterator[MeasuredCandidate]:
        """As `Screening.measure`."""
        return self._screening.measure(batch, should_continue)

    def finals(self, contenders: Mapping[int, Path]) -> Finals:
        """As `run_heats`."""
        return run_heats(self._devices, contenders, self._seed)

    def confirm(self, index: int, executable: Path) -> Finals:
        """As `confirm` of `heats`."""
        return confirm(self._devices, index, executable, self._seed)

    def verify(self, executable: Path) -> None:
        """As `verify_on`, on inputs that the search has not seen."""
        for device in self._devices:
            device.close()  # there may be no room for both; it starts again when it is asked
        seed = self._seed + OTHER_INPUTS
        connect = self._source.connect
        verify_on((connect(uri, self._call, self.baseline, seed) for uri in self.uris), executable)

    def measure_again(
        self,
        executables: Mapping[int, Path],
        outcomes: Mapping[int, Outcome],
        repeats: Sequence[Repeat],
        on_round: Callable[[int], None],
    ) -> Iterator[Repeat]:
        """As `measure_again` of `rounds`."""
        return measure_again(self._devices, executables, outcomes, repeats, self._seed, on_round)

    def close(self) -> None:
        with ExitStack() as stack:  # also where one does not end
            for device in self._devices:
                stack.callback(device.close)
        self._devices = []
