"""Features of the backend's own."""

import numpy as np

from frontrunner.features import Catalogue, Theme, View, collect

theme = Theme("vmvx")


@theme.feature
def vmvx_workgroups(view):
    """How many workgroups there are: each is interpreted by one core."""
    return np.prod([np.ceil(d.size / tile) for d, tile in _tiles(view)], axis=0)


@theme.feature
def vmvx_points_log2(view):
    """log2 of what a workgroup computes: its loops are interpreted."""
    return np.log2(np.prod([tile for _, tile in _tiles(view)], axis=0))


def _tiles(view):
    return [(d, view.knob(f"dist_{d.name}")) for d in view.problem.dims if d.parallel]


CATALOGUE = Catalogue("vmvx", 1, View, collect([theme]), "VMVX")
