"""The page of a tuning run."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

from ...core import InputError
from ...search import DEFAULT_SPECS, Target, flags_text, spec_option, target_flags
from ..tuning import CompileResult
from . import course, failures, finals, knobs, order
from .drawing import Article, Block, Cell, Code, Facts, Figure, Section, Table, Text, number
from .runs import MOST_CHARACTERS, Run, read_run, read_text

Maker = Callable[[Run], Iterator[Block]]

MEASURED: tuple[tuple[str, Maker], ...] = (
    ("Were the finalists apart?", finals.blocks),
    ("How soon was it found?", course.best_so_far),
    ("Candidates", course.candidates),
    ("Default, winner and runner-up", knobs.differences),
    ("What knobs do", knobs.effects),
    ("Was the order right here?", order.quality),
    ("Why the best was in front", order.reasons),
    ("Where the ranker was trained", order.training),
    ("Did the machine keep still?", course.machine),
)


def run_article(path: Path, seed: int = 0) -> Article:
    """All about a run.

    Args:
        seed: of the candidates among which those are that are explained.

    Raises:
        InputError: it is none, or damaged.
    """
    run = read_run(path, seed)
    makers = [*(MEASURED if run.measures else (("Pipelines", _pipelines),))]
    makers += [("Failures", failures.blocks)]
    if run.tuned is not None and run.tuned.stages:
        makers.append(("Stages", _stages))
    makers += [("What to do with it", _use), ("Provenance", _provenance)]
    sections = [Section.of("Missing", (Text(words, warning=True) for words in run.missing))]
    sections += [Section.of(title, make(run)) for title, make in makers]
    result = run.tuned
    found = (result.speedup, *result.speedup_ci) if result and run.winner else None
    return Article(
        title=f"{run.setup.manifest.options.input.name}: {run.setup.dispatch.problem.label}",
        kind="tuning run" if run.measures else "tuning run that compiles only",
        path=str(path),
        figures=tuple(finals.figures(run) if run.measures else _compile_figures(run)),
        sections=tuple(section for section in sections if section.blocks),
        speedup=found,
        course=course.course(run) if run.measures else None,
        subject=_subject(run),
    )


def _subject(run: Run) -> tuple[str, ...]:
    """Results for the same dispatch on the same machine are compared."""
    manifest, dispatch = run.setup.manifest, run.setup.dispatch
    which = manifest.input_digest, dispatch.function, dispatch.target.arch
    return *which, *sorted(manifest.devices), *_given_flags(dispatch.target)


def _given_flags(target: Target) -> tuple[str, ...]:
    """What the compiler was given beside what selects the target."""
    return *(DEFAULT_SPECS,) * target.default_specs, *target.iree_flags


def _compile_figures(run: Run) -> Iterator[Figure]:
    kinds = run.taken["kind"].value_counts()
    yield Figure("candidates", f"{len(run.taken):,}", "compiled, none measured")
    for kind, count in kinds.items():
        yield Figure(str(kind).replace("_", " "), f"{count:,}", f"{count / len(run.taken):.0%}")


def _pipelines(run: Run) -> Iterator[Block]:
    if not isinstance(run.result, CompileResult):
        yield Text("The run is not finished: its candidates are counted in the end.")
        return
    shown = ("ok", "same_as_baseline", "differ_from_baseline", "distinct")
    rows = [
        (
            Cell(name),
            number(counts.get("candidates"), "g"),
            *(number(counts.get(one, 0), "g") for one in shown),
            number(_percent(counts.get("share_ok")), ".0f", " %"),
            number(counts.get("median_compile_s"), ".2f", " s"),
        )
        for name, counts in run.result.pipelines.items()
    ]
    columns = ["pipeline", "#candidates", *(f"#{one.replace('_', ' ')}" for one in shown)]
    yield Table.of("What the compiler made of each pipeline's candidates",
                   [*columns, "#compiled", "#in the median"], rows)  # fmt: skip


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _stages(run: Run) -> Iterator[Block]:
    assert run.tuned is not None
    yield Facts.of((f"stage {at}", one) for at, one in enumerate(run.tuned.stages, 1))


def _use(run: Run) -> Iterator[Block]:
    options, result = run.setup.manifest.options, run.tuned
    if result is not None and result.spec is not None:
        target = run.setup.dispatch.target
        yield from _spec(result.spec, options.target, _given_flags(target))
    elif result is not None and result.executable is not None:
        yield Text(f"The winner is a module: {result.executable}.")
    elif result is not None:
        yield Text("There is no spec: the compiler's default stays.")
    if not run.setup.manifest.measured_by:  # what was measured elsewhere ended there
        more = ["--budget", "N"] if run.result else []
        yield Code("To go on with this run", " ".join([*resuming(run), *more]))


def resuming(run: Run) -> list[str]:
    """The command that goes on with a run, with what no folder is trusted with."""
    manifest = run.setup.manifest
    words = ["frontrunner", "tune", "--resume", shlex.quote(str(run.folder.path))]
    words += [f"--iree-flag={shlex.quote(flag)}" for flag in run.setup.dispatch.target.iree_flags]
    words += ["--cluster", "ADDRESS"] * manifest.on_cluster
    if any(stage.brought for stage in manifest.options.stages):
        words += ["--stages", "FILE"]
    return words


def _spec(spec: Path, target: str, iree_flags: tuple[str, ...] = ()) -> Iterator[Block]:
    """A spec and the command that uses it."""
    yield _command(spec, target, iree_flags)
    try:
        text = read_text(spec)
    except InputError as error:
        yield Text(f"The spec cannot be shown: {error}.", warning=True)
        return
    if len(text) > MOST_CHARACTERS:
        yield Text(f"The spec has {len(text):,} characters: see {spec}.")
    else:
        yield Code(f"The spec, {spec}", text)


def _command(spec: Path, target: str, iree_flags: tuple[str, ...] = ()) -> Block:
    """How `iree-compile` takes a spec."""
    flags = target_flags(target)
    words = [flags_text([*flags, *iree_flags]), f"{spec_option(flags)}={shlex.quote(str(spec))}"]
    return Code(
        "To compile a model with it", f"iree-compile MODEL.mlir -o MODEL.vmfb {' '.join(words)}"
    )


def _provenance(run: Run) -> Iterator[Block]:
    manifest, dispatch = run.setup.manifest, run.setup.dispatch
    options, target, budget = manifest.options, dispatch.target, manifest.options.budget
    limits = {
        "candidates": budget.candidates,
        "seconds": budget.seconds,
        "without improvement": budget.patience,
    }
    yield Facts.of(
        [
            ("input", options.input),
            ("its SHA-256", manifest.input_digest),
            ("problem", dispatch.problem.label),
            ("fused with", ", ".join(dispatch.problem.fused)),
            ("target", f"{target.name} ({target.arch}, {target.backend})"),
            ("flags", flags_text(target.iree_flags)),
            ("the compiler's own specs", "apply, too" if target.default_specs else ""),
            ("devices", ", ".join(manifest.devices)),
            ("measured by", ", ".join(f"{k} {v}" for k, v in manifest.measured_by.items())),
            ("compared with", run.tuned.baseline if run.tuned else ""),
            ("ranker", options.ranker),
            ("budget", ", ".join(f"{v:g} {k}" for k, v in limits.items() if v is not None)),
            ("pipeline", options.pipeline or ""),
            ("queue", f"{len(run.setup.queue):,} candidates of a pool of {options.pool:,}"),
            ("seed", options.seed),
            ("stages", ", ".join(stage.describe() for stage in options.stages)),
            ("default", run.default or dispatch.default),
            ("folder", run.folder.path),
        ]
    )
