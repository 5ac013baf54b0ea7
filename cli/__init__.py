"""The command line: `frontrunner COMMAND ...`."""

from .app import COMMANDS, cli, main

__all__ = ["COMMANDS", "cli", "main"]
