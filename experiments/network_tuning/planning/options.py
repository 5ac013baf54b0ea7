"""What tuning a model is asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

from ....benchmarks.measuring import POOL_SIZE, minutes_to_seconds
from ....benchmarks.networks import Archives, dims_beside, read_dims, shape_of, sized_inputs
from ....core import InputError
from ....models import names_a_file
from ....search import resolve_target
from ....search.reading import InputShapes
from ...arguments import check_jobs
from .variants import AUTO, NONE


@dataclass(frozen=True)
class NetworkOptions:
    """What tuning a model is asked for.

    Attributes:
        input: MLIR, or ONNX.
        out: a new or empty folder; the next free `runs/<input>-<n>` if None.
        minutes: after which nothing more is tried; what was found is then compared and timed.
        coverage: the share of the model's time whose dispatches are looked at.
        function: the one to call, if the model has several, or several as `function_weights` reads
            them.
        inputs: in the order of the arguments, and of the functions, as the runtime's tools take
            them; made from the signature if there are none. Shapes may have names of `dims`.
        dims: sizes of inputs that are up to the caller, as `read_dims` reads them; the model is
            tuned for all of them.
        parameters: archives of weights by scope.
        starter: specs that the model is compiled with already; what is tuned here wins over them.
        default_specs: whether the compiler's own specs apply, too, after all others.
        iree_flags: further flags for the compiler; whoever resumes gives them.
        variants: the options of the compiler to try beside them: `auto`, `none` or a TOML file.
        cluster: the address of a scheduler whose workers measure, and compile candidates; None for
            this machine. Whoever resumes gives it.
        ranker, device, jobs, pool: as of a tuning run.
    """

    input: Path
    out: Path | None = None
    minutes: float = 15.0
    coverage: float = 0.9
    function: str | None = None
    inputs: tuple[str, ...] = ()
    dims: tuple[str, ...] = ()
    parameters: Archives = ()
    starter: tuple[Path, ...] = ()
    default_specs: bool = False
    iree_flags: tuple[str, ...] = ()
    variants: str = AUTO
    ranker: str | None = None
    device: str | None = None
    cluster: str | None = None
    target: str = "host"
    seed: int = 0
    jobs: int | None = None
    pool: int = POOL_SIZE

    def __post_init__(self) -> None:
        minutes_to_seconds(self.minutes)  # refused where it is no span of time
        check_jobs(self.jobs)
        function_weights(self.function)
        self.sized_inputs()
        object.__setattr__(self, "target", resolve_target(self.target))
        if not 0 < self.coverage <= 1:
            raise InputError(
                f"coverage must be more than 0 and at most 1, got {self.coverage:g}",
                "give a share of the time, such as 0.9",
            )

    def absolute(self) -> Self:
        """The same, for another folder to be the current one."""
        return replace(
            self,
            input=self.input.absolute(),
            inputs=tuple(_absolute(text) for text in self.inputs),
            parameters=tuple((scope, path.absolute()) for scope, path in self.parameters),
            starter=tuple(path.absolute() for path in self.starter),
            ranker=str(self._ranker_file.absolute()) if self._ranker_file else self.ranker,
            variants=str(self.variants_file.absolute()) if self.variants_file else self.variants,
        )

    def sized_inputs(self) -> list[tuple[str, tuple[str, ...]]]:
        """Inputs at each combination of sizes, and what to call that; see `dims`."""
        return sized_inputs(self.inputs, read_dims(self.dims))

    def inputs_beside(self) -> list[tuple[str, tuple[str, ...]]]:
        """The same at sizes that are not given, on which outputs are compared, too; or none."""
        beside = dims_beside(read_dims(self.dims))
        return sized_inputs(self.inputs, beside) if beside else []

    @cached_property
    def shapes(self) -> InputShapes:
        """What the model is called with; files of inputs are read."""
        calls = (tuple(map(shape_of, inputs)) for _, inputs in self.sized_inputs())
        return InputShapes(tuple(function_weights(self.function)), tuple(calls))

    @property
    def files(self) -> list[Path]:
        """What the outcome depends on, the model first."""
        archives = [path for _, path in self.parameters]
        inputs = [Path(path) for text in self.inputs if (path := text.partition("@")[2])]
        ranker = [self._ranker_file] if self._ranker_file else []
        variants = [self.variants_file] if self.variants_file else []
        return [self.input, *archives, *self.starter, *inputs, *variants, *ranker]

    @property
    def variants_file(self) -> Path | None:
        return None if self.variants in (AUTO, NONE) else Path(self.variants)

    @property
    def _ranker_file(self) -> Path | None:
        return Path(self.ranker) if self.ranker and names_a_file(self.ranker) else None


def function_weights(text: str | None) -> dict[str | None, float]:
    """How many calls of each function a run of the model counts.

    Args:
        text: `NAME[=CALLS],...`, such as `prefill=1,decode=100`; None for the only function.

    Raises:
        InputError: it is something else, or names one twice.
    """
    if text is None:
        return {None: 1.0}
    found: dict[str | None, float] = {}
    for part in text.split(","):
        name, equals, calls = (word.strip() for word in part.partition("="))
        try:
            weight = float(calls) if equals else 1.0
        except ValueError:
            weight = math.nan
        if not name or name in found or not 0 < weight < math.inf:
            raise InputError(
                f"--function {text!r} is no list of functions, each once, with how often it counts",
                "give one name, or several such as prefill=1,decode=100",
            )
        found[name] = weight
    return found


def _absolute(text: str) -> str:
    """An input, the file of which is found from any folder."""
    head, at, path = text.partition("@")
    return f"{head}@{Path(path).absolute()}" if at else text
