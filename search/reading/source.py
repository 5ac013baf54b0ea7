"""Reads files that users bring, in a child process: the compiler can crash on them."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ...core import (
    Child,
    ChildDied,
    ChildKilled,
    ChildTimeout,
    CompilerCrashedError,
    InputError,
    KilledError,
    UnknownFlagError,
    check_free_space,
    first_line,
    read_without_bom,
    shorten,
)
from ..backend import backend_of
from ..flags import target_flags, unknown_target

# What follows `tensor` or `memref`: sizes, and the type of elements.
SHAPED = r"<((?:\d+x|\?x)*)([a-zA-Z][a-zA-Z0-9]*)"
# What the compiler says of a flag before it ends its process.
_UNKNOWN_FLAG = re.compile(r"Unknown command line argument '([^']*)'")


def read_source(path: Path, holds: str) -> bytes:
    """What is in a file of MLIR.

    Args:
        holds: what it should hold, in words.

    Raises:
        InputError: it cannot be read, or is empty.
    """
    text = read_without_bom(path, "give an MLIR file")
    if not text.strip():
        raise InputError(f"{path} is empty", f"give an MLIR file with {holds}")
    return text


def read_in_child(
    handler: str,
    name: str,
    text: bytes,
    target: str,
    timeout: float,
    remedy: str,
    child: Child | None = None,
    *,
    further: tuple[str, ...] = (),
    function: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Has a child process read MLIR for a target, and turns its failures into errors for the user.

    Args:
        handler: as `Child` takes it; its request has `name`, `text`, the `target` and its `flags`.
        name: what to call the MLIR in messages.
        remedy: what the user can do if the compiler crashes.
        child: one of the handler that is there already; it stays.
        further: flags beside the target's.
        function: which one is meant, where the file holds several.
        more: what else the request has.

    Raises:
        InputError: the target is unknown, or the MLIR cannot be used.
        KilledError: the child was killed.
    """
    flags = (*target_flags(target), *further)
    request = {
        "name": name,
        "text": text,
        "target": target,
        "flags": flags,
        "function": function,
        **more,
    }
    with Child(handler) if child is None else nullcontext(child) as reader:
        try:
            answer: dict[str, Any] = reader.call(request, timeout=timeout)
        except ChildKilled as death:
            raise KilledError(f"the compiler was {death} while it read {name}") from death
        except (ChildDied, InputError) as failure:
            if isinstance(failure, ChildDied):
                check_free_space()
            if unknown := _UNKNOWN_FLAG.search(str(failure)):
                raise UnknownFlagError(
                    f"the compiler has no flag {unknown[1]}",
                    "`iree-compile --help-list-hidden` names them; give --iree-flag=--NAME=VALUE",
                ) from failure
            if any(words in str(failure) for words in backend_of(target).unknown):
                raise unknown_target(target) from failure
            if isinstance(failure, InputError):
                raise
            first = first_line(failure)
            raise CompilerCrashedError(
                f"the compiler crashed while reading {name} ({first})", remedy
            ) from failure
        except RuntimeError as error:
            told = shorten(" ".join(str(error).split()))
            raise InputError(f"cannot make out {name}: {told}", "please report it") from error
        except ChildTimeout as late:
            raise InputError(f"the compiler took over {timeout:.0f} s on {name}", remedy) from late
    return answer
