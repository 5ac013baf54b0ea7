"""A folder of generated dispatches: one folder for each, named as it is.

These may stand in folders for dialects and kinds of operations.

| file | holds |
| --- | --- |
| `NAME.mlir` | the dispatch |
| `operation.json` | what it computes, for results to be checked |
| `CONFIGURATION.spec.mlir` | a tuning spec of it |
| `configurations.json` | what these specs were made for, and their knobs |
"""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...benchmarks.compiling import SCRIPT
from ...benchmarks.operations import MAX_SIZE, Operation, from_dict
from ...core import (
    InputError,
    check_inside,
    escape_undecodable,
    is_utf_8,
    make_folder,
    read_json,
    read_limited,
    write_atomically,
)
from .log import DEFAULT

OPERATION, CONFIGURATIONS = "operation.json", "configurations.json"
SPEC = ".spec.mlir"
_EDITED = "generate it again with --force"


@dataclass(frozen=True)
class NamedSpec:
    """A tuning spec beside its dispatch, and the knobs that it sets."""

    name: str
    pipeline: str
    knobs: Mapping[str, int]


@dataclass(frozen=True)
class GeneratedDispatch:
    """A dispatch on disk.

    Attributes:
        operation: None where it is somebody else's MLIR.
        target: what the configurations were made for; empty where there are none.
    """

    path: Path
    operation: Operation | None = None
    target: str = ""
    configurations: tuple[NamedSpec, ...] = ()

    @property
    def name(self) -> str:
        return self.path.stem

    def spec(self, configuration: NamedSpec) -> Path:
        return self.path.with_name(f"{configuration.name}{SPEC}")

    def module(self, configuration: str) -> Path:
        """Where what a configuration was compiled to is kept."""
        shared = self.path.parent.name != self.path.stem  # with others' dispatches
        name = f"{self.path.stem}-{configuration}" if shared else configuration
        return self.path.with_name(f"{name}.vmfb")

    def read(self) -> bytes:
        """Its MLIR.

        Raises:
            InputError: it cannot be read; so of `read_spec`.
        """
        return read_limited(self.path, _EDITED)

    def read_spec(self, configuration: NamedSpec) -> bytes:
        return read_limited(self.spec(configuration), _EDITED)


def folder_of(operation: Operation, *, nested: bool) -> str:
    """Where an operation is written, below the folder of all.

    Args:
        nested: whether in folders for the dialect and the kind of operation.
    """
    return f"{operation.dialect}/{operation.kind}/{operation.name}" if nested else operation.name


def files_of(operation: Operation, folder: str) -> dict[str, str]:
    """What is written for an operation, by the path below the folder of all."""
    return {
        f"{folder}/{operation.name}.mlir": operation.mlir(),
        f"{folder}/{OPERATION}": json.dumps(operation.to_dict(), indent=2) + "\n",
    }


def files_of_configurations(
    folder: str, target: str, made: Sequence[tuple[NamedSpec, str]]
) -> dict[str, str]:
    """What is written for an operation's configurations, given with their specs."""
    files = {f"{folder}/{configuration.name}{SPEC}": spec for configuration, spec in made}
    data = {
        "target": target,
        "configurations": [asdict(configuration) for configuration, _ in made],
    }
    # Last: what it names is there.
    return {**files, f"{folder}/{CONFIGURATIONS}": json.dumps(data, indent=2) + "\n"}


def compare_files(out: Path, files: Mapping[str, str], *, force: bool) -> dict[str, str]:
    """Which of the files are `new`, the `same`, or to be `replaced`.

    Args:
        force: whether any may be replaced.

    Raises:
        InputError: some are there and differ.
    """
    states: dict[str, str] = {}
    for name, text in files.items():
        path = out / name
        found = read_limited(path, "move it away") if os.path.lexists(path) else None
        states[name] = "new" if found is None else "same" if found == text.encode() else "replaced"
    differ = [name for name, state in states.items() if state == "replaced"]
    if differ and not force:
        raise InputError(
            f"{len(differ)} of {len(files)} files are there and differ, such as {out / differ[0]}",
            "replace them with --force, or name another --out",
        )
    return states


