"""Writes dispatches, with configurations where they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..benchmarks.operations import Operation
from ..search import NotTunableError
from .generated import files_of, files_of_configurations, write_files
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
) -> tuple[int, dict[str, int]]:
    """Writes each operation into a folder of its own.

    Args:
        choice: which configurations to make; None for none.
        force: whether to replace files that are there and differ.

    Returns:
        How many configurations were made, and how many files were `new`, `same` and `replaced`.

    Raises:
        InputError: something is there already, or something given cannot be used.
    """
    files: dict[str, str] = {}
    made = 0
    if choice is not None:
        from .configurations import configurations  # takes half a second
    for place, operation in enumerate(operations, 1):
        files.update(files_of(operation))
        if choice is not None:
            observer.phase(f"configuring {operation.name} ({place} of {len(operations)})")
            try:
                found = configurations(operation, choice)
            except NotTunableError as error:
                observer.note(f"no configurations of {operation.name}: {error}")
                continue
            files.update(files_of_configurations(operation, choice.target, found))
            made += len(found)
    return made, write_files(out, files, force=force)
