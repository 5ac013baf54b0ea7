"""What a backend of the compiler is to the rest: its targets, its flags, its spaces, its drivers.

A backend is an entry of `BACKENDS` in a module of `search/backends`; nothing else names it. Other
packages bring theirs by the entry-point group `frontrunner.backends`: the processes that run the
compiler find them there, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from ..core import InputError, load_named_values

if TYPE_CHECKING:
    from .dispatch import Dispatch
    from .problem import Target
    from .space import Space

ENTRY_POINTS = "frontrunner.backends"
# Of a GPU, in `Backend.repeats`: of the 50 us or so between a call and its answer, 1.6 are left.
GPU_REPEATS = 32

Extras = Mapping[str, tuple[int, ...]]
Spaces = Mapping[str, "Callable[[], Space]"]


@dataclass(frozen=True)
class CompilerOptions:
    """Flags for the compiler that make some whole models faster.

    Attributes:
        concerns: a word that the compiler has in the names of dispatches that they change, such as
            `conv`; empty if they may change any.
        tunable: whether most matrix products can be tuned with them, too; such options are
            combined for themselves.
    """

    flags: tuple[str, ...]
    concerns: str = ""
    tunable: bool = True


@dataclass(frozen=True)
class Backend:
    """A backend of the compiler.

    Attributes:
        name: the compiler's, such as `llvm-cpu`; its targets say it in `Target.backend`.
        names: a pattern of its targets' names; empty for all that are no other backend's.
        architectures: a pattern of those that the compiler's attribute repeats; others, such as a
            product's, stand for one of these.
        examples: such names, in words, for hints.
        unknown: what the compiler says of a name that it does not know, as parts of the message.
        flags: what selects it, whatever the target.
        target_flags: what selects a target, by its name.
        resolve: the name of the target that a name stands for here; most stand for themselves.
        shortages: what a device of this machine, by its driver's path, has less of than code for
            a target may use; None if that is not known.
        exchanges: whether threads exchange values in subgroups, by an executable or by a kernel's
            configuration; None if that is not known.
        form: a pattern of the format of its executables. Others could have the compiler run a
            linker or write a file.
        describe: the target, from the compiler's attribute and its name. It is called in a child
            process, which has the compiler's bindings.
        spaces: by pipeline that can lower a dispatch: what makes its space, given the knobs that
            are set free.
        features: name of the catalogue that its candidates are described by; spaces that name knobs
            (`cpu`) or derived columns (`gpu`) as `space.py` says share those of the package.
        drivers: of IREE's runtime, that run what it makes, the usual one first.
        gpu: whether `Target.gpu` tells about its targets.
        extras: knobs that the compiler pins and users may set free, with the values worth trying.
        emits: whether the compiler emits constraints about its pipelines.
        takes_specs: whether the compiler hands it the path of a tuning spec; if not, a spec is
            given as a transform library.
        repeats: how often a kernel runs in one call where short ones are timed.
        profiles: whether the runtime tells what each dispatch of a model takes.
        option_variants: options of the compiler that make some whole models faster, by a name.
        chips: patterns of what drivers call their devices, with the target of each: the first that
            is found.
    """

    name: str
    names: str
    examples: str
    unknown: tuple[str, ...]
    flags: tuple[str, ...]
    target_flags: Callable[[str], tuple[str, ...]]
    form: str
    describe: Callable[[Any, str], Target]
    spaces: Callable[[Dispatch, Extras], Spaces]
    features: str
    drivers: tuple[str, ...]
    resolve: Callable[[str], str] = str
    shortages: Callable[[str, Target], Sequence[str]] | None = None
    exchanges: Callable[[str | bytes], bool] | None = None
    architectures: str = ""
    gpu: bool = False
    extras: Extras = field(default_factory=dict)
    emits: bool = False
    takes_specs: bool = True
    repeats: int = 1
    profiles: bool = True
    option_variants: Mapping[str, CompilerOptions] = field(default_factory=dict)
    chips: tuple[tuple[str, str], ...] = ()

    def target_of_chip(self, chip: str) -> str | None:
        """The name of the target for a device, by what its driver calls it."""
        return next((name for pattern, name in self.chips if re.search(pattern, chip)), None)


@cache
def known_backends() -> dict[str, Backend]:
    """All backends by name, those of other packages first.

    Raises:
        InputError: one of another package cannot be used.
    """
    package = import_module(".backends", __package__)
    modules = [
        import_module(f".backends.{m.name}", __package__) for m in iter_modules(package.__path__)
    ]
    built_in = {backend.name: backend for module in modules for backend in module.BACKENDS}
    brought = load_named_values(ENTRY_POINTS, Backend, "frontrunner.search.Backend", built_in)
    return {backend.name: backend for backend in brought} | built_in


def backend_named(name: str) -> Backend:
    """The backend that a target says it is of.

    Raises:
        InputError: there is none of that name.
    """
    if name not in known_backends():
        raise InputError(f"unknown backend {name!r}", f"there are: {', '.join(known_backends())}")
    return known_backends()[name]


def backend_of(target: str) -> Backend:
    """The backend for a target's name."""
    known = known_backends().values()
    named = (b for b in known if b.names and re.fullmatch(b.names, target))
    return next(named, None) or next(b for b in known if not b.names)


