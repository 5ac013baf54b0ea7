"""The devices and cores that a client has chosen, used as if they were this machine's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ...core import Child, Notify
from ...search import backend_of
from ..compiling import COMPILER
from ..measuring import HANDLER, KEEP_MEMORY, Device
from ..verifying import Call
from .client import Cluster
from .local import open_cluster
from .messages import HostDescription, HostLost, OfferedDevice, wrong_versions
from .remote_child import RemoteChild, SentFiles
from .selection import ChosenDevices, choose_devices, compiling_hosts, devices_that_joined


class ClusterDevices:
    """Devices of one kind, and cores.

    Args:
        cluster: closed with this.
        target: the name of what is compiled for.
        asked: names of devices, their URIs, or kinds; all of the commonest kind if none is given.

    Attributes:
        chosen: what was found.
        names: of the devices.

    Raises:
        InputError: as `choose_devices`.
    """

    def __init__(self, cluster: Cluster, target: str, asked: Sequence[str]) -> None:
        self.cluster = cluster
        hosts = cluster.hosts()
        self.chosen: ChosenDevices = choose_devices(hosts, target, asked)
        self.names = tuple(one.name for _, one in self.chosen.devices)
        self._target, self._asked = target, asked
        # A host that answers late has joined when it does.
        self._members = frozenset(host.address for host in hosts)
        self._sent_files = SentFiles()
        self._uris = {one.name: one.uri for _, one in self.chosen.devices}
        self._there = self.chosen  # with those that joined since

    @property
    def kind(self) -> str:
        return self.chosen.kind

    @property
    def noted(self) -> frozenset[str]:
        """Names of those that others were told something of, when they were chosen."""
        return frozenset(
            one.name
            for host, one in self.chosen.devices
            if one.name in host.states and host.states[one.name].note
        )

    @property
    def cores(self) -> int:
        """What each has of its machine's, where it computes on these; else 0."""
        return self.chosen.cores

    def joined(self) -> list[OfferedDevice]:
        """Devices of this kind that are there since the last time; hosts are asked if some came."""
        if self.cluster.members <= self._members:
            return []
        hosts = self.cluster.hosts()
        self._members = frozenset(host.address for host in hosts)
        joined = devices_that_joined(hosts, self._there, self._asked)
        self._there = replace(self._there, devices=(*self._there.devices, *joined))
        found = [one for _, one in joined]
        self._uris.update({one.name: one.uri for one in found})
        return found

    def connect(self, name: str, call: Call, baseline: Path | None, seed: int) -> Device:
        """A device, wherever its host is now; arguments as of `Device`.

        Raises:
            HostLost: no worker offers it.
        """
        child = self.child(name, HANDLER, KEEP_MEMORY)
        return Device(self._uris[name], call, baseline, seed, name=name, child=child)

    def fingerprint(self, name: str) -> str:
        """Tells the chip behind a device, as of one of this machine."""
        return self.kind

    def child(self, name: str, handler: str, env: Mapping[str, str]) -> Child:
        """A process beside a device.

        Raises:
            HostLost: no worker offers it, or one that has other versions, or another chip or other
                cores by its name.
        """
        host, uri = self.cluster.find(name), self._uris[name]
        for wrong in wrong_versions([host]):
            raise HostLost(wrong)
        due = self.chosen.exact_kind
        for kind in (one.exact_kind for one in host.devices if one.name == name):
            if kind != due:
                raise HostLost(f"{name} is {kind} now, not {due}")
        return RemoteChild(self.cluster, host, handler, self._sent_files, device=uri, env=env)

    def tell(self, name: str, note: str, drift: float) -> None:
        """Tells a device's host what others should know of it.

        Args:
            note: such as why it is set aside; empty if nothing is the matter.
            drift: how many times as long as at first the default takes.
        """
        with suppress(HostLost):
            host = self.cluster.find(name)
            self.cluster.tell(host, device=self._uris[name], note=note, drift=drift)

    def uri(self, name: str) -> str:
        """What its host calls a device."""
        return self._uris[name]

    def compilers(self) -> list[Child]:
        """Processes that compile, one for each core that is offered."""
        return [
            RemoteChild(self.cluster, host, COMPILER, self._sent_files, others=self._compiling)
            for host in self.chosen.compiling
            for _ in range(host.jobs)
        ]

    def close(self) -> None:
        self.cluster.close()

    def _compiling(self) -> tuple[HostDescription, ...]:
        there = compiling_hosts(self.cluster.hosts(), self._target)
        # One that came, or was started again, since the versions of all were compared.
        return tuple(host for host in there if not wrong_versions([host]))


def open_devices(address: str, target: str, asked: Sequence[str], notify: Notify) -> ClusterDevices:
    """Connects to a scheduler, or starts `local:N`, and chooses devices there.

    Raises:
        InputError: as `Cluster` and `choose_devices`.
    """
    cluster = open_cluster(address, backend_of(target).drivers, asked, notify)
    try:
        return ClusterDevices(cluster, target, asked)
    except BaseException:
        cluster.close()
        raise
