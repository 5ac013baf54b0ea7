"""Runs malformed invocations in this process, and tells what is wrong with what they do."""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from ....cli import main
from .making import VALUE_MISSING, Invocation

SECONDS = 100
REFUSED = 2
# Whatever the words are: the work is done, or it fails, as where nobody listens at an address.
OTHER_CODES = {"output is there": {0, 1, REFUSED}, "empty file": {0, REFUSED}}
# Commands that judge one file after the other: a bad one is a row of theirs, and work that failed.
ROW_OF = {"profile": ("profile.", {1, REFUSED})}


@dataclass(frozen=True)
class Finding:
    """What an invocation does that it should not.

    Attributes:
        wrong: in words, one thing after the other.
        said: what was written to stderr.
    """

    invocation: Invocation
    code: int
    wrong: tuple[str, ...]
    said: str


class HangError(Exception):
    """A command goes on for ever."""


def judge(invocation: Invocation, folder: Path, *, as_json: bool) -> Finding | None:
    """Runs an invocation in a folder, and looks at what it says and leaves; None if all is well."""
    before = snapshot(folder)
    words = list(invocation.words)
    if as_json:  # not as the value that is missing of the last word
        words.insert(len(words) - (invocation.way == VALUE_MISSING), "--json")
    out, err = _Stream(), _Stream()
    wrong = []
    with _here(folder), redirect_stdout(out), redirect_stderr(err):
        try:
            with _limited(SECONDS):
                code = main(words)
        except HangError:
            code = -1
            wrong.append(f"goes on for over {SECONDS} s")
        except BaseException:  # nothing may escape, not even SystemExit
            code = -1
            wrong.append(f"raises: {traceback.format_exc(limit=-1).splitlines()[-1]}")
    said, told = err.text(), out.text()
    expected = OTHER_CODES.get(invocation.way, {REFUSED})
    rows, codes = ROW_OF.get(invocation.words[0], ("", set()))
    if rows and invocation.way.endswith("file"):
        expected = expected | codes
    if code not in expected:
        wrong.append(f"exit code {code}, not {' or '.join(map(str, sorted(expected)))}")
    if "Traceback (most recent" in said + told or "internal error" in said:
        wrong.append("a traceback or an internal error")
    if code == REFUSED:
        wrong += _wrong_words(said, told, as_json=as_json)
    after = snapshot(folder)
    if rows:
        before, after = (
            {n: digest for n, digest in found.items() if not Path(n).name.startswith(rows)}
            for found in (before, after)
        )
    wrong += [f"{name} is gone or changed" for name in before if after.get(name) != before[name]]
    if code == REFUSED:
        wrong += [f"{name} is left" for name in after if name not in before]
    return Finding(invocation, code, tuple(wrong), said) if wrong else None


def snapshot(folder: Path) -> dict[str, str]:
    """Digests of all files, and what else there is."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        plain = path.is_file() and not path.is_symlink()
        found[name] = hashlib.sha256(path.read_bytes()).hexdigest() if plain else "-"
    return found


def _wrong_words(said: str, told: str, *, as_json: bool) -> Iterator[str]:
    """What is wrong with how it was refused."""
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    if len(errors) != 1:
        yield f"{len(errors)} lines of errors"
    if not as_json:
        if told:
            yield f"on stdout: {told[:80]!r}"
        return
    try:
        error = json.loads(told)["error"]
        ok = bool(error["message"])
    except (ValueError, KeyError, TypeError):
        ok = False
    if not ok:
        yield f"no error as JSON: {told[:80]!r}"


class _Stream(io.TextIOWrapper):
    """A text stream in memory, as standard streams are."""

    def __init__(self) -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding="utf-8", errors="backslashreplace")

    def text(self) -> str:
        self.flush()
        return self.bytes.getvalue().decode(errors="replace")


@contextmanager
def _here(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    def late(_: int, __: FrameType | None) -> None:
        raise HangError

    handler = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)
        sys.stdout.flush()
