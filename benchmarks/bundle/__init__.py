"""One file that carries compiled candidates to a machine without a compiler, and runs there.

Carried in bundles itself, so it needs no more than `measuring` does.
"""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .archive import Bundle, Manifest, QueueEntry, build_bundle, digest_of_bundle
    from .results import BundleResult, Measurements, read_results
    from .run import measure_bundle, run_bundle
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Bundle",
    "BundleResult",
    "Manifest",
    "Measurements",
    "QueueEntry",
    "build_bundle",
    "digest_of_bundle",
    "measure_bundle",
    "read_results",
    "run_bundle",
]
