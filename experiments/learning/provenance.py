"""What a predictor's file says of its training, and whether it is used elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ... import __version__
from ...features import Catalogue
from ...models import AdaptiveRanker, Ranker
from ..dataset import device_name
from .cases import Case

# A small file may name so many devices and architectures that all of their pairs fill the memory.
MOST_DEVICES = 10_000


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


def training_values(ranker: Ranker, key: str, catalogue: Catalogue | None = None) -> list[str]:
    """What a saved ranker, or one with a predictor that ships, says of its training.

    Args:
        key: of `describe_training`, such as `devices`.
        catalogue: of the features by which candidates are described; by default what it knows.
    """
    asked = _asked(ranker, catalogue)
    return list(dict.fromkeys(word for one in asked for word in _said(one, key)))


def problems_trained_on(ranker: Ranker, asked: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of some problems that a ranker may have learned from.

    A file tells its problems and its devices, and not which it has of which. But what one part
    knows of a problem, and another of a device, is no knowledge of both.

    Args:
        asked: problems, each with a device by its name of `device_name`.
    """
    told = [({*_said(part, "problems")}, devices_of_file(part)) for part in _asked(ranker)]
    return {
        (problem, device)
        for problem, device in asked
        if any(problem in problems and device in devices for problems, devices in told)
    }


def _asked(ranker: Ranker, catalogue: Catalogue | None = None) -> Iterator[Ranker]:
    """A ranker, and those that it asks in turn."""
    yield ranker
    for part in ranker.parts.values():
        yield from _asked(part, catalogue)
    if isinstance(ranker, AdaptiveRanker):
        prior = ranker.prior_for(catalogue or ranker.catalogue_)
        if prior is not None:
            yield from _asked(prior, catalogue)


def _said(ranker: Ranker, key: str) -> list[str]:
    """What its own file says, whoever wrote it: it is shown, so words are text alone."""
    words = ranker.training_.get(key)
    if not isinstance(words, list):
        return []
    return [word for word in words if isinstance(word, str) and word.isprintable()]


def trained_devices(ranker: Ranker, catalogue: Catalogue | None = None) -> set[str]:
    """What a ranker was trained on, by the names of `device_name`; empty if it does not say."""
    return {name for one in _asked(ranker, catalogue) for name in devices_of_file(one)}


def devices_of_file(ranker: Ranker) -> set[str]:
    """The same of the ranker's own file, without those that it asks; `MOST_DEVICES` at most."""
    archs = _said(ranker, "archs") or [""]
    names = (device_name(d, arch) for d in _said(ranker, "devices") for arch in archs)
    return set(islice(names, MOST_DEVICES))


def device_warning(
    ranker: Ranker, devices: Sequence[str], arch: str = "", catalogue: Catalogue | None = None
) -> str:
    """A warning if a ranker was trained on other devices than it is used for; empty if not.

    Args:
        devices: fingerprints of those to measure on.
        arch: what is compiled for, which decides where no device is known.
        catalogue: as of `training_values`.
    """
    trained, archs = (training_values(ranker, key, catalogue) for key in ("devices", "archs"))
    if devices:
        known = trained_devices(ranker, catalogue)
        names = {device: device_name(device, arch if archs else "") for device in devices}
        where = ", ".join(trained) + (f" ({', '.join(archs)})" if archs else "")
    else:
        known, names, where = set(archs), {arch: arch}, ", ".join(archs)
    foreign = [device for device, name in names.items() if name not in known]
    if not known or not any(foreign):
        return ""
    here = ", ".join(foreign) + (f" ({arch})" if devices and archs and arch else "")
    return f"the ranker was trained on {where}, and this is {here}: its order may be worse here"


def _words(words: Iterable[str]) -> list[str]:
    return sorted({word for word in words if word})
