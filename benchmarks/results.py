"""What a bundle's runner writes: a line that says of what, one per outcome, one for the finals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..search import InputError
from .estimate import Repeat
from .finals import Finals, Standing
from .lines import LineFile, not_ours, parse_lines
from .outcome import Outcome, read_record

FORMAT = 1


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
class Verdict:
    """How a run through a bundle's queue ended.

    Attributes:
        winner: the finalist that beat the default and is right; None if there is none.
        candidates: how many had been taken from the queue.
        stopped: which limit was reached.
        seconds: of the last session.
        recorded: whether there were further rounds for a recording.
    """

    finals: Finals
    winner: Standing | None
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
            "baseline_us": finals.baseline_us,
            "best_us": winner.time_us if winner else finals.baseline_us,
            "winner": winner.index + 1 if winner else None,
            "candidates": self.candidates,
            "stopped": self.stopped,
            "seconds": self.seconds,
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Verdict:
        """The inverse of `to_record`.

        Raises:
            ValueError, TypeError, KeyError: it is something else.
        """
        finals = Finals.from_dict(record["finals"])
        standings: dict[int | None, Standing] = {s.index: s for s in finals.standings}
        winner = None if record["winner"] is None else standings[record["winner"]]
        return cls(
            finals,
            winner,
            int(record["candidates"]),
            str(record["stopped"]),
            record["seconds"],
            bool(record["recorded"]),
        )

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
        verdict: the last; None until there are finals of all outcomes.
    """

    header: Header
    outcomes: dict[int, Outcome]
    repeats: list[Repeat]
    verdict: Verdict | None


class Results:
    """A results file that is being written; `path` may hold what an earlier session measured.

    Raises:
        InputError: it holds results of something else, or another process has it open.
    """

    def __init__(self, path: Path, header: Header) -> None:
        self._lines = LineFile(path, "make room, then run the same command again")
        try:
            first = json.dumps(header.to_record()).encode()
            if not self._lines.records and first.startswith(self._lines.torn):
                self._lines.append(header.to_record())  # also over a part of the same
            found = _parse(self._lines.records, path)
            _check_same(path, found.header, header)
        except BaseException:
            self.close()
            raise
        self.measurements = found
        self.outcomes = found.outcomes
        self.repeats = found.repeats
        self.verdict = found.verdict

    def append(self, index: int, outcome: Outcome) -> None:
        self._lines.append(outcome.to_record(index))
        self.outcomes[index] = outcome

    def repeat(self, repeat: Repeat) -> None:
        self._lines.append(repeat.to_record())
        self.repeats.append(repeat)

    def finish(self, verdict: Verdict) -> None:
        self._lines.append(verdict.to_record())
        self.verdict = verdict

    def close(self) -> None:
        self._lines.close()

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_results(path: Path) -> Measurements:
    """What has been measured so far; a line that was cut short is passed over.

    Raises:
        InputError: it is no results file.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a regular file", "give what `bundle run --out` wrote")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    return _parse(parse_lines(data[: data.rfind(b"\n") + 1], path), path)


def _parse(records: Sequence[dict[str, Any]], path: Path) -> Measurements:
    if not records or records[0].get("format") != FORMAT:
        raise InputError(
            f"{path} does not hold the results of a bundle, in format {FORMAT}",
            "give the file that `bundle run --out` wrote",
        )
    outcomes: dict[int, Outcome] = {}
    repeats: list[Repeat] = []
    verdict = None
    for number, record in enumerate(records, 1):
        try:
            if number == 1:
                fields = {k: v for k, v in record.items() if k != "format"}
                if not all(isinstance(fields[k], list | tuple) for k in ("uris", "devices")):
                    raise TypeError("devices are lists")
                lists = {k: tuple(map(str, fields[k])) for k in ("uris", "devices")}
                header = Header(**{**fields, **lists})
                if not header.uris or len(header.uris) != len(header.devices):
                    raise ValueError(f"devices {header.devices} of {header.uris}")
            elif "repeat" in record:
                repeats.append(Repeat(**record["repeat"]))
            elif "finals" in record:
                verdict = Verdict.from_record(record)
            else:
                index, outcome = read_record(record)
                if index in outcomes:
                    raise ValueError(f"candidate {index} has an outcome already")
                outcomes[index] = outcome
        except (ValueError, TypeError, KeyError) as error:
            raise not_ours(path, number, error) from error
    if verdict is not None and verdict.candidates != len(outcomes):
        verdict = None
    return Measurements(header, outcomes, repeats, verdict)


def _check_same(path: Path, found: Header, given: Header) -> None:
    was, now = asdict(found), asdict(given)
    for field in was:
        if was[field] != now[field]:
            raise InputError(
                f"{path} holds results of another run: its {field} is {was[field]}, "
                f"this is {now[field]}",
                "name another file with --out",
            )
