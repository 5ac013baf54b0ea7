"""Compile flags: by a target's name, and the user's own. None is taken from a file of results.

The compiler does what its flags say, such as run a program for a linker, or write files.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..core import InputError, UnknownTargetError, read_without_bom
from .backend import backend_of, known_backends

_NAME = re.compile(r"[A-Za-z0-9_.+-]{1,64}")
# Up to the end of a line, where it begins a word; what is quoted is kept.
_COMMENT = re.compile(r"""("[^"]*"|'[^']*')|(?<!\S)#[^\n]*""")
_FLAG = re.compile(r"--[A-Za-z][\w-]*")
DEFAULT_SPECS = "--iree-codegen-enable-default-tuning-specs"
# Flags that frontrunner gives by itself, and what to ask for in their place.
_TAKEN = {
    "--iree-hal-target-device": "--target",
    "--iree-hal-target-backends": "--target",
    "--iree-hal-local-target-device-backends": "--target",
    "--iree-llvmcpu-target-cpu": "--target",
    "--iree-llvmcpu-target-triple": "--target",
    "--iree-rocm-target": "--target",
    "--iree-cuda-target": "--target",
    "--iree-vulkan-target": "--target",
    DEFAULT_SPECS: "--default-specs",
    "--iree-codegen-tuning-spec-path": "--spec, where a command has it",
    "--iree-codegen-transform-dialect-library": "--spec, where a command has it",
    "--compile-from": "nothing: the phases are frontrunner's",
    "--compile-to": "nothing: the phases are frontrunner's",
}


def target_flags(name: str) -> tuple[str, ...]:
    """Compile flags for a target: `host`, a CPU that LLVM knows, or a GPU that IREE knows.

    Raises:
        UnknownTargetError: the name is not one.
    """
    if not _NAME.fullmatch(name):
        raise unknown_target(name)
    backend = backend_of(name)
    return (*backend.flags, *backend.target_flags(name))


def resolve_target(name: str) -> str:
    """The name that is kept of a target: `vulkan` stands for the profile of this machine's device.

    Raises:
        UnknownTargetError: the name is not one.
        InputError: it stands for a device, and none answers.
    """
    target_flags(name)
    return backend_of(name).resolve(name)


def parse_flags(texts: Sequence[str], target: str | None = None) -> tuple[str, ...]:
    """Flags for the compiler that a user gives, of every command that compiles.

    Args:
        texts: each a flag such as `--iree-opt-level=O3`, or `@FILE` for all that a file holds:
            separated as in a shell, and by lines; those of the target, with which files of
            `tune-model` begin, are passed over.
        target: the name of the one that is compiled for; None where a run knows its own.

    Raises:
        InputError: a file cannot be read, or a flag is none, or is one that frontrunner gives.
    """
    found: list[str] = []
    for text in texts:
        if text.startswith("@"):
            found += _without_target(_read_flags(Path(text[1:])), target)
        else:
            found.append(text)
    for flag in found:
        name = flag.partition("=")[0]
        if not _FLAG.fullmatch(name) or "\n" in flag:
            raise InputError(
                f"a flag for the compiler cannot be {flag!r:.80}",
                "give one as --iree-flag=--iree-opt-level=O3, or a file of them as @FILE",
            )
        if name in _TAKEN:
            raise InputError(
                f"{name} is given to the compiler by frontrunner", f"use {_TAKEN[name]}"
            )
    return tuple(found)


def _read_flags(path: Path) -> list[str]:
    remedy = "give a text file with a flag on each line"
    try:
        text = _COMMENT.sub(lambda match: match[1] or "", read_without_bom(path, remedy).decode())
        return shlex.split(text)
    except ValueError as error:  # of a quote without an end, or of what is no text
        raise InputError(f"{path} holds no flags: {error}", remedy) from None


def _without_target(flags: list[str], target: str | None) -> list[str]:
    """Flags but for those of a target that they begin with, if it is this one, or any will do."""
    for count in range(1, len(flags) + 1):
        value = flags[count - 1].partition("=")[2]
        for name in (value, f"vulkan-{value}", "aarch64") if target is None else (target,):
            own = [*backend_of(name).flags]
            if count <= len(own) or flags[: len(own)] != own:
                continue  # they select no target; and the value `vulkan` would ask for a device
            with suppress(UnknownTargetError):
                if flags[:count] == [*target_flags(name)]:
                    return flags[count + (flags[count : count + 1] == [DEFAULT_SPECS]) :]
    return flags


def flags_text(flags: Sequence[str]) -> str:
    """Flags as a line of a file that `iree-compile` takes as `@FILE`, and so does `parse_flags`."""
    return shlex.join(flags)


def target_of_flags(flags: Sequence[str]) -> str:
    """The name of the target that has these flags, which older files hold in its place.

    Raises:
        ValueError: they are no target's.
    """
    name = str(flags[-1]).partition("=")[2] if flags else ""
    if not _NAME.fullmatch(name) or target_flags(name) != tuple(flags):
        raise ValueError(f"its flags are those of no target: {' '.join(map(str, flags))[:200]!r}")
    return name


def unknown_target(name: str) -> UnknownTargetError:
    known = "; ".join(backend.examples for backend in known_backends().values())
    return UnknownTargetError(f"unknown target {name!r}", f"use one of: {known}")
