"""What is profiled, read for a target: dispatches that can be tuned, and others."""

from __future__ import annotations

from dataclasses import replace

from ...benchmarks.compiling import RunnableModule
from ...benchmarks.operations import Operation
from ...benchmarks.verifying import check_memory
from ...core import Child, InputError, NotTunableError, UnknownFlagError, UnknownTargetError
from ...search.reading import read_dispatch, read_network
from .options import ProfileOptions
from .rows import PlannedRows


def read_module(
    options: ProfileOptions, reader: Child, one: PlannedRows
) -> RunnableModule | InputError:
    """What one of the dispatches is compiled from, or why it cannot be had.

    Args:
        reader: a process that reads dispatches.

    Raises:
        InputError: none can be read for this target, or with these flags.
        KilledError: the compiler was killed.
    """
    path, operation = one.generated.path, one.generated.operation
    target, specs, flags = options.target, options.default_specs, options.iree_flags
    try:
        try:
            module = RunnableModule.of(
                read_dispatch(path, target, reader, default_specs=specs, iree_flags=flags)
            )
        except NotTunableError:
            module = RunnableModule.of_network(
                read_network(path, target, default_specs=specs, iree_flags=flags, keep_f64=True)
            )
        if operation is not None:
            _check(module, operation)
            # The root op may compute more: data tiling pads it to whole tiles.
            module = replace(module, flops=operation.flops)
        check_memory((*module.call.inputs, *module.call.outputs))
        return module
    except (UnknownTargetError, UnknownFlagError):
        raise  # it is that of all of them
    except InputError as error:
        return error


def _check(module: RunnableModule, operation: Operation) -> None:
    """Refuses what does not take and return what an operation does."""
    declared = [(t.shape, t.dtype) for t in (*operation.inputs.values(), operation.output)]
    if declared != [*module.call.inputs, *module.call.outputs]:
        raise InputError(f"it does not compute {operation.name}: it was edited")
