"""Recordings in any format, which is told by what is in the file, not by its name."""

from __future__ import annotations

import os
import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...core import InputError, TooLarge, first_line, gunzip, parse_json, read_limited, remedy_for
from .columns import Columns, read_columns
from .foreign import kernel_and_device
from .from_table import Source, recordings_of
from .kernel_tuner import parse_unclosed_cache, to_t4
from .known_tables import is_known, read_known_table
from .ktt import RESULTS, ktt_to_t4
from .recording import Recording
from .t4 import read_t4
from .tables import header_of, read_table

_PARQUET, _GZIP = b"PAR1", b"\x1f\x8b"
# MLIR may start with a brace, too, but not go on like that.
_JSON = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*["}]')
# What a line of names is looked for in.
_PEEK = 1 << 16
_KNOWN = (
    "give Parquet of `frontrunner record`, T4 results, a Kernel Tuner cache, results of KTT, or a "
    "table of BaCO or CATBench"
)
_COLUMNS_HINT = "`evaluate` and `train` take a file that says what columns are: --columns map.toml"


def read_recording(
    path: str | os.PathLike[str], *, columns: str | os.PathLike[str] | None = None
) -> Recording:
    """Reads all outcomes of a dispatch's candidates: ours, and those of other tuners.

    Example:
        >>> recording = frontrunner.read_recording("recordings/matmul.parquet")
        >>> recording.frame.sort_values("time_us").head()

    Args:
        path: Parquet of `frontrunner record`, or, also gzipped, T4 results, a Kernel Tuner cache,
            results of KTT, or a table (CSV); told by what is in the file, not by its name.
        columns: a file in TOML that says what a table's columns are.

    Raises:
        InputError: it cannot be read, is damaged, is something else, or holds several recordings.
    """
    said = None if columns is None else (read_columns(Path(columns)), Path(columns))
    first, *others = read_recordings(Path(path), said)
    if others:
        labels = [
            f"{r.provenance.problem.label!r:.60} on {next(iter(r.provenance.devices))!r:.60}"
            for r in (first, others[0])
        ]
        raise InputError(
            f"{path} holds {1 + len(others)} recordings, such as {' and '.join(labels)}",
            "keep one in a file, or by [only] in the file that says what columns are",
        )
    return first


def read_recordings(path: Path, said: tuple[Columns, Path] | None = None) -> list[Recording]:
    """Reads all recordings in a file, of which tables may hold several.

    Args:
        said: what a table's columns are, and the file that says so.

    Raises:
        InputError: it cannot be read, is damaged, or is something else.
    """
    data = read_limited(path, _KNOWN)
    if not data:
        raise InputError(f"{path} is empty", _KNOWN)
    if data.startswith(_PARQUET):
        return [Recording.parse(data, path)]
    try:
        text = gunzip(data) if data.startswith(_GZIP) else data
    except ValueError as error:
        raise _refused(path, error, "copy it again") from None
    if _may_be_table(text, said is not None):
        try:
            return _of_table(text, path, said)
        except TooLarge as error:
            raise _refused(path, error, _KNOWN) from None
    content = _json(text, path)
    known = ("results", "cache", RESULTS)
    if not isinstance(content, dict) or content.keys().isdisjoint(known):
        raise InputError(
            f"{path} holds JSON, but neither T4 results nor a cache nor results of KTT", _KNOWN
        )
    try:
        found = [read_t4(part, path) for part in _as_t4(content)]
    except TooLarge as error:
        raise _refused(path, error, _KNOWN) from None
    except MemoryError:
        raise InputError(f"cannot read {path}: it does not fit into memory", _KNOWN) from None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        what = f"{type(error).__name__}: {first_line(error)}"
        raise InputError(f"{path} is damaged, or of another kind ({what})", _KNOWN) from error
    if not found:
        raise InputError(f"{path} holds no result", _KNOWN)
    return found


def looks_like_recording(path: Path) -> bool:
    """Whether a file starts as recordings do, and so is not MLIR."""
    if not path.is_file():
        return False
    start = _start(path)
    if start.startswith((_PARQUET, _GZIP)) or _JSON.match(start) is not None:
        return True
    return is_known(header_of(start))


def is_known_table(path: Path) -> bool:
    """Whether a file is a table, also gzipped, and it is known what its columns are."""
    return is_known(header_of(_unpacked(_start(path))))


def may_be_table(path: Path) -> bool:
    """Whether a file can be a table, also gzipped, if somebody says what its columns are."""
    start = _unpacked(_start(path))
    return not start.startswith(_PARQUET) and _may_be_table(start, said=True)


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_PEEK)


def _unpacked(start: bytes) -> bytes:
    if not start.startswith(_GZIP):
        return start
    try:
        return zlib.decompressobj(wbits=31).decompress(start, _PEEK)
    except zlib.error:
        return b""


def _may_be_table(text: bytes, said: bool) -> bool:
    """Whether the first line is one of names: JSON starts with a bracket.

    Args:
        said: whether somebody says what columns are, and so that it is a table.
    """
    if text[:_PEEK].removeprefix(BOM_UTF8).lstrip().startswith((b"{", b"[")):
        return False
    return said or bool(header_of(text[:_PEEK]))


def _of_table(data: bytes, path: Path, said: tuple[Columns, Path] | None) -> list[Recording]:
    if said is not None:
        columns, file = said
        kernel, device = kernel_and_device(path)
        source = Source(kernel, device, "a table of somebody else's", str(file))
        return recordings_of(read_table(data, path, columns.delimiter), columns, source)
    header = header_of(data[:_PEEK])
    if not is_known(header):
        names = ", ".join(header)
        raise InputError(
            f"{path} is a table of columns that are not known: {names:.200}", _COLUMNS_HINT
        )
    known = read_known_table(data, header, path)
    return recordings_of(known.table, known.columns, known.source)


def _as_t4(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if RESULTS in content:
        return [*ktt_to_t4(content)]
    return [to_t4(content) if "cache" in content else content]


def _json(text: bytes, path: Path) -> Any:
    try:
        return parse_json(text)
    except TooLarge as error:
        raise _refused(path, error, _KNOWN) from None
    except ValueError as error:
        try:
            return parse_unclosed_cache(text)
        except ValueError:
            damage = ValueError(f"it is cut short or no JSON ({error})")
            raise _refused(path, damage, _KNOWN) from None


def _refused(path: Path, error: Exception, remedy: str) -> InputError:
    return InputError(f"cannot read {path}: {error}", remedy_for(error, remedy))
