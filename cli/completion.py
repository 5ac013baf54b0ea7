"""`frontrunner completion`: what a shell needs to complete commands, options and names."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from .output import Output, shared_options

VARIABLE = "_FRONTRUNNER_COMPLETE"
# Where each shell reads it when it starts.
FILES = {
    "bash": "~/.local/share/bash-completion/completions/frontrunner",
    "zsh": "a folder of $fpath, as _frontrunner",
    "fish": "~/.config/fish/completions/frontrunner.fish",
}


@click.command("completion")
@click.argument("shell", metavar="bash|zsh|fish", type=click.Choice(list(FILES)))
@shared_options(seed="Accepted as everywhere; nothing here is random.")
@click.pass_context
def command(ctx: click.Context, shell: str, seed: int, as_json: bool) -> None:
    """Print what a shell needs to complete commands, options and names.

    Rankers, targets and devices are completed, too. Write it where the shell looks: for bash
    ~/.local/share/bash-completion/completions/frontrunner, for zsh _frontrunner in a folder of
    $fpath, for fish ~/.config/fish/completions/frontrunner.fish.
    """
    kind = get_completion_class(shell)
    assert kind is not None, "click has these three"
    # Not the class's own `source`: that of bash starts one to ask for its version.
    script = ShellComplete.source(kind(ctx.find_root().command, {}, "frontrunner", VARIABLE))
    output = Output(as_json)
    output.line(script.strip())
    output.result({"shell": shell, "script": script, "file": FILES[shell]})
