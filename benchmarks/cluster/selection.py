"""Which devices and cores of a cluster a run takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...core import InputError, processor_name
from ...search import backend_of
from ..measuring import driver_of, shares_cores
from .messages import HostDescription, OfferedDevice, wrong_versions

# The name of the CPU that the compiler runs on.
HERE = "host"


@dataclass(frozen=True)
class ChosenDevices:
    """Devices of one kind, and cores.

    Attributes:
        devices: with their hosts.
        compiling: the hosts that do.
    """

    devices: tuple[tuple[HostDescription, OfferedDevice], ...]
    compiling: tuple[HostDescription, ...]

    @property
    def kind(self) -> str:
        return self.devices[0][1].kind

    @property
    def cores(self) -> int:
        """What each of the devices has; see `OfferedDevice`."""
        return self.devices[0][1].cores

    @property
    def exact_kind(self) -> str:
        return self.devices[0][1].exact_kind


def choose_devices(
    hosts: Sequence[HostDescription], target: str, asked: Sequence[str]
) -> ChosenDevices:
    """The devices of one kind that run what is compiled: those asked for, or the most.

    Args:
        target: the name of what is compiled for.
        asked: names of devices, their URIs, or kinds; all if none is given.

    Raises:
        InputError: there is none, what is asked for is of several kinds, or hosts have another
            compiler or runtime.
    """
    offered = [(host, one) for host in hosts for one in host.devices]
    there = ", ".join(one.name for _, one in offered) or "none"
    _refuse_twice(offered)
    drivers = backend_of(target).drivers
    able = [pair for pair in offered if driver_of(pair[1].uri) in drivers]
    chosen = [pair for pair in able if _is_asked(pair[1], asked)]
    if not chosen:
        wanted = ", ".join(asked) or f"that runs code for {target}"
        raise InputError(f"the cluster has no device {wanted}", f"it has: {there}")
    if target == HERE:
        chosen = _of_this_kind(chosen)
    kinds = [one.exact_kind for _, one in chosen]
    # Of a kind that is asked for, those with the commonest number of cores are taken.
    if len(set(kinds)) > 1 and asked and {*asked} != {one.kind for _, one in chosen}:
        raise InputError(
            f"devices of several kinds are asked for: {', '.join(sorted(set(kinds)))}",
            "name those of one kind: what is fast on one may not be on the other",
        )
    commonest = max(kinds, key=lambda one: (kinds.count(one), one))
    alike = ((host, one) for host, one in chosen if one.exact_kind == commonest)
    # Workers that join again have other addresses, and what is unfinished has the same order.
    devices = tuple(sorted(alike, key=lambda pair: pair[1].name))
    compiling = compiling_hosts(hosts, target)
    for wrong in wrong_versions([*(host for host, _ in devices), *compiling]):
        raise InputError(wrong, "install the same versions on all hosts")
    return ChosenDevices(devices, compiling)


def compiling_hosts(hosts: Sequence[HostDescription], target: str) -> tuple[HostDescription, ...]:
    """Those that compile for a target: of `host`, only those that have this machine's CPU."""
    here = processor_name()
    alike = (h for h in hosts if target != HERE or h.processor == here)
    return tuple(host for host in alike if host.jobs)


def _of_this_kind(
    chosen: Sequence[tuple[HostDescription, OfferedDevice]],
) -> list[tuple[HostDescription, OfferedDevice]]:
    here = processor_name()
    alike = [(h, d) for h, d in chosen if not shares_cores(d.uri) or h.processor == here]
    if not alike:
        others = ", ".join(sorted({host.processor for host, _ in chosen}))
        raise InputError(
            f"the cluster's CPUs are {others}, this machine's is {here}",
            "name theirs as the target, such as --target znver4",
        )
    return alike


def devices_that_joined(
    hosts: Sequence[HostDescription], chosen: ChosenDevices, asked: Sequence[str]
) -> list[tuple[HostDescription, OfferedDevice]]:
    """Devices as those that a run has chosen, which were not there then, each with its host.

    Args:
        hosts: those of now.
        asked: as of `choose_devices`.
    """
    names = {one.name for _, one in chosen.devices}
    chips = {(host.name, one.chip) for host, one in chosen.devices if one.chip}
    found = []
    for host in hosts:
        for one in host.devices:
            chip = (host.name, one.chip)
            new = one.name not in names and chip not in chips
            alike = one.exact_kind == chosen.exact_kind and _is_asked(one, asked)
            if new and alike and not wrong_versions([host]):
                found.append((host, one))
                names.add(one.name)
                # Two that measure at a time would slow each other down.
                chips |= {chip} if one.chip else set()
    return found


def _is_asked(device: OfferedDevice, asked: Sequence[str]) -> bool:
    return not asked or bool({device.name, device.uri, device.kind} & set(asked))


def _refuse_twice(offered: Sequence[tuple[HostDescription, OfferedDevice]]) -> None:
    """Refuses devices of one name, and chips that two workers offer by two."""
    seen: dict[object, str] = {}
    for host, one in offered:
        if one.name in seen:
            raise InputError(
                f"two workers offer a device {one.name}", "end one, or give it another --name"
            )
        chip = (host.name, one.chip) if one.chip else one.name
        if chip in seen:
            raise InputError(
                f"{seen[chip]} and {one.name} are the same chip ({one.chip})",
                "have one worker offer it: what runs at the same time is not timed",
            )
        seen[one.name] = seen[chip] = one.name
