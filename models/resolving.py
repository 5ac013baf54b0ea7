"""Rankers as users name them: by name, or by the file that a trained one was saved to."""

from __future__ import annotations

import os
from pathlib import Path

from ..core import InputError
from .ranker import Ranker
from .registry import create_seeded, ranker_names
from .storage import load


def names_a_file(name_or_path: str) -> bool:
    """Whether a ranker's file is meant, not its name."""
    if name_or_path in ranker_names():
        return False
    # Unlike this, `Path.exists()` raises an error where the name is too long for a file.
    if os.path.exists(name_or_path) or os.sep in name_or_path:
        return True
    return bool(Path(name_or_path.partition(":")[0]).suffix)  # numbers in parameters have dots, too


def resolve_ranker(name_or_path: str | Path, seed: int = 0) -> Ranker:
    """A ranker that can order at once: by name, or from a file saved by `save`.

    Args:
        seed: for a ranker by name that takes one.

    Raises:
        InputError: it is neither, has parameters, or has to be trained first.
    """
    text = str(name_or_path)
    if names_a_file(text):
        return load(text)
    name, colon, _ = text.partition(":")
    if colon and name in ranker_names():
        raise InputError(
            f"a ranker takes no parameters here, got {text!r}",
            f"give {name}, or a file that `frontrunner train --set` made",
        )
    ranker = create_seeded(text, seed)
    if not ranker.is_fitted:
        raise InputError(
            f"ranker {text!r} has to be trained first",
            f"`frontrunner train RECORDINGS --ranker {text} --out FILE` does that; pass FILE",
        )
    return ranker
