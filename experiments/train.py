"""Trains a ranker on recordings and saves it: a predictor for their devices."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..models import Ranker, create, ranker_class, save
from ..search import FrontrunnerError, InputError
from .corpus import group_frame, read_cases
from .settings import read_settings
from .trained_on import describe


@dataclass(frozen=True)
class Trained:
    """A predictor that was written.

    Attributes:
        contender: the ranker with the parameters that were given, as `evaluate` takes it.
        params: all parameters of the ranker.
        devices: fingerprints of those that it is for.
        data: a hash of what it was trained on.
        seconds: that training took, without reading the recordings.
    """

    predictor: Path
    ranker: str
    contender: str
    params: dict[str, Any]
    recordings: int
    problems: int
    candidates: int
    features: int
    devices: list[str]
    data: str
    size_bytes: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)

    def summary_lines(self) -> list[str]:
        """For people; ends with what to do next."""
        return [
            f"trained      {self.ranker}, {self.features} features, in {self.seconds:.1f} s",
            f"on           {self.candidates:,} candidates of {self.recordings} recordings, "
            f"{self.problems} problems",
            f"device       {', '.join(self.devices)}",
            f"predictor    {self.predictor} ({self.size_bytes / 1e3:.0f} kB)",
            f"use it       frontrunner tune IN.mlir --ranker {self.predictor}",
            f"judge it     frontrunner evaluate RECORDINGS --rankers {self.contender}, "
            "on problems that it was not trained on",
        ]


def train(
    recordings: Sequence[Path], name: str, settings: Sequence[str], out: Path, seed: int
) -> Trained:
    """Fits a ranker on all recordings; the same ones and the same seed make the same file.

    Args:
        settings: parameters of the ranker that are not to have their defaults, as `name=value`.

    Raises:
        InputError: the ranker does not learn, the recordings cannot be learned from, or the file
            cannot be written.
    """
    params = read_settings(name, settings)
    cls = ranker_class(name)
    if cls.fit is Ranker.fit:
        raise InputError(
            f"ranker {name!r} learns nothing, so there is nothing to train",
            "use it by its name, or train another: see `frontrunner rankers`",
        )
    seeded = {"seed": seed} if "seed" in cls.param_names() else {}
    ranker = create(name, **{**seeded, **params})
    cases = read_cases(recordings)
    frame, groups = group_frame(cases)
    started = time.monotonic()
    try:
        ranker.fit(frame, groups)
    except FrontrunnerError:
        raise
    except Exception as error:  # each library refuses parameters in its own way
        if not params:
            raise
        raise InputError(
            f"ranker {name!r} cannot be trained with {', '.join(settings)}: {error}",
            "give other values",
        ) from error
    seconds = time.monotonic() - started
    training = describe(cases)
    save(ranker, out, training)
    return Trained(
        predictor=out,
        ranker=name,
        contender=":".join([name, *settings]),
        params=ranker.get_params(),
        recordings=len(cases),
        problems=len(training["problems"]),
        candidates=len(frame),
        features=len(ranker.catalogue_.features),
        devices=training["devices"],
        data=training["data"],
        size_bytes=out.stat().st_size,
        seconds=seconds,
    )
