"""What the public functions do to arguments that may be given in several ways, or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..core import RUNS_FOLDER, InputError, WorkError
from .observing import local_ranker, make_notify

# Not within braces: parameters may be mappings.
_COMMA = re.compile(r",(?![^{}]*})")
# Processes are made for each.
MOST_JOBS = 1024


def optional_path(path: str | os.PathLike[str] | None) -> Path | None:
    """A path, where one is given."""
    return None if path is None else Path(path)


def optional_ranker(ranker: str | os.PathLike[str] | None, *, quiet: bool = False) -> str | None:
    """A ranker's name or file, where one is given; what MLflow has is copied to a file."""
    return None if ranker is None else local_ranker(os.fspath(ranker), make_notify(quiet=quiet))


def extra_values(extras: Mapping[str, Sequence[int]] | None) -> dict[str, tuple[int, ...]]:
    """The knobs that are set free, with their values; none if nothing is given."""
    return {name: tuple(values) for name, values in (extras or {}).items()}


def as_list(names: Sequence[str] | str) -> Sequence[str]:
    """Names, of which one alone may be given as it is."""
    return [names] if isinstance(names, str) else names


def split_names(lists: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """The names in lists with commas, each once; what names a file as a whole is one."""
    texts = [os.fspath(each) for each in lists]
    names = [n for text in texts for n in ([text] if os.path.exists(text) else _COMMA.split(text))]
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def check_least(name: str, count: int | None, least: int) -> None:
    """Refuses fewer of something than there can be, where a number is given."""
    if count is not None and count < least:
        raise InputError(f"{name} must be at least {least}, got {count}")


def check_jobs(jobs: int | None) -> None:
    """Refuses what is no number of processes."""
    if jobs is not None and not 1 <= jobs <= MOST_JOBS:
        raise InputError(
            f"jobs must be from 1 to {MOST_JOBS:,}, got {jobs:,}", "leave it out for one per core"
        )


def unwritable_results(out: Path | None, error: OSError) -> WorkError:
    """Tells that a folder of results cannot be made; of a run's, see `tuning.unwritable_error`."""
    return WorkError(
        f"cannot write to {out or RUNS_FOLDER}: {error.strerror}",
        "make room, or name another place",
    )
