"""What the compiler got wrong: a report folder with one minimal reproducer per distinct failure.

    DIR/README.md                   the index
    DIR/00012-compile_failed/       the simplest candidate of one group of failures
    DIR/emission-crash/             where the compiler could not say what is valid

A reproducer's folder appears whole and is never changed; the index is replaced at once. So a report
that was cut short at any point is continued by the next write.
"""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ...core import (
    InputError,
    check_no_links,
    iree_versions,
    markdown_cell,
    read_limited,
    remove_drafts,
    write_atomically,
)
from ...search import Dispatch, spec_of
from ..measuring import KILLED, OK, Outcome
from .reproducer import SCRIPT, Reproducer, has_config, write_emission_crash
from .runnable_module import RunnableModule

INDEX = "README.md"
EMISSION = "emission-crash"

# In this order: a position holds a path and numbers, and a name may hold numbers.
_VARYING = (
    (re.compile(r"[^\s()]*:\d+:\d+"), "<at>"),
    (re.compile(r"%[\w$.-]+(?:#\d+)?"), "%"),
    (re.compile(r"0x[0-9a-fA-F]+"), "#"),
    # Not the digits of a type such as f32; those of a shape such as 3x4.
    (re.compile(r"(?<![a-wyzA-Z_])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"), "#"),
)
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_OURS = re.compile(r"\d{5,}-[a-z_]+")


@dataclass(frozen=True)
class FailureGroup:
    """Failures that look the same.

    Attributes:
        simplest: the queue position of the candidate that shows it best.
        members: queue positions of all of them, in order.
    """

    simplest: int
    outcome: Outcome
    members: tuple[int, ...]

    @property
    def folder(self) -> str:
        return f"{self.simplest:05d}-{self.outcome.kind}"


@cache  # a report is brought up to date after each batch
def normalise(reason: str) -> str:
    """A reason without what differs between candidates: positions, SSA names, numbers."""
    for pattern, placeholder in _VARYING:
        reason = pattern.sub(placeholder, reason)
    return reason


def config_magnitude(config: str) -> float:
    """How much a configuration asks for: the product of its numbers, as a logarithm."""
    return sum(math.log(int(number)) for number in _NUMBER.findall(config) if int(number))


def group_failures(
    outcomes: Mapping[int, Outcome], config_size: Callable[[int], float]
) -> tuple[FailureGroup, ...]:
    """Distinct failures, the most frequent first.

    Args:
        outcomes: by queue position; those that are fine, or were killed, are passed over.
        config_size: of a position's configuration; the smallest represents its group.
    """
    alike: dict[tuple[str, str, str], list[int]] = {}
    for index, outcome in sorted(outcomes.items()):
        if outcome.kind not in (OK, KILLED):
            key = (outcome.kind, outcome.stage, normalise(outcome.reason))
            alike.setdefault(key, []).append(index)
    groups = []
    for members in alike.values():
        simplest = min(members, key=config_size)
        groups.append(FailureGroup(simplest, outcomes[simplest], tuple(members)))
    return tuple(sorted(groups, key=lambda g: (-len(g.members), g.members[0])))


def save_log(logs: Path, index: int, log: str) -> None:
    """Saves what the compiler or the runtime printed about a failed candidate, for its reproducer.

    Called before the outcome is logged, so that each has one. That the disk is full is ignored: it
    must not cost the outcome.
    """
    if log:
        with suppress(OSError):
            logs.mkdir(exist_ok=True)
            _log_path(logs, index).write_text(log, encoding="utf-8")


def check_report_folder(folder: Path, dispatch: Dispatch) -> None:
    """Refuses a folder with anything but an earlier report of the same dispatch.

    Raises:
        InputError: naming the folder.
    """
    check_no_links(folder)
    if not folder.exists():
        return
    try:
        names = {path.name for path in folder.iterdir()}
        # A run may have been killed before it wrote the index.
        known = all(_OURS.fullmatch(n) or n == EMISSION or n.startswith(".") for n in names)
        if INDEX in names:
            index = (folder / INDEX).read_text(encoding="utf-8", errors="replace")
            known = index.startswith(_title(dispatch))
    except OSError:
        known = False
    if not known:
        raise InputError(
            f"{folder} holds something else than the failures of this dispatch", "name a new folder"
        )


def _title(dispatch: Dispatch) -> str:
    """The first line of the index."""
    return f"# Failures of {dispatch.problem.label} on {dispatch.target.arch}\n"


