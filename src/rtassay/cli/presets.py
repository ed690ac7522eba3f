"""rtassay presets: the experiments that come with rtassay."""

from __future__ import annotations

import click

from rtassay.cli.names import PRESET
from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo


@click.group("presets", invoke_without_command=True)
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> int:
    """Experiments that come with rtassay: the reference experiments of others, and the standard ones.

    `rtassay presets show NAME` explains one; `rtassay experiment run NAME` carries it out.

    \b
      rtassay presets
      rtassay presets show smoke
    """
    from rtassay.experiments import presets

    if ctx.invoked_subcommand is not None:
        return 0
    sources = {name: presets.find(name) for name in presets.names()}
    if as_json:
        rows = [
            {"name": name, "what": source.given.what, "corrected": source.given.corrected is not None}
            for name, source in sources.items()
        ]
        print_json({"schema": "rtassay/presets/1", "presets": rows})
        return 0
    for name, source in sources.items():
        echo(f"{name:14} {source.given.what}" + ("  [--corrected]" if source.given.corrected else ""))
    return 0


@command.command("show")
@click.argument("name", type=PRESET)
@json_option
def show_command(name: str, as_json: bool) -> int:
    """Show the purpose of the preset NAME, the results of its authors, and its open questions."""
    import msgspec

    from rtassay.cli.experiment_tables import preset_text
    from rtassay.experiments import presets

    source = presets.find(name)
    if as_json:
        print_json({"schema": "rtassay/preset/1", "path": str(source.path), **msgspec.to_builtins(source.given)})
    else:
        echo(preset_text(source.given))
    return 0
