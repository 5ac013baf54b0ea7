"""Ends commands at random moments, has them go on, and prints what was lost or left.

python -m frontrunner.experiments.kill_loop --rounds 50 --seed S [--commands tune,record]
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from rich import box
from rich.console import Console
from rich.table import Table

from .ending import HOW
from .rounds import Round, do_round, time_of
from .tasks import TASKS

KINDS = tuple(dict.fromkeys(HOW))
COLUMNS = ("command", "rounds", *KINDS, "lines", "seconds", "findings")


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parse(arguments)
    names = given.commands.split(",") if given.commands else list(TASKS)
    if unknown := [name for name in names if name not in TASKS]:
        print(f"error: {', '.join(unknown)} cannot be ended", file=sys.stderr)
        print(f"hint: commands: {', '.join(TASKS)}", file=sys.stderr)
        return 2
    print(f"seed {given.seed}", flush=True)
    done: dict[str, list[Round]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory(prefix="frontrunner-kill-") as root:
        alone: dict[str, float] = {}
        for number in range(given.rounds):
            name = names[number % len(names)]
            if name not in alone:
                folder = Path(root, f"{name}-alone")
                alone[name] = time_of(TASKS[name], folder, str(folder))
                shutil.rmtree(folder)
            folder = Path(root, f"{name}-{number}")
            rng = Random(f"{given.seed}/{number}")
            found = do_round(TASKS[name], folder, str(folder), alone[name], rng)
            done[name].append(found)
            _tell(number, name, found)
            _keep(folder, given.keep if found.findings else None)
    _summarise(done)
    return 1 if any(one.findings for rounds in done.values() for one in rounds) else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m frontrunner.experiments.kill_loop",
        description="Ends commands at random moments; a round depends on the seed and its number, "
        "and on how fast the machine is.",
    )
    parser.add_argument("--seed", default="0", metavar="S", help="any text [0]")
    parser.add_argument("--rounds", type=int, default=50, metavar="N", help="[50]")
    parser.add_argument("--commands", metavar="A,B", help=f"[{','.join(TASKS)}]")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep folders with findings here")
    return parser.parse_args(arguments)


def _keep(folder: Path, kept: Path | None) -> None:
    if kept is not None:
        shutil.copytree(folder, kept / folder.name, symlinks=True, dirs_exist_ok=True)
    shutil.rmtree(folder)


def _tell(number: int, name: str, found: Round) -> None:
    ends = ", ".join(f"{count} {how}" for how, count in found.ends.items()) or "not ended"
    print(f"round {number}: {name}, {ends}, {found.seconds:.0f} s", flush=True)
    for finding in found.findings:
        print(f"  {finding}", flush=True)


def _summarise(done: dict[str, list[Round]]) -> None:
    table = Table(*COLUMNS, box=box.SIMPLE_HEAD, pad_edge=False)
    for name, rounds in [*done.items(), ("all", [one for r in done.values() for one in r])]:
        ends: Counter[str] = sum((one.ends for one in rounds), Counter())
        table.add_row(
            name,
            str(len(rounds)),
            *(str(ends[how]) for how in KINDS),
            str(sum(one.lines for one in rounds)),
            f"{sum(one.seconds for one in rounds):.0f}",
            str(sum(len(one.findings) for one in rounds)),
        )
    print()
    Console(width=160).print(table)


if __name__ == "__main__":
    sys.exit(main())
