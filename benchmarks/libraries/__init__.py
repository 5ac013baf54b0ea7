"""Other libraries that compute the same, and what the machine reaches at best."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .peak import Peak, measure_peak
    from .providers import NEEDS, Answer, Trial, installed
else:
    __getattr__ = exports(__name__)

__all__ = ["NEEDS", "Answer", "Peak", "Trial", "installed", "measure_peak"]
