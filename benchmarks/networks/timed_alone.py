"""What a model's dispatches take where the runtime does not profile: each is timed by itself."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from ...core import (
    Child,
    ChildPool,
    FrontrunnerError,
    InputError,
    Notify,
    ResumableError,
)
from ...search.reading import READER, Network, NetworkDispatch, read_dispatch
from ..compiling import CompileJob, CompilePool, RunnableModule, raise_if_killed
from ..measuring import DISPATCH_SECONDS, HANDLER, KEEP_MEMORY, OK, Device, RunFailed
from .kernel import NetworkSetup
from .profiling import DispatchTime
from .runner import MakeChild


def time_alone(
    network: Network,
    setup: NetworkSetup,
    make_child: MakeChild,
    notify: Notify,
    jobs: int | None = None,
) -> list[DispatchTime]:
    """What the dispatches that can be tuned take in a run of a model, as far as that can be told.

    It is what one takes by itself, as often as a run dispatches it; a loop counts once. Those that
    do not compile or run by themselves have no time, nor have those of dynamic sizes.

    Args:
        make_child: makes processes beside the device.
        notify: told what is done, and what has no time.
        jobs: how many to read and compile at a time; one per core by default.

    Raises:
        KilledError: a process was killed from outside.
    """
    static = [one for one in network.dispatches if one.text and not one.dynamic]
    if dynamic := sum(one.dynamic for one in network.dispatches):
        notify(f"{dynamic} dispatches of dynamic sizes are not tuned: nothing tells their times")
    counts = {one.name: count for one in static if (count := _count(one, setup))}
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for place, one in enumerate(static):
            if one.name in counts:
                files[one.name] = Path(folder) / f"{place}.mlir"
                files[one.name].write_text(one.text)
        modules = _read(files, network, jobs)
        compiled = [
            CompileJob(files[name].stem, module.source, module.flags)
            for name, module in modules.items()
        ]
        with CompilePool(Path(folder), jobs, tries=2) as compilers:
            outcomes = list(compilers.compile_jobs(compiled))
        times: list[DispatchTime] = []
        if not modules:
            return times
        notify(f"timing {len(modules)} dispatches by themselves")
        call = next(iter(modules.values())).call
        child = make_child(HANDLER, KEEP_MEMORY)
        with closing(Device(setup.device, call, None, 0, child=child)) as device:
            for (name, module), outcome in zip(modules.items(), outcomes, strict=True):
                reason = raise_if_killed(outcome, name).reason
                if outcome.kind == OK:
                    try:
                        device.switch_dispatch(module.call, None)
                        time_us = device.measure(outcome.executable, DISPATCH_SECONDS, verify=False)
                        times.append(DispatchTime(name, counts[name], counts[name] * time_us))
                        continue
                    except ResumableError:
                        raise
                    except RunFailed as failure:
                        failure.raise_if_killed(name)
                        reason = str(failure)
                    except FrontrunnerError as error:  # there is no room for what it takes, say
                        reason = str(error)
                notify(f"{name} is not tuned: {reason}")
    return times


def _read(
    files: Mapping[str, Path], network: Network, jobs: int | None
) -> dict[str, RunnableModule]:
    """Those dispatches that can be tuned, by name."""
    target = network.target

    def read(child: Child, path: Path) -> RunnableModule | None:
        try:
            dispatch = read_dispatch(
                path,
                target.name,
                child,
                default_specs=target.default_specs,
                iree_flags=target.iree_flags,
            )
            return RunnableModule.of(dispatch)
        except InputError:
            return None

    with ChildPool(READER, jobs) as readers:
        found = zip(files, readers.map(read, files.values()), strict=True)
        return {name: module for name, module in found if module is not None}


def _count(dispatch: NetworkDispatch, setup: NetworkSetup) -> float:
    """How often a run of the model dispatches it."""
    places = dict(dispatch.calls)
    return sum(call.weight * places.get(call.function, 0) for call in setup.calls)
