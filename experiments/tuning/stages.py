"""The stages of a tuning run: how candidates are judged, one after the other, until few are left.

    [[stage]]
    kind = "screen"                          # compiles and measures candidates from the queue
    keep = 8                                 # the best that go on

    [[stage]]
    kind = "command"                         # a check of one's own
    command = "python eval.py {vmfb}"        # exits with 0; of a last line's number, less is better
    keep = 1

    [[stage]]
    kind = "model"                           # a model that the dispatch is part of
    model = "model.mlir"                     # as it is with a candidate, against the default

    [[stage]]
    kind = "heats"                           # measures what is left in interleaved rounds

What is left at the end is measured against the compiler's default in rounds of its own, and
verified, whatever the stages are.
"""

from __future__ import annotations

import math
import os
import shlex
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from ...benchmarks.measuring import MAX_FINALISTS
from ...core import InputError, check_file, decode, describe_error, max_bytes, read_limited
from ...search import check_rendered

SCREEN, HEATS, COMMAND, MODEL = "screen", "heats", "command", "model"
VMFB, SPEC, DEFAULT = "{vmfb}", "{spec}", "{default}"
_HINT = 'such as [[stage]] with kind = "screen" and keep = 8'
_USUAL_TIMEOUT = 60.0


@dataclass(frozen=True)
class Stage:
    """One stage.

    Attributes:
        kind: `screen`, which takes candidates from the queue and is always the first, `heats`,
            `command` or `model`.
        keep: how many candidates go on, the best; None for all that may be the best (`screen`,
            `heats`), or that passed (`command`, `model`). After heats, five go on at most.
        within: only those go on that take at most so many times as long as the best. Of a command
            that says numbers of 0 and less, which are no times, all go on.
        minutes: after which no candidate is begun; those not judged do not go on. Heats, which are
            interleaved, have no such limit.
        command: what is run for each candidate, as a line of words. `{vmfb}` is its compiled
            module, `{default}` that of the compiler's default, `{spec}` its tuning spec. It exits
            with 0 for the default, and for candidates that may go on. If its last line is a
            number, less is better, and those that are no better than the default do not go on.
        model: a file of MLIR. It is compiled with each candidate's spec, its outputs are compared
            and its time is measured, in turn with the compiler's default; candidates by which it
            gets no faster do not go on.
        timeout: seconds that the command may take for a candidate.
    """

    kind: str
    keep: int | None = None
    within: float | None = None
    minutes: float | None = None
    command: str = ""
    model: str = ""
    timeout: float = _USUAL_TIMEOUT

    def __post_init__(self) -> None:
        if self.kind not in (SCREEN, HEATS, COMMAND, MODEL):
            raise InputError(
                f"there is no stage {self.kind!r}", f"give {SCREEN}, {HEATS}, {COMMAND} or {MODEL}"
            )
        for name in ("keep", "within", "minutes", "timeout"):
            value = getattr(self, name)
            least = 1.0 if name in ("keep", "within") else 0.0
            if value is not None and not least <= value < math.inf:
                raise InputError(f"{name} of a stage must be at least {least:g}, got {value:g}")
        if (self.kind == COMMAND) != bool(self.command):
            raise InputError(
                f"a stage of kind {self.kind!r} has the command {self.command!r}",
                f'a command goes with kind = "{COMMAND}", such as "python eval.py {VMFB}"',
            )
        if (self.kind == MODEL) != bool(self.model):
            raise InputError(
                f"a stage of kind {self.kind!r} has the model {self.model!r}",
                f'a file of MLIR goes with kind = "{MODEL}", such as "model.mlir"',
            )
        if self.kind == SCREEN and self.minutes is not None:
            raise InputError("screening is limited by the run's own budget", "give --minutes")
        if self.kind == HEATS and self.minutes is not None:
            raise InputError("heats are not limited by minutes", "give keep to the stage before")
        if self.kind == HEATS and self.keep is not None and self.keep > MAX_FINALISTS:
            raise InputError(
                f"heats keep {self.keep:g} candidates, and no more than {MAX_FINALISTS} go on",
                "give a stage that needs more of them before the heats",
            )
        if self.kind != COMMAND and self.timeout != _USUAL_TIMEOUT:
            raise InputError(f"a stage of kind {self.kind!r} has a timeout", "only commands have")
        if self.command and not self.words({}):  # refused where it is no line of words
            raise InputError(f"the command {self.command!r} has no words", "name a program")

    def words(self, files: Mapping[str, Path]) -> list[str]:
        """The command's words, with files in place of `{vmfb}` and the like."""
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise InputError(f"the command {self.command!r} cannot be split: {error}") from None
        for name, path in files.items():
            words = [word.replace(name, str(path)) for word in words]
        return words

    def scripts(self) -> list[Path]:
        """Files that say what the command does: its program, and the first that this is given.

        Those after `{vmfb}` and the like may be the command's to write, such as a log.
        """
        words = list(takewhile(lambda word: "{" not in word, self.words({})))
        given = list(filter(os.path.isfile, words[1:]))
        files = map(Path, filter(os.path.isfile, [*words[:1], *given[:1]]))
        readable = (path for path in files if os.access(path, os.R_OK))
        return [path for path in readable if path.stat().st_size <= max_bytes()]

    def describe(self) -> str:
        """In words, as `heats` or `python eval.py {vmfb}`."""
        return self.command or f"{self.kind} {self.model}".strip()

    @property
    def brought(self) -> str:
        """What it uses that is the user's own: a command, or a model's file; empty if nothing."""
        return self.command or self.model


