"""Devices and cores of other hosts, by Dask: what they offer, and what they are asked for.

A host runs `frontrunner worker`, which offers devices, and cores for compiling. A client asks it
directly, over Dask's own connections, and each device and each core does one thing at a time. What
crashes or hangs does so in child processes of the host.
"""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .client import Cluster
    from .device_pool import DevicePool, KeptDevice
    from .devices import ClusterDevices, open_devices
    from .host import Host
    from .local import hosts_of, open_cluster
    from .messages import Answer, HostDescription, HostLost, OfferedDevice, Work
    from .runner import ClusterRunner
    from .selection import choose_devices
    from .turns import with_priority
    from .working import Offer, work_for_clients
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Answer",
    "Cluster",
    "ClusterDevices",
    "ClusterRunner",
    "DevicePool",
    "Host",
    "HostDescription",
    "HostLost",
    "KeptDevice",
    "Offer",
    "OfferedDevice",
    "Work",
    "choose_devices",
    "hosts_of",
    "open_cluster",
    "open_devices",
    "with_priority",
    "work_for_clients",
]
