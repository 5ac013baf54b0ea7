"""What a model's dispatches take where the runtime does not profile: each is timed by itself."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path

from ...core import (
    ChildPool,
    FrontrunnerError,
    InputError,
    Notify,
    ResumableError,
)
from ...search.reading import READER, Network, NetworkDispatch, read_dispatches
from ..compiling import CompileJob, CompilePool, RunnableModule, raise_if_killed
from ..measuring import (
    DISPATCH_SECONDS,
    HANDLER,
    KEEP_MEMORY,
    OK,
    CompileOutcome,
    Device,
    RunFailed,
)
from .kernel import NetworkSetup
from .profiling import DispatchTime
from .runner import MakeChild


def time_alone(
    network: Network,
    files: Mapping[str, Path],
    setup: NetworkSetup,
    make_child: MakeChild,
    notify: Notify,
    jobs: int | None = None,
) -> list[DispatchTime]:
    """What the dispatches that can be tuned take in a run of a model, as far as that can be told.

    It is what one takes by itself, as often as a run dispatches it; a loop counts once. Those that
    do not compile or run by themselves have no time, nor have those of dynamic sizes.

    Args:
        files: where each dispatch is, as MLIR.
        make_child: makes processes beside the device.
        notify: told what is done, and what has no time.
        jobs: how many to read and compile at a time; one per core by default.

    Raises:
        KilledError: a process was killed from outside.
    """
    if dynamic := sum(one.dynamic for one in network.dispatches):
        notify(f"{dynamic} dispatches of dynamic sizes are not tuned: nothing tells their times")
    static = (one for one in network.dispatches if one.text and not one.dynamic)
    counts = {one.name: count for one in static if (count := _count(one, setup))}
    modules = _read({name: files[name] for name in counts}, network, jobs)
    if not modules:
        return []
    notify(f"timing {len(modules)} dispatches by themselves")
    times = []
    first, *_ = modules.values()
    child = make_child(HANDLER, KEEP_MEMORY)
    with tempfile.TemporaryDirectory() as folder:
        due = [CompileJob(str(n), m.source, m.flags) for n, m in enumerate(modules.values())]
        with CompilePool(Path(folder), jobs, tries=2) as compilers:
            compiled = list(compilers.compile_jobs(due))
        with closing(Device(setup.device, first.call, None, 0, child=child)) as device:
            for (name, module), outcome in zip(modules.items(), compiled, strict=True):
                found = _time(device, module, outcome, name)
                if isinstance(found, str):
                    notify(f"{name} is not tuned: {found}")
                else:
                    times.append(DispatchTime(name, counts[name], counts[name] * found))
    return times


def _time(
    device: Device, module: RunnableModule, compiled: CompileOutcome, name: str
) -> float | str:
    """Microseconds of a run of a dispatch, or why there are none."""
    if raise_if_killed(compiled, name).kind != OK:
        return compiled.reason
    try:
        device.switch_dispatch(module.call, None)
        return device.measure(compiled.executable, DISPATCH_SECONDS, verify=False)
    except ResumableError:
        raise
    except RunFailed as failure:
        failure.raise_if_killed(name)
        return str(failure)
    except FrontrunnerError as error:  # there is no room for what it takes, say
        return str(error)


def _read(
    files: Mapping[str, Path], network: Network, jobs: int | None
) -> dict[str, RunnableModule]:
    """Those dispatches that can be tuned, by name."""
    modules: dict[str, RunnableModule] = {}
    with ChildPool(READER, jobs) as readers:
        found = read_dispatches(readers, files.values(), network.target)
        for name, dispatch in zip(files, found, strict=True):
            if not isinstance(dispatch, FrontrunnerError):
                with suppress(InputError):  # types that inputs are not made of
                    modules[name] = RunnableModule.of(dispatch)
    return modules


def _count(dispatch: NetworkDispatch, setup: NetworkSetup) -> float:
    """How often a run of the model dispatches it."""
    places = dict(dispatch.calls)
    return sum(call.weight * places.get(call.function, 0) for call in setup.calls)