class FailureReport:
    """Writes and updates the report of a run.

    Args:
        folder: the report's; made when there is something to tell.
        logs: where `save_log` put what was said.
        render_config: the `compilation_info` of a queue position.
        seed: of the inputs that candidates were run with.
    """

    def __init__(
        self,
        dispatch: Dispatch,
        folder: Path,
        logs: Path,
        render_config: Callable[[int], str],
        seed: int,
    ) -> None:
        self.folder = folder
        self._dispatch = dispatch
        self._logs = logs
        self._render_config = render_config
        self._seed = seed
        self._size = cache(lambda index: config_magnitude(render_config(index)))
        self._written = -1

    def write(self, outcomes: Mapping[int, Outcome]) -> None:
        """Brings the report up to date with all outcomes of the run so far.

        Raises:
            OSError, WorkError: it cannot be written; the next call tries again.
        """
        if len(outcomes) == self._written:
            return
        groups = group_failures(outcomes, self._size)
        killed = {index: o.reason for index, o in sorted(outcomes.items()) if o.kind == KILLED}
        crashed = self._dispatch.emission_crashed
        if not (groups or killed or crashed):
            return
        if crashed and not (self.folder / EMISSION).exists():
            write_emission_crash(self._dispatch, self.folder / EMISSION)
        for group in groups:
            folder = self.folder / group.folder
            # What was there before this run may be of another, whose queue was another.
            before = self._written < 0 and folder.exists()
            if before and not has_config(folder, self._render_config(group.simplest)):
                shutil.rmtree(folder)
            if not folder.exists():
                self._reproducer(group).write(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        text = self._index(groups, killed, len(outcomes))
        write_atomically(self.folder / INDEX, text.encode())
        self._tidy({group.folder for group in groups})
        self._written = len(outcomes)

    def _reproducer(self, group: FailureGroup) -> Reproducer:
        outcome = group.outcome
        # A candidate with the executable of an earlier one was not run itself.
        said_about = group.simplest if outcome.same_as is None else outcome.same_as
        path = _log_path(self._logs, said_about)
        config = self._render_config(group.simplest)
        try:
            spec = spec_of(self._dispatch, config).text()
        except InputError as error:  # a plug-in rendered no attribute, which is the failure
            spec = f"// {error}\n{config}\n"
        return Reproducer(
            RunnableModule.of(self._dispatch),
            spec,
            config,
            outcome,
            read_limited(path).decode(errors="replace") if path.exists() else "",
            self._seed,
        )

    def _tidy(self, current: set[str]) -> None:
        """Removes reproducers that simpler ones have replaced, and half of one."""
        remove_drafts(self.folder)
        for path in self.folder.iterdir():
            if path.is_dir() and _OURS.fullmatch(path.name) and path.name not in current:
                shutil.rmtree(path, ignore_errors=True)

    def _index(
        self, groups: tuple[FailureGroup, ...], killed: Mapping[int, str], taken: int
    ) -> str:
        failed = sum(len(group.members) for group in groups)
        lines = [
            _title(self._dispatch),
            f"{failed} of {taken} candidates failed, though all meet the constraints that the",
            f"compiler is known to have. Distinct failures: {len(groups)}. Each is shown by its",
            "simplest candidate, the one with the smallest product of tile sizes. Candidates are",
            "numbered from 0, as `index` in the run's `outcomes.jsonl`.",
            "",
            f"Versions: {', '.join(f'{name} {at}' for name, at in iree_versions().items())}.",
            "",
            "| count | kind | stage | reason | reproducer |",
            "| ---: | --- | --- | --- | --- |",
        ]
        if self._dispatch.emission_crashed:
            link = f"[{EMISSION}]({EMISSION}/reason.txt)"
            reason = markdown_cell(self._dispatch.no_constraints_reason)
            lines.append(f"| - | crashed | emission | {reason} | {link} |")
        for group in groups:
            reason = markdown_cell(group.outcome.reason)
            lines.append(
                f"| {len(group.members)} | {group.outcome.kind} | {group.outcome.stage} | {reason} "
                f"| [{group.folder}]({group.folder}/reason.txt) |"
            )
        for group in groups:
            lines += [
                "",
                f"## {group.folder}",
                "",
                f"Reproduce: `sh {group.folder}/{SCRIPT}`",
                "",
                f"Candidates: {', '.join(map(str, group.members))}",
                "",
                "```",
                self._render_config(group.simplest),
                "```",
            ]
        return "\n".join([*lines, *_killed_lines(killed)]) + "\n"


def _killed_lines(killed: Mapping[int, str]) -> list[str]:
    """Candidates of which nothing is known, with the memory when their process was killed."""
    if not killed:
        return []
    told = [f"- {index}: {markdown_cell(reason)}" for index, reason in killed.items()]
    return [
        "",
        "## Killed from outside",
        "",
        "The kernel kills processes where memory is short. These were tried twice, and are none of",
        "the failures above: nothing is known of them.",
        "",
        *told,
    ]


def _log_path(logs: Path, index: int) -> Path:
    return logs / f"{index:05d}.txt"
