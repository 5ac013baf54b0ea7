"""Which options of the compiler a model is tried with, beside those that the user gives."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ....core import InputError, read_limited
from ....search import Preprocessing, Target, backend_named, flags_text, parse_flags
from .plan import NO_TIME

AUTO, NONE = "auto", "none"
# What is said of options that make the same program as the usual ones.
NO_CHANGE = "it changes nothing"
AND = " + "
_REMEDY = 'give a TOML file such as: "no unrolling" = ["--iree-llvmcpu-loop-unrolling=false"]'


@dataclass(frozen=True)
class OptionVariant:
    """Options of the compiler, by a name for people; without flags, it is the usual ones.

    Attributes:
        concerns: a word in the names of dispatches that they change; empty if that may be any.
        tunable: whether most matrix products can be tuned with them, too; such options are
            combined for themselves.
    """

    name: str
    flags: tuple[str, ...] = ()
    concerns: str = ""
    tunable: bool = True

    def with_flags_of(self, other: OptionVariant) -> OptionVariant | None:
        """Both together; None where they set one flag to different values, or one has the other's.

        Of the compiler's flags, the last value counts; preprocessing of both is joined.
        """
        flags = {flag.partition("=")[0]: flag for flag in self.flags}
        for flag in other.flags:
            option = flag.partition("=")[0]
            own = flags.setdefault(option, flag)
            if own == flag:
                continue
            first, second = Preprocessing.of(own), Preprocessing.of(flag)
            if first is None or second is None:
                return None
            flags[option] = first.joined(second).flag
        name, tunable = f"{self.name}{AND}{other.name}", self.tunable and other.tunable
        both = OptionVariant(name, tuple(flags.values()), tunable=tunable)
        return None if both.parts in (self.parts, other.parts) else both

    @property
    def count(self) -> int:
        """Of how many options it is made."""
        return self.name.count(AND) + 1

    @property
    def parts(self) -> frozenset[str]:
        """What tells it from others: its flags, and of preprocessing what it consists of."""
        found: set[str] = set()
        for flag in self.flags:
            preprocessing = Preprocessing.of(flag)
            found |= {flag} if preprocessing is None else preprocessing.parts
        return frozenset(found)


PLAIN = OptionVariant("the usual options")


@dataclass(frozen=True)
class VariantOutcome:
    """What became of a model with some options.

    Attributes:
        flags: as one line.
        speedup: of the model over the usual options; None if it was not timed.
        reason: why it was not; empty if it was.
    """

    name: str
    flags: str
    speedup: float | None = None
    reason: str = ""

    @classmethod
    def of(
        cls, variant: OptionVariant, speedup: float | None = None, reason: str = ""
    ) -> VariantOutcome:
        return cls(variant.name, flags_text(variant.flags), speedup, reason)


@dataclass(frozen=True)
class TriedVariants:
    """What came of trying options.

    Attributes:
        tuned: the name of those that dispatches are tuned with; empty as long as that is not known.
        faster: names of those that were faster than the usual ones, the best first.
        device: the fingerprint of the one that said so; empty in files of older versions.
        cores: how many it may use, of a CPU; else, and in older files, 0.
    """

    outcomes: tuple[VariantOutcome, ...]
    tuned: str
    faster: tuple[str, ...]
    device: str = ""
    cores: int = 0

    def known(self, variants: Sequence[OptionVariant]) -> dict[OptionVariant, VariantOutcome]:
        """What became of those that there was time for, and that still are the same."""
        found = {}
        for one in self.outcomes:
            with suppress(ValueError):
                variant = named(one.name, variants)
                if one.flags == flags_text(variant.flags) and one.reason != NO_TIME:
                    found[variant] = one
        return found

    def check_device(self, folder: Path, device: str, cores: int) -> None:
        """Refuses to go on elsewhere than where it was begun.

        Raises:
            InputError: the device is another, or has another number of cores.
        """
        if self.cores not in (0, cores):
            raise InputError(
                f"{folder} was begun on {self.cores} cores, and this process may run on {cores}",
                "go on with as many (taskset), or start anew",
            )
        if self.device not in ("", device):
            raise InputError(
                f"{folder} was begun on {self.device}, and this is {device}",
                "go on there, or start anew",
            )


def variants_of(
    choice: str, target: Target, given: Sequence[str] = ()
) -> tuple[OptionVariant, ...]:
    """The variants to try.

    Args:
        choice: `auto` for those of the target's backend, `none`, or a file.
        given: the user's own flags; of the backend's, none replaces what these have the compiler
            run before all else.

    Raises:
        InputError: the file is none of variants.
    """
    if choice == NONE:
        return ()
    if choice == AUTO:
        return tuple(
            OptionVariant(name, options.flags, options.concerns, options.tunable)
            for name, options in backend_named(target.backend).option_variants.items()
            if not _replaces(options.flags, given)
        )
    return read_variants(Path(choice))


def _replaces(flags: Sequence[str], given: Sequence[str]) -> bool:
    """Whether both preprocess: the compiler takes the last of such flags."""
    run_first = {f.partition("=")[0] for f in flags if Preprocessing.of(f)}
    return not run_first.isdisjoint(f.partition("=")[0] for f in given)


def read_variants(path: Path) -> tuple[OptionVariant, ...]:
    """The variants of a file, each a list of flags by a name.

    Raises:
        InputError: it holds something else.
    """
    try:
        content = tomllib.loads(read_limited(path, _REMEDY).decode())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not TOML: {error}", _REMEDY) from None
    found = []
    for name, flags in content.items():
        if not (isinstance(flags, list) and flags and all(isinstance(f, str) for f in flags)):
            raise InputError(f"{path}: {name!r:.80} is no list of flags", _REMEDY)
        if AND in name or name == PLAIN.name:
            raise InputError(
                f"{path}: options cannot be called {name!r:.80}", "choose another name"
            )
        found.append(OptionVariant(name, parse_flags(flags)))
    if not found:
        raise InputError(f"{path} names no options", _REMEDY)
    return tuple(found)


def named(name: str, variants: Sequence[OptionVariant]) -> OptionVariant:
    """The variant of a name, or of several together.

    Raises:
        ValueError: there is none.
    """
    known = {PLAIN.name: PLAIN} | {one.name: one for one in variants}
    if name in known:
        return known[name]
    first, _, rest = name.partition(AND)
    both = None
    if first in known and rest:
        both = known[first].with_flags_of(named(rest, variants))
    if both is None:
        raise ValueError(f"there are no options {name!r:.80}")
    return both
