"""The folder of what was found: an index, and one folder for each way to fail."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...core import iree_versions, markdown_cell, write_atomically
from .result import FoundFailure, TriedDispatch

INDEX = "README.md"


def write_index(
    folder: Path, dispatches: Sequence[TriedDispatch], failures: Sequence[FoundFailure], seed: int
) -> None:
    """Writes the index anew.

    Raises:
        WorkError: it cannot be written.
    """
    versions = ", ".join(f"{name} {version}" for name, version in iree_versions().items())
    lines = [
        "# Failures of the compiler",
        "",
        f"Candidates were drawn at random (seed {seed}; {versions}).",
        "",
        "| dispatch | target | tried | failed | distinct | |",
        "| --- | --- | --- | --- | --- | --- |",
        *(
            f"| {markdown_cell(one.dispatch)} | {one.target} | {one.tried} | {one.failed} | "
            f"{one.distinct} | {markdown_cell(one.note or _done(one))} |"
            for one in dispatches
        ),
        "",
        f"Distinct failures: {len(failures)}. Each folder has a script, which needs the IREE tools",
        "alone and fails; `steps.txt` tells how the reproducer was reduced, where it could be.",
    ]
    for one in failures:
        seen = ", ".join(f"{name} ({count})" for name, count in one.seen.items())
        lines += [
            "",
            f"## {one.folder.name}",
            "",
            f"{one.kind}, stage {one.stage}, {one.target}: {markdown_cell(one.reason)}",
            "",
            f"- reproduce: `sh {one.folder.name}/reproduce.sh`",
            f"- candidates that failed so: {seen}",
            f"- before: {one.before}",
            f"- after: {one.after if one.left is not None else 'not reduced'}",
        ]
    write_atomically(folder / INDEX, ("\n".join(lines) + "\n").encode())


def _done(one: TriedDispatch) -> str:
    return "compiled, run and verified" if one.ran else "compiled"
