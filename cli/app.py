"""The command group, and the one place where failures become exit codes."""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from types import FrameType
from typing import Any, TextIO

import click

from .. import __version__
from ..core import in_temporary_folder
from .examples import add_examples
from .output import OutputState, UsageError, write_failure

_IMPORTING = "<frozen importlib._bootstrap>"
# How long to wait for what must not be interrupted, or drops what it is interrupted by.
AGAIN_SECONDS = 0.05

# Name to summary. Modules are imported when their command is used, so that help stays fast.
COMMANDS = {
    "tune": "Find a faster configuration for one dispatch, within a budget.",
    "tune-model": "Find a spec that makes a whole model faster, within a budget.",
    "generate": "Write dispatches: one folder for each, named for what it computes.",
    "profile": "Compile, verify and time dispatches and their configurations.",
    "space": "Count the candidates of each pipeline, or list them.",
    "rankers": "List rankers, built in and plugged in.",
    "link": "Merge tuning specs into one; the one named last wins.",
    "record": "Measure candidates in interleaved rounds, one recording per dispatch.",
    "train": "Train a ranker on recordings and save it, for the devices that they were made on.",
    "calibrate": "Record small dispatches on this CPU for minutes, and train a predictor for it.",
    "insights": "Tell what the best configurations have in common, for those who write heuristics.",
    "explain": "Tell why an order put a candidate where it did.",
    "evaluate": "Compare orders on recordings, each judged on what it was not trained on.",
    "leaderboard": "Compare our orders with other people's searches on a folder of data.",
    "report": "Write a page for a browser: one file, which needs no network.",
    "watch": "Serve a page about a run to this machine's browser while the run goes on.",
    "worker": "Offer this machine's devices and cores to clients elsewhere.",
    "devices": "List a cluster's devices, and how many candidates each host compiles at a time.",
    "bundle": "Carry compiled candidates to a machine that cannot compile, and results back.",
    "fuzz": "Look for failures of the compiler, and reduce each to a small reproducer.",
    "ui": "Show what is tracked in MLflow, in this machine's browser.",
    "doctor": "Tell what is installed, which devices answer and what is missing.",
    "completion": "Print what a shell needs to complete commands, options and names.",
}


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f".{cmd_name.replace('-', '_')}", __package__)
        command: click.Command = module.command
        add_examples(cmd_name, command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            close = get_close_matches(name, COMMANDS, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"commands: {', '.join(COMMANDS)}"
            raise UsageError(f"no such command {name!r}", hint)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="frontrunner %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Find fast configurations for IREE dispatches in few measurements."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        arguments: what follows the program's name; taken from `sys.argv` if None.

    Returns:
        The exit code: 0 for success, 1 for failed work or lost output, 2 for unusable input, 130
        for Ctrl-C and SIGTERM.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    told = OutputState()
    _open_streams()
    with _interruptible():
        code = _run(words, told)
    unwritten = _flush(sys.stdout)
    told.lost = told.lost or unwritten
    if code == 0 and told.lost is not None:
        code = 1
        # A reader that has left has what it wanted.
        if not isinstance(told.lost, BrokenPipeError):
            what = f"the output cannot be written: {told.lost.strerror}"
            write_failure(what, "", 1, as_json=False)
    _flush(sys.stderr)
    return code


def _flush(stream: TextIO) -> OSError | None:
    """Writes what is left; Python would complain, and exit with 120, if that failed at exit."""
    try:
        stream.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None


def _run(words: list[str], told: OutputState) -> int:
    """The exit code of a command, after telling why it failed if it did."""
    as_json = "--json" in words
    try:
        with in_temporary_folder():
            result = cli.main(words, prog_name="frontrunner", standalone_mode=False, obj=told)
        return result if isinstance(result, int) else 0
    except (click.Abort, KeyboardInterrupt):
        return write_failure("interrupted", "", 130, as_json and not told.result)
    except BrokenPipeError:
        return 1
    except Exception as error:
        if os.environ.get("FRONTRUNNER_DEBUG"):
            traceback.print_exc()
        return write_failure(*describe_failure(error), as_json and not told.result)


def _open_streams() -> None:
    """Gives closed standard streams somewhere to go, and stdout a way to write any text.

    Closed ones are None, which few libraries expect; and a file that is opened later would get the
    number of one, here or in a child process, and with it all that is printed.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, mode))
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        # Where the locale's encoding lacks a character; stderr is made so by Python.
        sys.stdout.reconfigure(errors="backslashreplace")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Lets a command save what it found, and tell so, also where a scheduler ends it."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        usual = (signal.SIG_DFL, signal.default_int_handler)
        for number in (signal.SIGINT, signal.SIGTERM):
            if (handler := signal.getsignal(number)) in usual:
                before[number] = handler
                signal.signal(number, _interrupt)
    usual_hook = sys.unraisablehook
    sys.unraisablehook = partial(_unraisable, usual_hook)
    try:
        yield
    finally:
        sys.unraisablehook = usual_hook
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt, but not within an import: libraries make other errors of it."""
    while frame is not None and frame.f_code is not main.__code__:
        if frame.f_code.co_filename == _IMPORTING:
            _send_again(number)
            return
        frame = frame.f_back
    raise KeyboardInterrupt(number)


def _unraisable(usual: Callable[[Any], object], told: Any) -> None:
    """Has a signal come again that Python drops: in `__del__`, as of Z3's terms, and callbacks."""
    if isinstance(told.exc_value, KeyboardInterrupt) and told.exc_value.args:
        _send_again(*told.exc_value.args)
    else:
        usual(told)


def _send_again(number: int) -> None:
    again = threading.Timer(AGAIN_SECONDS, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()


def _left_behind() -> bool:
    """Whether the current folder was removed."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def describe_failure(error: Exception) -> tuple[str, str, int]:
    """The message, the hint and the exit code for an exception."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and error.ctx is not None:
        group = error.ctx.command
        names = group.list_commands(error.ctx) if isinstance(group, click.Group) else []
        return "a command is missing", f"give one of: {', '.join(names)}", error.exit_code
    if isinstance(error, click.ClickException):
        hint = getattr(error, "hint", "")
        context = getattr(error, "ctx", None)
        if not hint and context is not None:
            hint = f"see `{context.command_path} --help`"
        return error.format_message(), hint, error.exit_code
    # Not imported here, for that costs a second: if nothing has imported it, nothing raised it.
    errors = sys.modules.get("frontrunner.core.errors")
    if errors is not None and isinstance(error, errors.FrontrunnerError):
        return str(error), error.hint, error.exit_code
    if isinstance(error, MemoryError):
        return "there is not enough memory", "end other programs, or give less at a time", 1
    if isinstance(error, OSError) and error.strerror:
        if error.filename is None and _left_behind():
            return "the current folder is not there any more", "change to one that is", 1
        where = f": {error.filename}" if error.filename is not None else ""
        return f"{error.strerror}{where}", "", 1
    return (
        f"internal error: {type(error).__name__}: {error}",
        "set FRONTRUNNER_DEBUG=1 to see where it happened, and report it",
        1,
    )
