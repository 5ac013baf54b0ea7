"""Whether there is room for temporary files: the compiler crashes where there is none."""

from __future__ import annotations

import shutil
import tempfile

from .errors import WorkError

# An executable and the objects that it is linked from take a few hundred kilobytes.
LEAST_FREE = 4 << 20


def check_room() -> None:
    """Tells a full disk from a compiler's crash.

    Raises:
        WorkError: the folder for temporary files is full.
    """
    folder = tempfile.gettempdir()
    if shutil.disk_usage(folder).free < LEAST_FREE:
        raise WorkError(
            f"there is no room for temporary files in {folder}",
            "make room there, or name another folder in TMPDIR; what was measured is kept",
        )
