"""Writes dispatches, with configurations where they are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..benchmarks.operations import Operation
from ..search import NotTunableError
from .generated import SPEC, compare_files, files_of, files_of_configurations, write_files
from .progress import Observer

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

    from .configurations import Chooser  # takes half a second

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
                some |= files_of_configurations(operation, chooser.target, found)
                made += len(found)
            counts.update(write_files(out, some, force=force).values())
            _tidy(out / operation.name, some)
    return made, counts


def _tidy(folder: Path, files: Mapping[str, str]) -> None:
    """Removes specs of configurations that were replaced."""
    for path in folder.glob(f"*{SPEC}"):
        if f"{folder.name}/{path.name}" not in files:
            path.unlink()
