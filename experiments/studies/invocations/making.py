"""Draws malformed invocations from what commands declare."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from ....cli import COMMANDS, cli
from .ways import BAD_WORDS, CONTRADICTIONS, NEEDED, OVERWRITES, PLAUSIBLE

# What lies in the folder that commands run in; see `make_files`.
GOOD, EMPTY, BINARY, TEXT = "good.mlir", "empty.mlir", "binary.mlir", "existing.txt"
FOLDER, FULL, LOOP, MISSING = "folder", "full", "loop.mlir", "no/such/file.mlir"

VALUE_MISSING = "value missing"
MATMUL = """func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x8xf32>) -> tensor<8x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x8xf32>)
    outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
"""
SPEC = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    transform.yield %arg0 : !transform.any_op
  }
}
"""


@dataclass(frozen=True)
class Invocation:
    """A command line that cannot be meant.

    Attributes:
        words: what follows the program's name.
        way: how it is malformed.
    """

    words: tuple[str, ...]
    way: str

    def __str__(self) -> str:
        return f"{self.way}: frontrunner {' '.join(self.words)}"


def make_files(folder: Path, recording: Path) -> None:
    """What invocations name, but for a bundle, which a command makes.

    Args:
        recording: a good one.
    """
    (folder / GOOD).write_text(MATMUL)
    (folder / "spec.mlir").write_text(SPEC)
    shutil.copy(recording, folder / "recording.parquet")
    (folder / "dispatches").mkdir()
    (folder / "dispatches" / GOOD).write_text(MATMUL)
    (folder / EMPTY).write_text("")
    (folder / BINARY).write_bytes(bytes(range(256)) * 64)
    for name in (TEXT, "existing.parquet", "existing.html", "results.jsonl"):
        (folder / name).write_text("a text that must stay\n")
    (folder / FOLDER).mkdir()
    (folder / FULL).mkdir()
    (folder / FULL / "kept").write_text("this, too\n")
    # Also to root, who may read what has no permissions.
    (folder / LOOP).symlink_to(LOOP)


def draw(seed: str, count: int) -> list[Invocation]:
    """Different invocations, of each command and of each way as evenly as there are any."""
    rng = random.Random(seed)
    of_command: dict[str, list[Invocation]] = {}
    for name, command in leaves():
        found = [*{one.words: one for one in _malformed(name, command)}.values()]
        of_command[name] = rng.sample(found, len(found))
    drawn: list[Invocation] = []
    while len(drawn) < count and any(of_command.values()):
        for left in of_command.values():
            # The way that was drawn least so far.
            ways = [one.way for one in drawn]
            if left:
                drawn.append(left.pop(min(range(len(left)), key=lambda i: ways.count(left[i].way))))
    return drawn[:count]


def leaves() -> Iterator[tuple[str, click.Command]]:
    """Commands that do something, by their words."""
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", one) for inner, one in command.commands.items())
        else:
            yield name, command


def _malformed(name: str, command: click.Command) -> Iterator[Invocation]:
    words = name.split()
    usual = NEEDED.get(name, ())

    def one(way: str, *more: str, start: Sequence[str] = usual) -> Invocation:
        return Invocation((*words, *start, *more), way)

    yield one("unknown option", "--no-such-option", "3")
    yield one("misspelt option", "--sed", "3")
    if name not in ("completion",):
        yield one("wrong limit", "--max-bytes", "many")
    if usual:
        yield one("nothing given", start=())
    options = [p for p in command.params if isinstance(p, click.Option) and p.expose_value]
    for option in options:
        flag = max(option.opts, key=len)
        if option.is_flag or option.count:
            continue
        if option.name != "serve" and flag not in ("--models",):
            yield one(VALUE_MISSING, flag)
        for value in _wrong_values(option):
            yield one("wrong value", f"{flag}={value}")
        if isinstance(option.type, click.Path):
            yield from (one(way, flag, path) for way, path in _wrong_paths(option.type))
    for argument in command.params:
        if isinstance(argument, click.Argument) and isinstance(argument.type, click.Path):
            for way, path in _wrong_paths(argument.type):
                start = [path if word == PLAUSIBLE.get(name) else word for word in usual]
                if start != list(usual):
                    yield one(way, start=start)
    if not any(isinstance(p, click.Argument) and p.nargs == -1 for p in command.params):
        yield one("one too many", "surplus", "words")
    for extra in BAD_WORDS.get(name, ()):
        yield one("word of no meaning", *extra.split())
    for extra in CONTRADICTIONS.get(name, ()):
        yield one("contradiction", *extra.split())
    for extra in OVERWRITES.get(name, ()):
        yield Invocation((*words, *extra.split()), "output is there")


def _wrong_values(option: click.Option) -> Iterator[str]:
    kind = option.type
    if isinstance(kind, click.IntRange):
        yield from ("x", "1.5", "")
        if kind.min is not None:
            yield str(kind.min - 1)
        if kind.max is not None:
            yield str(kind.max + 1)
    elif isinstance(kind, click.FloatRange):
        yield from ("x", "nan", "-3")
    elif kind is click.FLOAT:
        yield from ("x", "nan", "-3", "0")
    elif isinstance(kind, click.Choice):
        yield from ("no-such-choice", "")


def _wrong_paths(kind: click.Path) -> Iterator[tuple[str, str]]:
    if kind.exists:
        yield "missing file", MISSING
        yield "unreadable file", LOOP
        if kind.file_okay:
            yield "binary file", BINARY
            yield "empty file", EMPTY
        if not kind.dir_okay:
            yield "folder for a file", FOLDER
    elif not kind.file_okay:
        yield "file for a folder", TEXT
