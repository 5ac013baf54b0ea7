"""What the compiler is to do to a model before all else, as the flag that says so."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_SCRIPT = "iree-preprocessing-transform-interpreter{{transform-spec-path='{}'}}"
_ANY_SCRIPT = re.escape(_SCRIPT.format("@")).replace("@", "([^'{}]+)")
# Pipelines of other forms are left as they are.
_FLAG = re.compile(
    r"--iree-preprocessing-pass-pipeline=builtin\.module\("
    rf"(?P<scripts>(?:{_ANY_SCRIPT},?)*)(?:util\.func\((?P<passes>[^(){{}}]+)\))?\)"
)
_UNQUOTABLE = frozenset("'{}")


@dataclass(frozen=True)
class Preprocessing:
    """Scripts of the transform dialect, then passes over each function.

    Of the compiler's flag for it, the last one counts: several are `joined` in one.
    """

    scripts: tuple[Path, ...] = ()
    passes: tuple[str, ...] = ()

    @classmethod
    def of(cls, flag: str) -> Preprocessing | None:
        """What a flag has the compiler do; None if it is another flag, or does something else."""
        found = _FLAG.fullmatch(flag)
        if found is None:
            return None
        scripts = map(Path, re.findall(_ANY_SCRIPT, found["scripts"]))
        return cls(tuple(scripts), tuple(filter(None, (found["passes"] or "").split(","))))

    @property
    def flag(self) -> str:
        parts = [_SCRIPT.format(script) for script in self.scripts]
        if self.passes:
            parts.append(f"util.func({','.join(self.passes)})")
        return f"--iree-preprocessing-pass-pipeline=builtin.module({','.join(parts)})"

    @property
    def parts(self) -> frozenset[str]:
        return frozenset((*map(str, self.scripts), *self.passes))

    def joined(self, other: Preprocessing) -> Preprocessing:
        """The scripts of both, then the passes of both; what is in both, once."""
        return Preprocessing(
            tuple(dict.fromkeys((*self.scripts, *other.scripts))),
            tuple(dict.fromkeys((*self.passes, *other.passes))),
        )


def can_be_named(script: Path) -> bool:
    """Whether the flag can name the file: pipelines have no way to write all paths."""
    return _UNQUOTABLE.isdisjoint(str(script))
