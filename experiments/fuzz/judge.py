"""What is wrong with what a command did."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .case import FuzzCase
from .places import changes
from .sandbox import CaseOutcome

CODES = (0, 1, 2, 130)
# Of memory in use, in MB. What is good takes up to 600; address space is limited beside.
MOST_MB = 2000
_OUT_OF_MEMORY = re.compile(r"MemoryError|bad_alloc|malloc of size|[Cc]annot allocate memory")
_BROKEN = (
    ("a traceback", re.compile(r"^Traceback \(most recent call last\)", re.M)),
    ("an internal error", re.compile(r"internal error", re.I)),
    ("out of memory", _OUT_OF_MEMORY),
    ("a fatal error", re.compile(r"^(Fatal Python error|terminate called|LLVM ERROR)", re.M)),
)


@dataclass(frozen=True)
class Finding:
    """Something wrong.

    Attributes:
        sort: in words that are the same for all of its sort.
        detail: what it was here.
    """

    sort: str
    detail: str

    def __str__(self) -> str:
        return f"{self.sort}: {self.detail}" if self.detail else self.sort


def judge(case: FuzzCase, seen: CaseOutcome) -> list[Finding]:
    """All that is wrong; nothing, if a command did its work or refused in one line."""
    if seen.late:
        return [Finding("too slow", f"ended after {seen.seconds:.0f} s")]
    found = [*_said(case, seen), *_left(case, seen)]
    if seen.peak_mb > MOST_MB:
        found.append(Finding("much memory", f"{seen.peak_mb:.0f} MB"))
    if case.refused and seen.code == 0:
        found.append(Finding("believed", "what cannot be was taken"))
    return found


def _said(case: FuzzCase, seen: CaseOutcome) -> list[Finding]:
    """What is wrong with the exit code and the lines."""
    found = []
    lines = seen.err.splitlines()
    errors = [line for line in lines if line.startswith("error:")]
    hints = [line for line in lines if line.startswith("hint:")]
    if seen.code not in CODES:
        found.append(Finding("exit code", f"{seen.code}; {_last(seen)}"))
    for sort, pattern in _BROKEN:
        for text in (seen.err, seen.out):
            if match := pattern.search(text):
                found.append(Finding(sort, _line_at(text, match.start())))
                break
    expected = 1 if seen.code in (1, 2) else 0
    if case.rows and seen.code == 1:
        expected = min(len(errors), 1)
    if seen.code in CODES and seen.code != 130 and len(errors) != expected:
        what = f"{len(errors)} lines of errors, exit code {seen.code}; {_last(seen)}"
        found.append(Finding("not one line", what))
    if len(hints) > len(errors):
        found.append(Finding("not one line", f"{len(hints)} hints for {len(errors)} errors"))
    return found


def _left(case: FuzzCase, seen: CaseOutcome) -> list[Finding]:
    """What is wrong with files and processes."""
    found = []
    changed = changes(dict(seen.before), dict(seen.after), case.writes)
    canaries = [name for name in changed if "canary" in name]
    outside = [name for name in changed if name not in canaries]
    for sort, names in (("a canary", canaries), ("written elsewhere", outside)):
        if names:
            found.append(Finding(sort, ", ".join(names[:4])))
    if seen.left:
        found.append(Finding("a process is left", "; ".join(seen.left[:3])))
    if seen.temporary:
        found.append(Finding("temporary files are left", ", ".join(seen.temporary[:4])))
    return found


def _line_at(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    return text[start : start + 300].splitlines()[0]


def _last(seen: CaseOutcome) -> str:
    return (seen.err.strip().splitlines() or ["nothing was said"])[-1][:200]
