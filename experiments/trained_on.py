"""What a predictor's file says of its training, and whether it is used elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .. import __version__
from ..models import Ranker
from .corpus import Case

TIME = "time_us"


def describe(cases: Sequence[Case], frame: pd.DataFrame, groups: ArrayLike) -> dict[str, Any]:
    """What to save with a ranker that was fitted on these cases.

    Nothing in it depends on when or where this runs: the same recordings make the same file.

    Args:
        frame, groups: what it was fitted on, as `group_frame` makes them.
    """
    said = [case.recording.provenance for case in cases]
    return {
        "devices": _words(device for p in said for device in p.devices.values()),
        "archs": _words(p.target.arch for p in said if p.target is not None),
        "recordings": [case.name for case in cases],
        "problems": _words(case.problem for case in cases),
        "candidates": len(frame),
        "data": _digest(frame, groups),
        "compilers": _words(p.compiler for p in said),
        "frontrunner": __version__,
    }


def told(ranker: Ranker, key: str) -> list[str]:
    """A list of words from what a ranker's file says of its training; empty if it says nothing."""
    found = ranker.training_.get(key)
    return [word for word in found if isinstance(word, str)] if isinstance(found, list) else []


def elsewhere(ranker: Ranker, devices: Sequence[str], arch: str = "") -> str:
    """A warning if a ranker was trained on other devices than it is used for; empty if not.

    Args:
        devices: fingerprints of those to measure on.
        arch: what is compiled for, which decides where no device is known.
    """
    trained, here = (
        (told(ranker, "devices"), list(devices)) if devices else (told(ranker, "archs"), [arch])
    )
    foreign = [d for d in here if _chip(d) not in set(map(_chip, trained))]
    if not trained or not any(foreign):
        return ""
    return (
        f"the ranker was trained on {', '.join(trained)}, and this is {', '.join(foreign)}: "
        "its order may be worse here"
    )


def _chip(fingerprint: str) -> str:
    """What is left of a device's fingerprint without the driver and the device's number."""
    return fingerprint.partition(" on ")[2] or fingerprint


def _words(words: Iterable[str]) -> list[str]:
    return sorted({word for word in words if word})


def _digest(frame: pd.DataFrame, groups: ArrayLike) -> str:
    """Tells training data apart: features, times, and which belong together."""
    names = sorted(str(c) for c in frame.columns if c != TIME)
    codes, _ = pd.factorize(np.asarray(groups))
    digest = hashlib.sha256(repr(names).encode())
    for values, dtype in ((frame[names], "<f4"), (frame[TIME], "<f8"), (codes, "<i8")):
        digest.update(np.ascontiguousarray(values, dtype=dtype).tobytes())
    return digest.hexdigest()
