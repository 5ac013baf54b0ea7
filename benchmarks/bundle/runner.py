"""Runs what is in a bundle: compiled elsewhere, measured here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ..measuring import (
    BATCH_PER_DEVICE,
    HERE,
    OK,
    CompileOutcome,
    DeviceGroup,
    DeviceSource,
    Finals,
    Outcome,
    Repeat,
)
from .archive import Bundle


class BundledRunner:
    """Measures a bundle's candidates.

    Args:
        uris: of the devices.
        folder: where its executables are unpacked.
        source: where the devices are.
    """

    def __init__(
        self, bundle: Bundle, uris: Sequence[str], folder: Path, source: DeviceSource = HERE
    ) -> None:
        self._bundle = bundle
        self._queue = bundle.manifest.queue
        self._folder = folder
        manifest = bundle.manifest
        self._devices = DeviceGroup(uris, manifest.call, manifest.seed, source=source)
        self.batch = BATCH_PER_DEVICE * len(uris)

    @property
    def fingerprints(self) -> tuple[str, ...]:
        return self._devices.fingerprints

    def start(self, known: Mapping[int, Outcome]) -> dict[str, float]:
        self._ready = self._bundle.unpack(self._folder)
        return self._devices.start(self._ready[self._bundle.manifest.baseline], known)

    def run(
        self, batch: Sequence[int], should_continue: Callable[[], bool] = lambda: True
    ) -> Iterator[tuple[int, Outcome]]:
        return self._devices.screen(
            [(index, self._compiled(index)) for index in batch], should_continue
        )

    def measure_again(
        self,
        outcomes: Mapping[int, Outcome],
        repeats: Sequence[Repeat],
        on_round: Callable[[int], None],
    ) -> Iterator[Repeat]:
        """Measures in further rounds what is to be recorded; see `measuring.measure_again`."""
        paths = {e.index: self._compiled(e.index).executable for e in self._queue if e.kind == OK}
        return self._devices.measure_again(paths, outcomes, repeats, on_round)

    def finals(self, contenders: Sequence[int], outcomes: Mapping[int, Outcome]) -> Finals:
        return self._devices.finals({i: self._compiled(i).executable for i in contenders})

    def confirm(self, index: int) -> Finals:
        return self._devices.confirm(index, self._compiled(index).executable)

    def verify(self, index: int, spec: str) -> None:
        self._devices.verify(self._compiled(index).executable)

    def close(self) -> None:
        self._devices.close()

    def _compiled(self, index: int) -> CompileOutcome:
        entry = self._queue[index]
        if entry.kind == OK:
            return self._ready[entry.digest]
        return CompileOutcome(entry.kind, Path(), entry.digest, reason=entry.reason)
