"""How a ranker is kept: one file of data, which cannot execute anything when it is read.

The file is a zip archive: `manifest.json` says which ranker it is, with which parameters, and which
features it was trained on; what it learned lies beside it, as numbers.
"""

from __future__ import annotations

import io
import json
import re
import reprlib
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..core import InputError, format_size, parse_json, read_limited, write_atomically
from ..features import GENERIC, Catalogue, catalogues, generic_catalogue, parse_generic_catalogue
from .ranker import Ranker, join_names
from .registry import create_ranker
from .untrusted import COPY_OR_RETRAIN_HINT, max_predictor_bytes, read_zip

FORMAT = 2

_MANIFEST = "manifest.json"
_LEARNED = "learned/"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# A fixed time, so that the archive depends on nothing but its content.
_TIME = (1980, 1, 1, 0, 0, 0)


def save(ranker: Ranker, path: str | Path, training: Mapping[str, Any] | None = None) -> None:
    """Writes a ranker to a file, whole or not at all.

    Args:
        training: what to remember of its training (device, problems, counts, ...), as JSON values;
            by default what the file says that the ranker was read from, if any.

    Raises:
        InputError: the ranker is not trained or too large.
        WorkError: the file cannot be written.
    """
    if not ranker.is_fitted:
        raise InputError(f"ranker {ranker.name!r} is not trained, so there is nothing to save")
    manifest = {
        "format": FORMAT,
        "ranker": ranker.name,
        "params": ranker.get_params(),
        "features": {
            "catalogue": ranker.catalogue_.name,
            "version": ranker.catalogue_.version,
            "names": list(ranker.catalogue_.names),
        },
        "training": dict(ranker.training_ if training is None else training),
    }
    pieces = {_MANIFEST: json.dumps(manifest, indent=1).encode()}
    pieces |= {_LEARNED + name: data for name, data in ranker.dump().items()}
    if (size := sum(map(len, pieces.values()))) > max_predictor_bytes():
        raise InputError(
            f"what ranker {ranker.name!r} learned takes {format_size(size)}, more than "
            f"{format_size(max_predictor_bytes())}",
            "train fewer trees, or smaller ones, or raise the limit with --max-bytes",
        )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in pieces.items():
            info = zipfile.ZipInfo(name, _TIME)
            archive.writestr(info, data, zipfile.ZIP_DEFLATED, compresslevel=9)
    write_atomically(Path(path), buffer.getvalue())


def load(path: str | Path, seed: int | None = None) -> Ranker:
    """Reads a ranker that `save` wrote.

    Args:
        seed: in place of the one that it was saved with, for a ranker that takes one.

    Raises:
        InputError: the file cannot be read, is damaged or of something else, or its ranker was
            trained on other features.
    """
    pieces = _read(Path(path))
    manifest = _manifest(pieces, path)
    catalogue = _catalogue(manifest, path)
    learned = {n.removeprefix(_LEARNED): d for n, d in pieces.items() if n.startswith(_LEARNED)}
    params = manifest["params"]
    if seed is not None and "seed" in params:
        params = {**params, "seed": seed}
    try:
        ranker = create_ranker(manifest["ranker"], **params)
        ranker.catalogue_ = catalogue
        ranker.training_ = manifest["training"]
        ranker.restore(learned)
    except InputError as error:
        # It may be of an older version, whose parameters are not today's.
        hint = "; ".join(filter(None, [error.hint, "train the ranker again"]))
        raise InputError(f"cannot use {path}: {error}", hint) from error
    if not ranker.is_fitted:
        raise InputError(f"cannot use {path}: what the ranker learned is missing from it")
    return ranker


def is_saved(path: str | Path) -> bool:
    """Whether a file is a saved ranker, be it one that only another version can use."""
    try:
        manifest = parse_json(_read(Path(path))[_MANIFEST])
    except (InputError, KeyError, ValueError):
        return False
    return isinstance(manifest, dict) and {"format", "ranker"} <= manifest.keys()


def _read(path: Path) -> dict[str, bytes]:
    data = read_limited(path, "give a file that `frontrunner train` wrote")
    try:
        return read_zip(data)
    except InputError as error:
        raise InputError(
            f"{path} is not a saved ranker, or is damaged: {error}", error.hint
        ) from None


def _manifest(pieces: Mapping[str, bytes], path: str | Path) -> dict[str, Any]:
    try:
        manifest = parse_json(pieces[_MANIFEST])
        version = manifest["format"]
        ok = isinstance(manifest["ranker"], str) and isinstance(manifest["params"], dict)
        ok = ok and isinstance(manifest["features"]["version"], int)
        ok = ok and isinstance(manifest["features"]["catalogue"], str)
        ok = ok and all(map(_is_shown, manifest["features"]["names"]))
        ok = ok and isinstance(manifest["training"], dict)
    except (KeyError, TypeError, ValueError):
        ok, version = False, None
    if version is not None and version != FORMAT:
        raise InputError(
            f"{path} has format {reprlib.repr(version)}, and this frontrunner reads {FORMAT}",
            "train the ranker again",
        )
    if not ok:
        raise InputError(
            f"{path} is not a saved ranker: its {_MANIFEST} is missing or damaged",
            COPY_OR_RETRAIN_HINT,
        )
    return dict(manifest)


def _is_shown(word: object) -> bool:
    """Whether it is text that does nothing to a terminal: anyone may have written it."""
    return isinstance(word, str) and not _CONTROL.search(word)


def _catalogue(manifest: Mapping[str, Any], path: str | Path) -> Catalogue:
    """The catalogue that the ranker was trained on: today's, without what was added since."""
    said = manifest["features"]
    kind, version, names = said["catalogue"], said["version"], said["names"]
    known = {c.name: c for c in catalogues()}
    if kind == GENERIC:
        try:
            known[kind] = parse_generic_catalogue(names) or generic_catalogue(())
        except InputError as error:
            raise InputError(f"cannot use {path}: {error}") from None
    if kind not in known:
        raise InputError(
            f"the features of {path} are for {reprlib.repr(kind)}, but this frontrunner has "
            f"{', '.join([*known, GENERIC])}"
        )
    now = known[kind]
    said_names, known_names = set(names), set(now.names)
    kept = tuple(f for f in now.features if f.name in said_names)
    problems = []
    if version != now.version:
        problems.append(
            f"it was trained on version {version}, and this frontrunner has {now.version}"
        )
    # Those of other people's kernels follow from the names of the knobs: none was added since.
    if kind == GENERIC and (missing := [n for n in now.names if n not in said_names]):
        problems.append(f"it lacks {join_names(missing)}")
    if extra := [n for n in names if n not in known_names]:
        problems.append(f"it has {join_names(extra)} beyond them")
    elif [f.name for f in kept] != names:
        problems.append("they come in another order")
    if not problems:
        return now if kept == now.features else replace(now, features=kept)
    raise InputError(
        f"the features of {path} are not those of this frontrunner: {'; '.join(problems)}",
        "train the ranker again",
    )
