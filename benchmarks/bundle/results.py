"""What a bundle's runner writes: a line that says of what, one per outcome, one for the finals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ...core import (
    KEEP_VALID_HINT,
    MAX_EXACT_INT,
    InputError,
    JsonLinesFile,
    decode,
    read_whole_lines,
)
from ..measuring import (
    BASELINE,
    OK,
    FinalistResult,
    Finals,
    Outcome,
    Repeat,
    finals_error,
    outcome_error,
    parse_outcome,
    repeat_error,
    winner_error,
)
from .archive import QueueEntry

FORMAT = 1
_WRITTEN = "give the file that `bundle run --out` wrote"


@dataclass(frozen=True)
class Header:
    """What was measured, and where: times of anything else cannot be mixed with it.

    Attributes:
        bundle: its digest.
        devices: the fingerprints.
        runtime: its version.
    """

    bundle: str
    uris: tuple[str, ...]
    devices: tuple[str, ...]
    runtime: str

    def to_record(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}


@dataclass(frozen=True)
class BundleResult:
    """The result of running a bundle: finals, winner, and which limit ended it.

    Attributes:
        winner: the finalist that beat the default and is right; None if there is none.
        candidates: how many had been taken from the queue.
        stopped: which limit was reached.
        seconds: of the last session.
        recorded: whether all further rounds for a recording were measured.
    """

    finals: Finals
    winner: FinalistResult | None
    candidates: int
    stopped: str
    seconds: float
    recorded: bool = False

    def to_record(self) -> dict[str, Any]:
        winner = None if self.winner is None else self.winner.index
        return {**asdict(self), "winner": winner}

    def to_dict(self) -> dict[str, Any]:
        """Figures under the names that a tuning run's result has."""
        winner, finals = self.winner, self.finals
        return {
            "speedup": winner.speedup if winner else 1.0,
            "speedup_ci": winner.interval if winner else (1.0, 1.0),
            "noise_floor": finals.noise_floor,
            "load": None if finals.load is None else asdict(finals.load),
            "baseline_us": finals.baseline_us,
            "best_us": winner.time_us if winner else finals.baseline_us,
            "winner": winner.index + 1 if winner else None,
            "candidates": self.candidates,
            "stopped": self.stopped,
            "seconds": self.seconds,
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> BundleResult:
        """The inverse of `to_record`.

        Raises:
            ValueError, TypeError, KeyError: it is something else.
        """
        finals = decode(Finals, record["finals"])
        by_index: dict[int | None, FinalistResult] = {s.index: s for s in finals.standings}
        winner = None if record["winner"] is None else by_index[record["winner"]]
        return decode(cls, {**record, "finals": finals, "winner": winner})

    def summary(self) -> str:
        """For people, in one line."""
        floor = f"noise floor {self.finals.noise_floor:.1%}"
        if self.winner is not None:
            low, high = self.winner.interval
            return (
                f"speedup {self.winner.speedup:.2f}x (95 %: {low:.2f} to {high:.2f}), {floor}, "
                f"candidate {self.winner.index + 1} of the queue, verified"
            )
        standings = self.finals.standings
        best = f" (best: {standings[0].speedup:.2f}x)" if standings else ""
        return f"nothing beat the compiler's default beyond noise{best}, {floor}"


@dataclass(frozen=True)
class Measurements:
    """What a results file holds.

    Attributes:
        outcomes: by queue position, in the order in which they came.
        repeats: further measurements, for a recording.
        result: the last; None until there are finals of all outcomes.
        skipped_lines: what is wrong with lines that were left out.
    """

    header: Header
    outcomes: dict[int, Outcome]
    repeats: list[Repeat]
    result: BundleResult | None
    skipped_lines: tuple[str, ...] = ()


class Results:
    """A results file that is being written; `path` may hold what an earlier session measured.

    Raises:
        InputError: it holds results of something else, or another process has it open.
    """

    def __init__(
        self, path: Path, header: Header, queue: Sequence[QueueEntry], *, keep_valid: bool = False
    ) -> None:
        parsing = _ResultsParser(path, queue)
        self._lines = JsonLinesFile(
            path,
            "make room, then run the same command again",
            check=parsing.add,
            keep_valid=keep_valid,
            edited_hint=KEEP_VALID_HINT,
        )
        try:
            first = header.to_record()
            if not self._lines.records and json.dumps(first).encode().startswith(
                self._lines.partial_line
            ):
                self._lines.append(first)  # also over a part of the same
                parsing.add(first)
            found = parsing.done(keep_valid)
            _check_same(path, found.header, header)
        except BaseException:
            self.close()
            raise
        self.left_out = self._lines.skipped_message
        self.measurements = found
        self.outcomes = found.outcomes
        self.repeats = found.repeats
        self.result = found.result

    def append(self, index: int, outcome: Outcome) -> None:
        self._lines.append(outcome.to_record(index))
        self.outcomes[index] = outcome

    def repeat(self, repeat: Repeat) -> None:
        self._lines.append(repeat.to_record())
        self.repeats.append(repeat)

    def finish(self, result: BundleResult) -> None:
        self._lines.append(result.to_record())
        self.result = result

    def close(self) -> None:
        self._lines.close()

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_results(
    path: Path, queue: Sequence[QueueEntry] | None = None, *, keep_valid: bool = False
) -> Measurements:
    """What has been measured so far; a line that was cut short is passed over.

    Args:
        queue: the bundle's; None if only the file itself is asked for.
        keep_valid: whether lines that were not written by such a run are left out.

    Raises:
        InputError: it holds something else.
    """
    parsing = _ResultsParser(path, queue)
    _, wrong = read_whole_lines(path, parsing.add, keep_valid, KEEP_VALID_HINT, _WRITTEN)
    return replace(parsing.done(keep_valid), skipped_lines=tuple(wrong))


class _ResultsParser:
    """Parses and validates a results file, line by line.

    Args:
        queue: as of `read_results`.
    """

    def __init__(self, path: Path, queue: Sequence[QueueEntry] | None) -> None:
        self.path = path
        self.queue = queue
        self.header: Header | None = None
        self.outcomes: dict[int, Outcome] = {}
        self.repeats: list[Repeat] = []
        self.result: BundleResult | None = None

    def add(self, record: dict[str, Any]) -> None:
        """Takes a line in.

        Raises:
            ValueError, TypeError, KeyError: it is not what was written there.
            InputError: it is the first, and not that of a results file.
        """
        if self.header is None:
            self.header = self._read_header(record)
            return
        uris = self.header.uris
        if "repeat" in record:
            repeat = decode(Repeat, record["repeat"])
            _refuse(repeat_error(repeat, self.outcomes, uris))
            self.repeats.append(repeat)
        elif "finals" in record:
            result = BundleResult.from_record(record)
            _refuse(self._result_error(result))
            self.result = result
        else:
            index, outcome = parse_outcome(record)
            _refuse(self._wrong_outcome(index, outcome, uris))
            self.outcomes[index] = outcome

    def done(self, keep_valid: bool) -> Measurements:
        """All that was taken in.

        Args:
            keep_valid: whether measurements without a baseline are left out.

        Raises:
            InputError: there is no header, or a block of measurements without its baseline.
        """
        if self.header is None:
            raise self._not_results()
        based = {(r.device, r.block) for r in self.repeats if r.index == BASELINE}
        for repeat in self.repeats:
            if (repeat.device, repeat.block) not in based and not keep_valid:
                raise InputError(
                    f"{self.path} was edited: block {repeat.block} of {repeat.device} has no "
                    "baseline",
                    KEEP_VALID_HINT,
                )
        repeats = [r for r in self.repeats if (r.device, r.block) in based]
        current = self.result is not None and self.result.candidates == len(self.outcomes)
        return Measurements(self.header, self.outcomes, repeats, self.result if current else None)

    def _read_header(self, record: dict[str, Any]) -> Header:
        try:
            fields = {k: v for k, v in record.items() if k != "format"}
            header = decode(Header, fields)
        except ValueError as error:
            raise self._not_results(f": {error}") from None
        if record.get("format") != FORMAT or len(header.uris) != len(header.devices):
            raise self._not_results()
        if not header.uris or len({*header.uris}) < len(header.uris):
            raise self._not_results(f": its devices are {', '.join(header.uris) or 'none'}")
        return header

    def _not_results(self, why: str = "") -> InputError:
        return InputError(
            f"{self.path} does not hold the results of a bundle, in format {FORMAT}{why}", _WRITTEN
        )

    def _wrong_outcome(self, index: int, outcome: Outcome, uris: tuple[str, ...]) -> str:
        count = MAX_EXACT_INT if self.queue is None else len(self.queue)
        if wrong := outcome_error(index, outcome, self.outcomes, count, uris):
            return wrong
        entry = None if self.queue is None else self.queue[index]
        if entry is not None and outcome.executable != entry.digest:
            return f"candidate {index} is not of the bundle"
        if entry is not None and entry.kind not in (OK, outcome.kind):
            return f"candidate {index} is {outcome.kind}, though it is {entry.kind}"
        return ""

    def _result_error(self, result: BundleResult) -> str:
        if result.candidates != len(self.outcomes) or result.seconds < 0:
            return f"the finals are of {result.candidates} candidates, {result.seconds} s"
        finals = result.finals
        return finals_error(finals, self.outcomes) or winner_error(result.winner, finals)


def _refuse(wrong: str) -> None:
    if wrong:
        raise ValueError(wrong)


def _check_same(path: Path, found: Header, given: Header) -> None:
    was, now = asdict(found), asdict(given)
    for field in was:
        if was[field] != now[field]:
            raise InputError(
                f"{path} holds results of another run: its {field} is {was[field]}, "
                f"this is {now[field]}",
                "name another file with --out",
            )
