"""The child's side of measuring whole models: several variants of one, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import iree.runtime as rt
import numpy as np

from ..measuring import LoadedExecutable, copy_to_device, open_device, time_runs
from ..verifying import Tolerance
from .inputs import InputFile
from .weights import Archives, load_archives

# Outputs pass through many sums, one after the other: of a dozen layers of f32, 3e-4 of their size.
SUMMED = 100_000
# Of 24 layers with sums in f16 or bf16, 300 roundings, and 58 typically, as a simulation has it.
NARROW_SUMMED = {"f16": 20_000, "bf16": 20_000}


@dataclass(frozen=True)
class NetworkSetup:
    """What all compiled variants of a network share: device, function, inputs and weights.

    Attributes:
        inputs: sets of them; variants are timed with the first.
        outputs: element types.
        parameters: archives by scope.
    """

    device: str
    function: str
    inputs: tuple[tuple[InputFile, ...], ...]
    outputs: tuple[str, ...]
    parameters: Archives


@dataclass(frozen=True)
class RaceRequest:
    """Times variants in turn, in an order that changes, round by round.

    Attributes:
        seconds: how long a turn is; a variant is run at least once.
    """

    variants: tuple[Path, ...]
    rounds: int
    seconds: float
    seed: int


@dataclass(frozen=True)
class CompareRequest:
    """Compares the outputs of a variant with those of another, on all sets of inputs."""

    variant: Path
    expected: Path


class _Host:
    """A device with a model's inputs and parameters."""

    def __init__(self, setup: NetworkSetup) -> None:
        self.setup = setup
        self.instance = rt.VmInstance()
        self.device = open_device(setup.device)
        self.modules = [rt.create_hal_module(self.instance, self.device)]
        if setup.parameters:
            archives = load_archives(setup.parameters).items()
            providers = [index.create_provider(scope) for scope, index in archives]
            self.modules.insert(0, rt.create_io_parameters_module(self.instance, *providers))
        self.arguments = [
            copy_to_device(self.device, ((one.read(), one.dtype) for one in inputs))
            for inputs in setup.inputs
        ]
        self._loaded: dict[Path, LoadedExecutable] = {}

    def load(self, *paths: Path) -> list[LoadedExecutable]:
        """Variants, ready to run; others give their memory back."""
        self._loaded = {path: one for path, one in self._loaded.items() if path in paths}
        function, outputs = self.setup.function, self.setup.outputs
        for path in paths:
            if path not in self._loaded:
                self._loaded[path] = LoadedExecutable(
                    self.instance, self.device, self.modules, path, function, outputs
                )
        return [self._loaded[path] for path in paths]

    def race(self, request: RaceRequest) -> list[list[float]]:
        """For each round, the time of each variant in microseconds: the fastest run of its turn."""
        runs, arguments = self.load(*request.variants), self.arguments[0]
        for one in runs:
            one.run(arguments)
        rng = np.random.default_rng(request.seed)
        found = []
        for _ in range(request.rounds):
            times = [0.0] * len(runs)
            for place in rng.permutation(len(runs)):
                run = partial(runs[place].run, arguments)
                times[place] = min(time_runs(run, request.seconds, least=1).samples_us)
            found.append(times)
        return found

    def compare(self, request: CompareRequest) -> str | None:
        """Where outputs differ most, on the first set of inputs on which they do."""
        variant, expected = self.load(request.variant, request.expected)
        for inputs, arguments in enumerate(self.arguments, 1):
            pairs = zip(variant.outputs(arguments), expected.outputs(arguments), strict=True)
            for place, (got, wanted) in enumerate(pairs):
                dtype = self.setup.outputs[place]
                tolerance = Tolerance(dtype, NARROW_SUMMED.get(dtype, SUMMED))
                wrong = tolerance.find_mismatch(got, wanted)
                if wrong is not None:
                    return f"output {place} on inputs {inputs}: {wrong}"
        return None


_host: _Host | None = None


def answer(request: NetworkSetup | RaceRequest | CompareRequest) -> list[list[float]] | str | None:
    """Serves one request; a setup comes first."""
    global _host
    if isinstance(request, NetworkSetup):
        _host = _Host(request)
        return None
    assert _host is not None, "a setup first"
    return _host.race(request) if isinstance(request, RaceRequest) else _host.compare(request)
