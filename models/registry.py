"""Which rankers there are, by name: built in, and plugged in by other packages."""

from __future__ import annotations

import difflib
import inspect
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Any

from ..core import InputError, brought_by, entries_of, load_plug_in
from ..search import Target, backend_named
from .ranker import READY, Ranker

ENTRY_POINTS = "frontrunner.rankers"

BUILT_IN = "built in"
# Of a name that is none: a file that anyone may have written can have one of 100 MB, and to look
# for what is like it would take gigabytes.
MOST_NAME = 100


@dataclass(frozen=True)
class RankerInfo:
    """What is known of a ranker.

    Attributes:
        summary: one line; for a plug-in that cannot be used, why.
        needs_training: whether it must be trained before it can order anything; None where a
            plug-in cannot be used.
        source: `built in`, or the distribution that brings it.
    """

    name: str
    summary: str
    needs_training: bool | None
    source: str


@dataclass(frozen=True)
class _BuiltIn:
    module: str
    class_name: str
    summary: str
    needs_training: bool = False


# Stated here, so that listing them imports neither scikit-learn nor LightGBM.
_BUILT_IN = {
    "shuffle": _BuiltIn("shuffle", "ShuffleRanker", "random order, the yardstick"),
    "cpu": _BuiltIn("shipped", "CpuRanker", "trained on CPU dispatches, ready to use"),
    "heuristic": _BuiltIn(
        "heuristic.heuristic", "HeuristicRanker", "hand-written order, for CPUs and GPUs"
    ),
    "forest": _BuiltIn("trees.forest", "ForestRanker", "random forest (scikit-learn)", True),
    "lightgbm": _BuiltIn(
        "trees.boosting", "LightGBMRanker", "gradient-boosted trees (LightGBM)", True
    ),
    "adaptive": _BuiltIn("adaptive", "ThompsonRanker", "corrects an order by what is measured"),
    "tpe": _BuiltIn("knobs.tpe", "TpeRanker", "Optuna's TPE over knobs, a baseline"),
    "genetic": _BuiltIn("knobs.genetic", "GeneticRanker", "genetic search over knobs, a baseline"),
}


def list_rankers() -> tuple[RankerInfo, ...]:
    """All rankers: the built-in ones, then plug-ins by name."""
    found = [
        RankerInfo(name, item.summary, item.needs_training, BUILT_IN)
        for name, item in _BUILT_IN.items()
    ]
    for name, entry in sorted(_plug_ins().items()):
        source = brought_by(entry)
        try:
            cls = _load(entry)
        except InputError as error:
            found.append(RankerInfo(name, str(error), None, source))
        else:
            summary = (cls.__doc__ or "").strip().split("\n")[0]
            found.append(RankerInfo(name, summary, cls.needs_fit, source))
    return tuple(found)


def ranker_class(name: str) -> type[Ranker]:
    """The class of a ranker.

    Raises:
        InputError: there is no such ranker, or the plug-in that has it cannot be used.
    """
    plug_ins = _plug_ins()
    if name in _BUILT_IN:
        item = _BUILT_IN[name]
        cls: type[Ranker] = getattr(import_module(f".{item.module}", __package__), item.class_name)
        return cls
    if name in plug_ins:
        return _load(plug_ins[name])
    names = ranker_names()
    name = name[:MOST_NAME]
    close = difflib.get_close_matches(name, names, n=1)
    guess = f"; did you mean {close[0]!r}?" if close else ""
    raise InputError(f"no ranker {name!r}{guess}", f"known rankers: {', '.join(names)}")


def create_ranker(name: str, /, **params: Any) -> Ranker:
    """A new ranker.

    Args:
        name: one of the names in `list_rankers`.
        params: its constructor's parameters.

    Raises:
        InputError: there is no such ranker, or it has no such parameter, or not with such a value.
    """
    cls = ranker_class(name)
    valid = cls.param_names()
    if unknown := sorted(set(params) - set(valid)):
        raise InputError(
            f"ranker {name!r} has no parameter {unknown[0]!r}",
            f"its parameters: {', '.join(valid) or 'none'}",
        )
    cls.check_params(params)
    return cls(**params)


def create_seeded(name: str, seed: int) -> Ranker:
    """A new ranker, with a seed if it takes one.

    Raises:
        InputError: there is no such ranker.
    """
    return create_ranker(
        name, **({"seed": seed} if "seed" in ranker_class(name).param_names() else {})
    )


def ranker_names() -> list[str]:
    """The names of all rankers."""
    return [*_BUILT_IN, *sorted(_plug_ins())]


def default_ranker(target: Target) -> str:
    """The name of the ranker to use where none is asked for."""
    return READY.get(backend_named(target.backend).features, "adaptive")


def ready_rankers(target: Target) -> tuple[str, ...]:
    """The names of those that know its candidates before anything was measured, and keep their
    order; none where the features are not known to any."""
    ready = READY.get(backend_named(target.backend).features)
    return () if ready is None else tuple(dict.fromkeys((ready, "heuristic")))


def _plug_ins() -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for entry in entries_of(ENTRY_POINTS):
        taken = BUILT_IN if entry.name in _BUILT_IN else None
        if other := found.get(entry.name):
            # One distribution can be found twice, such as in a checkout and installed.
            if other.value == entry.value:
                continue
            taken = f"of {brought_by(other)}"
        if taken:
            raise InputError(
                f"the ranker {entry.name!r} of {brought_by(entry)} has the name of one {taken}",
                f"rename it, or uninstall {brought_by(entry)}",
            )
        found[entry.name] = entry
    return found


def _load(entry: EntryPoint) -> type[Ranker]:
    cls = load_plug_in(entry, "ranker")
    if not (isinstance(cls, type) and issubclass(cls, Ranker)):
        raise InputError(
            f"the ranker {entry.name!r} of {brought_by(entry)} must be a subclass of "
            f"frontrunner.models.Ranker, got {cls!r}"
        )
    name = getattr(cls, "name", None)
    if name != entry.name:
        raise InputError(
            f"the ranker {entry.name!r} of {brought_by(entry)} calls itself {name!r}; "
            "both names must be the same"
        )
    if inspect.isabstract(cls):
        raise InputError(
            f"the ranker {entry.name!r} of {brought_by(entry)} lacks "
            f"{', '.join(sorted(cls.__abstractmethods__))}"
        )
    return cls
