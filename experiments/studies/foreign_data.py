"""What was evaluated that is not in this repository: lists files, and checks a folder against it.

python -m frontrunner.experiments.studies.foreign_data write LIST.json DIR [SOURCE]
python -m frontrunner.experiments.studies.foreign_data check LIST.json DIR
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from ...core import InputError, decode, read_json, write_atomically
from ..learning import ENDINGS, TABLE_ENDINGS
from .command_line import NOTHING_TO_DO, run_study

_USAGE = "foreign_data write LIST.json DIR [SOURCE], or foreign_data check LIST.json DIR"


@dataclass(frozen=True)
class ListedFile:
    """A file.

    Attributes:
        name: its path in the folder.
    """

    name: str
    bytes: int
    sha256: str

    def __post_init__(self) -> None:
        path = PurePosixPath(self.name)
        if path.is_absolute() or ".." in path.parts or not self.name.isprintable():
            raise ValueError(f"{self.name!r} is no path in a folder")


@dataclass(frozen=True)
class FileList:
    """Files that were evaluated.

    Attributes:
        source: where they are to be had, and in which version.
    """

    source: str
    files: tuple[ListedFile, ...]


def list_files(folder: Path, source: str = "") -> FileList:
    """The recordings in a folder and those below it.

    Raises:
        InputError: there is none.
    """
    paths = sorted(p for p in folder.rglob("*") if p.name.endswith((*ENDINGS, *TABLE_ENDINGS)))
    files = [_listed(path, folder) for path in paths if path.is_file()]
    if not files:
        raise InputError(f"{folder} holds no recordings", "name the folder that they are in")
    return FileList(source, tuple(files))


def differences(listed: FileList, folder: Path) -> Iterator[str]:
    """What is not as it is listed, a line for each."""
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for file in listed.files:
        if file.name not in there:
            yield f"{file.name} is missing"
            continue
        found = _listed(folder / file.name, folder)
        if found.bytes != file.bytes:
            yield f"{file.name} has {found.bytes:,} bytes, not {file.bytes:,}"
        elif found.sha256 != file.sha256:
            yield f"{file.name} has the SHA-256 {found.sha256}, not {file.sha256}"
    # A clone may lie beside the folders that were made of it.
    folders = {PurePosixPath(file.name).parent for file in listed.files}
    for name in sorted(there - {file.name for file in listed.files}):
        if name.endswith((*ENDINGS, *TABLE_ENDINGS)) and PurePosixPath(name).parent in folders:
            yield f"{name} is not listed"


def _listed(path: Path, folder: Path) -> ListedFile:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return ListedFile(path.relative_to(folder).as_posix(), path.stat().st_size, digest)


def main(arguments: Sequence[str]) -> int:
    match arguments:
        case ["write", file, folder, *source] if len(source) < 2:
            listed = list_files(Path(folder), "".join(source))
            write_atomically(Path(file), (json.dumps(asdict(listed), indent=1) + "\n").encode())
            print(f"{len(listed.files)} files are listed in {file}")
            return 0
        case ["check", file, folder]:
            listed = read_json(Path(file), _parse, "give a list that `write` made")
            wrong = list(differences(listed, Path(folder)))
            print("\n".join(wrong) or f"{len(listed.files)} files are as listed")
            return int(bool(wrong))
    raise InputError(NOTHING_TO_DO, _USAGE)


def _parse(content: object) -> FileList:
    return decode(FileList, content)


if __name__ == "__main__":
    run_study(main, __doc__)
