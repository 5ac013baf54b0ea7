"""`frontrunner generate`: families of dispatches, in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from .choices import is_given
from .files import check_writable
from .generate_options import (
    combine_options,
    fuse_option,
    pairs,
    product_options,
    shared,
    sizes,
    transpose_options,
)
from .output import Output, UsageError

# What every kind takes; the rest is of a kind, and of no use to a preset.
SHARED = set("out nested force presets commands shrink dtypes as_json".split())
CONFIGURING = {"configurations", "target", "ranker", "pool", "seed"}
# What Python calls by the same name; and options that it calls by another.
COMMON = CONFIGURING | {"shrink", "nested", "force"}
NAMES = {"split_k_slices": "slices", "layouts": "layout", "fuse": "steps"}


@click.group("generate", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Write dispatches: one folder for each, named for what it computes.

    Sizes may be swept: 64,128 are two, and 64:1024:128 is 64, 192 and so on up to 960.
    """


@command.command("matmul")
@combine_options(product_options, transpose_options, fuse_option, shared)
def matmul(**options: Any) -> None:
    """Products of matrices."""
    _generate("matmul", options, ("m", "n", "k"))


@command.command("batch_matmul")
@sizes("batch", "How many products there are side by side.")
@combine_options(product_options, transpose_options, fuse_option, shared)
def batch_matmul(**options: Any) -> None:
    """Products of matrices, many side by side."""
    _generate("batch_matmul", options, ("batch", "m", "n", "k"))


@command.command("splitk")
@product_options
@sizes("split-k-slices", "Parts that sums are split into; each must divide K.", "2,4")
@combine_options(fuse_option, shared)
def splitk(**options: Any) -> None:
    """Products of matrices whose sums are split, for results too small to fill a machine."""
    _generate("splitk", options, ("m", "n", "k"))


@command.command("fused")
@combine_options(product_options, transpose_options, fuse_option, shared)
def fused(**options: Any) -> None:
    """Products of matrices with elementwise steps, as models have them.

    Without --fuse: bias; bias,relu; bias,gelu; bias,residual; of integers bias; bias,relu;
    bias,quantize.
    """
    _generate("fused", options, ("m", "n", "k"))


@command.command("conv")
@combine_options(
    sizes("images", "How many images.", "1"),
    sizes("height", "Rows of the result."),
    sizes("width", "Columns of the result [as many as rows]."),
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
        help="Of images, with filters as hwcf, fchw, fhwc; repeated: dispatches of each [nhwc].",
    ),
    fuse_option,
    shared,
)
def conv(**options: Any) -> None:
    """Two-dimensional convolutions, of images that are padded already."""
    _generate("conv", options, ("height", "channels", "filters"))


@command.command("attention")
@combine_options(
    sizes("heads", "Heads, of all sequences."),
    sizes("queries", "Queries of each head."),
    sizes("keys", "Keys and values of each head [as many as queries]."),
    sizes("head-dim", "Width of a query, a key and a value."),
    shared,
)
def attention(**options: Any) -> None:
    """Scaled dot-product attention."""
    _generate("attention", options, ("heads", "queries", "head_dim"))


@command.command("all")
@shared
def everything(**options: Any) -> None:
    """All kinds, of the models of --preset or the lines of --from-commands."""
    _generate("all", options, ())


def _generate(kind: str, options: dict[str, Any], needed: Sequence[str]) -> None:
    """Writes what is asked for, once all of it is known to be right."""
    _check(options, needed)
    check_writable(options["out"], "--out")
    output = Output(options.pop("as_json"))

    from ..experiments.profiling import generate

    preset, commands = options.pop("presets"), options.pop("commands")
    common = {name: options.pop(name) for name in sorted(COMMON)}
    sized = {} if preset is not None or commands is not None else _axes(options)
    result = generate(
        kind,
        options["out"],
        dtypes=options["dtypes"] or ("f32",),
        preset=() if preset is None else [name.strip() for name in preset.split(",")],
        commands=Path("/dev/stdin") if commands == Path("-") else commands,
        **common,
        **sized,
    )
    output.summary(result)


def _axes(options: dict[str, Any]) -> dict[str, Any]:
    """Options of one kind, by the names that they have in Python."""
    named = {
        NAMES.get(name, name): value
        for name, value in options.items()
        if name not in ("out", "dtypes")
    }
    swapped = tuple(s for s in ("lhs", "rhs") if named.pop(f"transpose_{s}", False))
    if swapped:
        named["transposed"] = [swapped]
    if "steps" in named:
        named["steps"] = [tuple(map(str.strip, text.split(","))) for text in named["steps"]]
    return {name: value for name, value in named.items() if value}


def _check(options: dict[str, Any], needed: Sequence[str]) -> None:
    """Refuses options that would do nothing, and sizes that are missing."""
    ctx = click.get_current_context()
    # Those that have no value here, such as --max-bytes, are about files.
    exposed = [p for p in ctx.command.params if p.name and p.expose_value]
    parameters = {str(p.name): p.opts[0] for p in exposed}
    chosen = {name: option for name, option in parameters.items() if is_given(ctx, name)}
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
