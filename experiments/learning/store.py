"""Predictors that are kept in a folder, from which tuning takes the one of its device."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...core import FrontrunnerError, InputError, check_regular, first_line
from ...features import catalogue_for_target
from ...models import load, save
from ...search import Target
from ..dataset import device_name
from .provenance import devices_of_file

FOLDER_VARIABLE = "FRONTRUNNER_PREDICTORS"
_FOLDER = Path("predictors")
_PATTERN = "*.predictor"
TRIED = "tried"


@dataclass(frozen=True)
class SavedPredictor:
    """A predictor's file.

    Attributes:
        ranker: its name; empty where the file cannot be used.
        catalogue: the features that it looks at.
        devices: what it was trained on, by name and kind.
        written: when, by the file, in UTC.
        tried: candidates until the first within 5 % of the best, as a geometric mean over what it
            was not trained on; None where nobody has judged it.
        error: why it cannot be used.
    """

    path: Path
    ranker: str = ""
    catalogue: str = ""
    devices: tuple[str, ...] = ()
    problems: int = 0
    candidates: int = 0
    written: str = ""
    tried: float | None = None
    size_bytes: int = 0
    error: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def predictors_folder() -> Path:
    """`$FRONTRUNNER_PREDICTORS`, or the folder `predictors` where one works."""
    return Path(os.environ.get(FOLDER_VARIABLE) or _FOLDER)


def saved_predictors(folder: Path | None = None) -> list[SavedPredictor]:
    """The predictors of a folder, the newest first.

    Args:
        folder: that of `predictors_folder` if None.

    Raises:
        InputError: what was named is no folder.
    """
    said = ""
    if folder is None:
        folder = predictors_folder()
        if not os.environ.get(FOLDER_VARIABLE) and not folder.is_dir():
            return []  # what else has that name is no predictor of ours
        said = f"{FOLDER_VARIABLE}: "
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{said}{folder} is no folder", "name a folder of predictors")
    paths = sorted(sorted(folder.glob(_PATTERN)), key=_written, reverse=True)
    return sorted(map(_describe, paths), key=lambda one: bool(one.error))


def _written(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # it is gone, or a link to nothing
        return 0


def _day(time: float) -> str:
    try:
        return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):  # files may claim any year
        return ""


def predictor_for(devices: Sequence[str], target: Target) -> SavedPredictor | None:
    """The newest predictor of the folder that was trained on all of these devices, if any.

    Args:
        devices: fingerprints.
    """
    names = {device_name(device, target.arch) for device in devices}
    catalogue = catalogue_for_target(target).name
    for saved in saved_predictors() if names else ():
        if saved.catalogue == catalogue and names <= {*saved.devices}:
            return saved
    return None


def note_tried(path: Path, tried: float) -> None:
    """Has a predictor's file say how good it is on what it was not trained on."""
    ranker = load(path)
    save(ranker, path, {**ranker.training_, TRIED: tried})


def _describe(path: Path) -> SavedPredictor:
    try:
        check_regular(path, "remove it")
        stat = path.stat()
        ranker = load(path)
    except FrontrunnerError as error:
        return SavedPredictor(path, error=str(error))
    except OSError as error:
        return SavedPredictor(path, error=f"it cannot be read: {error.strerror}")
    except Exception as error:  # of another package's ranker
        return SavedPredictor(path, error=f"{type(error).__name__}: {first_line(error)}")
    # What it asks beside, such as predictors that ship, has learned elsewhere.
    problems, candidates, tried = (
        ranker.training_.get(key) for key in ("problems", "candidates", TRIED)
    )
    return SavedPredictor(
        path,
        ranker.name,
        ranker.catalogue_.name,
        tuple(sorted(devices_of_file(ranker))),
        len(problems) if isinstance(problems, list) else 0,
        candidates if type(candidates) is int else 0,
        _day(stat.st_mtime),
        tried if type(tried) is float else None,
        stat.st_size,
    )
