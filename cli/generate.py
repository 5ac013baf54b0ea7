"""`frontrunner generate`: families of dispatches, in a folder."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .choices import given
from .files import check_writable
from .generate_options import (
    fuse_option,
    pairs,
    product_options,
    shared,
    sizes,
    stacked,
    transpose_options,
)
from .output import Output, UsageError, counted

if TYPE_CHECKING:
    from ..benchmarks.operations import Operation, Types

# What every kind takes; the rest is of a kind, and of no use to a preset.
SHARED = set("out force presets commands shrink dtypes as_json".split())
CONFIGURING = {"configurations", "target", "ranker", "pool", "seed"}


@click.group("generate", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Write dispatches: one folder for each, named for what it computes.

    Sizes may be swept: 64,128 are two, and 64:1024:128 goes from 64 to 1024 in steps of 128.
    """


@command.command("matmul")
@stacked(product_options, transpose_options, fuse_option, shared)
def matmul(**options: Any) -> None:
    """Products of matrices."""
    _generate("matmul", options, ("m", "n", "k"), _matmuls)


@command.command("batch_matmul")
@sizes("batch", "How many products there are side by side.")
@stacked(product_options, transpose_options, fuse_option, shared)
def batch_matmul(**options: Any) -> None:
    """Products of matrices, many side by side."""
    _generate("batch_matmul", options, ("batch", "m", "n", "k"), _matmuls)


@command.command("splitk")
@product_options
@sizes("split-k-slices", "Parts that sums are split into; each must divide K.", "2,4")
@stacked(fuse_option, shared)
def splitk(**options: Any) -> None:
    """Products of matrices whose sums are split, for results too small to fill a machine."""
    _generate("splitk", options, ("m", "n", "k"), _matmuls)


@command.command("fused")
@stacked(product_options, transpose_options, fuse_option, shared)
def fused(**options: Any) -> None:
    """Products of matrices with elementwise steps, as models have them.

    Without --fuse: bias; bias,relu; bias,gelu; bias,residual; of integers bias; bias,relu;
    bias,quantize.
    """
    _generate("fused", options, ("m", "n", "k"), partial(_matmuls, usual=True))


@command.command("conv")
@stacked(
    sizes("images", "How many images.", "1"),
    sizes("height", "Rows of the result."),
    sizes("width", "Columns of the result  [default: as many as rows]"),
    sizes("channels", "Of what comes in, all groups together."),
    sizes("filters", "Channels of the result, all groups together."),
    pairs("window", "Size of the filters: 3, or rows x columns: 3x5."),
    pairs("stride", "From one position to the next."),
    pairs("dilation", "From one tap of the window to the next."),
    sizes("groups", "Of channels; depthwise if as many as channels and filters.", "1"),
    click.option(
        "--layout",
        "layouts",
        type=click.Choice(["nhwc", "nchw", "nhwc_fhwc"]),
        multiple=True,
        help="Of images, with filters as hwcf, fchw, fhwc; repeated: dispatches of each  "
        "[default: nhwc]",
    ),
    fuse_option,
    shared,
)
def conv(**options: Any) -> None:
    """Two-dimensional convolutions, of images that are padded already."""
    _generate("conv", options, ("height", "channels", "filters"), _convs)


@command.command("attention")
@stacked(
    sizes("heads", "Heads, of all sequences."),
    sizes("queries", "Queries of each head."),
    sizes("keys", "Keys and values of each head  [default: as many as queries]"),
    sizes("head-dim", "Width of a query, a key and a value."),
    shared,
)
def attention(**options: Any) -> None:
    """Scaled dot-product attention."""
    _generate("attention", options, ("heads", "queries", "head_dim"), _attentions)


@command.command("all")
@shared
def everything(**options: Any) -> None:
    """All kinds, of the models of --preset or the lines of --from-commands."""
    _generate("all", options, (), None)


Build = Callable[[dict[str, Any], Sequence["Types"]], Iterable["Operation"]]


