"""Writes dispatches, with configurations where they are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...benchmarks.operations import Operation
from ...core import NotTunableError
from ..observing import Observer
from .folder import (
    CONFIGURATIONS,
    compare_files,
    files_of,
    files_of_configurations,
    specs_in,
    write_files,
)

if TYPE_CHECKING:
    from .configurations import Choice


def generate(
    operations: Sequence[Operation],
    out: Path,
    choice: Choice | None,
    observer: Observer,
    *,
    force: bool = False,
) -> tuple[int, Counter[str]]:
    """Writes each operation into a folder of its own, with its configurations as they are made.

    Args:
        choice: which configurations to make; None for none.
        force: whether to replace files that are there and differ.

    Returns:
        How many configurations were made, and how many files were `new`, `same` and `replaced`.

    Raises:
        InputError: something is there already, or something given cannot be used.
    """
    files = {o.name: files_of(o) for o in operations}
    every = {path: text for some in files.values() for path, text in some.items()}
    counts: Counter[str] = Counter(new=0, same=0, replaced=0)
    if choice is None:
        counts.update(write_files(out, every, force=force).values())
        return 0, counts

    from .configurations import Chooser

    compare_files(out, every, force=force)  # before the first is written
    made = 0
    with Chooser(choice) as chooser:
        for place, operation in enumerate(operations, 1):
            observer.phase(f"configuring {operation.name} ({place} of {len(operations)})")
            some = files[operation.name]
            try:
                found = chooser.configurations(operation)
            except NotTunableError as error:
                observer.note(f"no configurations of {operation.name}: {error}")
            else:
                some |= files_of_configurations(operation, choice.target, found)
                made += len(found)
            former = specs_in(out / operation.name)
            states = write_files(out, some, force=force)
            counts.update(states.values())
            if states.get(f"{operation.name}/{CONFIGURATIONS}") == "replaced":
                for spec in former:
                    if f"{operation.name}/{spec.name}" not in some:
                        spec.unlink(missing_ok=True)
    return made, counts
