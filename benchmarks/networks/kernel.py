"""The child's side of measuring whole models: several variants of one, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

import iree.runtime as rt
import numpy as np

from ...core import WorkError, free_memory
from ..measuring import (
    LoadedExecutable,
    MemoryFiller,
    copy_to_device,
    give_back,
    open_device,
    time_runs,
)
from ..verifying import Array, Tolerance, coarsest, without_finite
from .inputs import FunctionCall
from .weights import Archives, load_archives

# Outputs pass through many sums, one after the other: of a dozen layers of f32, 3e-4 of their size.
SUMMED = 100_000
# Of 24 layers with sums in f16 or bf16, 300 roundings, and 58 typically, as a simulation has it.
NARROW_SUMMED = {"f16": 20_000, "bf16": 20_000}
# How long variants may be loaded anew, over the time for which they are timed.
LOADING_SHARE = 1 / 3

# Functions that are run, and how often each counts.
_Timed: TypeAlias = list[tuple[Callable[[], object], float]]


@dataclass(frozen=True)
class NetworkSetup:
    """What all compiled variants of a network share: device, calls and weights.

    Attributes:
        calls: that a run of the model is made of; it takes what they do, each times its weight.
        parameters: archives by scope.
        computes_in: float types that values are rounded to on their way to the outputs.
    """

    device: str
    calls: tuple[FunctionCall, ...]
    parameters: Archives = ()
    computes_in: tuple[str, ...] = ()


@dataclass(frozen=True)
class RaceRequest:
    """Times variants in turn, in an order that changes, round by round.

    Attributes:
        seconds: how long a turn is; each function of a variant is run at least once.
    """

    variants: tuple[Path, ...]
    rounds: int
    seconds: float
    seed: int


@dataclass(frozen=True)
class CompareRequest:
    """Compares the outputs of a variant with those of another.

    Attributes:
        sets: on how many sets of inputs, of each call; None for all.
    """

    variant: Path
    expected: Path
    sets: int | None = None


@dataclass(frozen=True)
class FiniteRequest:
    """Asks for outputs of a variant that hold nothing but infinity and NaN."""

    variant: Path


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
        # By call, and by set of inputs.
        self.arguments = [
            [
                copy_to_device(self.device, ((one.argument(), one.dtype) for one in inputs))
                for inputs in call.inputs
            ]
            for call in setup.calls
        ]
        self._filler = MemoryFiller(self.device)
        self._loaded: dict[Path, LoadedExecutable] = {}
        self._expected: tuple[Path, list[list[list[Array]]]] | None = None

    def load(self, *paths: Path) -> list[list[LoadedExecutable]]:
        """Variants, ready to run, each as its functions; others give their memory back."""
        if not self._loaded.keys() <= {*paths}:
            self._loaded = {path: one for path, one in self._loaded.items() if path in paths}
            give_back(self.setup.device)
        first, *others = self.setup.calls
        for path in paths:
            if path not in self._loaded:
                self._loaded[path] = LoadedExecutable(
                    self.instance, self.device, self.modules, path, first.function, first.outputs
                )
        return [
            [loaded, *(loaded.sibling(call.function, call.outputs) for call in others)]
            for loaded in (self._loaded[path] for path in paths)
        ]

    def race(self, request: RaceRequest) -> list[list[float]]:
        """For each round, the microseconds of each variant: the fastest runs of its turn.

        Variants are loaded anew, in another order, as often as that takes a quarter of the time:
        copies of one program differ by where their weights lie in memory. Five processes timed four
        copies of a decoder with 340 MB of them; the second took 0.99 to 1.05 times as long as the
        first, and the fourth 0.95 to 1.00 times.
        """
        rng = np.random.default_rng(request.seed)
        variants: list[_Timed] = []
        loading = timing = 0.0
        found = []
        for _ in range(request.rounds):
            begun = time.perf_counter()
            if loading <= LOADING_SHARE * timing:
                variants = []
                give_back(self.setup.device)
                variants = self._load_copies(request.variants, rng)
                loading += time.perf_counter() - begun
            begun = time.perf_counter()
            times = [0.0] * len(variants)
            for place in rng.permutation(len(variants)):
                seconds = request.seconds / len(variants[place])
                times[place] = sum(
                    weight * min(time_runs(run, seconds, least=1).samples_us)
                    for run, weight in variants[place]
                )
            found.append(times)
            timing += time.perf_counter() - begun
        return found

    def _load_copies(self, paths: Sequence[Path], rng: np.random.Generator) -> list[_Timed]:
        """Each variant as what is timed, once run, loaded in any order.

        One that is there twice is loaded twice, where there is memory for that.
        """
        order = rng.permutation(len(paths)).tolist()
        try:
            return self._load_in_order(paths, order)
        except RuntimeError as error:
            told = str(error)  # the error itself would hold on to what was loaded
        if len({*paths}) == len(paths):
            raise RuntimeError(told)
        return self._load_in_order(paths, order, twice=False)  # a GPU may have no room for one more

    def _load_in_order(
        self, paths: Sequence[Path], order: Sequence[int], *, twice: bool = True
    ) -> list[_Timed]:
        copies: dict[int, _Timed] = {}
        for nth, place in enumerate(order, start=1):
            known = {paths[at]: one for at, one in copies.items()}
            coming = {paths[at] for at in order[nth:]} - known.keys()
            if paths[place] in known and not (twice and self._has_room([paths[place], *coming])):
                copies[place] = known[paths[place]]
                continue
            self._loaded = {}
            (functions,) = self.load(paths[place])
            self._loaded = {}
            copies[place] = [
                (partial(function.run, sets[0]), call.weight)
                for function, sets, call in zip(
                    functions, self.arguments, self.setup.calls, strict=True
                )
                if call.weight
            ]
            for run, _ in copies[place]:
                run()
        return [copies[place] for place in range(len(paths))]

    def _has_room(self, variants: Sequence[Path]) -> bool:
        """Whether this machine has memory for these, with weights that each may pack anew."""
        weights = sum(path.stat().st_size for _, path in self.setup.parameters)
        needed = sum(2 * (weights + path.stat().st_size) for path in variants)
        free = free_memory()
        return free is None or free[0] > needed

    def compare(self, request: CompareRequest) -> str | None:
        """Where outputs differ most, on the first set of inputs on which they do."""
        expected = self._outputs(request.expected)
        (variant,) = self.load(request.variant)
        calls = self.setup.calls
        self._filler.fill()
        for call, function, sets, outputs in zip(
            calls, variant, self.arguments, expected, strict=True
        ):
            pairs = list(zip(sets, outputs, strict=True))[: request.sets]
            for inputs, (arguments, right) in enumerate(pairs, 1):
                got, types = function.outputs(arguments), self.setup.computes_in
                if wrong := _find_mismatch(call.outputs, types, got, right):
                    return f"{self._place(call, wrong[0], inputs)}: {wrong[1]}"
        return None

    def without_finite(self, request: FiniteRequest) -> list[str]:
        """Outputs without any finite value, by call and by set of inputs.

        Raises:
            WorkError: a call gives something else when it is made again.
        """
        self._check_repeatable(request.variant)
        return [
            self._place(call, place, inputs)
            for call, sets in zip(self.setup.calls, self._outputs(request.variant), strict=True)
            for inputs, outputs in enumerate(sets, 1)
            for place, (dtype, values) in enumerate(zip(call.outputs, outputs, strict=True))
            if without_finite(values, dtype)
        ]

    def _check_repeatable(self, variant: Path) -> None:
        """Refuses models that keep state: a variant that was called before would seem wrong."""
        expected = self._outputs(variant)
        (functions,) = self.load(variant)
        parts = zip(self.setup.calls, functions, self.arguments, expected, strict=True)
        for call, function, sets, outputs in parts:
            again = function.outputs(sets[0])
            if _find_mismatch(call.outputs, self.setup.computes_in, again, outputs[0]):
                raise WorkError(
                    "the model gives other outputs when it is called again with the same inputs, "
                    "so that variants of it cannot be compared",
                    "export it without state, such as a cache that it keeps or random numbers",
                )

    def _place(self, call: FunctionCall, output: int, inputs: int) -> str:
        of = f"{call.title}: " if len(self.setup.calls) > 1 else ""
        return f"{of}output {output} on inputs {inputs}"

    def _outputs(self, expected: Path) -> list[list[list[Array]]]:
        """By call, and by set of inputs; kept, for one variant after the other is compared."""
        if self._expected is None or self._expected[0] != expected:
            self._expected = None  # its memory, before others take as much
            (functions,) = self.load(expected)
            pairs = zip(functions, self.arguments, strict=True)
            outputs = [[one.outputs(arguments) for arguments in sets] for one, sets in pairs]
            self._expected = expected, outputs
        return self._expected[1]


def _find_mismatch(
    dtypes: Sequence[str],
    computes_in: Sequence[str],
    outputs: Sequence[Array],
    expected: Sequence[Array],
) -> tuple[int, str] | None:
    """The first output that is wrong, and where."""
    for place, (dtype, got, wanted) in enumerate(zip(dtypes, outputs, expected, strict=True)):
        if wrong := _tolerance(dtype, computes_in).find_mismatch(got, wanted):
            return place, wrong
    return None


def _tolerance(dtype: str, computes_in: Sequence[str]) -> Tolerance:
    """How far outputs may be off that a model computes in these types.

    Of integers, those of 8 bits are taken for values that were rounded; others may be indices.
    """
    if not coarsest([dtype]) and dtype != "i8":
        return Tolerance(dtype, SUMMED)
    sums = coarsest((dtype, *computes_in))
    return Tolerance(dtype, NARROW_SUMMED.get(sums, SUMMED), sums)


_host: _Host | None = None


def answer(
    request: NetworkSetup | RaceRequest | CompareRequest | FiniteRequest,
) -> list[list[float]] | list[str] | str | None:
    """Serves one request; a setup comes first."""
    global _host
    if isinstance(request, NetworkSetup):
        _host = _Host(request)
        return None
    assert _host is not None, "a setup first"
    if isinstance(request, RaceRequest):
        return _host.race(request)
    if isinstance(request, FiniteRequest):
        return _host.without_finite(request)
    return _host.compare(request)
