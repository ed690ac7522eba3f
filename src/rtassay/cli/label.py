"""rtassay label: edits labels, the note and the name of finished recordings."""

from __future__ import annotations

import click

from rtassay.cli.names import RECORDING
from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo
from rtassay.model.errors import UsageError
from rtassay.model.foreign import one_line


@click.command("label")
@click.argument("words", type=RECORDING, nargs=-1, required=True, metavar="RECORDING... KEY=VALUE...")
@click.option("--remove", "removed", multiple=True, metavar="KEY", help="Remove this label. Repeat it for several.")
@click.option("--note", metavar="TEXT", help="Set the note; an empty text removes it.")
@click.option("--name", metavar="NAME", help="Name each recording so; an empty text removes the name.")
@json_option
def command(words: tuple[str, ...], removed: tuple[str, ...], note: str | None, name: str | None, as_json: bool) -> int:
    """Set labels, the note and the name of each RECORDING (a path, an id, a unique beginning of an id, or a name).

    What was there before is kept in the recording's history. Checks and verdict are computed anew: a label such as load=idle can
    change them.

    \b
      rtassay label 20261122T195912 load=idle ambient=21C
      rtassay label 20261122T195912 --remove ambient --note "case open"
    """
    from rtassay import store
    from rtassay.model.labels import check_labels, check_name
    from rtassay.runs import judged
    from rtassay.store import managing

    names = [word for word in words if "=" not in word]
    labels = check_labels(dict(word.split("=", 1) for word in words if "=" in word))
    if not names:
        raise UsageError(
            "no recording is named", hint="rtassay label RECORDING KEY=VALUE; rtassay list shows the recordings"
        )
    if not labels and not removed and note is None and name is None:
        raise UsageError("nothing to change", hint="write KEY=VALUE, --remove KEY, --note TEXT or --name NAME")
    if name:
        check_name(name)
    if both := sorted(set(labels) & set(removed)):
        raise UsageError(f"the label {both[0]} is set and removed")
    paths = [store.find(name) for name in names]
    done = []
    for path in paths:
        manifest = managing.edit(path, labels=labels | dict.fromkeys(removed), note=note, name=name)
        _, findings = judged(path)
        done.append((manifest, findings.verdict.state if findings.verdict else None))
    if as_json:
        rows = [
            {"id": m.id, "name": m.name, "labels": m.labels, "note": m.note, "state": state, "edits": len(m.history)}
            for m, state in done
        ]
        print_json({"schema": "rtassay/label/1", "recordings": rows})
        return 0
    for manifest, state in done:
        said = ", ".join(f"{key}={one_line(value, 60)}" for key, value in manifest.labels.items()) or "no labels"
        named = f" '{manifest.name}'" if manifest.name else ""
        echo(f"{manifest.id}{named}: {said}{f'; now {state}' if state else ''}")
    return 0
