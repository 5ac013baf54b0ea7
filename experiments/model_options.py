"""What tuning a model is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ..benchmarks.parameters import Archives


@dataclass(frozen=True)
class ModelOptions:
    """What tuning a model is asked for.

    Attributes:
        input: MLIR, or ONNX.
        out: a new or empty folder.
        minutes: for everything, from reading the model to proving the gain.
        coverage: the share of the model's time whose dispatches are looked at.
        function: the one to call, if the model has several.
        inputs: in the order of the arguments, as the runtime's tools take them; made from the
            signature if there are none.
        parameters: archives of weights by scope.
        starter: specs that the model is compiled with already; what is tuned here wins over them.
        default_specs: whether the compiler's own specs apply, too, after all others.
        ranker, device, jobs, pool: as of a tuning run.
    """

    input: Path
    out: Path
    minutes: float = 15.0
    coverage: float = 0.9
    function: str | None = None
    inputs: tuple[str, ...] = ()
    parameters: Archives = ()
    starter: tuple[Path, ...] = ()
    default_specs: bool = False
    ranker: str | None = None
    device: str | None = None
    target: str = "host"
    seed: int = 0
    jobs: int | None = None
    pool: int = 100_000

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `asdict`, also after a round trip through JSON."""
        return cls(
            **{
                **data,
                "input": Path(data["input"]),
                "out": Path(data["out"]),
                "inputs": tuple(data["inputs"]),
                "parameters": tuple((scope, Path(path)) for scope, path in data["parameters"]),
                "starter": tuple(map(Path, data["starter"])),
            }
        )