def known_extras() -> Extras:
    """The knobs that can be set free on some target."""
    return {name: values for b in known_backends().values() for name, values in b.extras.items()}


def has_space(dispatch: Dispatch) -> bool:
    """Whether there is a pipeline that can lower a dispatch; no space is built.

    Raises:
        InputError: it is of types that the target does not have.
    """
    # It needs targets, which need backends.
    from .pipeline import brought_spaces

    own = backend_named(dispatch.target.backend).spaces(dispatch, {})
    return bool(own or brought_spaces(dispatch, None))


def build_spaces(
    dispatch: Dispatch, pipeline: str | None = None, extras: Extras | None = None
) -> tuple[Space, ...]:
    """The spaces of a dispatch: one per codegen pipeline that can lower it, or the given one's.

    Those of other packages come last: see `Pipeline`.

    Args:
        extras: knobs to set free that the compiler pins, with their values; see `Backend.extras`.

    Raises:
        InputError: the pipeline cannot lower the problem, or an extra knob does nothing.
    """
    backend = backend_named(dispatch.target.backend)
    extras = extras or {}
    _check_extras(backend, extras)
    # It needs targets, which need backends.
    from .pipeline import brought_spaces, executable_pipeline

    brought = brought_spaces(dispatch, pipeline)
    if executable_pipeline(pipeline) and pipeline in brought:
        # With a compiler of its own it takes types, too, that IREE's does not.
        return _with_extras((brought[pipeline](),), extras)
    own = backend.spaces(dispatch, extras)
    if taken := set(own) & set(brought):
        raise InputError(
            f"{backend.name} has a pipeline {min(taken)} of its own",
            "uninstall the package that brings another of that name",
        )
    builders = {**own, **brought}
    if pipeline is not None and pipeline not in builders:
        raise InputError(
            f"pipeline {pipeline!r} cannot lower this {dispatch.problem.kind}",
            f"use one of: {', '.join(builders)}" if builders else "nothing can lower it",
        )
    spaces = tuple(build() for name, build in builders.items() if pipeline in (None, name))
    for space in (space for space in spaces if space.pipeline in brought):
        # A queue tells by its columns which of the compiler's knobs were set free.
        if taken := set(backend.extras) & {knob.name for knob in space.knobs}:
            raise InputError(
                f"pipeline {space.pipeline} of another package has a knob {min(taken)!r}, which "
                f"{backend.name} has",
                "give the knob another name",
            )
    return _with_extras(spaces, extras)


def _with_extras(spaces: tuple[Space, ...], extras: Extras) -> tuple[Space, ...]:
    """The spaces, if each of the knobs is one of theirs."""
    knobs = {knob.name for space in spaces for knob in space.knobs}
    for name in extras:
        if spaces and name not in knobs:
            raise InputError(
                f"extra knob {name!r} does nothing for this dispatch",
                f"leave --extra {name} out, for pipelines {', '.join(s.pipeline for s in spaces)}",
            )
    return spaces


def _check_extras(backend: Backend, extras: Extras) -> None:
    """Refuses knobs that do not exist or that do nothing on the target."""
    for name, values in extras.items():
        if name not in known_extras():
            raise InputError(f"no extra knob {name!r}", f"there are: {', '.join(known_extras())}")
        if name not in backend.extras:
            raise InputError(
                f"extra knob {name!r} does nothing on {backend.name}",
                f"these do something: {', '.join(backend.extras) or 'none'}",
            )
        if unknown := set(values) - set(backend.extras[name]):
            raise InputError(
                f"extra knob {name!r} cannot be {min(unknown)}",
                f"it takes: {', '.join(map(str, backend.extras[name]))}",
            )
