"""The command ``clgeom completion``: the script with which a shell completes commands, options and files."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import get_completion_class

from clgeom.commands.options import command
from clgeom.commands.terminal import Call

SHELLS = ("bash", "zsh", "fish")


@command(device=False, json=False)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(call: Call, shell: Any) -> None:
    """Print the script with which a SHELL completes commands, options and files of clgeom.

    \b
    bash:  eval "$(clgeom completion bash)"     in ~/.bashrc
    zsh:   eval "$(clgeom completion zsh)"      in ~/.zshrc, after compinit
    fish:  clgeom completion fish | source      in ~/.config/fish/config.fish
    """
    command = click.get_current_context().find_root().command
    click.echo(get_completion_class(shell)(command, {}, "clgeom", "_CLGEOM_COMPLETE").source())
