"""Fuzzes the commands with files that others may have made, and prints what was found.

python -m frontrunner.experiments.fuzz --seed S --count N [--kinds a,b] [--keep DIR] [--jobs J]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from .case import kind_of
from .judge import Finding, judge
from .kinds import KINDS
from .pool import FinishedCase, Fuzzing
from .sandbox import SECONDS, remove

SORTS = ("finding", "kind", "cases", "first number")
COLUMNS = ("kind", "cases", "refused", "passed", "findings", "seconds", "peak MB")


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parse(arguments)
    kinds = given.kinds.split(",") if given.kinds else list(KINDS)
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        print(f"error: no kind is {', '.join(unknown)}", file=sys.stderr)
        print(f"hint: kinds: {', '.join(KINDS)}", file=sys.stderr)
        return 2
    numbers = islice((n for n in count(given.first) if kind_of(n) in kinds), given.count)
    done: list[tuple[FinishedCase, list[Finding]]] = []
    with _root(given.keep) as root, Fuzzing(root, given.jobs, given.seconds) as fuzzing:
        print(f"seed {given.seed}", flush=True)
        fuzzing.make_stock()
        for one in fuzzing.run_good() if given.good else fuzzing.run(given.seed, numbers):
            found = judge(one.case, one.seen)
            if given.good and one.seen.code:
                found.append(Finding("refused", one.seen.err.strip()[-300:]))
            done.append((one, found))
            if found:
                _tell(one, found)
            if not (found and given.keep):
                remove(one.places.path)
    _summarise(done)
    return 1 if any(found for _, found in done) else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m frontrunner.experiments.fuzz",
        description="Opens mutated files of every kind; a case depends on the seed and its number.",
    )
    parser.add_argument("--seed", default="0", metavar="S", help="any text [0]")
    parser.add_argument("--count", type=int, default=60, metavar="N", help="cases [60]")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="from this number [0]")
    parser.add_argument("--kinds", metavar="A,B", help="pass over the others' numbers")
    parser.add_argument(
        "--good", action="store_true", help="instead, see that the commands take the good files"
    )
    parser.add_argument("--jobs", type=int, default=2, metavar="J", help="at a time [2]")
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="DIR",
        help="keep cases with findings here, and the "
        "good files, which are made once: remove DIR/stock after changing formats",
    )
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, metavar="S", help="for a case [%(default)g]"
    )
    return parser.parse_args(arguments)


@contextmanager
def _root(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="frontrunner-fuzz-") as name:
            yield Path(name)
    else:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.resolve()


def _tell(one: FinishedCase, found: Sequence[Finding]) -> None:
    case = one.case
    print(f"\n{case.kind}, number {case.number} of seed {case.seed}: {case.what}")
    print(f"  frontrunner {case.line}")
    for finding in found:
        print(f"  {finding}")
    sys.stdout.flush()


def _summarise(done: Sequence[tuple[FinishedCase, list[Finding]]]) -> None:
    sorts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], int] = {}
    for one, found in done:
        for sort in {finding.sort for finding in found}:
            sorts[sort, one.case.kind] += 1
            first.setdefault((sort, one.case.kind), one.case.number)
    if sorts:
        _print(SORTS, [(*key, times, first[key]) for key, times in sorted(sorts.items())])
    if first:
        again = f"--seed {done[0][0].case.seed} --first {min(first.values())} --count 1 --keep DIR"
        print(f"\none of them again: {again}")
    kinds = [kind for kind in KINDS if any(one.case.kind == kind for one, _ in done)]
    _print(COLUMNS, [*(_row(kind, done) for kind in kinds), _row("", done)])


def _print(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*map(str, row))
    print()
    Console(width=160).print(table)


def _row(kind: str, done: Sequence[tuple[FinishedCase, list[Finding]]]) -> tuple[object, ...]:
    """Of one kind, or of all."""
    those = [(one.seen, found) for one, found in done if kind in ("", one.case.kind)]
    return (
        kind or "all",
        len(those),
        sum(seen.code in (1, 2) for seen, _ in those),
        sum(seen.code == 0 for seen, _ in those),
        sum(bool(found) for _, found in those),
        f"{sum(seen.seconds for seen, _ in those):.1f}",
        f"{max((seen.peak_mb for seen, _ in those), default=0):.0f}",
    )


if __name__ == "__main__":
    sys.exit(main())
