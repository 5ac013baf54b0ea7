"""What is in a folder or a file, told by what it holds."""

from __future__ import annotations

from pathlib import Path

from ...core import InputError, check_no_links, refusing_damage
from ..dataset import looks_like_recording
from ..learning import ENDINGS, recording_files
from .drawing import Article

_KNOWN = (
    "give what `tune`, `tune-model`, `record`, `profile`, `evaluate` or `leaderboard` wrote: a "
    "folder, or a recording"
)


def read_article(path: Path, seed: int = 0) -> Article:
    """The article of a folder or a file.

    Args:
        seed: of what is drawn at random where there is too much to show.

    Raises:
        InputError: nothing here wrote it, or it is damaged.
    """
    if not path.exists():
        raise InputError(f"there is no {path}", _KNOWN)
    with refusing_damage(f"{path} cannot be shown", _KNOWN):
        return _read(path, seed)


def _read(path: Path, seed: int) -> Article:
    if any((path / name).is_file() for name in ("run.json", "model.json")):
        check_no_links(path)  # which may be somebody else's
    if (path / "run.json").is_file():
        from .run import run_article

        return run_article(path, seed)
    if (path / "model.json").is_file():
        from .network import network_article

        return network_article(path)
    if (path / "evaluation.json").is_file():
        from .comparing import evaluation_article

        return evaluation_article(path)
    if (path / "leaderboard.json").is_file():
        from .comparing import leaderboard_article

        return leaderboard_article(path)
    if (log := _profile_log(path)) is not None:
        from .profile import profile_article

        return profile_article(log)
    if _holds_recordings(path):
        from .recording import recording_article

        return recording_article(path)
    raise InputError(f"{path} is nothing that a report can be made of", _KNOWN)


def _profile_log(path: Path) -> Path | None:
    """The log of a profile: in its folder, itself, or beside its table."""
    if path.is_dir():
        log = path / "profile.jsonl"
        return log if log.is_file() else None
    log = path.with_suffix(".jsonl")
    if path.suffix not in ("", ".csv", ".jsonl", ".parquet") or not log.is_file():
        return None
    # Beside a recording there may be a bundle's results.
    return None if path.suffix == ".parquet" and looks_like_recording(path) else log


def _holds_recordings(path: Path) -> bool:
    """Whether it is a recording, or a folder with some."""
    if path.is_dir():
        try:
            return bool(recording_files([path]))
        except InputError:
            return False
    # By its name, too: so what is wrong with a damaged one is told.
    return path.name.endswith(ENDINGS) or looks_like_recording(path)
