"""Options of `frontrunner generate`: those of all kinds, and those that some share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from .choices import FOLDER, pool_option, ranker_option, target_option
from .output import shared_options
from .sizes import PAIRS, SIZES

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]


def sizes(name: str, words: str, default: str | None = None) -> Decorator[Any]:
    """An option that takes sizes, of which there may be several."""
    return click.option(
        f"--{name}",
        type=SIZES,
        metavar="SIZES",
        default=default,
        show_default=default is not None,
        help=words,
    )


def pairs(name: str, words: str) -> Decorator[Any]:
    """An option that takes sizes in two directions."""
    return click.option(
        f"--{name}", type=PAIRS, metavar="SIZES", default="1", show_default=True, help=words
    )


def combine_options(*options: Decorator[Any]) -> Decorator[Any]:
    """Options in the order in which `--help` shows them."""

    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


product_options = combine_options(
    sizes("m", "Rows of the result."),
    sizes("n", "Columns of the result."),
    sizes("k", "How many products are summed up in each value."),
)
transpose_options = combine_options(
    click.option("--transpose-lhs", is_flag=True, help="The left operand is K x M."),
    click.option("--transpose-rhs", is_flag=True, help="The right operand is N x K."),
)
fuse_option = click.option(
    "--fuse",
    multiple=True,
    metavar="STEP,STEP",
    help="Elementwise steps on the result: bias, residual, relu, relu6, gelu, gelu_tanh, quantize "
    "(to i8), truncate (to the type of the operands); repeated: dispatches of each.",
)
shared = combine_options(
    click.option(
        "--dtypes",
        multiple=True,
        metavar="TYPES",
        help="Element types of the operands and of their sums, such as f16,f16,f32; repeated: "
        "dispatches of each [f32,f32,f32].",
    ),
    click.option(
        "--preset",
        "presets",
        metavar="MODEL,MODEL",
        help="Shapes of public models instead of sizes: bert, llama, sdxl, resnet50.",
    ),
    click.option(
        "--from-commands",
        "commands",
        type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
        metavar="FILE",
        help="Shapes in command lines instead: of MIOpenDriver, fusilli_benchmark_driver, "
        "rocblas-bench, hipblaslt-bench, or graphs that hipDNN logs; - reads stdin.",
    ),
    click.option(
        "--shrink",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        metavar="N",
        help="Divide sizes by N, to try things out.",
    ),
    click.option(
        "--out",
        type=FOLDER,
        default="dispatches",
        show_default=True,
        metavar="DIR",
        help="Where to write.",
    ),
    click.option(
        "--nested", is_flag=True, help="Write folders as DIALECT/OPERATION/NAME, not as NAME alone."
    ),
    click.option("--force", is_flag=True, help="Replace files that are there and differ."),
    click.option(
        "--configurations",
        type=click.IntRange(min=1),
        metavar="N",
        help="Also write tuning specs: of each, the first N in the ranker's order.",
    ),
    target_option,
    ranker_option,
    pool_option,
    shared_options(seed="Seeds the candidates that --configurations puts in order."),
)
