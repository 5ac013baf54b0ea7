"""Rankers that look at knobs, not features: the searches of other tuners, to compare with."""
