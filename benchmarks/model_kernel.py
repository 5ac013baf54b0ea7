"""The child's side of measuring whole models: several variants of one, side by side."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import iree.runtime as rt
import numpy as np

from .inputs import NUMPY, Array, Tolerance
from .kernel import HAL_TYPES
from .model_inputs import InputFile
from .parameters import load_archives

# Outputs pass through many sums, one after the other: of a dozen layers of f32, 3e-4 of their size.
SUMMED = 100_000


@dataclass(frozen=True)
class Subject:
    """What all variants of a model have in common.

    Attributes:
        inputs: sets of them; variants are timed with the first.
        outputs: element types.
        parameters: archives by scope.
    """

    device: str
    function: str
    inputs: tuple[tuple[InputFile, ...], ...]
    outputs: tuple[str, ...]
    parameters: tuple[tuple[str, Path], ...]


@dataclass(frozen=True)
class Race:
    """Times variants in turn, in an order that changes, round by round.

    Attributes:
        seconds: how long a turn is; a variant is run at least once.
    """

    variants: tuple[Path, ...]
    rounds: int
    seconds: float
    seed: int


@dataclass(frozen=True)
class Compare:
    """Compares the outputs of a variant with those of another, on all sets of inputs."""

    variant: Path
    expected: Path


class _Runs:
    """A variant that is loaded."""

    def __init__(self, host: _Host, path: Path) -> None:
        module = rt.VmModule.copy_buffer(host.instance, path.read_bytes())
        self._context = rt.VmContext(host.instance, [*host.modules, module])
        self._function = module.lookup_function(host.subject.function)
        self._host = host

    def run(self, inputs: int = 0) -> rt.VmVariantList:
        results = rt.VmVariantList(len(self._host.subject.outputs))
        self._context.invoke(self._function, self._host.arguments[inputs], results)
        return results

    def outputs(self, inputs: int) -> list[Array]:
        results = self.run(inputs)
        found: list[Array] = []
        for place, dtype in enumerate(self._host.subject.outputs):
            view = results.get_as_object(place, rt.HalBufferView)
            kind = np.dtype(NUMPY[dtype])
            found.append(np.array(view.map().asarray(tuple(view.shape), kind)))
        return found


class _Host:
    """A device with a model's inputs and parameters."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.instance = rt.VmInstance()
        driver = rt.get_driver(subject.device.partition("://")[0])
        device = driver.create_device_by_uri(subject.device)
        self.modules = [rt.create_hal_module(self.instance, device)]
        if subject.parameters:
            archives = load_archives(subject.parameters).items()
            providers = [index.create_provider(scope) for scope, index in archives]
            self.modules.insert(0, rt.create_io_parameters_module(self.instance, *providers))
        self.arguments = [self._arguments(device, inputs) for inputs in subject.inputs]
        self._loaded: dict[Path, _Runs] = {}

    @staticmethod
    def _arguments(device: rt.HalDevice, inputs: tuple[InputFile, ...]) -> rt.VmVariantList:
        arguments = rt.VmVariantList(len(inputs))
        for one in inputs:
            view = device.allocator.allocate_buffer_copy(
                memory_type=rt.MemoryType.DEVICE_LOCAL,
                allowed_usage=rt.BufferUsage.DEFAULT | rt.BufferUsage.MAPPING,
                device=device,
                buffer=np.ascontiguousarray(one.read()),
                element_type=HAL_TYPES[one.dtype],
            )
            arguments.push_ref(view)
        return arguments

    def load(self, *paths: Path) -> list[_Runs]:
        """Variants, ready to run; others give their memory back."""
        self._loaded = {path: run for path, run in self._loaded.items() if path in paths}
        for path in paths:
            if path not in self._loaded:
                self._loaded[path] = _Runs(self, path)
        return [self._loaded[path] for path in paths]

    def race(self, request: Race) -> list[list[float]]:
        """For each round, the time of each variant in microseconds: the fastest run of its turn."""
        runs = self.load(*request.variants)
        for one in runs:
            one.run()
        rng = np.random.default_rng(request.seed)
        found = []
        for _ in range(request.rounds):
            times = [0.0] * len(runs)
            for place in rng.permutation(len(runs)):
                times[place] = _fastest(runs[place], request.seconds)
            found.append(times)
        return found

    def compare(self, request: Compare) -> str | None:
        """Where outputs differ most, on the first set of inputs on which they do."""
        variant, expected = self.load(request.variant, request.expected)
        for inputs in range(len(self.arguments)):
            pairs = zip(variant.outputs(inputs), expected.outputs(inputs), strict=True)
            for place, (got, wanted) in enumerate(pairs):
                tolerance = Tolerance(self.subject.outputs[place], SUMMED)
                wrong = tolerance.worst(got, wanted)
                if wrong is not None:
                    return f"output {place} on inputs {inputs + 1}: {wrong}"
        return None


def _fastest(one: _Runs, seconds: float) -> float:
    best = float("inf")
    start = now = time.perf_counter()
    while best == float("inf") or now - start < seconds:
        one.run()
        then, now = now, time.perf_counter()
        best = min(best, now - then)
    return best * 1e6


_host: _Host | None = None


def answer(request: Subject | Race | Compare) -> list[list[float]] | str | None:
    """Serves one request; a Subject comes first."""
    global _host
    if isinstance(request, Subject):
        _host = _Host(request)
        return None
    assert _host is not None, "a subject first"
    return _host.race(request) if isinstance(request, Race) else _host.compare(request)
