"""How much is read of files that somebody else may have made, and that in pieces.

One limit holds for the bytes of a file, for what they unpack to, and for the memory that parsing
takes. It is kept in the environment, so that child processes have it, too.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import InputError

DEFAULT_MAX_BYTES = 512 << 20
LIMIT_VARIABLE = "FRONTRUNNER_MAX_BYTES"
RAISE_LIMIT_HINT = "if you trust it, raise the limit with --max-bytes"

# Bytes that are unpacked at a time.
PIECE = 1 << 20
# Objects that nest deeper overflow stacks wherever they are taken apart; ours have some 8 levels.
MAX_DEPTH = 100
# What a value of JSON takes at most beside its text, measured: 38 to 100 bytes per comma, colon and
# opening bracket.
VALUE_BYTES = 100
# A character that needs 4 bytes makes all of its string take as many.
WIDE_BYTES = 4
# What a cell of a table takes at most as an object, a word's own length aside; an empty column, of
# names and books, as many cells as these.
CELL_BYTES = 64
COLUMN_CELLS = 32
# What a member's description takes in memory beside its name, and how it starts in the archive.
MEMBER_BYTES = 1024
_MEMBER = b"PK\x01\x02"
# Others are unpacked whole by the library, or need modules that may be missing.
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

_SIZE = re.compile(r"(\d{1,15})\s*([kmgt]?)(i?b)?", re.IGNORECASE | re.ASCII)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_STRING = re.compile(rb'"[^"]*"')
_NO_ROOM = "it does not fit into memory"
_BUT_BRACKETS = bytes(set(range(256)) - set(b'[]{}"'))


class TooLarge(ValueError):
    """More is to be read than the limit allows. The message goes on about the file: "it ..."."""


def max_bytes() -> int:
    """The limit in force.

    Raises:
        InputError: the environment has one that is none.
    """
    said = os.environ.get(LIMIT_VARIABLE)
    try:
        return DEFAULT_MAX_BYTES if said is None else parse_size(said)
    except ValueError as error:
        raise InputError(
            f"{LIMIT_VARIABLE}: {error}", "set it to such as 2G, or unset it"
        ) from None


@contextmanager
def limit_bytes(most: int) -> Iterator[None]:
    """Sets the limit for this process and those that it starts, for as long as this lasts."""
    before = os.environ.get(LIMIT_VARIABLE)
    os.environ[LIMIT_VARIABLE] = str(most)
    try:
        yield
    finally:
        if before is None:
            del os.environ[LIMIT_VARIABLE]
        else:
            os.environ[LIMIT_VARIABLE] = before


def parse_size(text: str) -> int:
    """Bytes, from a number with or without a unit: 1000000, 512M, 2G.

    Raises:
        ValueError: it is something else, or 0.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None or not int(found[1]):
        raise ValueError(f"{text[:40]!r} is no size, such as 512M, 2G or 1000000")
    return int(found[1]) * _UNITS[found[2].lower()]


