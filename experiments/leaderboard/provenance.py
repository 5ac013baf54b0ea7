"""What a leaderboard was made of and with: files, libraries, processor."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from ...core import installed_version, read_limited
from ..evaluation import LIBRARIES


def describe_files(files: Mapping[str, Path]) -> pd.DataFrame:
    """Name, size and hash of each file, by the space that it holds."""
    rows = []
    for space, path in files.items():
        data = read_limited(path)
        rows.append(
            {
                "space": space,
                "file": path.name,
                "bytes": len(data),
                "sha256": hashlib.sha256(data).hexdigest(),
            }
        )
    return pd.DataFrame(rows, columns=["space", "file", "bytes", "sha256"])


def installed_versions() -> dict[str, str]:
    """Of what searches and models are made with."""
    found = {package: installed_version(package) for package in LIBRARIES}
    there = {package: version for package, version in found.items() if version is not None}
    return {"Python": platform.python_version()} | there
