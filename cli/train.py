"""`frontrunner train`: a predictor for the devices that recordings were made on."""

from __future__ import annotations

from pathlib import Path

import click

from .choices import columns_option, is_given, recordings_argument
from .completing import complete_rankers
from .files import check_new_file
from .output import Output, UsageError, shared_options


@click.command("train")
@recordings_argument
@columns_option
@click.option(
    "--ranker",
    default="lightgbm",
    show_default=True,
    metavar="NAME",
    shell_complete=complete_rankers,
    help="What to train: a ranker that learns, from `frontrunner rankers`.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the ranker; may be repeated. A wrong name lists the parameters.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Write the predictor here; one that is there is replaced, but no other file.",
)
@click.option(
    "--register",
    metavar="NAME",
    help="Have MLflow keep it, too, as a new version of this model, which "
    "`--ranker models:/NAME/VERSION` uses.",
)
@shared_options(seed="Seeds training.")
@click.pass_context
def command(
    ctx: click.Context,
    recordings: tuple[Path, ...],
    columns: Path | None,
    ranker: str,
    settings: tuple[str, ...],
    out: Path,
    register: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Train a ranker on recordings and save it, for the devices that they were made on.

    RECORDINGS are files, or folders that hold some. The file is data, and says what it was trained
    on; `tune --ranker FILE` uses it. How good such a ranker is on problems that it has not seen,
    `frontrunner evaluate` tells.
    """
    check_new_file(out, "--out")
    seeded = [text for text in settings if text.partition("=")[0] == "seed"]
    if seeded and is_given(ctx, "seed"):
        raise UsageError(f"--seed {seed} and --set {seeded[0]} are both given", "give one of them")

    from ..experiments.learning import parse_parameters, train

    params = parse_parameters(ranker, settings)
    Output(as_json).summary(
        train(
            recordings,
            out,
            columns=columns,
            ranker=ranker,
            params=params,
            seed=seed,
            register=register,
        )
    )
