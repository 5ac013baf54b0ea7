"""What a model is measured on: a device of this machine, or of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ...benchmarks.cluster import open_devices
from ...benchmarks.measuring import fingerprint, shares_cores
from ...benchmarks.networks import (
    FunctionCall,
    MakeChild,
    NetworkFailed,
    NetworkRunner,
    NetworkSetup,
    check_calls,
    prepare_call,
)
from ...core import (
    Child,
    InputError,
    Notify,
    ResumableError,
    WorkError,
    first_line,
    make_folder,
)
from ...search import Target
from ...search.reading import Function, Network
from .planning import NetworkOptions, function_weights

# Sets of inputs on which outputs are compared.
INPUT_SETS = 3


@dataclass(frozen=True)
class NetworkDevice:
    """What the model is measured on.

    Attributes:
        uri: as the machine that it is in knows it.
        make_child: makes processes beside it.
        shares_cores: whether it is this machine's CPU.
        asked: what dispatches are measured on: it, or all of its kind.
        cluster: the address of the cluster that it is of.
    """

    uri: str
    fingerprint: str
    make_child: MakeChild
    shares_cores: bool
    asked: str
    cluster: str | None = None


@contextmanager
def open_device(options: NetworkOptions, target: Target, notify: Notify) -> Iterator[NetworkDevice]:
    if options.cluster is None:
        uri = options.device or target.drivers[0]
        yield NetworkDevice(uri, fingerprint(uri), Child, shares_cores(uri), uri)
        return
    asked = (options.device,) if options.device else ()
    with closing(open_devices(options.cluster, target.name, asked, notify)) as found:
        first, *_ = found.names
        notify(f"the model on {first}, dispatches on {', '.join(found.names)}")
        child = partial(found.child, first)
        address = found.cluster.address
        yield NetworkDevice(found.uri(first), found.kind, child, False, found.kind, address)


def make_setup(
    network: Network, options: NetworkOptions, device: str, folder: Path
) -> NetworkSetup:
    """
    Raises:
        InputError: the model has no such functions, or they take other inputs.
    """
    functions = {
        network.function(name): weight
        for name, weight in function_weights(options.function).items()
    }
    taken = [str(i) for one in functions for i in one.inputs]
    if options.inputs and len(options.inputs) != len(taken):
        names = " and ".join(one.name for one in functions)
        raise InputError(
            f"{names} take{'s' * (len(functions) == 1)} {len(taken)} inputs, "
            f"got {len(options.inputs)}",
            f"give all or none, in this order: {', '.join(taken) or 'none'}",
        )
    calls = _add_calls((), functions, options.sized_inputs(), folder, options.seed)
    return NetworkSetup(device, calls, options.parameters, network.computes_in)


def compared_beside(
    setup: NetworkSetup,
    network: Network,
    options: NetworkOptions,
    compiled: Path,
    folder: Path,
    make_child: MakeChild,
    notify: Notify,
) -> NetworkSetup:
    """The same, with outputs compared at sizes that were not given, if the model runs at these.

    Args:
        compiled: the model as it is by default.

    Raises:
        KilledError: the process that runs it was killed from outside.
    """
    beside = options.inputs_beside()
    if not beside:
        return setup
    ((sizes, _),) = beside
    weights = dict.fromkeys(map(network.function, function_weights(options.function)), 0.0)
    try:
        calls = _add_calls(setup.calls, weights, beside, folder, options.seed)
        added = replace(setup, calls=calls[len(setup.calls) :])
        with NetworkRunner(added, make_child) as runner:
            runner.compare_outputs(compiled, compiled)
    except ResumableError:
        raise
    except (InputError, WorkError, NetworkFailed) as failure:
        # It may be made for even sizes alone, or there is no room for one more.
        notify(f"outputs are not compared at {sizes}: {first_line(failure)}")
        return setup
    notify(f"outputs are compared at {sizes}, too")
    return replace(setup, calls=calls)


def _add_calls(
    calls: tuple[FunctionCall, ...],
    weights: Mapping[Function, float],
    sized: Iterable[tuple[str, Sequence[str]]],
    folder: Path,
    seed: int,
) -> tuple[FunctionCall, ...]:
    """Calls, and those of all functions with inputs at more sizes, which are written.

    Those that are not timed have one set of inputs: each costs every candidate in the model a run.

    Raises:
        InputError: a function takes others, or there is no memory for them.
    """
    seeds = [seed + 1000 * n for n in range(INPUT_SETS)]
    for sizes, inputs in sized:
        left = list(inputs)
        for function, weight in weights.items():
            given, left = left[: len(function.inputs)], left[len(function.inputs) :]
            own = folder / f"inputs-{len(calls)}"
            make_folder(own, "move away what is there")
            sets = seeds if weight else seeds[:1]
            calls = (*calls, prepare_call(function, given, own, sets, weight, sizes))
            check_calls(calls)  # before others are written
    return calls
