"""Recordings in any format, which is told by what is in the file, not by its name."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from ...core import InputError, TooLarge, first_line, gunzip, parse_json, read_limited, remedy_for
from .kernel_tuner import parse_unclosed_cache, to_t4
from .recording import Recording
from .t4 import read_t4

_PARQUET, _GZIP = b"PAR1", b"\x1f\x8b"
# MLIR may start with a brace, too, but not go on like that.
_JSON = re.compile(rb'\s*\{\s*["}]')
_KNOWN = "give Parquet of `frontrunner record`, T4 results or a Kernel Tuner cache"


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """Reads all outcomes of a dispatch's candidates: ours, T4 results and Kernel Tuner's caches.

    Example:
        >>> recording = frontrunner.read_recording("recordings/matmul.parquet")
        >>> recording.frame.sort_values("time_us").head()

    Args:
        path: Parquet of `frontrunner record`, T4 results or a Kernel Tuner cache, the latter two
            also gzipped; told by what is in the file, not by its name.

    Raises:
        InputError: it cannot be read, is damaged, or is something else.
    """
    path = Path(path)
    data = read_limited(path, _KNOWN)
    if not data:
        raise InputError(f"{path} is empty", _KNOWN)
    if data.startswith(_PARQUET):
        return Recording.parse(data, path)
    content = _json(data, path)
    if not isinstance(content, dict) or content.keys().isdisjoint(("results", "cache")):
        raise InputError(f"{path} holds JSON, but neither T4 results nor a cache", _KNOWN)
    try:
        return read_t4(to_t4(content) if "cache" in content else content, path)
    except TooLarge as error:
        raise _refused(path, error, _KNOWN) from None
    except MemoryError:
        raise InputError(f"cannot read {path}: it does not fit into memory", _KNOWN) from None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        what = f"{type(error).__name__}: {first_line(error)}"
        raise InputError(f"{path} is damaged, or of another kind ({what})", _KNOWN) from error


def looks_like_recording(path: Path) -> bool:
    """Whether a file starts as recordings do, and so is not MLIR."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(1024)
    return start.startswith((_PARQUET, _GZIP)) or _JSON.match(start) is not None


def _json(data: bytes, path: Path) -> Any:
    try:
        text = gunzip(data) if data.startswith(_GZIP) else data
    except ValueError as error:
        raise _refused(path, error, "copy it again") from None
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
