"""Candidates of a dispatch on a target, at random, and what becomes of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from ...benchmarks.compiling import config_magnitude, normalise
from ...benchmarks.measuring import KILLED, OK, Outcome, Runner
from ...benchmarks.runners import CompileRunner, LocalRunner
from ...core import read_limited
from ...search import PIPELINE, Dispatch, build_spaces
from ...search.enumeration import sample
from ..queue import Configuration, check_not_empty, explained, renderer

# Of each pipeline: more than minutes suffice for.
POOL = 4096
# Between two dispatches: enough that starting the runner, some 2 s, does not count.
TURN = 32

# What tells ways to fail apart: target, kind, stage, and the reason without numbers.
Key = tuple[str, str, str, str]
# Its queue position, what became of it, and what was said.
FailedCandidate = tuple[int, Outcome, str]


def key_of(target: str, outcome: Outcome) -> Key:
    return target, outcome.kind, outcome.stage, normalise(outcome.reason)


@dataclass(frozen=True)
class ReadCrash:
    """A dispatch over which the compiler crashed before there was a candidate."""

    path: Path
    target: str
    reason: str


@dataclass
class Drawn:
    """A dispatch on a target, with its candidates in random order; pipelines take turns.

    Attributes:
        stuck: how many turns in a row were killed before they came to anything.
    """

    path: Path
    target: str
    text: str
    dispatch: Dispatch
    queue: pd.DataFrame
    seed: int
    jobs: int | None
    next: int = 0
    failed: int = 0
    stuck: int = 0
    note: str = ""
    keys: set[Key] = field(default_factory=set)

    @classmethod
    def of(
        cls,
        path: Path,
        target: str,
        dispatch: Dispatch,
        *,
        unpruned: bool,
        seed: int,
        jobs: int | None,
    ) -> Drawn:
        """
        Args:
            unpruned: whether to draw also what would be slow, and what is known to fail.
        """
        frames = []
        for space in build_spaces(dispatch):
            drawn = sample(space.unpruned if unpruned else space, POOL, seed)
            frames.append(drawn.assign(**{PIPELINE: space.pipeline}))
        queue = pd.concat(frames or [pd.DataFrame()], ignore_index=True)
        check_not_empty(queue, dispatch)
        turns = queue.groupby(PIPELINE).cumcount().to_numpy().argsort(kind="stable")
        text = read_limited(path).decode(errors="replace")
        shuffled = queue.iloc[turns].reset_index(drop=True)
        return cls(path, target, text, dispatch, shuffled, seed, jobs)

    @property
    def runs(self) -> bool:
        """Whether what compiles is run here, too: for this machine."""
        return self.target == "host"

    @property
    def over(self) -> bool:
        return bool(self.note) or self.next >= len(self.queue)

    def configuration(self, index: int) -> Configuration:
        return Configuration.of_candidate(self.queue, index)

    def render(self, index: int) -> str:
        """A candidate's configuration, or why there is none."""
        return explained(renderer(self.dispatch, self.queue))(index)

    def simplest(self, members: Sequence[FailedCandidate]) -> FailedCandidate:
        """The one that asks for least."""
        return min(members, key=lambda one: config_magnitude(self.render(one[0])))

    def take_turn(
        self,
        found: dict[Key, list[FailedCandidate]],
        should_continue: Callable[[], bool],
        show: Callable[[Outcome], None],
    ) -> None:
        """Takes the next candidates.

        Args:
            found: is added to as they fail, by the way in which they do.

        Raises:
            WorkError: the compiler's default does not compile or run.
        """
        batch = range(self.next, min(self.next + TURN, len(self.queue)))
        with tempfile.TemporaryDirectory() as folder:
            logs = Path(folder) / "logs"
            for index, outcome in self._run(batch, Path(folder) / "work", logs, should_continue):
                self.next = index + 1
                show(outcome)
                if outcome.kind in (OK, KILLED):
                    continue
                self.failed += 1
                said = index if outcome.same_as is None else outcome.same_as
                log = logs / f"{said:05d}.txt"
                words = ""
                if log.exists():
                    words = log.read_text(encoding="utf-8", errors="replace")
                key = key_of(self.target, outcome)
                self.keys.add(key)
                found.setdefault(key, []).append((index, outcome, words))

    def _run(
        self, batch: range, work: Path, logs: Path, should_continue: Callable[[], bool]
    ) -> Iterator[tuple[int, Outcome]]:
        render = renderer(self.dispatch, self.queue)
        runner: Runner
        if self.runs:
            devices = self.dispatch.target.drivers[:1]
            runner = LocalRunner(
                self.dispatch, render, devices, work, logs, jobs=self.jobs, seed=self.seed
            )
        else:
            runner = CompileRunner(self.dispatch, render, work, logs, jobs=self.jobs)
        with closing(runner):
            runner.start({})
            start = batch.start
            while start < batch.stop:
                part = range(start, min(start + runner.batch, batch.stop))  # the batch grows
                yield from runner.run(part, should_continue)
                if not should_continue():
                    break
                start = part.stop
