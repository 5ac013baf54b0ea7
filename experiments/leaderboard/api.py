"""`frontrunner.leaderboard`, which the command `leaderboard` calls."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from ... import __version__
from ...core import (
    RUNS_FOLDER,
    InputError,
    WorkError,
    first_line,
    make_output_folder,
    processor_name,
    usable_cores,
)
from ...models import BUILT_IN, TIME_COLUMN, AdaptiveRanker, list_rankers, order
from ..arguments import as_list, check_least, optional_path, unwritable_results
from ..dataset import write_synthetic
from ..evaluation import (
    DEVICE_OR_PROBLEM,
    SHUFFLE,
    Contender,
    FinishedParts,
    Fold,
    contender_notes,
    cross_validate,
    find_contenders,
    make_folds,
    sample_notes,
)
from ..interrupted import RunInterrupted
from ..learning import (
    Case,
    Files,
    cases_digest,
    paths_of,
    read_cases,
    recording_files,
    training_frame,
)
from ..observing import make_notify, progress_bar
from ..peers import DONORS, MODEL_LIMIT, NOTHING, PEERS
from ..readable import count_of
from .provenance import describe_files, installed_versions
from .scores import pair_table, score_table, space_table, with_main_figure
from .table import FILE, PAGE, Leaderboard

HEURISTIC = "heuristic"
WARM, COLD = "adaptive", "adaptive:prior=nothing"
OURS = (WARM, COLD, "lightgbm", "forest")
SEEDS = 3
# Synthetic kernels have so many devices, of which each is ordered knowing the others.
DEVICES = 2
HAND, SHIPPED = "what a person wrote", "what frontrunner comes with"
FROM_FILE = "what its file was trained on"


class BoardNotWritten(WorkError):
    """A leaderboard is done, and cannot be kept.

    Attributes:
        board: its figures.
    """

    def __init__(self, error: WorkError, board: Leaderboard, beside: Path) -> None:
        kept = f"another folder in {beside}, where finished parts are kept"
        super().__init__(str(error), f"make room, or name {kept}")
        self.board = board


def leaderboard(
    folders: Files,
    *,
    rankers: Sequence[str] = (),
    columns: str | os.PathLike[str] | None = None,
    synthetic: bool = True,
    seeds: int = SEEDS,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    quiet: bool = False,
) -> Leaderboard:
    """Compares our orders with other people's searches on a folder of anybody's data.

    Each space is ordered knowing nothing of it: of its device where spaces with the same features
    were measured on several, else of its problem. Other people's searches run by their own code
    where they have one that can be had, and ask for recorded times one by one. Rankers are replayed
    through the loop that tuning uses. All have as many threads. Parts that are done are kept until
    all is written: where it was ended early, the same call goes on.

    Example:
        >>> board = frontrunner.leaderboard("recordings", rankers=["adaptive", "kt_genetic"])
        >>> board.scores["taken"]

    Args:
        folders: recordings of any format, or folders of them.
        rankers: names from `frontrunner rankers`, with parameters or not, files of trained ones, or
            names of peers; by default ours, plug-ins and all peers whose libraries are there.
        columns: a file in TOML that says what columns of tables (CSV) are.
        synthetic: whether to add synthetic spaces whose best candidate is known.
        seeds: how many seeds each contender that depends on one has.
        seed: the first of them; also of the synthetic spaces and the confidence intervals.
        out: a new folder for the tables; by default the next free `runs/leaderboard-<n>`.
        jobs: in how many processes to train and replay; by default one per core.
        quiet: whether to show no progress and no warnings on stderr.

    Raises:
        InputError: something given cannot be used.
        BoardNotWritten: the folder cannot be written; the error has the figures.
        RunInterrupted: Ctrl-C; finished parts are kept.
    """
    check_least("seeds", seeds, 1)
    check_least("seed", seed, 0)
    notify, folder = make_notify(quiet=quiet), optional_path(out)
    meaning = optional_path(columns)
    paths = paths_of(folders)
    with progress_bar("reading recordings", quiet=quiet) as progress:
        cases = read_cases(paths, meaning, progress)
    data = describe_files(recording_files(paths, tables=meaning is not None))
    if synthetic:
        cases, data = _with_synthetic(cases, data, seed)
    folds = make_folds(cases, DEVICE_OR_PROBLEM)
    contenders, notes = _contenders(rankers, folds)
    notes += contender_notes(contenders, cases, folds)
    for note in notes:
        notify(f"warning: {note}")
    asked = {
        "rankers": ",".join(c.name for c in contenders),
        "left out": "a device where spaces with the same features have several, else a problem",
        "seeds": f"{seeds} from {seed}",
        "spaces": len(cases),
        "digest": cases_digest(cases),
        "frontrunner": __version__,
        "versions": installed_versions(),
    }
    beside = RUNS_FOLDER if folder is None else folder.parent
    finished = FinishedParts(beside, asked, contenders, cases)
    try:
        with progress_bar("training and replaying", quiet=quiet) as progress:
            evaluation = cross_validate(
                cases,
                contenders,
                DEVICE_OR_PROBLEM,
                seeds=range(seed, seed + seeds),
                jobs=jobs,
                finished=finished,
                keep_predictors=False,
                progress=progress,
            )
        results = with_main_figure(evaluation.results)
        scores = score_table(results, seed)
        names = [str(name) for name in scores.index]
        board = Leaderboard(
            scores=scores,
            pairs=pair_table(results, seed),
            spaces=space_table(results, names),
            given={name: _given(name, contenders) for name in names},
            # Without those of ours, the first of the table.
            against=[name for name in (WARM, COLD) if name in names] or names[:1],
            provenance={**asked, "processor": f"{processor_name()}, {usable_cores()} cores"},
            data=data,
            notes=(*notes, *_notes(results.drop_duplicates("case"), contenders, seeds)),
            results=results,
        )
        try:
            board = replace(board, out=_write(board, folder))
        except WorkError as error:
            raise BoardNotWritten(error, board, beside) from error
        finished.remove()
    except KeyboardInterrupt:
        raise RunInterrupted(finished.folder if finished.folder.is_dir() else None) from None
    return board


def _notes(results: pd.DataFrame, contenders: Sequence[Contender], seeds: int) -> Iterator[str]:
    spaces, wins = len(results), int(results["default_wins"].sum())
    kinds = results["problem"].nunique()
    yield (
        f"{count_of(spaces, 'space')} of {count_of(kinds, 'problem')} on "
        f"{count_of(results['device'].nunique(), 'device')}, {count_of(seeds, 'seed')}: intervals "
        "resample problems, each with all its spaces, and there is none over fewer than three"
    )
    yield (
        "candidates: until the first within 5 % of the best known, failures included, as a "
        "geometric mean; within 10 % on spaces where one or two are within 5 %; random order is "
        "exact"
    )
    yield from sample_notes(results)
    if limited := [c.name for c in contenders if c.peer and c.peer.limit]:
        yield (
            f"{', '.join(limited)} choose the first {MODEL_LIMIT} candidates and go on at random, "
            "for each choice takes long"
        )
    if wins:
        yield f"{count_of(wins, 'space')} whose default beats all candidates count in regret only"


def _with_synthetic(
    cases: Sequence[Case], data: pd.DataFrame, seed: int
) -> tuple[list[Case], pd.DataFrame]:
    """Spaces and what is told of their files, with the synthetic ones.

    These are read by themselves, so that they have the same names beside whatever files: by its
    name a space has its lots.
    """
    with tempfile.TemporaryDirectory() as place:
        paths = write_synthetic(Path(place), DEVICES, [seed])
        found, files = read_cases(paths), describe_files(recording_files(paths))
    if twice := {case.name for case in cases} & {case.name for case in found}:
        raise InputError(
            f"a recording has the name of a synthetic space, {min(twice)}",
            "rename it, or leave the synthetic ones out: --no-synthetic",
        )
    every = pd.concat([data, files], ignore_index=True)
    return sorted([*cases, *found], key=lambda case: case.name), every


def _contenders(rankers: Sequence[str], folds: Sequence[Fold]) -> tuple[list[Contender], list[str]]:
    """Those that take part, and who does not and why."""
    if rankers:
        asked = find_contenders(*as_list(rankers))
        for one in asked:
            # What is trained first would take too long to know it beforehand.
            if one.peer is not None or one.needs_fit or (one.learns and "prior" in one.params):
                continue
            if why := _why_not(one, folds, fit=False):
                hint = "leave it out, or what it cannot order (synthetic spaces: --no-synthetic)"
                raise InputError(why, hint)
        return asked, []
    alone = [fold.left_out for fold in folds if not fold.train]
    plugged_in = [r for r in list_rankers() if r.source != BUILT_IN]
    notes = [f"{r.name} is left out: {r.summary}" for r in plugged_in if r.needs_training is None]
    brought = [r.name for r in plugged_in if r.needs_training is not None]
    names = [*OURS, *brought]
    for peer in PEERS.values():
        try:
            peer.check()
            names.append(peer.name)
        except InputError as error:
            notes.append(f"{peer.name} is left out: {error}")
    found = find_contenders(",".join(names))
    for contender in [c for c in found if c.name in brought]:
        if why := _why_not(contender, folds):
            notes.append(f"{contender.name} is left out: {why}")
            found.remove(contender)
    if alone and (learners := [c.name for c in found if c.needs_fit]):
        notes.append(f"{', '.join(learners)} left out: there is nothing to learn {alone[0]} from")
        found = [c for c in found if not c.needs_fit]
    return found, notes


def _why_not(contender: Contender, folds: Sequence[Fold], *, fit: bool = True) -> str:
    """Why a ranker cannot order one of the spaces, such as for it reads features that this lacks.

    Args:
        fit: whether it is trained first, where it has something to learn from.
    """
    # One space of each kind, where there is one of which others are known.
    kinds = {frozenset(f.test[0].features): f for f in sorted(folds, key=lambda f: bool(f.train))}
    for fold in kinds.values():
        if contender.needs_fit and not fold.train:
            continue
        case, ranker = fold.test[0], contender.make(seed=0)
        try:
            if fit and fold.train:
                ranker.fit(*training_frame(fold.train))
            frame = case.features
            if isinstance(ranker, AdaptiveRanker):
                frame = case.knobs if ranker.reads_knobs else frame
                ranker.observe(frame.iloc[:0].assign(**{TIME_COLUMN: case.times[:0]}))
            order(ranker, frame)
        except InputError as error:
            return f"{error} ({case.name})"
        except MemoryError:
            raise
        except Exception as error:  # it may be of another package
            told = f"{type(error).__name__}: {first_line(error)}"
            return f"ranker {contender.name!r} cannot order {case.name}: {told}"
    return ""


def _given(name: str, contenders: Sequence[Contender]) -> str:
    contender = next(c for c in contenders if c.name == name)
    if contender.peer is not None:
        return contender.peer.given
    prior = contender.params.get("prior")
    if HEURISTIC in (contender.ranker, prior):
        return HAND
    if contender.files:
        return FROM_FILE
    knows_nothing = SHUFFLE in (contender.ranker, prior) or contender.searches_knobs
    if knows_nothing or contender.is_cold:
        return NOTHING
    if prior == 1:
        return SHIPPED
    if isinstance(prior, float) and prior > 0:
        return f"{SHIPPED}; {DONORS}"
    return DONORS if contender.learns else HAND


def _write(board: Leaderboard, out: Path | None) -> Path:
    """Writes all files at once, or none."""

    def fill(folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(board.to_dict(), indent=2, allow_nan=False) + "\n")
        (folder / PAGE).write_text(board.to_markdown(), encoding="utf-8")
        board.results.to_csv(folder / "results.csv", index=False)
        board.pairs.to_csv(folder / "pairs.csv", index=False)

    try:
        return make_output_folder(out, "leaderboard", fill)
    except OSError as error:
        raise unwritable_results(out, error) from error
