"""What a model is measured on: a device of this machine, or of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ...benchmarks.cluster import open_devices
from ...benchmarks.measuring import fingerprint, shares_cores
from ...benchmarks.networks import MakeChild, NetworkSetup, prepare_inputs
from ...core import Child, Notify
from ...search import Target
from ...search.reading import Network
from .options import NetworkOptions

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
    function = network.function(options.function)
    seeds = [options.seed + 1000 * n for n in range(INPUT_SETS)]
    inputs = prepare_inputs(function, options.inputs, folder, seeds)
    outputs = tuple(o.dtype for o in function.outputs)
    return NetworkSetup(device, function.name, tuple(inputs), outputs, options.parameters)
