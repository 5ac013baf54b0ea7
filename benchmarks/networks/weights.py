"""Archives of weights, by scope: read by the runtime, in a child process."""

from __future__ import annotations

import re
import resource
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...core import (
    Child,
    InputError,
    child_errors,
    max_bytes,
)

if TYPE_CHECKING:
    import iree.runtime as rt

TIMEOUT = 300.0
# What the list of weights may take in memory, in limits of what is read.
GROWTH = 3
# Where in its sources the runtime refused, and with which status.
_WHERE = re.compile(r"^.*?\.c:\d+: [A-Z_]+; ", re.DOTALL)
_HINT = "give an .irpa, .safetensors or .gguf file that holds the model's weights"

# Files of weights, each with its scope.
Archives = tuple[tuple[str, Path], ...]


def check_archives(archives: Archives, needed: Sequence[tuple[str, str]]) -> None:
    """Sees that archives hold what a model needs.

    Args:
        needed: scope and key of each weight.

    Raises:
        InputError: a scope is not given, a file is no archive, or one lacks a key.
        KilledError: the process that reads them was killed.
    """
    given = {scope for scope, _ in archives}
    if absent := [scope for scope, _ in needed if scope not in given]:
        scope = absent[0]
        raise InputError(
            f"the model's weights of scope {scope!r} are in an archive, which was not given",
            f"give --parameters {scope}=FILE.irpa" if scope else "give --parameters FILE.irpa",
        )
    if not archives:
        return
    failed = "the archives of weights cannot be read"
    with (
        child_errors("reading the archives of weights", InputError, failed, _HINT),
        Child("frontrunner.benchmarks.networks.weights:find_missing_weights") as child,
    ):
        lacking: list[tuple[str, str]] = child.call((archives, needed), timeout=TIMEOUT)
    if lacking:
        scope, key = lacking[0]
        files = ", ".join(str(path) for name, path in archives if name == scope)
        raise InputError(
            f"{files} lacks {len(lacking)} of the model's weights, the first is {key!r}", _HINT
        )


def load_archives(archives: Archives) -> dict[str, rt.ParameterIndex]:
    """What the archives hold, by scope; several of one scope complete each other.

    Raises:
        InputError: a file is no archive.
    """
    import iree.runtime as rt

    found: dict[str, rt.ParameterIndex] = {}
    for scope, path in archives:
        try:
            found.setdefault(scope, rt.ParameterIndex()).load(str(path))
        except Exception as error:  # its class tells the status, such as NotImplementedError
            words = _WHERE.sub("", str(error)).strip()
            raise InputError(f"{path} is not an archive of weights: {words}", _HINT) from None
    return found


def find_missing_weights(
    request: tuple[Archives, Sequence[tuple[str, str]]],
) -> list[tuple[str, str]]:
    """The child's side: scope and key of what is needed and not there."""
    # Weights are not read, but the list of them is, of which there may be a million.
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = GROWTH * max_bytes()
    limit = limit if most == resource.RLIM_INFINITY else min(limit, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
    archives, needed = request
    keys = {
        scope: {key for key, _ in index.items()} for scope, index in load_archives(archives).items()
    }
    return [(scope, key) for scope, key in needed if key not in keys.get(scope, ())]