def write_files(out: Path, files: Mapping[str, str], *, force: bool) -> dict[str, str]:
    """As `compare_files`, and writes what is not the same.

    Raises:
        InputError: also where a folder cannot be made.
        WorkError: the disk is full or the like.
    """
    states = compare_files(out, files, force=force)
    changed = [name for name, state in states.items() if state != "same"]
    folders = dict.fromkeys((out / name).parent for name in changed)
    check_inside(out, folders)
    for folder in folders:
        make_folder(folder, "move away what is there, or name another --out")
    for name in changed:
        write_atomically(out / name, files[name].encode())
    return states


def specs_in(folder: Path) -> list[Path]:
    """The specs of the dispatch that a folder is of, as far as it can be made out."""
    try:
        found = _read(folder / f"{folder.name}.mlir")
    except InputError:
        return []
    return [found.spec(configuration) for configuration in found.configurations]


def find_generated(folder: Path, names: Container[str] | None = None) -> list[GeneratedDispatch]:
    """The dispatches in a folder and those below it, by name; or the one in a file.

    Args:
        names: of those that are meant, where the folder may hold others; all if None.

    Raises:
        InputError: there is none at all, or what describes one cannot be read.
    """
    if folder.is_file():
        return [_read(folder)]
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}", "make dispatches with `generate`")
    paths = sorted(_dispatches(folder))
    if not paths:
        raise InputError(f"{folder} holds no dispatch", "make some with `frontrunner generate`")
    found: dict[str, GeneratedDispatch] = {}
    for path in paths:
        if names is not None and path.stem not in names:
            continue
        if path.stem in found:
            raise InputError(
                f"{found[path.stem].path} and {path} have one name", "rename or move one of them"
            )
        found[path.stem] = _read(path)
    return list(found.values())


def _dispatches(folder: Path) -> Iterator[Path]:
    """No specs, nor what a profile keeps of failures, nor what is hidden or about to be written."""

    def refuse(error: OSError) -> None:
        raise InputError(f"cannot read {error.filename}: {error.strerror}", "see its permissions")

    for root, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if SCRIPT not in files:
            for name in files:
                if name.endswith(".mlir") and not name.endswith(SPEC) and not name.startswith("."):
                    yield Path(root, name)


def _read(path: Path) -> GeneratedDispatch:
    if not is_utf_8(path.name):
        raise InputError(
            f"the name of {escape_undecodable(str(path))} is not in UTF-8", "rename the file"
        )
    described, configured = path.with_name(OPERATION), path.with_name(CONFIGURATIONS)
    operation, target = None, ""
    configurations: tuple[NamedSpec, ...] = ()
    if os.path.lexists(described):
        operation = read_json(described, from_dict, _EDITED)
        if operation.name != path.stem:
            if not path.with_name(f"{operation.name}.mlir").exists():
                raise InputError(f"{described} does not describe {path}", _EDITED)
            return GeneratedDispatch(path)  # somebody else's, beside ours
    if os.path.lexists(configured):
        if operation is None:
            raise InputError(f"{configured} is there, but no {OPERATION} beside it", _EDITED)
        target, configurations = read_json(configured, _configurations, _EDITED)
    return GeneratedDispatch(path, operation, target, configurations)


def _configurations(data: Mapping[str, Any]) -> tuple[str, tuple[NamedSpec, ...]]:
    if not isinstance(data["configurations"], list):
        raise ValueError(f"the configurations are {data['configurations']!r}")
    found = tuple(NamedSpec(**described) for described in data["configurations"])
    for one in found:
        if one.name != Path(one.name).name or one.name == DEFAULT:
            raise ValueError(f"{one.name!r} names no configuration")
        for knob, value in one.knobs.items():
            if not isinstance(value, int) or abs(value) > MAX_SIZE:
                raise ValueError(f"{knob} is {value!r}")
    if len({one.name for one in found}) < len(found):
        raise ValueError("two have the same name")
    if not isinstance(data["target"], str):
        raise ValueError(f"the target is {data['target']!r}")
    return data["target"], found
