"""Whether devices of this machine can run what is compiled for a target."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..benchmarks.measuring import check_drivers, chip_of
from ..core import InputError, Notify
from ..search import Target, backend_named


def check_devices(uris: Sequence[str], target: Target, notify: Notify, instead: str = "") -> None:
    """Refuses devices that do not run code for a target, and tells what others are short of.

    Args:
        instead: what else the user can do.

    Raises:
        InputError: a device runs other code.
        WorkError: one does not answer.
    """
    check_drivers(uris, target.drivers, target.arch, instead)
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
    backend = backend_named(target.backend)
    if backend.exchanges is None or backend.mismatch is None:
        return
    # Asking a device takes half a second, and most kernels exchange nothing.
    if not backend.exchanges(code if isinstance(code, str) else code.read_bytes()):
        return
    for uri in uris:
        if why := backend.mismatch(chip_of(uri).path, target):
            raise InputError(
                f"device {uri} has {why}",
                "name a target whose code suits it, such as vp_android_baseline_2022, which needs "
                "no subgroups",
            )
