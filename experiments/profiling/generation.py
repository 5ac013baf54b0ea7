"""`frontrunner.generate`, which the command `generate` calls."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...benchmarks.measuring import POOL_SIZE
from ...benchmarks.operations import Operation, parse_types
from ...core import InputError, NotTunableError
from ..arguments import optional_ranker
from ..observing import Observer, make_notify, make_progress
from ..readable import Readable, count_of
from .families import command_operations, preset_operations, sweep, unique_operations, values_of
from .folder import (
    CONFIGURATIONS,
    compare_files,
    files_of,
    files_of_configurations,
    folder_of,
    specs_in,
    write_files,
)

if TYPE_CHECKING:
    from .configurations import ConfigurationOptions


_TYPES = ("f32",)
# Axes whose values are lists of names.
_LISTS = ("steps", "transposed")


@dataclass(frozen=True, repr=False)
class GenerateResult(Readable):
    """Dispatches that were written, or were there.

    Attributes:
        out: the folder, with a folder for each dispatch.
        operations: their names.
        configurations: how many tuning specs were written beside them.
        files: how many were `new`, the `same` and `replaced`.
    """

    out: Path
    operations: tuple[str, ...]
    configurations: int
    files: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)

    def summary_lines(self) -> list[str]:
        """How many there are, and what to do with them."""
        made = self.configurations
        more = f" with {count_of(made, 'configuration')}" if made else ""
        changed = ", ".join(f"{n} {state}" for state, n in self.files.items() if n)
        return [
            f"{count_of(len(self.operations), 'dispatch', 'es')}{more} in {self.out} ({changed})",
            f"profile them with: frontrunner profile {shlex.quote(str(self.out))} --verify",
        ]


def generate(
    kind: str,
    out: str | os.PathLike[str] = "dispatches",
    *,
    dtypes: Sequence[str] = _TYPES,
    preset: Sequence[str] = (),
    commands: str | os.PathLike[str] | None = None,
    shrink: int = 1,
    configurations: int | None = None,
    target: str = "host",
    ranker: str | os.PathLike[str] | None = None,
    pool: int = POOL_SIZE,
    seed: int = 0,
    nested: bool = False,
    force: bool = False,
    quiet: bool = False,
    **sizes: Any,
) -> GenerateResult:
    """Writes dispatches: one folder for each, named for what it computes.

    Example:
        >>> frontrunner.generate("matmul", m=range(64, 1025, 128), n=1024, k=4096)
        >>> frontrunner.generate("conv", preset=["resnet50"], dtypes=["f16"], configurations=8)

    Args:
        kind: `matmul`, `batch_matmul`, `splitk`, `fused`, `conv` or `attention`; with a preset or
            commands, also `all`.
        out: the folder to write to.
        dtypes: element types of the operands and of their sums, such as `f16,f16,f32`.
        preset: shapes of public models instead of sizes: `bert`, `llama`, `sdxl`, `resnet50`.
        commands: shapes in a file of command lines instead: of MIOpenDriver,
            fusilli_benchmark_driver, rocblas-bench and hipblaslt-bench, or hipDNN's graphs.
        shrink: divide sizes by this, to try things out.
        configurations: how many tuning specs to write beside each dispatch, the first in the
            ranker's order.
        target: of the specs: `host`, a CPU's name, or a GPU's.
        ranker: of the specs: a name from `frontrunner rankers`, or a trained one's file.
        pool: how many candidates are ranked.
        seed: of the sampling of candidates.
        nested: whether to write folders for dialects, in these for kinds of operations, and in
            these for dispatches.
        force: whether to replace files that are there and differ.
        quiet: whether to show no progress on stderr.
        sizes: a value or several, each with each. Products: `m`, `n`, `k`, `batch`, `slices` (of
            split sums), `transposed`. Convolutions: `height`, `width`, `channels`, `filters`,
            `images`, `window`, `stride`, `dilation`, `groups`, `layout`. Attention: `heads`,
            `queries`, `keys`, `head_dim`. Fused: `steps=[("bias", "relu")]`. A pair goes for rows
            and columns: `window=[(3, 5)]`.

    Raises:
        InputError: something given cannot be used, or other files are there.
        WorkError: the folder cannot be written.
    """
    _check_sources({"preset": preset, "commands": commands, "sizes": sizes}, dtypes)
    types = [parse_types(text) for text in values_of(dtypes)]
    notify = make_notify(quiet=quiet)
    if preset:
        asked = preset_operations(kind, values_of(preset), types, notify)
    elif commands is not None:
        asked = command_operations(kind, Path(commands), notify)
    else:
        asked = sweep(kind, types, {name: _axis(name, value) for name, value in sizes.items()})
    operations = unique_operations(asked, shrink)
    choice = None
    if configurations:
        from .configurations import ConfigurationOptions

        named = optional_ranker(ranker, quiet=quiet)
        choice = ConfigurationOptions(configurations, target, named, pool, seed)
    with closing(make_progress(quiet=quiet)) as progress:
        made, files = write_dispatches(
            operations, Path(out), choice, progress, force=force, nested=nested
        )
    return GenerateResult(Path(out), tuple(o.name for o in operations), made, dict(files))


def _check_sources(sources: Mapping[str, Any], dtypes: Sequence[str]) -> None:
    """Refuses arguments of which one would be ignored."""
    given = [name for name, value in sources.items() if value]
    if sources["commands"] and values_of(dtypes) != _TYPES:
        given.append("dtypes")
    if len(given) > 1:
        raise InputError(
            f"{' and '.join(given)} cannot be given together",
            "give sizes, a preset or commands; commands have types of their own",
        )


def _axis(name: str, given: Any) -> tuple[Any, ...]:
    """The values of an axis: NumPy's integers are Python's, one name stands for a list of it."""
    values = tuple(int(one) if isinstance(one, np.integer) else one for one in values_of(given))
    if name not in _LISTS:
        return values
    return tuple((one,) if isinstance(one, str) else one for one in values)


def write_dispatches(
    operations: Sequence[Operation],
    out: Path,
    choice: ConfigurationOptions | None,
    observer: Observer,
    *,
    force: bool = False,
    nested: bool = False,
) -> tuple[int, Counter[str]]:
    """Writes each operation into a folder of its own, with its configurations as they are made.

    Args:
        choice: which configurations to make; None for none.
        force: whether to replace files that are there and differ.
        nested: as of `folder_of`.

    Returns:
        How many configurations were made, and how many files were `new`, `same` and `replaced`.

    Raises:
        InputError: something is there already, or something given cannot be used.
    """
    folders = {o.name: folder_of(o, nested=nested) for o in operations}
    files = {o.name: files_of(o, folders[o.name]) for o in operations}
    every = {path: text for some in files.values() for path, text in some.items()}
    counts: Counter[str] = Counter(new=0, same=0, replaced=0)
    if choice is None:
        counts.update(write_files(out, every, force=force).values())
        return 0, counts

    from .configurations import ConfigurationMaker

    compare_files(out, every, force=force)  # before the first is written
    made = 0
    with ConfigurationMaker(choice) as chooser:
        for place, operation in enumerate(operations, 1):
            observer.on_phase(f"configuring {operation.name} ({place} of {len(operations)})")
            some, folder = files[operation.name], folders[operation.name]
            try:
                found = chooser.configurations(operation)
            except NotTunableError as error:
                observer.notify(f"no configurations of {operation.name}: {error}")
            else:
                some |= files_of_configurations(folder, choice.target, found)
                made += len(found)
            former = specs_in(out / folder)
            states = write_files(out, some, force=force)
            counts.update(states.values())
            if states.get(f"{folder}/{CONFIGURATIONS}") == "replaced":
                for spec in former:
                    if f"{folder}/{spec.name}" not in some:
                        spec.unlink(missing_ok=True)
    return made, counts
