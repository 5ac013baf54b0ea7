"""What a predictor's file says of its training, and whether it is used elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ... import __version__
from ...models import Ranker
from .cases import Case, hardware_of


def describe_training(cases: Sequence[Case]) -> dict[str, Any]:
    """What to save with a ranker that was fitted on these cases.

    Nothing in it depends on when or where this runs: the same recordings make the same file.
    """
    said = [case.recording.provenance for case in cases]
    return {
        "devices": _words(device for p in said for device in p.devices.values()),
        "archs": _words(p.target.arch for p in said if p.target is not None),
        "recordings": [case.name for case in cases],
        "problems": _words(case.problem for case in cases),
        "candidates": sum(len(case.times) for case in cases),
        "data": cases_digest(cases),
        "compilers": _words(p.compiler for p in said),
        "frontrunner": __version__,
    }


def cases_digest(cases: Iterable[Case]) -> str:
    """Tells data apart: the features and times of each case."""
    found = hashlib.sha256()
    for case in cases:
        names = sorted(map(str, case.features))
        found.update(repr((names, case.features.shape)).encode())
        found.update(np.ascontiguousarray(case.features[names], dtype="<f4").tobytes())
        found.update(np.ascontiguousarray(case.times, dtype="<f8").tobytes())
    return found.hexdigest()


def training_values(ranker: Ranker, key: str) -> list[str]:
    """Values of a key of a saved ranker's provenance, such as `devices`; empty without it."""
    found = ranker.training_.get(key)
    return [word for word in found if isinstance(word, str)] if isinstance(found, list) else []


def device_warning(ranker: Ranker, devices: Sequence[str], arch: str = "") -> str:
    """A warning if a ranker was trained on other devices than it is used for; empty if not.

    Args:
        devices: fingerprints of those to measure on.
        arch: what is compiled for, which decides where no device is known.
    """
    trained, here = (
        (training_values(ranker, "devices"), list(devices))
        if devices
        else (training_values(ranker, "archs"), [arch])
    )
    foreign = [d for d in here if hardware_of(d) not in set(map(hardware_of, trained))]
    if not trained or not any(foreign):
        return ""
    return (
        f"the ranker was trained on {', '.join(trained)}, and this is {', '.join(foreign)}: "
        "its order may be worse here"
    )


def _words(words: Iterable[str]) -> list[str]:
    return sorted({word for word in words if word})
