"""Where MLflow keeps runs and models."""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass
from pathlib import Path

DATABASE = "mlflow.db"
SQLITE = "sqlite:///"


@dataclass(frozen=True)
class TrackingStore:
    """Where runs are tracked.

    Attributes:
        uri: MLflow's tracking URI.
        artifacts: where artifacts go, as a URI; None where MLflow or its server decides.
    """

    uri: str
    artifacts: str | None = None


def find_store() -> TrackingStore:
    """The store that `MLFLOW_TRACKING_URI` names, or a SQLite file.

    That is the one in the current folder, where MLflow itself looks, if it is there; else one for
    all folders, in the user's: runs are compared whatever folder they were started in.

    Raises:
        OSError: the current folder is gone, or no URI can name the file.
    """
    uri = os.environ.get("MLFLOW_TRACKING_URI")
    if uri:
        return TrackingStore(uri)
    here = Path.cwd()
    place = here if (here / DATABASE).exists() else data_folder()
    if "?" in str(place):
        # SQLAlchemy takes what follows for options, escaped or not.
        raise OSError(errno.EINVAL, "no SQLite URI can have a '?' in its path", str(place))
    if re.search("%[0-9A-Fa-f]{2}", str(place)):
        # MLflow decodes it for the file, but not where it looks whether that is there: it hangs.
        raise OSError(errno.EINVAL, "no SQLite URI can have an escape such as %20", str(place))
    return TrackingStore(f"{SQLITE}{place / DATABASE}", (place / "mlruns").as_uri())


def data_folder() -> Path:
    """Where this user's data are, as the XDG specification has it."""
    return _folder("XDG_DATA_HOME", "~/.local/share")


def cache_folder() -> Path:
    """Where this user's copies are of what can be had again."""
    return _folder("XDG_CACHE_HOME", "~/.cache")


def _folder(variable: str, usual: str) -> Path:
    named = os.environ.get(variable, "")
    # The specification has paths that are not absolute ignored.
    place = named if os.path.isabs(named) else os.path.expanduser(usual)
    return Path(place).absolute() / "frontrunner"