def format_size(size: int) -> str:
    """A size as people read it."""
    power = min(4, max(0, size.bit_length() - 1) // 10)
    size = min(size, 1 << 100)  # larger ones than floats can be are in files, too
    return f"{size / (1 << 10 * power):.4g} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def remedy_for(error: BaseException, remedy: str) -> str:
    """What to do about something that could not be read.

    Args:
        remedy: if it is damaged, not too large.
    """
    return RAISE_LIMIT_HINT if isinstance(error, TooLarge) else remedy


def read_limited(path: Path, remedy: str = "") -> bytes:
    """What is in a file; what might never end is refused.

    Args:
        remedy: what the user can do if it is none.

    Raises:
        InputError: it is no regular file, cannot be read, or has more bytes than the limit.
    """
    check_file(path, remedy)
    try:
        with path.open("rb", buffering=0) as file:
            # There may be more: the system says 0 bytes of files that it makes up, and files grow.
            return _gather(file.read, max_bytes())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", remedy) from error
    except ValueError as error:
        raise InputError(f"cannot read {path}: {error}", remedy_for(error, remedy)) from None


def check_regular(path: Path, remedy: str) -> None:
    """Refuses a folder, a pipe or a device; what is not there is none of those.

    Raises:
        InputError: it is one.
    """
    # Of a folder that may not be searched, those of Path raise (to Python 3.13).
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(f"{path} is not a regular file", remedy)


def check_file(path: Path, remedy: str = "") -> None:
    """Refuses what is no regular file, or has more bytes than the limit.

    Args:
        remedy: what the user can do if it is none.

    Raises:
        InputError: also if it is not there.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", remedy) from error
    except ValueError as error:  # no file can have such a name
        raise InputError(f"cannot read {str(path)!r}: {error}", remedy) from error
    check_regular(path, remedy)
    if found.st_size > max_bytes():
        raise InputError(
            f"cannot read {path}: {_more_than('it has', max_bytes())}", RAISE_LIMIT_HINT
        )


def gunzip(data: bytes) -> bytes:
    """Decompresses gzip data, up to the limit.

    Raises:
        TooLarge: it is more than the limit.
        ValueError: it is cut short or damaged.
    """
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return _gather(file.read, max_bytes(), "it unpacks to")
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"it is cut short or no gzip file ({error})") from None


def open_zip(data: bytes) -> zipfile.ZipFile:
    """Opens a zip archive without unpacking it, and checks how many members it lists.

    Raises:
        TooLarge: it lists more members than the limit allows.
        ValueError: it is cut short or damaged.
    """
    if data.count(_MEMBER) * MEMBER_BYTES > max_bytes():
        raise _more_than("the list of its members takes", max_bytes())
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except Exception as error:  # damaged archives raise a dozen kinds of errors
        raise ValueError(f"it is cut short or damaged ({error})") from None


def unzip(
    archive: zipfile.ZipFile, names: Iterable[str], most: int | None = None
) -> Iterator[tuple[str, bytes]]:
    """Unpacks members one after the other, whatever sizes their headers say.

    Args:
        most: bytes of all together, if that is not the limit.

    Raises:
        TooLarge: they are more.
        ValueError: one is missing or damaged.
    """
    most = max_bytes() if most is None else most
    left = most
    for name in names:
        try:
            data = _member(archive, name, left)
        except TooLarge:
            raise _more_than("it unpacks to", most) from None
        left -= len(data)
        yield name, data


def parse_json(data: bytes | str) -> Any:
    """Parses JSON whose values fit into the limit and are not nested too deeply.

    Raises:
        TooLarge: the values would take more memory than the limit.
        ValueError: it is no JSON in UTF-8, or nested deeper than `MAX_DEPTH`.
    """
    text = data.encode(errors="surrogatepass") if isinstance(data, str) else data
    count = sum(map(text.count, (b",", b":", b"[", b"{")))
    wide = not text.isascii() or b"\\u" in text
    if len(text) * (WIDE_BYTES if wide else 1) + count * VALUE_BYTES > max_bytes():
        raise _more_than(f"it has {count:,} values, which take", max_bytes())
    try:
        found = json.loads(text.decode("utf-8-sig"))
    except RecursionError:
        raise _too_deep() from None
    except UnicodeDecodeError as error:
        raise ValueError(f"it is no UTF-8 ({error.reason} at byte {error.start})") from None
    except MemoryError:
        raise ValueError(_NO_ROOM) from None
    if _is_deep(text):
        raise _too_deep()
    return found


def check_table_size(rows: int, columns: int, each: int = CELL_BYTES) -> None:
    """Raises if a table of this size would take more memory than the limit.

    Args:
        each: bytes of a cell.

    Raises:
        TooLarge: it would take more memory than the limit.
    """
    if (rows + COLUMN_CELLS) * columns * each > max_bytes():
        raise _more_than(f"it has {rows:,} rows of {columns:,} values, which take", max_bytes())


def _member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    try:
        if archive.getinfo(name).compress_type not in _PACKINGS:
            raise ValueError("it is packed in another way than deflate")
        with archive.open(name) as file:
            return _gather(file.read, most)
    except TooLarge:
        raise
    except Exception as error:  # also of a member that is missing or encrypted
        raise ValueError(f"{name} is damaged ({error})") from None


def _gather(read: Callable[[int], bytes | None], most: int, what: str = "it has") -> bytes:
    """All that can be read, in pieces; a library asked for all at once may allocate gigabytes."""
    gathered = io.BytesIO()
    try:
        while piece := read(PIECE):
            if gathered.tell() + len(piece) > most:
                raise _more_than(what, most)
            gathered.write(piece)
        return gathered.getvalue()
    except MemoryError:
        raise ValueError(_NO_ROOM) from None


def _more_than(what: str, most: int) -> TooLarge:
    return TooLarge(f"{what} more than the limit of {format_size(most)}")


def _too_deep() -> ValueError:
    return ValueError(f"it is nested deeper than {MAX_DEPTH} levels")


def _is_deep(text: bytes) -> bool:
    """Whether valid JSON is nested deeper than allowed: seen from its brackets, in 1 ns a byte."""
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    left = text.translate(None, _BUT_BRACKETS).replace(b'""', b"")
    left = _STRING.sub(b"", left)
    for _ in range(MAX_DEPTH):
        if not left:
            return False
        # Takes at least one level away, the innermost.
        left = left.replace(b"[]", b"").replace(b"{}", b"")
    return bool(left)
