"""Dispatches chosen by regular expressions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from difflib import get_close_matches

from ...core import InputError
from .folder import GeneratedDispatch

_COMMA = re.compile(r",(?!\d*\}|[^\[]*\])")
# Names that are told where nothing matches.
_TOLD = 5


def parse_patterns(texts: Sequence[str]) -> list[re.Pattern[str]]:
    """Regular expressions, several in one text: commas separate them, save in `{1,2}`, `[1,2]`.

    Raises:
        InputError: one does not compile.
    """
    found = []
    for text in (part.strip() for whole in texts for part in _COMMA.split(whole)):
        try:
            if not text:
                raise re.error("it is empty")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what later versions may take otherwise
                found.append(re.compile(text))
        except (re.error, OverflowError, RecursionError) as error:
            raise InputError(
                f"--dispatches: {text!r} is no regular expression: {error}",
                "such as 'matmul.*f16', or a part of a name; commas separate several",
            ) from None
    return found


def select(
    every: Sequence[GeneratedDispatch], patterns: Sequence[re.Pattern[str]]
) -> list[GeneratedDispatch]:
    """Those whose names match one of the patterns anywhere; all where there is no pattern.

    Raises:
        InputError: a pattern matches none.
    """
    for pattern in patterns:
        if not any(pattern.search(one.name) for one in every):
            names = [one.name for one in every]
            close = get_close_matches(pattern.pattern, names, n=_TOLD, cutoff=0.3)
            raise InputError(
                f"--dispatches: {pattern.pattern!r} matches none of {len(names)} dispatches",
                f"there are, among others: {', '.join(close or names[:_TOLD])}",
            )
    if not patterns:
        return list(every)
    return [one for one in every if any(p.search(one.name) for p in patterns)]
