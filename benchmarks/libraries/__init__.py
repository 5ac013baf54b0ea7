"""Other libraries that compute the same, and what the machine reaches at best."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .peak import Peak, measure_peak
    from .providers import REQUIRED_PACKAGES, TimingReply, TimingRequest, installed_libraries
else:
    __getattr__ = exports(__name__)

__all__ = [
    "REQUIRED_PACKAGES",
    "Peak",
    "TimingReply",
    "TimingRequest",
    "installed_libraries",
    "measure_peak",
]