USUAL_STAGES = (Stage(SCREEN), Stage(HEATS))


def check_stages(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """The stages, if they can follow each other.

    Raises:
        InputError: naming what is wrong.
    """
    if not stages or stages[0].kind != SCREEN:
        raise InputError("the first stage has to be screen, which takes from the queue", _HINT)
    if any(stage.kind == SCREEN for stage in stages[1:]):
        raise InputError("screen is no later stage than the first", "use heats to measure again")
    return tuple(stages)


def check_usable(stages: Sequence[Stage], pipeline: str | None, *, on_cluster: bool) -> None:
    """Refuses stages that cannot be gone through here, before anything is measured for them.

    Args:
        pipeline: of the candidates; None for all.

    Raises:
        InputError: naming what is missing.
    """
    for stage in stages:
        if stage.kind == COMMAND:
            program = stage.words({})[0]
            if "{" not in program and shutil.which(program) is None:
                raise InputError(f"{program} is no program", "see the command of the stage")
            if SPEC in stage.command:
                check_rendered(pipeline, "{spec} in a stage's command is of")
        if stage.kind == MODEL:
            check_file(Path(stage.model), "give a file of MLIR")
            check_rendered(pipeline, "a stage with a model is of")
            if on_cluster:
                raise InputError(
                    f"the stage {stage.describe()!r} is for this machine, not for a cluster",
                    "leave it out, or use `frontrunner tune-model --cluster`",
                )


def read_stages(path: Path) -> tuple[Stage, ...]:
    """The stages in a TOML file.

    Raises:
        InputError: it cannot be read, or holds something else.
    """
    try:
        data = tomllib.loads(read_limited(path, "give a TOML file").decode())
        if set(data) != {"stage"} or not isinstance(data["stage"], list):
            raise ValueError(f"it has {', '.join(data) or 'nothing'}, not [[stage]] alone")
        stages = [decode(Stage, one, "stage") for one in data["stage"]]
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{path} holds no stages: {describe_error(error)}", _HINT) from None
    return check_stages(stages)


def first_change(before: Sequence[Stage], now: Sequence[Stage]) -> int | None:
    """The place of the first stage that is another than before, from 0; None if none is."""
    changed = [place for place, (a, b) in enumerate(zip(before, now, strict=False)) if a != b]
    if len(before) != len(now):
        changed.append(min(len(before), len(now)))
    return min(changed, default=None)
