"""What a profile is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...benchmarks.cluster import ClusterDevices
from ...search import resolve_target
from ..arguments import check_jobs


@dataclass(frozen=True)
class ProfileOptions:
    """How dispatches are profiled.

    Attributes:
        failures: where what failed is kept, in a folder for each.
        measure: whether to time; if not, what is verified is run for that alone.
        compile_only: whether to run nothing.
        keep_vmfb: whether compiled modules are kept beside the dispatches, and what the compiler
            said of those that it refused.
        default_specs: whether the compiler may use the specs that it comes with.
        iree_flags: further flags for the compiler.
        device: the URI of a device of this machine.
        cluster: devices of other hosts, in place of that one.
        libraries: to compare with.
    """

    failures: Path
    verify: bool = True
    measure: bool = True
    compile_only: bool = False
    keep_vmfb: bool = False
    target: str = "host"
    default_specs: bool = False
    iree_flags: tuple[str, ...] = ()
    device: str = "local-task"
    cluster: ClusterDevices | None = None
    libraries: tuple[str, ...] = ()
    seed: int = 0
    jobs: int | None = None

    def __post_init__(self) -> None:
        check_jobs(self.jobs)
        object.__setattr__(self, "target", resolve_target(self.target))
