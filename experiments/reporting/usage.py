"""What to do with what was found: the spec and the commands that use it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from ...core import InputError
from ...search import flags_text, spec_option, target_flags
from .drawing import Block, Code, Text
from .runs import read_text

# Of a spec that is shown.
MOST_CHARACTERS = 200_000


def spec_blocks(spec: Path, target: str, iree_flags: tuple[str, ...] = ()) -> Iterator[Block]:
    """A spec and the command that uses it."""
    yield command(spec, target, iree_flags)
    try:
        text = read_text(spec)
    except InputError as error:
        yield Text(f"The spec cannot be shown: {error}.", warning=True)
        return
    if len(text) > MOST_CHARACTERS:
        yield Text(f"The spec has {len(text):,} characters: see {spec}.")
    else:
        yield Code(f"The spec, {spec}", text)


def command(spec: Path, target: str, iree_flags: tuple[str, ...] = ()) -> Block:
    """How `iree-compile` takes a spec."""
    flags = target_flags(target)
    words = [flags_text([*flags, *iree_flags]), f"{spec_option(flags)}={shlex.quote(str(spec))}"]
    return Code(
        "To compile a model with it", f"iree-compile MODEL.mlir -o MODEL.vmfb {' '.join(words)}"
    )
