"""Matplotlib's figures, also where it finds no folder for its settings.

It makes one among the temporary files then, which it removes when the process ends, and prints a
traceback if that is gone by then, as all of our temporary files are.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..core import temporary_folder

_FOLDER = "MPLCONFIGDIR"


def _is_there() -> bool:
    """Whether it can write where settings are by default."""
    try:
        usual = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "matplotlib"
        usual.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # the latter without a home
        return False
    return os.access(usual, os.W_OK)


if _FOLDER not in os.environ and not _is_there():
    os.environ[_FOLDER] = str(temporary_folder())

from matplotlib.figure import Figure  # noqa: E402  (it looks for the folder when it is imported)

__all__ = ["Figure"]
