"""Predictors in MLflow's registry: `models:/NAME/VERSION` and `models:/NAME@ALIAS`."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path

from ...core import InputError, Notify, WorkError, max_bytes, read_limited, write_atomically
from .mlflow_process import ask_mlflow
from .mlflow_store import cache_folder, find_store

PREFIX = "models:/"
SUFFIX = ".predictor"
HINT = f"give {PREFIX}NAME/VERSION or {PREFIX}NAME@ALIAS; `frontrunner train --register` makes them"
_NAME = r"[\w-][\w. -]*"
_URI = re.compile(rf"models:/(?P<name>{_NAME})(?:/(?P<version>[1-9]\d*)|@(?P<alias>[\w.-]+))")
FETCH_SECONDS = 60.0


def is_registered(text: str) -> bool:
    """Whether a model in the registry is meant, not a ranker's name or a file."""
    return text.startswith(PREFIX)


def check_model_name(name: str) -> None:
    """Refuses what the registry takes for no name.

    Raises:
        InputError: naming what it takes.
    """
    if not re.fullmatch(_NAME, name):
        raise InputError(
            f"no model can be called {name!r}", "use letters, digits, '_', '-', '.' and blanks"
        )


def local_ranker(text: str, notify: Notify | None = None) -> str:
    """A ranker's name or file, as given, or the file of a copy of the registry's.

    The copy stays, for a run that goes on orders by the same.

    Args:
        notify: is told which version an alias stands for.

    Raises:
        InputError: there is no such model, or it is no predictor.
        WorkError: the copy cannot be written.
    """
    if not is_registered(text):
        return text
    found = _URI.fullmatch(text)
    if found is None:
        raise InputError(f"{text!r} names no model of MLflow's registry", HINT)
    try:
        store = find_store()
    except OSError as error:
        raise InputError(f"{text}: {error.strerror}", "set MLFLOW_TRACKING_URI") from error
    name = found["name"]
    with tempfile.TemporaryDirectory() as folder:
        asked = {
            "uri": store.uri,
            "name": name,
            "version": found["version"] or "",
            "alias": found["alias"] or "",
            "most_bytes": max_bytes(),
            "into": folder,
        }
        answer = ask_mlflow(asked, FETCH_SECONDS)
        if "error" in answer:
            raise InputError(f"{text} cannot be had: {answer['error']}", HINT)
        data = read_limited(Path(answer["path"]))
    version = str(answer["version"])
    if not version.isdecimal():  # it is part of a path here
        raise InputError(f"{text} cannot be had: its version is {version!r}", HINT)
    if notify is not None:
        notify(f"{text} is version {version} of {name}")
    # Stores have versions of their own by the same name.
    place = hashlib.sha256(store.uri.encode()).hexdigest()[:12]
    path = cache_folder() / "models" / place / name / version / f"{name}{SUFFIX}"
    try:
        os.makedirs(path.parent, exist_ok=True)
    except OSError as error:
        raise WorkError(
            f"cannot write {path.parent}: {error.strerror}", "set XDG_CACHE_HOME to another place"
        ) from error
    write_atomically(path, data)
    return str(path)
