"""A picture of what winners do otherwise."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ...core import write_atomically
from ..figures import Figure
from .comparisons import OTHER, Comparison
from .quantities import words

# Of ratios that have no logarithm, or a far one.
EDGES = (2.0**-8, 2.0**8)


def draw(by_device: Mapping[str, Sequence[Comparison]], folder: Path) -> None:
    """Writes a picture for each device: a dot for each dispatch and quantity.

    Raises:
        WorkError: one cannot be written.
    """
    taken: set[str] = set()
    for device, found in by_device.items():
        name = re.sub(r"\W+", "_", device).strip("_")
        while name in taken:  # of devices whose names differ in signs alone
            name += "_"
        taken.add(name)
        picture = io.BytesIO()
        _ratios(device, found).savefig(picture, format="png", dpi=150)
        write_atomically(folder / f"{name}.png", picture.getvalue())


def _ratios(device: str, found: Sequence[Comparison]) -> Figure:
    names = [name for name in words() if any(name in c.ratios for c in found)]
    figure = Figure(figsize=(8, 1 + 0.4 * len(names)), layout="constrained")
    axes = figure.subplots()
    spread = np.linspace(-0.25, 0.25, len(found)) if len(found) > 1 else np.zeros(1)
    for row, name in enumerate(reversed(names)):
        ratios = [c.ratios.get(name, float("nan")) for c in found]
        sizes = [20 * c.gain for c in found]
        # What is 0 for one of both has no logarithm: it stands at the edge.
        axes.scatter(np.log2(np.clip(ratios, *EDGES)), row + spread, s=sizes, alpha=0.6)
    axes.axvspan(-np.log2(OTHER), np.log2(OTHER), color="0.9", zorder=0)
    axes.set_yticks(range(len(names)), [words()[name] for name in reversed(names)])
    axes.xaxis.set_major_formatter(lambda x, _: f"{2.0**x:g}x")
    axes.set_xlabel("the winner's, as a multiple of the default's")
    axes.set_title(f"{device}: {len(found)} dispatches; larger dots gain more", fontsize="medium")
    return figure
