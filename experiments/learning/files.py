"""Which files hold recordings, and what these are called."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ...core import InputError, escape_undecodable
from ..dataset import is_known_table, recording_name

ENDINGS = (".parquet", ".json", ".json.gz")
# Other files may be tables, too: in a folder, those count of which it is known what columns are.
TABLE_ENDINGS = (".csv", ".csv.gz")

# A file or folder of recordings, or several.
Files = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def paths_of(files: Files) -> list[Path]:
    """One or several as a list."""
    return [Path(files)] if isinstance(files, str | os.PathLike) else [Path(f) for f in files]


def recording_files(paths: Sequence[Path], *, tables: bool = False) -> dict[str, Path]:
    """The files that `read_cases` reads, by their names, sorted by these.

    Args:
        tables: whether tables (CSV) in folders are meant, too.

    Raises:
        InputError: there is none, or two have one name.
    """
    files = sorted({f.resolve(): f for path in paths for f in _files(path, tables)}.values())
    if not files:
        raise InputError("there is no recording", "name a file or a folder of `frontrunner record`")
    return dict(sorted(zip(_names(files), files, strict=True)))


def _files(path: Path, tables: bool) -> list[Path]:
    """The recordings in a folder, or the file itself.

    Args:
        tables: whether it is said what columns of tables are.
    """
    if not path.is_dir():
        return [path]
    names = {f.name for f in path.iterdir() if f.is_file() and not f.name.startswith(".")}
    names -= {n.removesuffix(".parquet") + ".t4.json" for n in names if n.endswith(".parquet")}
    found = [path / n for n in names if n.endswith(ENDINGS)]
    others = [path / n for n in names if n.endswith(TABLE_ENDINGS)]
    found += [file for file in others if tables or is_known_table(file)]
    if not found:
        raise InputError(
            f"{path} holds no recordings ({', '.join('*' + e for e in ENDINGS)})",
            "say what columns of its tables are: --columns map.toml"
            if others
            else "name the folder that they are in",
        )
    return found


def _names(files: Sequence[Path]) -> list[str]:
    """The files' names, with as many folders before them as it takes to tell all apart."""
    places = [[*map(escape_undecodable, f.resolve().parts[1:-1]), recording_name(f)] for f in files]
    for depth in range(1, max(map(len, places)) + 1):
        names = ["_".join(place[-depth:]) for place in places]
        if len(set(names)) == len(names):
            return names
    twice, _ = Counter(names).most_common(1)[0]
    first, second, *_ = (f for f, n in zip(files, names, strict=True) if n == twice)
    raise InputError(f"{first} and {second} have one name", "give one of them, or rename it")
