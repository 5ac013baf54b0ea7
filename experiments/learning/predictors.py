"""Trains a ranker on recordings and saves it: a predictor for their devices."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ...core import FrontrunnerError, InputError, WorkError
from ...features import GENERIC
from ...models import Ranker, create_ranker, is_saved, names_a_file, ranker_class, save
from ..arguments import optional_path
from ..observing import Tracker, check_model_name, progress_bar
from ..readable import Readable, count_of
from .cases import read_cases, training_frame
from .files import Files, paths_of
from .parameters import write_settings
from .provenance import describe_training


@dataclass(frozen=True, repr=False)
class TrainResult(Readable):
    """A predictor that was written.

    Attributes:
        contender: the ranker with the parameters that were given, as `evaluate` takes it.
        params: all parameters of the ranker.
        catalogue: which features it looks at: those of CPUs, of GPUs, or of other people's kernels.
        devices: fingerprints of those that it is for.
        data: a hash of what it was trained on.
        seconds: that training took, without reading the recordings.
        registered: what MLflow's registry has it as, where that was asked for.
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
    registered: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)

    @property
    def as_ranker(self) -> str:
        """The file, quoted, as `--ranker` takes it: names of rankers go before those of files."""
        file = str(self.predictor)
        return shlex.quote(file if names_a_file(file) else f"./{file}")

    def summary_lines(self) -> list[str]:
        """For people; ends with what to do next."""
        file = self.registered or self.as_ranker
        contender = shlex.quote(self.contender)
        if self.catalogue == GENERIC:
            use = f"frontrunner explain RECORDING --ranker {file}; dispatches cannot be tuned by it"
            judge = f"--holdout device --rankers {contender}, on devices"
        else:
            use = f"frontrunner tune IN.mlir --ranker {file}"
            judge = f"--rankers {contender}, on problems"
        return [
            f"trained      {self.ranker}, {self.features} features, in {self.seconds:.1f} s",
            f"on           {count_of(self.candidates, 'candidate')} of "
            f"{count_of(self.recordings, 'recording')}, {count_of(self.problems, 'problem')}",
            f"device       {', '.join(self.devices)}",
            f"predictor    {self.predictor} ({self.size_bytes / 1e3:.0f} kB)",
            *([f"registered   {self.registered}"] if self.registered else []),
            f"use it       {use}",
            f"judge it     frontrunner evaluate RECORDINGS {judge} that it was not trained on",
        ]


def train(
    recordings: Files,
    out: str | os.PathLike[str],
    *,
    columns: str | os.PathLike[str] | None = None,
    ranker: str = "lightgbm",
    params: Mapping[str, Any] | None = None,
    seed: int = 0,
    register: str | None = None,
    quiet: bool = False,
) -> TrainResult:
    """Fits a ranker on recordings and saves it, for the devices that they were made on.

    The same recordings and the same seed make the same file. It is data: loading it runs nothing.

    Example:
        >>> frontrunner.train("recordings", "mine.predictor", params={"rounds": 300})
        >>> frontrunner.tune("matmul.mlir", ranker="mine.predictor")

    Args:
        recordings: a file or a folder, or several of them.
        columns: a file in TOML that says what columns of tables (CSV) are.
        out: where the predictor goes; of what may be there, only a predictor is replaced.
        ranker: a ranker that learns, from `frontrunner rankers`.
        params: parameters of the ranker that are not to have their defaults.
        seed: of training; a parameter `seed` goes before it.
        register: the name of a model in MLflow's registry, of which it becomes a new version.
        quiet: whether to show no progress on stderr.

    Raises:
        InputError: the ranker does not learn, the recordings cannot be learned from, or the file
            holds something else.
        WorkError: the file cannot be written, or it cannot be registered.
    """
    if register is not None:
        check_model_name(register)
    out, name, params = Path(out), ranker, dict(params or {})
    check_replaceable(out)
    cls = ranker_class(name)
    if cls.fit is Ranker.fit:
        raise InputError(
            f"ranker {name!r} learns nothing, so there is nothing to train",
            "use it by its name, or train another: see `frontrunner rankers`",
        )
    if cls.dump is Ranker.dump:
        raise InputError(
            f"ranker {name!r} cannot be kept: {cls.__name__} has no dump()",
            "`frontrunner.models.Ranker` tells what dump() and restore() have to do",
        )
    seeded = {"seed": seed} if "seed" in cls.param_names() else {}
    learner = create_ranker(name, **{**seeded, **params})
    settings = write_settings(params)
    try:
        json.dumps(learner.get_params())
    except TypeError as error:
        told = f"ranker {name!r} cannot be kept, since a parameter of it is no JSON: {error}"
        raise InputError(told, "give it values that JSON has") from error
    with progress_bar("reading recordings", quiet=quiet) as progress:
        cases = read_cases(paths_of(recordings), optional_path(columns), progress)
    frame, groups = training_frame(cases)
    started = time.monotonic()
    try:
        with progress_bar(f"training {name}", quiet=quiet) as progress:
            learner.on_progress = progress
            learner.fit(frame, groups)
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
    if not learner.dump():  # such as one that looks back, and starts from a rule
        given = f" with {', '.join(settings)}" if settings else ""
        raise InputError(
            f"ranker {name!r} learns nothing{given}",
            "leave that out, or use it by its name, for there is nothing to keep",
        )
    training = describe_training(cases)
    save(learner, out, training)
    result = TrainResult(
        predictor=out,
        ranker=name,
        contender=":".join([name, *settings]),
        params=learner.get_params(),
        recordings=len(cases),
        problems=len(training["problems"]),
        candidates=len(frame),
        features=len(learner.catalogue_.features),
        catalogue=learner.catalogue_.name,
        devices=training["devices"],
        data=training["data"],
        size_bytes=out.stat().st_size,
        seconds=seconds,
    )
    return result if register is None else _register(result, register)


def _register(result: TrainResult, name: str) -> TrainResult:
    """Has MLflow keep the predictor as a new version, with a run that tells of its training.

    Raises:
        WorkError: it does not; the file stays.
    """
    said: list[str] = []
    figures = {
        "recordings": float(result.recordings),
        "problems": float(result.problems),
        "candidates": float(result.candidates),
        "seconds": result.seconds,
        "size_bytes": float(result.size_bytes),
    }
    about = {"device": result.devices, "ranker": result.ranker, "data": result.data}
    with Tracker(said.append) as tracker:
        tracker.start(f"train {name}", result.params, {"mode": "train", **about})
        tracker.log_model(name, result.predictor, figures, about)
        tracker.finish(metrics=figures)
    if name not in tracker.registered:
        raise WorkError(
            f"the predictor is in {result.predictor}, and not registered: {'; '.join(said)}",
            "use the file, or see `frontrunner doctor`",
        )
    return replace(result, registered=f"models:/{name}/{tracker.registered[name]}")


def check_replaceable(path: Path) -> None:
    """Refuses to write a predictor where something would be lost.

    Raises:
        InputError: there is something that is no predictor.
    """
    empty = path.is_file() and path.stat().st_size == 0
    if path.exists() and not empty and not is_saved(path):
        raise InputError(
            f"{path} is no predictor, so it is not replaced", "name another file, or move it away"
        )
