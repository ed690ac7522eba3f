"""rtassay prune: frees the space of old recordings."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo
from rtassay.model.errors import UsageError
from rtassay.model.units import NS_PER_S, parse_duration_ns
from rtassay.reports.wording import bytes_of

if TYPE_CHECKING:
    from rtassay.store.index import IndexEntry


@click.command("prune")
@click.option(
    "--keep",
    type=click.IntRange(min=0),
    metavar="N",
    help="Keep the N newest recordings of every board; the others go.",
)
@click.option("--older", metavar="TIME", help="Only recordings older than this (30d, 12h).")
@click.option(
    "--samples-only",
    is_flag=True,
    help="Remove only the samples; histogram, late wake-ups, telemetry and verdict stay.",
)
@click.option("--trash", is_flag=True, help="Empty the trash.")
@click.option("--dry-run", is_flag=True, help="Only tell what would be done and what it would free.")
@json_option
def command(keep: int | None, older: str | None, samples_only: bool, trash: bool, dry_run: bool, as_json: bool) -> int:
    """Move old recordings into the trash, remove their samples, or empty the trash, and tell what that frees.

    Recordings that are unsealed or being written are left alone. Samples that were removed cannot come back.

    \b
      rtassay prune --older 30d --samples-only --dry-run
      rtassay prune --keep 20
      rtassay prune --trash
    """
    from rtassay import store
    from rtassay.store import index, managing

    if trash and (keep is not None or older is not None or samples_only):
        raise UsageError("--trash empties the trash and takes no other choice")
    if not trash and keep is None and older is None:
        raise UsageError("nothing says what to prune", hint="write --keep N, --older 30d or --trash")
    home = store.home()
    if trash:
        rows = [(found.path, found.bytes) for found in managing.trashed(home)]
        return _do("removed", rows, managing.remove, dry_run, as_json)
    chosen = [Path(entry.path) for entry in choose(index.entries(home), keep, older, time.time())]
    if samples_only:
        sizes = [(path, _samples_of(path)) for path in chosen]
        return _do("samples removed", [row for row in sizes if row[1]], _remove_samples, dry_run, as_json)
    rows = [(path, managing.size_of(path)) for path in chosen]
    return _do("trashed", rows, managing.put_away, dry_run, as_json)


def choose(entries: Sequence[IndexEntry], keep: int | None, older: str | None, now_s: float) -> list[IndexEntry]:
    """The sealed recordings that go: beyond the `keep` newest of their board, and older than `older` at `now_s` (seconds since 1970)."""
    before = None
    if older is not None:
        before = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now_s - parse_duration_ns(older) / NS_PER_S))
    gone: list[IndexEntry] = []
    kept: dict[str, int] = {}
    for entry in sorted(entries, key=lambda entry: entry.created, reverse=True):
        if entry.error or not entry.sealed:
            continue
        kept[entry.board] = kept.get(entry.board, 0) + 1
        if (keep is None or kept[entry.board] > keep) and (before is None or entry.created < before):
            gone.append(entry)
    return gone[::-1]


def _remove_samples(path: Path) -> None:
    from rtassay.runs import judged
    from rtassay.store import managing

    managing.remove_samples(path)
    judged(path)


def _samples_of(path: Path) -> int:
    """Bytes of samples that can be removed: none of an import."""
    from rtassay import store
    from rtassay.store.managing import SAMPLES

    manifest = store.load_manifest(path)
    kept = manifest.seals.get(SAMPLES)
    return kept.bytes if kept is not None and manifest.source.tool == "rtprobe" else 0


def _do(what: str, rows: list[tuple[Path, int]], act: Callable[[Path], object], dry_run: bool, as_json: bool) -> int:
    for path, _ in rows if not dry_run else ():
        act(path)
    total = sum(size for _, size in rows)
    if as_json:
        done = [{"id": path.name.removesuffix(".rta"), "bytes": size} for path, size in rows]
        print_json({"schema": "rtassay/prune/1", "done": what, "dry_run": dry_run, "bytes": total, "recordings": done})
        return 0
    for path, size in rows:
        echo(f"{path.name.removesuffix('.rta')}: {what}, {bytes_of(size)}")
    count = f"{len(rows)} {'recording' if len(rows) == 1 else 'recordings'}"
    freed = (
        f"{bytes_of(total)} in the trash; rtassay prune --trash frees it"
        if what == "trashed"
        else f"{bytes_of(total)} freed"
    )
    echo(f"{count}, {freed}" + (" (dry run: nothing was done)" if dry_run else ""))
    return 0
