"""A cache of executables on disk: packing that was interrupted does not compile them again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self

from ...benchmarks.compiling import Compiler
from ...benchmarks.measuring import COMPILE_FAILED, NOT_APPLIED, OK, CompileOutcome, has_digest
from ...core import JsonLinesFile, iree_versions
from ...search import Dispatch, TuningSpec
from ...search.reading import Network

# Outcomes that compiling again would repeat. Crashes and kills may be the machine's fault.
_SETTLED = (OK, COMPILE_FAILED, NOT_APPLIED)


class CompiledCache:
    """Executables in a folder, and a log of how each came about.

    Raises:
        InputError: another process uses the folder, or the log in it is none.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = folder / "compiled.jsonl"
        self._known: dict[str, CompileOutcome] = {}

        def take(record: dict[str, Any]) -> None:
            name, compiled = self._read(record)
            self._known[name] = compiled

        remedy = "make room, then run the same command again"
        self._lines = JsonLinesFile(
            path, remedy, check=take, edited_hint=f"remove the folder {folder}"
        )

    def compile(
        self, compiler: Compiler, specs: Sequence[tuple[str, TuningSpec]]
    ) -> Iterator[CompileOutcome]:
        """Compiles (name, spec) pairs, but for those that are here; yields all, in order.

        What is said of failures does not name the folder, and is the same in any.
        """
        named = [(f"{name}-{_key(compiler.to_compile, spec)}", spec) for name, spec in specs]
        here = {name: compiled for name, _ in named if (compiled := self._find(name))}
        new = compiler.compile([(name, spec) for name, spec in named if name not in here])
        for name, _ in named:
            yield here[name] if name in here else self._add(name, next(new))

    def close(self) -> None:
        self._lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _find(self, name: str) -> CompileOutcome | None:
        known = self._known.get(name)
        if known is None or known.kind != OK or has_digest(known.executable, known.digest):
            return known
        return None

    def _add(self, name: str, compiled: CompileOutcome) -> CompileOutcome:
        compiled = replace(compiled, reason=compiled.reason.replace(f"{self.folder}/", ""), log="")
        if compiled.kind in _SETTLED:
            fields = {k: v for k, v in asdict(compiled).items() if k not in ("executable", "log")}
            self._lines.append({"name": name, **fields})
        return compiled

    def _read(self, record: dict[str, Any]) -> tuple[str, CompileOutcome]:
        """The inverse of what is appended; of a file name, nothing but the last part is heeded."""
        name = Path(record["name"]).name
        kind, found, reason = (str(record[key]) for key in ("kind", "digest", "reason"))
        if kind not in _SETTLED:
            raise ValueError(f"nothing that is kept is {kind!r}")
        executable = self.folder / f"{name}.vmfb"
        return name, CompileOutcome(kind, executable, found, float(record["seconds"]), reason)


def _key(compiled: Dispatch | Network, spec: TuningSpec) -> str:
    """Tells apart what is compiled, how, and by which compiler."""
    given = [compiled.source, compiled.target.flags, iree_versions(), repr(spec)]
    return hashlib.sha256(json.dumps(given).encode()).hexdigest()[:16]
