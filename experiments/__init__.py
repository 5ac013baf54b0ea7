"""Questions asked with the rest: tuning, learning, evaluating."""

from typing import TYPE_CHECKING

from ..core.lazy import exports

if TYPE_CHECKING:
    from .device_checks import divide_devices
    from .doctor import diagnose
else:
    __getattr__ = exports(__name__)

__all__ = ["diagnose", "divide_devices"]
