"""rtassay completion: the script that lets a shell complete verbs, options, recordings, boards and presets."""

from __future__ import annotations

import click

from rtassay.cli.terminal import echo


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the script that completes verbs, options, recordings, boards and presets in SHELL.

    \b
      rtassay completion bash > ~/.local/share/bash-completion/completions/rtassay
      rtassay completion zsh > ~/.zfunc/_rtassay      with fpath=(~/.zfunc $fpath) before compinit in ~/.zshrc
      rtassay completion fish > ~/.config/fish/completions/rtassay.fish
    """
    from click.shell_completion import get_completion_class

    from rtassay.cli.main import cli

    made = get_completion_class(shell)
    assert made is not None  # click has these three
    echo(made(cli, {}, "rtassay", "_RTASSAY_COMPLETE").source())
    return 0
