"""Compiles the head of a queue into a bundle, which is measured elsewhere."""

from __future__ import annotations

import shlex
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ...benchmarks.bundle import Manifest, QueueEntry, build_bundle, digest_of_bundle
from ...benchmarks.compiling import Compiler, call_of, require_default
from ...benchmarks.measuring import OK, CompileOutcome
from ...benchmarks.runners import compile_queue
from ...core import (
    Child,
    check_inside,
    check_no_links,
    check_utf_8,
    iree_versions,
    lock_folder,
    make_folder,
    write_atomically,
)
from ...search import check_rendered
from ..device_checks import needed_subgroups
from ..observing import Observer
from ..queue import renderer
from ..tuning import RunSetup, TuneOptions, prepare, run_files
from .compiled_log import CompiledCache


@dataclass(frozen=True)
class PackResult:
    """A bundle that was written.

    Attributes:
        digest: tells bundles apart; results name it.
        outcomes: count by what became of compiling, in the words of an outcome.
        executables: how many differ, the default's aside.
        compile_s: what compiling took, by queue position.
    """

    bundle: Path
    digest: str
    problem: str
    arch: str
    candidates: int
    outcomes: dict[str, int]
    executables: int
    size_bytes: int
    compile_s: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {**asdict(self), "compile_s": round(sum(self.compile_s), 3)}

    def summary_lines(self) -> list[str]:
        """For people; ends with what to do next."""
        kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(self.outcomes.items()))
        return [
            f"{self.candidates} candidates compiled for {self.arch} ({kinds}), "
            f"{self.executables} different executables",
            f"bundle       {self.bundle} ({self.size_bytes / 1e6:.1f} MB)",
            f"measure it   python {shlex.quote(self.bundle.name)} --device URI --out results.jsonl",
        ]


def pack(options: TuneOptions, observer: Observer) -> PackResult:
    """Compiles the compiler's default and as many candidates as the budget holds.

    What is compiled is kept beside the bundle until that is written, so that packing which ends
    early goes on from there.

    Args:
        options: as of a tuning run without devices; `out` is the bundle's file, and given.

    Raises:
        InputError: something given cannot be used; nothing was written.
        WorkError: the default does not compile, or the bundle cannot be written.
    """
    check_utf_8(options.out)  # in which the compiler is given files
    check_rendered(options.pipeline, "a bundle holds")
    setup = prepare(options, observer)
    assert options.out is not None
    with _kept_beside(options.out) as folder:
        return pack_queue(setup, observer, folder)


@contextmanager
def _kept_beside(out: Path) -> Iterator[Path]:
    """A folder that stays if it holds something and the work in it does not come to its end."""
    folder = out.with_name(f".{out.name}.packing")
    check_inside(out.parent, [folder])
    check_no_links(folder)
    make_folder(folder, "name another --out")
    with lock_folder(folder):
        try:
            yield folder
        except BaseException:
            if not any(folder.glob("*.vmfb")):
                shutil.rmtree(folder)
            raise
        shutil.rmtree(folder)


def pack_queue(
    setup: RunSetup, observer: Observer, folder: Path, children: Sequence[Child] = ()
) -> PackResult:
    """As `pack`, with candidates that are in order already.

    Args:
        folder: for what is compiled; what it holds already is not compiled again.
        children: compile workers of other hosts, in place of this one's.
    """
    options, dispatch = setup.manifest.options, setup.dispatch
    assert options.out is not None
    target = dispatch.target
    with CompiledCache(folder) as cache:
        with Compiler(dispatch, folder, options.jobs, children=children) as compiler:
            observer.on_phase("compiling the compiler's default")
            baseline = require_default(compiler.baseline())
            compiled = list(_compile(setup, compiler, cache, observer))
        executables = {
            c.digest: c.executable.read_bytes() for c in [*compiled, baseline] if c.kind == OK
        }
        manifest = Manifest(
            problem=dispatch.problem.label,
            backend=target.backend,
            arch=target.arch,
            compiler=iree_versions()["iree-base-compiler"],
            call=call_of(dispatch),
            seed=options.seed,
            baseline=baseline.digest,
            queue=tuple(QueueEntry(i, c.kind, c.digest, c.reason) for i, c in enumerate(compiled)),
            drivers=target.drivers,
            subgroup_sizes=needed_subgroups(target, baseline.executable),
        )
    needed = {digest: executables[digest] for digest in manifest.digests}
    data = build_bundle(manifest, needed, run_files(setup))
    write_atomically(options.out, data)
    return PackResult(
        bundle=options.out,
        digest=digest_of_bundle(data),
        problem=manifest.problem,
        arch=manifest.arch,
        candidates=len(compiled),
        outcomes=dict(Counter(c.kind for c in compiled)),
        executables=len(needed) - 1,
        size_bytes=len(data),
        compile_s=tuple(round(c.seconds, 3) for c in compiled),
    )


def _compile(
    setup: RunSetup, compiler: Compiler, cache: CompiledCache, observer: Observer
) -> Iterator[CompileOutcome]:
    """Compiles the queue's head, in order."""
    most = setup.manifest.options.budget.candidates
    count = min(most or len(setup.queue), len(setup.queue))
    config = renderer(setup.dispatch, setup.queue)
    observer.on_phase(f"compiling {count} candidates")
    observer.on_start(count, None)
    seen: set[str] = set()
    specs = partial(cache.compile, compiler)
    for _, compiled in compile_queue(setup.dispatch, config, range(count), cache.folder, specs):
        twin = compiled.kind == OK and compiled.digest in seen
        seen.add(compiled.digest)
        observer.on_outcome("duplicate" if twin else compiled.kind, None)
        yield compiled