def _matmuls(
    options: dict[str, Any], types: Sequence[Types], usual: bool = False
) -> Iterable[Operation]:
    from ..experiments.profiling import matmuls

    return matmuls(
        types,
        options["m"],
        options["n"],
        options["k"],
        batch=options.get("batch", (0,)),
        slices=options.get("split_k_slices", (0,)),
        transposed=tuple(s for s in ("lhs", "rhs") if options.get(f"transpose_{s}")),
        steps=_steps(options["fuse"]),
        usual=usual,
    )


def _convs(options: dict[str, Any], types: Sequence[Types]) -> Iterable[Operation]:
    from ..experiments.profiling import convs

    names = "images window stride dilation groups layouts".split()
    return convs(
        types,
        options["height"],
        options["width"],
        options["channels"],
        options["filters"],
        steps=_steps(options["fuse"]),
        **{name: options[name] for name in names},
    )


def _attentions(options: dict[str, Any], types: Sequence[Types]) -> Iterable[Operation]:
    from ..experiments.profiling import attentions

    names = "heads queries keys head_dim".split()
    return attentions(types, *(options[name] for name in names))


def _steps(texts: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(word.strip() for word in text.split(",")) for text in texts]


def _generate(
    kind: str, options: dict[str, Any], needed: Sequence[str], build: Build | None
) -> None:
    """Writes what is asked for, once all of it is known to be right."""
    _check(options, needed)
    out: Path = options["out"]
    check_writable(out, "--out")
    output = Output(options["as_json"])

    from ..benchmarks.operations import parse_types
    from ..experiments.observing import make_progress
    from ..experiments.profiling import families, generate

    types = [parse_types(text) for text in options["dtypes"] or ("f32",)]
    if options["presets"] is not None:
        names = [name.strip() for name in options["presets"].split(",")]
        asked = families.of_presets(kind, names, types, output.note)
    elif options["commands"] is not None:
        piped = options["commands"] == Path("-")
        lines = Path("/dev/stdin") if piped else options["commands"]
        asked = families.of_commands(kind, lines, output.note)
    else:
        assert build is not None
        asked = iter(build(options, types))
    operations = families.collected(asked, options["shrink"])
    choice = None
    if options["configurations"]:
        from ..experiments.profiling import Choice

        choice = Choice(
            count=options["configurations"],
            target=options["target"],
            ranker=options["ranker"],
            pool=options["pool"],
            seed=options["seed"],
        )
    observer = make_progress(sys.stderr)
    try:
        made, counts = generate(operations, out, choice, observer, force=options["force"])
    finally:
        observer.close()
    changed = ", ".join(f"{n} {state}" for state, n in counts.items() if n)
    more = f" with {counted(made, 'configuration')}" if made else ""
    output.line(f"{counted(len(operations), 'dispatch', 'es')}{more} in {out} ({changed})")
    output.line(f"profile them with: frontrunner profile {shlex.quote(str(out))} --verify")
    names = [operation.name for operation in operations]
    output.result({"out": out, "operations": names, "configurations": made, "files": counts})


def _check(options: dict[str, Any], needed: Sequence[str]) -> None:
    """Refuses options that would do nothing, and sizes that are missing."""
    ctx = click.get_current_context()
    parameters = {str(p.name): p.opts[0] for p in ctx.command.params if p.name}
    chosen = {name: option for name, option in parameters.items() if given(ctx, name)}
    sources = [chosen[name] for name in ("presets", "commands") if name in chosen]
    own = [option for n, option in chosen.items() if n not in SHARED | CONFIGURING]
    if sources and (len(sources) > 1 or own):
        raise UsageError(
            f"{', '.join([*sources, *own])} cannot be given at once",
            "give sizes, a preset or a file of commands",
        )
    if "commands" in chosen and "dtypes" in chosen:
        raise UsageError("--dtypes cannot be given with --from-commands", "its lines have types")
    missing = [parameters[name] for name in needed if not options[name]]
    if not sources and (missing or not needed):
        what = f"{', '.join(missing)} missing" if missing else "there is nothing to make"
        sized = "give sizes such as 64 or 64:1024:128, " if needed else "give "
        raise UsageError(what, f"{sized}--preset or --from-commands")
    idle = [chosen[name] for name in CONFIGURING - {"seed", "configurations"} if name in chosen]
    if idle and not options["configurations"]:
        raise UsageError(
            f"{', '.join(sorted(idle))} does nothing without --configurations", "leave it out"
        )
