"""rtassay checks: what each validity check means."""

from __future__ import annotations

import textwrap

import click

from rtassay.cli.options import json_option, print_json
from rtassay.model.errors import UsageError


@click.command("checks")
@click.argument("check_id", required=False, metavar="[ID]")
@json_option
def command(check_id: str | None, as_json: bool) -> int:
    """The validity checks that run on every recording; with an ID (also of a check of `compare`), what it means and what to do."""
    from rtassay.analysis.checks import CHECKS
    from rtassay.analysis.compare.checks import PAIR_CHECKS

    chosen = [c for c in CHECKS if check_id is None or c.id == check_id.upper()]
    if check_id is not None and not chosen:
        chosen = [c.as_check() for c in PAIR_CHECKS if c.id == check_id.upper()]
    if not chosen:
        raise UsageError(f"there is no check '{check_id}'", hint="rtassay checks lists them")
    if as_json:
        rows = [
            {
                "id": c.id,
                "kind": c.kind,
                "severity": c.severity,
                "required": c.required,
                "condition": c.condition,
                "explanation": c.explanation,
                "remedy": c.remedy,
            }
            for c in chosen
        ]
        print_json({"schema": "rtassay/checks/1", "checks": rows})
    elif check_id is None:
        for c in chosen:
            click.echo(f"{c.id:24} {c.severity:8} {c.kind:9} {c.condition}")
    else:
        c = chosen[0]
        click.echo(f"{c.id}: {c.condition}\n{c.kind}, {c.severity}{', required' if c.required else ''}\n")
        click.echo(textwrap.fill(c.explanation, 96) + "\n\n" + textwrap.fill("What to do: " + c.remedy, 96))
    return 0
