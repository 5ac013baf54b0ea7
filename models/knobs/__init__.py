"""Rankers that look at knobs, not features: the searches of other tuners, to compare with."""

from .knob_ranker import Grid

__all__ = ["Grid"]
