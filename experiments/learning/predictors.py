"""Trains a ranker on recordings and saves it: a predictor for their devices."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...core import FrontrunnerError, InputError
from ...features import GENERIC
from ...models import Ranker, create, is_file, is_saved, ranker_class, save
from .cases import group_frame, read_cases
from .parameters import read_settings
from .provenance import describe


@dataclass(frozen=True)
class Trained:
    """A predictor that was written.

    Attributes:
        contender: the ranker with the parameters that were given, as `evaluate` takes it.
        params: all parameters of the ranker.
        catalogue: which features it looks at: those of CPUs, of GPUs, or of other people's kernels.
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
    catalogue: str
    devices: list[str]
    data: str
    size_bytes: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)

    def summary_lines(self) -> list[str]:
        """For people; ends with what to do next."""
        # Rankers' names go before files' where one is asked for.
        file = str(self.predictor)
        file = shlex.quote(file if is_file(file) else f"./{file}")
        contender = shlex.quote(self.contender)
        if self.catalogue == GENERIC:
            use = f"frontrunner explain RECORDING --ranker {file}; dispatches cannot be tuned by it"
            judge = f"--holdout device --rankers {contender}, on devices"
        else:
            use = f"frontrunner tune IN.mlir --ranker {file}"
            judge = f"--rankers {contender}, on problems"
        return [
            f"trained      {self.ranker}, {self.features} features, in {self.seconds:.1f} s",
            f"on           {self.candidates:,} candidates of {self.recordings} recordings, "
            f"{self.problems} problems",
            f"device       {', '.join(self.devices)}",
            f"predictor    {self.predictor} ({self.size_bytes / 1e3:.0f} kB)",
            f"use it       {use}",
            f"judge it     frontrunner evaluate RECORDINGS {judge} that it was not trained on",
        ]


def train(
    recordings: Sequence[Path], name: str, settings: Sequence[str], out: Path, seed: int
) -> Trained:
    """Fits a ranker on all recordings; the same ones and the same seed make the same file.

    Args:
        settings: parameters of the ranker that are not to have their defaults, as `name=value`.
        out: where the predictor goes; of what may be there, only a predictor is replaced.

    Raises:
        InputError: the ranker does not learn, the recordings cannot be learned from, or the file
            holds something else.
        WorkError: the file cannot be written.
    """
    if not _may_replace(out):
        raise InputError(
            f"{out} is no predictor, so it is not replaced", "name another file, or move it away"
        )
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
        catalogue=ranker.catalogue_.name,
        devices=training["devices"],
        data=training["data"],
        size_bytes=out.stat().st_size,
        seconds=seconds,
    )


def _may_replace(path: Path) -> bool:
    """Whether nothing is lost where a predictor is written."""
    if not path.exists():
        return True
    return path.is_file() and (path.stat().st_size == 0 or is_saved(path))
