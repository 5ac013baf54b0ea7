"""Parameter types for sizes that are swept: `64`, `64,128`, `64:1024:128`, `3x5`."""

from __future__ import annotations

import re
from typing import Any

import click

# Of one option; what is made of several is their product.
MOST_SIZES = 100_000
_RANGE = re.compile(r"(\d+):(\d+):(\d+)")


class Sizes(click.ParamType):  # type: ignore[type-arg]  # older ones take none
    """Whole numbers of at least 1; `64:1024:128` goes from 64 in steps of 128 up to 1024."""

    name = "sizes"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        found: list[int] = []
        for part in str(value).split(","):
            part = part.strip()
            if match := _RANGE.fullmatch(part):
                start, stop, step = map(int, match.groups())
                if step < 1 or stop < start:
                    self.fail(f"{part!r} is an empty range; give START:STOP:STEP", param, ctx)
                if (stop - start) // step >= MOST_SIZES:
                    self.fail(
                        f"{part!r} are over {MOST_SIZES:,} sizes; take larger steps", param, ctx
                    )
                found += range(start, stop + 1, step)
            elif part.isascii() and part.isdigit():
                found.append(int(part))
            else:
                self.fail(
                    f"{part!r} is no size; give one (64), some (64,128) or START:STOP:STEP "
                    "(64:1024:128)",
                    param,
                    ctx,
                )
        if min(found) < 1:
            self.fail(f"{value!r}: sizes are at least 1", param, ctx)
        return tuple(dict.fromkeys(found))


class Pairs(click.ParamType):  # type: ignore[type-arg]  # older ones take none
    """Sizes in two directions: `3` for 3x3, `3x5`, or some of them, with commas."""

    name = "pairs"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[tuple[int, int], ...]:
        if isinstance(value, tuple):
            return value
        found = []
        for part in str(value).split(","):
            numbers = part.strip().split("x")
            if len(numbers) > 2 or not all(n.isascii() and n.isdigit() for n in numbers):
                self.fail(f"{part!r} is no size; give one (3) or two (3x5)", param, ctx)
            rows, columns = int(numbers[0]), int(numbers[-1])
            if min(rows, columns) < 1:
                self.fail(f"{part!r}: sizes are at least 1", param, ctx)
            found.append((rows, columns))
        return tuple(dict.fromkeys(found))


SIZES, PAIRS = Sizes(), Pairs()
