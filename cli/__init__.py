"""The command line: `frontrunner COMMAND ...`."""

from .app import main

__all__ = ["main"]
