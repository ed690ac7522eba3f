"""rtassay status: the state of a running or unsealed recording, from its rollups alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rtassay.cli.judging import parser_for
from rtassay.cli.names import RECORDING
from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo
from rtassay.model.events import End, Facts, Second
from rtassay.model.manifest import Manifest
from rtassay.model.units import NS_PER_S, format_us

_ROLLUPS = frozenset({"Facts", "Second", "Note", "End"})


@click.command("status")
@click.argument("run", type=RECORDING)
@json_option
def command(run: str, as_json: bool) -> int:
    """Show the state of RUN: a path, an id or a unique prefix of a running, unsealed or sealed recording."""
    from rtassay import store

    path = store.find(run)
    manifest = store.load_manifest(path)
    status = _sealed(manifest) if manifest.sealed else _unsealed(path, manifest, store.is_running(path))
    status = {"schema": "rtassay/status/1", "id": manifest.id, "path": str(path), **status}
    if as_json:
        print_json(status)
    else:
        _print(status)
    return 0


def _sealed(manifest: Manifest) -> dict[str, Any]:
    lanes = [
        {
            "lane": e.index,
            "name": e.name,
            "cpu": e.cpu,
            "n": e.n,
            "missed": e.missed,
            "dropped": e.dropped,
            "max_ns": e.max_ns,
        }
        for e in manifest.lanes
    ]
    return {
        "state": "sealed",
        "end_reason": manifest.end_reason,
        "planned_s": _seconds(manifest.plan.duration_ns),
        "elapsed_s": None,
        "lanes": lanes,
    }


def _unsealed(path: Path, manifest: Manifest, running: bool) -> dict[str, Any]:
    facts, ended, last, sums = _rollups(path, manifest)
    origin_ns = facts.get("origin_ns")
    lanes = []
    for lane in facts.get("lanes", []):
        number = lane["lane"]
        newest = last.get(number)
        missed, dropped = sums.get(number, (0, 0))
        lanes.append(
            {
                "lane": number,
                "name": f"cpu{lane['cpu']}",
                "cpu": lane["cpu"],
                "n": newest.total_n if newest else 0,
                "missed": missed,
                "dropped": dropped,
                "max_ns": newest.max_so_far_ns if newest else None,
                "p50_ns": newest.p50_ns if newest else None,
                "p99_ns": newest.p99_ns if newest else None,
                "p99_9_ns": newest.p99_9_ns if newest else None,
                "p99_99_ns": newest.p99_99_ns if newest else None,
            }
        )
    elapsed = max((s.second + 1 for s in last.values()), default=0) if origin_ns is not None else 0
    state = "running" if running else ("ended, not sealed" if ended else "abandoned, not sealed")
    return {
        "state": state,
        "end_reason": None,
        "planned_s": _seconds(manifest.plan.duration_ns),
        "elapsed_s": elapsed,
        "lanes": lanes,
    }


def _rollups(
    path: Path, manifest: Manifest
) -> tuple[dict[str, Any], bool, dict[int, Second], dict[int, tuple[int, int]]]:
    """FACTS, whether END arrived, the newest rollup per lane, and missed and dropped summed per lane."""
    from rtassay.wire.stream import StreamParser

    stream = path / "stream.rtw"
    parser: Any = StreamParser(only=_ROLLUPS) if stream.exists() else parser_for(manifest)
    facts: dict[str, Any] = {}
    ended = False
    last: dict[int, Second] = {}
    sums: dict[int, tuple[int, int]] = {}
    source = stream if stream.exists() else path / "stream.txt"
    if not source.exists():
        return facts, ended, last, sums
    with source.open("rb") as file:
        while chunk := file.read(1 << 20):
            for event in parser.feed(chunk):
                if isinstance(event, Facts):
                    facts = event.data
                elif isinstance(event, Second):
                    last[event.lane] = event
                    missed, dropped = sums.get(event.lane, (0, 0))
                    sums[event.lane] = (missed + event.missed, dropped + event.dropped)
                elif isinstance(event, End):
                    ended = True
    return facts, ended, last, sums


def _seconds(ns: int | None) -> float | None:
    return None if ns is None else ns / NS_PER_S


def _print(status: dict[str, Any]) -> None:
    length = "" if status["elapsed_s"] is None else f", {status['elapsed_s']} s"
    planned = "" if status["planned_s"] is None else f" of {status['planned_s']:.0f} s"
    echo(f"{status['id']}: {status['state']}{length}{planned if length else ''}")
    echo(
        f"{'lane':6} {'n':>12} {'missed':>8} {'dropped':>8} {'p50 us':>9} {'p99 us':>9} {'p99.9 us':>9} {'p99.99 us':>9} {'max us':>9}"
    )
    for lane in status["lanes"]:
        cells = " ".join(
            f"{format_us(lane.get(k)):>9}" for k in ("p50_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "max_ns")
        )
        missed = "-" if lane["missed"] is None else lane["missed"]
        dropped = "-" if lane["dropped"] is None else lane["dropped"]
        echo(f"{lane['name']:6} {lane['n']:>12} {missed:>8} {dropped:>8} {cells}")
    if status["state"].endswith("not sealed"):
        echo(f"rtassay seal {status['id']} makes it a whole recording", err=True)
