"""Has faults strike runs at random moments, resumes these, and prints what was lost or left.

python -m frontrunner.experiments.studies.chaos --faults 60 --seed S [--kinds a,b]
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import Random

from rich import box
from rich.console import Console
from rich.table import Table

from ...kill_loop import left_over
from . import disks, kernels
from .cluster import WorkerCluster
from .faults import CLUSTER, FAULTS, LOCAL, Fault
from .rounds import STEP, Reference, Run, Struck, finish, reference_of, strike

COLUMNS = ("fault", "where", "faults", "struck", "lines", "seconds", "findings")


class Chaos:
    """Runs of all kinds, which are made when the first fault of a kind comes.

    Args:
        root: where all is written.
        faults: how many there will be.
        keep: where folders with findings go, if anywhere.
        has_disks: whether folders get disks of their own.
    """

    def __init__(self, root: Path, faults: int, keep: Path | None, *, has_disks: bool) -> None:
        self._root, self._keep = root, keep
        self._candidates = STEP * faults
        self._site = root / "site"
        self._site.mkdir()
        if kernels.can_build():
            kernels.install(self._site)
        self._env = {"PYTHONPATH": str(self._site)}
        self._has_disks = has_disks
        self._disks: list[Path] = []
        self._runs: dict[tuple[bool, str], Run] = {}
        self._references: dict[bool, Reference] = {}
        self._cluster: WorkerCluster | None = None
        self._made = 0

    def strike(self, fault: Fault, where: str, rng: Random) -> Struck:
        """Has a fault strike a run of its kind."""
        kernel = bool(fault.plants)
        if kernel not in self._references:
            alone = self._run(kernel, LOCAL)
            self._references[kernel] = reference_of(alone, self._candidates)
        key = kernel, where
        if key not in self._runs:
            self._runs[key] = self._run(*key)
        run = self._runs[key]
        if kernel:
            kernels.plant(self._site, run.faulty)
        found = strike(run, fault, self._references[kernel], rng)
        if run.is_over or found.findings:
            found.findings += self._finish(key, keep=bool(found.findings))
        return found

    def finish(self) -> list[str]:
        """Has all runs come to their ends, and ends the cluster; tells what is wrong or left."""
        found = [finding for key in list(self._runs) for finding in self._finish(key)]
        return found + (self._cluster.close() if self._cluster else [])

    def close(self) -> None:
        """Ends what is still there, and takes its disks away."""
        for where in [self._root / "cluster", *(run.folder for run in self._runs.values())]:
            left_over(str(where), grace=0.0)
        for folder in self._disks:
            disks.unmount(folder)

    def _finish(self, key: tuple[bool, str], *, keep: bool = False) -> list[str]:
        """Has a run come to its end; tells what is wrong, and keeps its folder if anything is."""
        run = self._runs.pop(key)
        if run.site is not None:
            kernels.plant(run.site, run.faulty)
        findings = finish(run, self._references[key[0]])
        if self._keep is not None and (keep or findings):
            shutil.copytree(run.folder, self._keep / run.folder.name, dirs_exist_ok=True)
        return findings

    def _run(self, kernel: bool, where: str) -> Run:
        if where == CLUSTER and self._cluster is None:
            folder = self._root / "cluster"
            self._cluster = WorkerCluster(folder, self._env)
            for name in self._cluster.members:
                self._disk(folder / name / "tmp")
            self._cluster.start()
        self._made += 1
        folder = self._root / f"run-{self._made}"
        for name in ("work", "tmp"):
            self._disk(folder / name)
        cluster = self._cluster if where == CLUSTER else None
        return Run(folder, self._env, self._site if kernel else None, cluster)

    def _disk(self, folder: Path) -> None:
        if self._has_disks:
            disks.mount(folder)
            self._disks.append(folder)


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parse(arguments)
    has_disks, can_build = disks.can_mount(), kernels.can_build()
    able = []
    for fault in FAULTS:
        if (fault.fills and not has_disks) or (fault.plants and not can_build):
            print(f"left out, since this machine does not let it: {fault.kind}")
        else:
            able.append(fault)
    asked = given.kinds.split(",") if given.kinds else [""]
    chosen = [
        (fault, where)
        for fault in able
        for where in given.where.split(",")
        if where in fault.where and any(text in fault.kind for text in asked)
    ]
    if not chosen:
        print("error: there is no such fault", file=sys.stderr)
        print(f"hint: faults: {'; '.join(fault.kind for fault in able)}", file=sys.stderr)
        return 2
    print(f"seed {given.seed}", flush=True)
    done: list[tuple[Fault, str, Struck]] = []
    with (
        tempfile.TemporaryDirectory(prefix="frontrunner-chaos-") as root,
        closing(Chaos(Path(root), given.faults, given.keep, has_disks=has_disks)) as chaos,
    ):
        for number, (fault, where) in enumerate(_drawn(chosen, given.faults, given.seed)):
            found = chaos.strike(fault, where, Random(f"{given.seed}/{number}"))
            done.append((fault, where, found))
            _tell(number, fault, where, found)
        left = chaos.finish()
    for finding in left:
        print(f"in the end: {finding}")
    _summarise(done)
    return 1 if left or any(found.findings for _, _, found in done) else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m frontrunner.experiments.studies.chaos",
        description="Has faults strike runs at random moments, which depend on the seed and on how "
        "fast the machine is.",
    )
    parser.add_argument("--seed", default="0", metavar="S", help="any text [0]")
    parser.add_argument("--faults", type=int, default=60, metavar="N", help="[60]")
    parser.add_argument("--kinds", metavar="A,B", help="only those whose names have one of these")
    parser.add_argument(
        "--where", default=f"{LOCAL},{CLUSTER}", metavar="A,B", help="[%(default)s]"
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep folders with findings here")
    return parser.parse_args(arguments)


def _drawn(
    chosen: Sequence[tuple[Fault, str]], count: int, seed: str
) -> Iterator[tuple[Fault, str]]:
    """Each as often as any other, in an order drawn at random."""
    rng = Random(seed)
    for first in range(0, count, len(chosen)):
        yield from rng.sample(chosen, len(chosen))[: count - first]


def _tell(number: int, fault: Fault, where: str, found: Struck) -> None:
    what = "" if found.struck else " (too late)"
    print(
        f"fault {number}: {fault.kind}{what}, {where}, after {found.moment:.1f} s and "
        f"{found.lines} lines, {found.seconds:.0f} s",
        flush=True,
    )
    for finding in found.findings:
        print(f"  {finding}", flush=True)


def _summarise(done: Sequence[tuple[Fault, str, Struck]]) -> None:
    table = Table(*COLUMNS, box=box.SIMPLE_HEAD, pad_edge=False)
    rows: dict[tuple[str, str], list[Struck]] = {}
    for fault, where, found in done:
        rows.setdefault((fault.kind, where), []).append(found)
    for (kind, where), some in [
        *sorted(rows.items()),
        (("all", ""), [found for _, _, found in done]),
    ]:
        table.add_row(
            kind,
            where,
            str(len(some)),
            str(sum(one.struck for one in some)),
            str(sum(one.lines for one in some)),
            f"{sum(one.seconds for one in some):.0f}",
            str(sum(len(one.findings) for one in some)),
        )
    print()
    Console(width=160).print(table)


if __name__ == "__main__":
    sys.exit(main())
