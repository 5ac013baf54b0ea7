"""What later stages have said of candidates: a line each, so that none is judged twice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...core import (
    KEEP_VALID_HINT,
    JsonLinesFile,
    Notify,
    decode,
    read_whole_lines,
    write_atomically,
)
from ..interrupted import resume_remedy
from .preparation import digest_of_file
from .stages import Stage


@dataclass(frozen=True)
class Judgement:
    """What a stage says of a candidate.

    Attributes:
        stage: its place in the list of stages.
        index: the candidate's place in the queue; `BASELINE` for the compiler's default.
        passed: whether it may go on.
        value: less is better; None where the command gave no number.
        reason: why it may not go on, in words.
        model: the digest of the stage's model; empty where it has none.
        script: the digests of the files of the stage's command; empty where it has none, and in
            older logs.
    """

    stage: int
    index: int
    passed: bool
    value: float | None = None
    reason: str = ""
    model: str = ""
    script: str = ""

    def is_by(self, model: str, script: str) -> bool:
        """Whether what it was judged by is still the same."""
        return self.model == model and self.script in ("", script)


def digests_of(stage: Stage) -> tuple[str, str]:
    """Of a stage's model, and of the files of its command; empty where it has none.

    Raises:
        InputError: one cannot be read.
    """
    model = digest_of_file(Path(stage.model)) if stage.model else ""
    return model, " ".join(map(digest_of_file, stage.scripts()))


class StageLog:
    """Judgements by stage and candidate, in the file that they were read from and are appended to.

    Args:
        notify: told of lines that `keep_valid` leaves out.

    Raises:
        InputError: another process has it open, or it holds something else.
    """

    def __init__(self, path: Path, notify: Notify, *, keep_valid: bool = False) -> None:
        self.known: dict[tuple[int, int], Judgement] = {}
        self._lines = JsonLinesFile(
            path,
            resume_remedy(path.parent),
            check=self._take,
            keep_valid=keep_valid,
            edited_hint=KEEP_VALID_HINT,
        )
        if self._lines.skipped_message:
            notify(self._lines.skipped_message)

    def _take(self, record: dict[str, Any]) -> None:
        said = decode(Judgement, record)
        self.known[said.stage, said.index] = said

    def append(self, said: Judgement) -> None:
        """Writes one through to the disk.

        Raises:
            WorkError: it could not be written.
        """
        self._lines.append(asdict(said))
        self.known[said.stage, said.index] = said

    def close(self) -> None:
        self._lines.close()


def first_outdated(path: Path, stages: Sequence[Stage]) -> int | None:
    """The place of the first stage whose model or script is another than when it last judged.

    One of which no file is found here, as in another current folder, is none of these.

    Raises:
        InputError: it is no such log, or a model cannot be read.
    """
    last = {one.stage: one for one in _read(path)}
    for place, stage in enumerate(stages):
        if place in last and any(now := digests_of(stage)) and not last[place].is_by(*now):
            return place
    return None


def forget_stages(path: Path, place: int) -> None:
    """Removes what stages from a place on have said.

    Raises:
        InputError: it is no such log.
        WorkError: it cannot be written.
    """
    kept = [json.dumps(asdict(one)) for one in _read(path) if one.stage < place]
    write_atomically(
        path, "".join(f"{line}\n" for line in kept).encode(), resume_remedy(path.parent)
    )


def _read(path: Path) -> list[Judgement]:
    """What a log holds; nothing where there is none."""
    known: list[Judgement] = []
    if path.exists():
        # What is no judgement is passed over where the log is read.
        read_whole_lines(
            path, lambda record: known.append(decode(Judgement, record)), keep_valid=True
        )
    return known
