"""Has faults strike runs at random moments, resumes these, and prints what was lost or left.

python -m frontrunner.experiments.studies.chaos --faults 60 --seed S [--kinds a,b]
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random

from rich import box
from rich.console import Console
from rich.table import Table

from . import disks, kernels
from .cluster import WorkerCluster
from .faults import CLUSTER, FAULTS, LOCAL, Fault
from .rounds import Reference, Run, Struck, reference_of, strike

COLUMNS = ("fault", "where", "faults", "struck", "lines", "seconds", "findings")


class Chaos:
    """Runs of all kinds, which are made when the first fault of a kind comes."""

    def __init__(self, root: Path, keep: Path | None, stack: ExitStack) -> None:
        self._root, self._keep, self._stack = root, keep, stack
        self._site = root / "site"
        self._site.mkdir()
        if kernels.can_build():
            kernels.install(self._site)
        self._env = {"PYTHONPATH": str(self._site)}
        self._disks = disks.can_mount()
        self._runs: dict[tuple[bool, str], Run] = {}
        self._references: dict[bool, Reference] = {}
        self._cluster: WorkerCluster | None = None
        self._made = 0

    def strike(self, fault: Fault, where: str, rng: Random) -> Struck:
        """Has a fault strike a run of its kind."""
        with_kernel = bool(fault.plants)
        if with_kernel not in self._references:
            kernels.plant(self._site, {})
            self._references[with_kernel] = reference_of(self._run(with_kernel, LOCAL))
        key = with_kernel, where
        if key not in self._runs or self._runs[key].is_over:
            self._runs[key] = self._run(*key)
        run = self._runs[key]
        if with_kernel:
            kernels.plant(self._site, run.faulty)
        found = strike(run, fault, self._references[with_kernel], rng)
        if found.findings:
            del self._runs[key]
            if self._keep is not None:
                shutil.copytree(run.folder, self._keep / run.folder.name, dirs_exist_ok=True)
        return found

    def close(self) -> list[str]:
        """Ends the cluster; tells what is left of it."""
        return self._cluster.close() if self._cluster else []

    def _run(self, with_kernel: bool, where: str) -> Run:
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
        return Run(folder, self._env, self._site if with_kernel else None, cluster)

    def _disk(self, folder: Path) -> None:
        if self._disks:
            disks.mount(folder)
            self._stack.callback(disks.unmount, folder)


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parse(arguments)
    able = [fault for fault in FAULTS if _can_be(fault)]
    for fault in FAULTS:
        if fault not in able:
            print(f"left out, since this machine does not let it: {fault.kind}")
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
    with ExitStack() as stack:
        root = stack.enter_context(tempfile.TemporaryDirectory(prefix="frontrunner-chaos-"))
        chaos = Chaos(Path(root), given.keep, stack)
        for number, (fault, where) in enumerate(_drawn(chosen, given.faults, given.seed)):
            found = chaos.strike(fault, where, Random(f"{given.seed}/{number}"))
            done.append((fault, where, found))
            _tell(number, fault, where, found)
        left = chaos.close()
    for finding in left:
        print(f"in the end, {finding}")
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


def _can_be(fault: Fault) -> bool:
    if fault.plants:
        return kernels.can_build()
    return "full disk" not in fault.kind or disks.can_mount()


def _drawn(
    chosen: Sequence[tuple[Fault, str]], count: int, seed: str
) -> Iterator[tuple[Fault, str]]:
    """Each as often as any other, in an order drawn by lot."""
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
