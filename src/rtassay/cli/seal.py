"""rtassay seal: finishes a recording whose host was killed."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtassay.cli.judging import judge, own_requirement, parser_for
from rtassay.cli.names import RECORDING
from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo
from rtassay.runs import cache_findings

if TYPE_CHECKING:
    from rtassay.model.manifest import Manifest


@click.command("seal")
@click.argument("recording", type=RECORDING)
@json_option
def command(recording: str, as_json: bool) -> int:
    """Seal an unsealed RECORDING: turn its stream into Parquet, and note that the stream was cut.

    \b
      rtassay seal before
      rtassay seal 20261122T195912
    """
    from rtassay import store

    path = store.find(recording)
    already = store.load_manifest(path).sealed
    if not already:
        finish(path)
    manifest = store.load_manifest(path)
    if as_json:
        print_json(
            {
                "schema": "rtassay/seal/1",
                "id": manifest.id,
                "path": str(path),
                "was_sealed": already,
                "cut": manifest.damage.cut,
            }
        )
    else:
        echo(
            f"{path}: {'was sealed already' if already else 'sealed' + (', the stream was cut' if manifest.damage.cut else '')}"
        )
    return 0


def finish(path: Path) -> Manifest:
    """Seal the recording at `path` from what it holds, judge it, and return its manifest."""
    from rtassay import store
    from rtassay.session.loads import RecordedLoads
    from rtassay.session.telemetry import recorded

    seen, loads = recorded(path), RecordedLoads(path, store.load_manifest(path))

    def complete(manifest: Manifest, path: Path) -> Manifest:
        manifest = loads.into(manifest, path)
        return manifest if seen is None else seen.into(manifest, path)

    store.seal(
        path,
        parser_for=parser_for,
        telemetry_rows=None if seen is None else itertools.chain(seen.rows(), loads.rows()),
        messages=() if seen is None else seen.messages,
        finish=complete,
    )
    opened = store.open_recording(path)
    cache_findings(path, judge(opened, own_requirement(opened.manifest)))
    return opened.manifest
