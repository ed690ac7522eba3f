"""rtassay checks: what each validity check means."""

from __future__ import annotations

import difflib
import textwrap
from typing import TYPE_CHECKING, Any

import click

from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo
from rtassay.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rtassay.analysis.checks.base import Check

_PROOF = {
    "live": "proven live: a test provokes it on a running system",
    "recorded": "proven on a file or recording of a real system",
    "synthetic": "proven on a recording made up for it",
}


@click.command("checks")
@click.argument("check_id", required=False, metavar="[ID]")
@json_option
def command(check_id: str | None, as_json: bool) -> int:
    """The validity checks that run on every recording; with an ID (a check of `compare` too), its meaning and the remedy.

    \b
      rtassay checks
      rtassay checks HIST-TRUNCATED
    """
    from rtassay.analysis.checks import CHECKS

    chosen = CHECKS if check_id is None else _called(check_id)
    if as_json:
        rows = [
            {
                "id": c.id,
                "kind": c.kind,
                "severity": c.severity,
                "required": c.required,
                "proof": c.proof,
                "waivable": not c.unwaivable,
                "condition": c.condition,
                "explanation": c.explanation,
                "remedy": c.remedy,
            }
            for c in chosen
        ]
        print_json({"schema": "rtassay/checks/1", "checks": rows})
    elif check_id is None:
        for c in chosen:
            echo(f"{c.id:24} {c.severity:8} {c.kind:9} {c.proof:9} {c.condition}")
    else:
        c = chosen[0]
        echo(textwrap.fill(f"{c.id}: {c.condition}", 96))
        echo(f"{c.kind}, {c.severity}{', required' if c.required else ''}; {_PROOF[c.proof]}\n")
        echo(textwrap.fill(c.explanation, 96) + "\n\n" + textwrap.fill("What to do: " + c.remedy, 96))
        if c.unwaivable:
            echo("\n" + textwrap.fill(f"It cannot be waived: {c.unwaivable}.", 96))
    return 0


def _called(check_id: str) -> Sequence[Check[Any]]:
    """The check with that id, of a recording or of a comparison. Raises UsageError with the nearest name if there is none."""
    from rtassay.analysis.checks import CHECKS
    from rtassay.analysis.many.compare.checks import PAIR_CHECKS

    every: list[Check[Any]] = [*CHECKS, *PAIR_CHECKS]
    found = [c for c in every if c.id == check_id.upper()]
    if not found:
        ids = list(dict.fromkeys(c.id for c in every))
        close = [name for name in ids if check_id.upper() in name.split("-")] or difflib.get_close_matches(
            check_id.upper(), ids, n=1, cutoff=0.5
        )
        hint = f"did you mean {' or '.join(close[:3])}? " if close else ""
        raise UsageError(f"there is no check '{check_id}'", hint=f"{hint}rtassay checks lists them")
    return found[:1]
