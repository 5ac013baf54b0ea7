"""Whether devices of this machine can run what is compiled for a target."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from ..benchmarks.measuring import (
    check_chips,
    check_drivers,
    check_subgroups,
    check_uris,
    chip_of,
    driver_of,
)
from ..core import Notify
from ..search import Target, backend_named, backend_of, known_backends


def divide_devices(uris: Sequence[str], targets: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The devices of each target: those whose drivers run its code.

    Args:
        targets: their names.

    Raises:
        InputError: there is no such driver, or a device runs the code of none.
    """
    check_uris(uris)
    able = {target: backend_of(target).drivers for target in targets}
    drivers = list(dict.fromkeys(chain(*able.values())))
    check_drivers(uris, drivers, " or ".join(targets), _targets_of(uris))
    return {
        target: tuple(uri for uri in uris if driver_of(uri) in drivers)
        for target, drivers in able.items()
    }


def _targets_of(uris: Sequence[str]) -> str:
    """What devices run, for hints."""
    backends = known_backends().values()
    examples = {b.examples: None for b in backends for uri in uris if driver_of(uri) in b.drivers}
    return "".join(f", or give what it runs as --target: {one}" for one in examples)


def check_devices(uris: Sequence[str], target: Target, notify: Notify, instead: str = "") -> None:
    """Refuses devices that do not run code for a target, and tells what others are short of.

    Args:
        instead: what else the user can do.

    Raises:
        InputError: a device runs other code.
        WorkError: one does not answer.
    """
    check_drivers(uris, target.drivers, target.arch, f"{instead}{_targets_of(uris)}")
    check_chips(uris)
    shortages = backend_named(target.backend).shortages
    if shortages is None:
        return
    for uri in uris:
        if short := ", ".join(shortages(chip_of(uri).path, target)):
            notify(
                f"warning: device {uri} has {short}: code for {target.name} that needs more does "
                "not run there; name another target"
            )


def check_code(uris: Sequence[str], target: Target, code: str | Path) -> None:
    """Refuses devices on which the compiler's own code is wrong: it is what others are compared to.

    Args:
        code: an executable, or the configuration of its kernel.

    Raises:
        InputError: naming the first of them.
    """
    # Asking a device takes half a second, and most kernels exchange nothing.
    if sizes := needed_subgroups(target, code):
        check_subgroups(uris, sizes)


def needed_subgroups(target: Target, code: str | Path) -> tuple[int, ...]:
    """The sizes of subgroups that code is right for; none where that does not matter.

    Args:
        code: an executable, or the configuration of its kernel.
    """
    exchanges = backend_named(target.backend).exchanges
    if exchanges is None or target.gpu is None:
        return ()
    content = code if isinstance(code, str) else code.read_bytes()
    return target.gpu.subgroup_sizes if exchanges(content) else ()
