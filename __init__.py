"""frontrunner finds fast configurations for IREE dispatches in few measurements."""

__version__ = "0.1.0"

__all__ = ["__version__"]
