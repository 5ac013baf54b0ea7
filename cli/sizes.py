"""Parameter types for sizes that are swept: `64`, `64,128`, `64:1024:128`, `3x5`."""

from __future__ import annotations

import re
from reprlib import repr  # numbers of a thousand digits are not told in full
from typing import Any, NoReturn

import click

# Of one option; what is made of several is their product.
MOST_SIZES = 100_000
_DIGITS = "([0-9]{1,10})"
_SIZE, _RANGE = re.compile(_DIGITS), re.compile(f"{_DIGITS}:{_DIGITS}:{_DIGITS}")
_PAIR = re.compile(f"{_DIGITS}(?:x{_DIGITS})?")


class SizesType(click.ParamType):  # type: ignore[type-arg]  # older ones take none
    """Whole numbers of at least 1; `64:1024:128` goes from 64 in steps of 128 up to 1024."""

    name = "sizes"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        def refuse(why: str) -> NoReturn:
            self.fail(why, param, ctx)

        found: list[int] = []
        for part in map(str.strip, value.split(",")):
            if match := _RANGE.fullmatch(part):
                start, stop, step = map(int, match.groups())
                if step < 1 or stop < start:
                    refuse(f"{part!r} is an empty range; give START:STOP:STEP")
                if (stop - start) // step >= MOST_SIZES:
                    refuse(f"{part!r} are over {MOST_SIZES:,} sizes; take larger steps")
                found += range(start, stop + 1, step)
            elif _SIZE.fullmatch(part):
                found.append(int(part))
            else:
                refuse(
                    f"{repr(part)} is no size; give one (64), some (64,128) or START:STOP:STEP "
                    "(64:1024:128), with at most 10 digits each"
                )
        if min(found) < 1:
            refuse(f"{repr(value)}: sizes are at least 1")
        return tuple(dict.fromkeys(found))


class PairsType(click.ParamType):  # type: ignore[type-arg]  # older ones take none
    """Sizes in two directions: `3` for 3x3, `3x5`, or some of them, with commas."""

    name = "pairs"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[tuple[int, int], ...]:
        found = []
        for part in map(str.strip, value.split(",")):
            match = _PAIR.fullmatch(part)
            if match is None:
                self.fail(f"{repr(part)} is no size; give one (3) or two (3x5)", param, ctx)
            rows, columns = int(match[1]), int(match[2] or match[1])
            if min(rows, columns) < 1:
                self.fail(f"{repr(part)}: sizes are at least 1", param, ctx)
            found.append((rows, columns))
        return tuple(dict.fromkeys(found))


SIZES, PAIRS = SizesType(), PairsType()
