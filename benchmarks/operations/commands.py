"""Operations from the logs of GPU libraries: command lines of their benchmarks, and graphs.

`MIOpenDriver` and `fusilli_benchmark_driver` lines of convolutions, `rocblas-bench` and
`hipblaslt-bench` lines of matrix products, and graphs of hipDNN.
"""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from textwrap import shorten

from ...core import InputError, max_bytes
from .conv_lines import FUSILLI, MIOPEN, MIOPEN_CONVS, fusilli_conv, miopen_conv
from .gemm_lines import GEMM, gemms
from .graphs import NODES, graph_operation
from .operation import Operation

PROGRAMS = (MIOPEN, FUSILLI, *GEMM)
# What the lines of a log take in memory, by what a character of it does.
GROWTH = 10
# What one of its lines may have, and what is told of what is wrong with it.
MOST_LINE, MOST_TOLD = 10_000, 300
# Where the shell takes over: nothing behind it is the program's.
_SHELL = re.compile(r"[0-9]*[<>|&;]")
# What files of commands for tuners of convolutions have: a line without the program.
_BARE = re.compile(rf"\s*({'|'.join(MIOPEN_CONVS)})\s+-")
# What tells a line of Fusilli from one of MIOpen.
_FUSILLIS = frozenset(("--bf16", "--fp16", "--spatial_dim"))


@dataclass(frozen=True)
class CommandLine:
    """What became of one line.

    Attributes:
        operation: None where it is not understood.
        problem: what is not understood of it.
    """

    number: int
    operation: Operation | None
    problem: str = ""


def read_commands(path: Path) -> list[CommandLine]:
    """The lines of a file that run one of `PROGRAMS`; others are comments, or output.

    Raises:
        InputError: the file cannot be read, or has no such line.
    """
    most = max_bytes() // GROWTH
    try:
        # Also from what is no regular file: lines are picked from logs, as in `<(grep MIOpen log)`.
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            text = file.read(most + 1)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", "give another file") from error
    if len(text) > most:
        raise InputError(
            f"{path} is longer than {most:,} characters",
            f"pick the lines of {', '.join(PROGRAMS)} from it, or raise --max-bytes",
        )
    found = list(_lines(line.removesuffix("\n") for line in io.StringIO(text)))
    if not found:
        raise InputError(
            f"{path} holds no command line that is understood",
            f"give lines of {', '.join(PROGRAMS)}, or hipDNN's graphs",
        )
    return found


def _lines(lines: Iterable[str]) -> Iterator[CommandLine]:
    parts: list[str] = []
    first = 1
    # A log may end in the middle of a line that goes on.
    for number, line in enumerate(chain(lines, [""]), 1):
        parts.append(line.removesuffix("\\"))
        if line.endswith("\\"):
            continue
        whole = "".join(parts)  # not part by part, which would copy a long one each time
        if NODES in whole or any(program in whole for program in PROGRAMS) or _BARE.match(whole):
            for operation, problem in _commands(whole):
                yield CommandLine(first, operation, problem)
        parts, first = [], number + 1


@lru_cache(maxsize=1024)
def _commands(line: str) -> list[tuple[Operation | None, str]]:
    """What a line runs, if anything; logs hold the same line many times."""
    if len(line) > MOST_LINE:
        return [(None, f"over {MOST_LINE:,} characters")]
    if NODES in line:
        return _understood(lambda: [graph_operation(line)])
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        words = line.split()
    found: list[tuple[Operation | None, str]] = []
    for place, word in enumerate(words):
        if (program := Path(word).name) in PROGRAMS:
            rest = list(_until_shell(words[place + 1 :]))
            found += _understood(partial(_run, program, rest))
    if not found and _BARE.match(line):
        rest = list(_until_shell(words))
        found += _understood(partial(_run, MIOPEN if _FUSILLIS.isdisjoint(rest) else FUSILLI, rest))
    return found


def _until_shell(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        if _SHELL.match(word):
            return
        yield word.removesuffix(";")
        if word.endswith(";"):
            return


def _run(program: str, words: list[str]) -> list[Operation]:
    """What a program runs, by the words behind it."""
    if program in GEMM:
        return gemms(program, words)
    return [miopen_conv(words) if program == MIOPEN else fusilli_conv(words)]


def _understood(read: Callable[[], list[Operation]]) -> list[tuple[Operation | None, str]]:
    try:
        return [(operation, "") for operation in read()]
    except InputError as error:
        return [(None, shorten(str(error), MOST_TOLD, placeholder=" ..."))]
