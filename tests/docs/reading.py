"""What pages tell people to type: command lines and blocks of Python, in their order."""

from __future__ import annotations

import glob
import itertools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(page for f in ("docs", "search", "experiments") for page in (ROOT / f).rglob("*.md")),
    ]
)
# What lines of commands begin with; other indented text is none.
PROGRAMS = ("frontrunner", "python", "make", "pip", "iree-compile", "git", "mkdir", "for")
PROGRAMS += ("cp", "done", "mlflow", "cd", "npm", "uvx", "pipx")
FENCE = re.compile(r" *```+ *(\w*)")
# Two sizes are enough of `64:1024:128`.
SWEEP = re.compile(r"(\d+):(\d+):(\d+)")
# What keeps a command that is shown with hours of work to seconds: values that it gets where it is
# shown with others, and options that it gets where it is shown with none.
SMALLER = {"--budget": "3", "--minutes": "0.02"}
# Of each dispatch of a whole model, that takes minutes; tests/cli/test_generate.py gives it.
LEFT_OUT = "--configurations"
# Of a run that goes on, which has to have something left to do.
LARGER = "4"
_QUEUE = {"--budget": "3", "--pool": "200", "--jobs": "1"}
MORE = {
    "tune": _QUEUE,
    "bundle pack": _QUEUE,
    "record": {"--candidates": "3", "--top": "1", "--adaptive": "2", "--jobs": "1"},
    "evaluate": {"--seeds": "1", "--jobs": "1", "--no-mlflow": ""},
    "explain": {"--pool": "200"},
    "profile": {"--providers": "none"},
}


@dataclass(frozen=True)
class Line:
    """A command as it is shown."""

    page: Path
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.number}: {self.text}"

    @property
    def words(self) -> list[str]:
        """Those of the shell, without its comment; braces and stars are not expanded."""
        words = shlex.split(self.text, comments=True)
        return [words[0].removeprefix(".venv/bin/"), *words[1:]]


@dataclass(frozen=True)
class Block:
    """Lines of Python as they are shown."""

    page: Path
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.number}"


def read(page: Path) -> Iterator[Line | Block]:
    """All that a page tells people to type, from the top."""
    language: str | None = None
    block: list[str] = []
    for number, text in enumerate(page.read_text().splitlines(), 1):
        if fence := FENCE.match(text):
            if language == "python":
                yield Block(page, number - len(block), "\n".join(block) + "\n")
            language, block = (fence.group(1), []) if language is None else (None, [])
        elif language == "python":
            block.append(text)
        elif language in (None, "", "sh", "bash", "console") and (
            language is not None or text.startswith("    ")
        ):
            line = Line(page, number, text.strip())
            first = line.text.split(" ")[0].removeprefix(".venv/bin/")
            if first in PROGRAMS:
                yield line


def expanded(words: list[str]) -> list[str]:
    """Braces and stars as a shell expands them."""
    found: list[str] = []
    for word in words:
        for one in _braces(word):
            found += sorted(glob.glob(one)) or [one]
    return found


def _braces(word: str) -> list[str]:
    parts = re.split(r"\{([^{}]*,[^{}]*)\}", word)
    choices = [[p] if i % 2 == 0 else p.split(",") for i, p in enumerate(parts)]
    return ["".join(chosen) for chosen in itertools.product(*choices)]


def shortened(words: list[str]) -> list[str]:
    """A command of frontrunner that takes seconds, of one that may take hours."""
    given = [SWEEP.sub(lambda m: f"{m[1]}:{int(m[1]) + int(m[3])}:{m[3]}", word) for word in words]
    resumes = "--resume" in given
    for option, value in SMALLER.items():
        if option in given:
            given[given.index(option) + 1] = LARGER if resumes else value
    if LEFT_OUT in given:
        at = given.index(LEFT_OUT)
        del given[at : at + 2]
    if given[0] == "record":
        # Several are recorded by processes of their own, which measure as long as usual.
        files = [word for word in given if word.endswith(".mlir")]
        given = [word for word in given if word not in files[1:]]
    name = next((name for name in MORE if " ".join(given).startswith(f"{name} ")), "")
    for option, value in MORE.get(name, {}).items():
        if option not in given and not resumes:
            given += [option, *filter(None, [value])]
    return given
