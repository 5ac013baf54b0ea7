"""Changes of folders: links to what is outside, and what is no file at all."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path
from random import Random

from ..traps import Traps
from .edits import CannotEdit, EditResult, pick

# What commands write into the folders of runs, which may not be there yet.
WRITTEN = (
    "outcomes.jsonl", "result.json", "spec.mlir", "report.md", "work", "logs", "failures", "runs",
    "dispatches", "plan.json", "profile.jsonl", "profile.csv", "profile.parquet",
    "profile-failures", "mm.parquet", "compiled", "compile_s.json",
)  # fmt: skip
_ADDED = (
    "trap_module.py", "sitecustomize.py", "__init__.py", "conftest.py", "x.mlir", ".hidden",
    "pandas.py", "onnx.py", "a\nb.mlir", "x" * 250, "\udcff.mlir", "-o.mlir",
)  # fmt: skip


def link_out(rng: Random, folder: Path, traps: Traps) -> EditResult:
    """What is in the folder, or a part of it, is a link to the same, or to nothing, elsewhere."""
    path = _inside(rng, folder)
    away = traps.folder / f"linked-{path.name}"
    if rng.random() < 0.2:
        _remove(path)
        path.symlink_to(traps.new)
        return EditResult(f"{path.name} is a link to where nothing is")
    if path.is_dir():
        shutil.move(path, away)
    elif path.exists():
        shutil.move(path, away)
        if rng.random() < 0.3:
            os.link(away, path)
            return EditResult(f"{path.name} is a hard link to a file outside")
    else:
        away = traps.folder / rng.choice(["file", "folder"])
    path.symlink_to(os.path.relpath(away, path.parent) if rng.random() < 0.3 else away)
    return EditResult(f"{path.name} is a link to {away.name} outside")


def be_linked(rng: Random, folder: Path, traps: Traps) -> EditResult:
    """A folder in it is elsewhere; the folder itself may be, for its path is the user's."""
    below = sorted(path for path in folder.rglob("*") if path.is_dir() and not path.is_symlink())
    path = pick(rng, below)
    away = traps.folder / f"linked-{path.name}"
    shutil.move(path, away)
    path.symlink_to(away)
    return EditResult(f"{path.name} is a link to a folder outside")


def be_no_file(rng: Random, folder: Path, traps: Traps) -> EditResult:
    """A file is a pipe, a device, a folder, a socket or a loop."""
    path = _inside(rng, folder)
    _remove(path)
    kind = rng.choice(
        ["fifo", "zero", "random", "folder", "loop", "socket", "linked fifo", "stdin"]
    )
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "linked fifo":
        fifo = traps.folder / "fifo"
        os.mkfifo(fifo)
        path.symlink_to(fifo)
    elif kind == "folder":
        (path / "inner").mkdir(parents=True)
    elif kind == "socket":
        _make_socket(path)
    else:
        places = {"zero": "/dev/zero", "random": "/dev/urandom", "stdin": "/proc/self/fd/0"}
        path.symlink_to(places.get(kind, path.name))
    return EditResult(f"{path.name} is of another kind: {kind}")


def miss_a_part(rng: Random, folder: Path, _: Traps) -> EditResult:
    path = pick(rng, _files(folder))
    path.unlink()
    return EditResult(f"{path.relative_to(folder)} is missing")


def add_a_part(rng: Random, folder: Path, traps: Traps) -> EditResult:
    """Files that nobody asked for, some of which Python or a library would run."""
    name = rng.choice(_ADDED)
    place = pick(rng, [folder, *sorted(p for p in folder.iterdir() if p.is_dir())]) / name
    place.write_text(traps.python())
    return EditResult(f"{name[:40]!r} is there, too")


ANY_FOLDER = (
    link_out,
    link_out,
    link_out,
    be_linked,
    be_no_file,
    be_no_file,
    miss_a_part,
    add_a_part,
)


def _files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink())


def _inside(rng: Random, folder: Path) -> Path:
    """Something in the folder: there, or about to be."""
    there = sorted(p for p in folder.rglob("*") if not p.is_symlink())
    path = folder / rng.choice(WRITTEN) if rng.random() < 0.4 else pick(rng, there)
    if not path.parent.is_dir():
        raise CannotEdit(f"{path.parent} is no folder")
    return path


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _make_socket(path: Path) -> None:
    # Their paths are limited to some 100 bytes.
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name[:90])
    finally:
        os.chdir(here)
