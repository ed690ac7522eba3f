"""rtassay rm: puts recordings into the trash, takes them back, or removes them for ever."""

from __future__ import annotations

from pathlib import Path

import click

from rtassay.cli.names import RECORDING
from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo
from rtassay.model.errors import UsageError
from rtassay.reports.wording import bytes_of


@click.command("rm")
@click.argument("recordings", type=RECORDING, nargs=-1, required=True, metavar="RECORDING...")
@click.option("--forever", is_flag=True, help="Remove them at once, without the trash.")
@click.option("--restore", is_flag=True, help="Take them back from the trash.")
@json_option
def command(recordings: tuple[str, ...], forever: bool, restore: bool, as_json: bool) -> int:
    """Move each RECORDING (a path, an id, a unique beginning of an id, or a name) into the trash beside it.

    The trash keeps its space until `rtassay prune --trash` empties it. A recording that is being written is refused.

    \b
      rtassay rm 20261122T195912
      rtassay rm --restore 20261122T195912
    """
    from rtassay import store
    from rtassay.store import managing

    if forever and restore:
        raise UsageError("--forever and --restore exclude each other")
    if restore:
        return _told(
            "restored", [(path, 0) for path in (managing.take_back(name, store.home()) for name in recordings)], as_json
        )
    paths = list(dict.fromkeys(store.find(name) for name in recordings))
    if forever:
        return _told("removed", [(path, managing.remove(path)) for path in paths], as_json)
    return _told("trashed", [(path, managing.put_away(path).bytes) for path in paths], as_json)


def _told(what: str, rows: list[tuple[Path, int]], as_json: bool) -> int:
    if as_json:
        done = [{"path": str(path), "bytes": size} for path, size in rows]
        print_json({"schema": "rtassay/rm/1", "done": what, "recordings": done})
        return 0
    words = {
        "restored": "restored",
        "removed": "removed for ever, {size} freed",
        "trashed": "in the trash, {size}; rtassay prune --trash frees it",
    }[what]
    for path, size in rows:
        echo(f"{path.name.removesuffix('.rta')}: {words.format(size=bytes_of(size))}")
    return 0
