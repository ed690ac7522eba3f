"""rtassay status: what runs now, and the state of a recording: from its rollups alone while it is unsealed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rtassay.cli.following import Follower
from rtassay.cli.names import RECORDING
from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo, echo_table
from rtassay.model.manifest import Manifest
from rtassay.model.units import NS_PER_S, format_us
from rtassay.reports.text_table import name, number, words
from rtassay.session.control import LaneProgress

_STEPS = {"p50_ns": 0.5, "p99_ns": 0.99, "p99_9_ns": 0.999, "p99_99_ns": 0.9999}


@click.command("status")
@click.argument("run", type=RECORDING, required=False)
@json_option
def command(run: str | None, as_json: bool) -> int:
    """Show the state of RUN, a recording that runs, is unsealed or is sealed (path, id, unique beginning of an id, or name). Without RUN: what runs now.

    \b
      rtassay status
      rtassay status before
    """
    from rtassay import store

    if run is None:
        return _running(as_json)
    status = {"schema": "rtassay/status/1", **_status(store.find(run))}
    if as_json:
        print_json(status)
    else:
        _print(status)
    return 0


def _running(as_json: bool) -> int:
    from rtassay import store
    from rtassay.store.paths import recordings

    home = store.home()
    found = [_status(path) for path in recordings(home) if store.is_running(path)]
    if as_json:
        print_json({"schema": "rtassay/status-list/1", "home": str(home), "running": found})
        return 0
    if not found:
        echo(f"nothing is being recorded in {home}; rtassay list shows what was", err=True)
        return 0
    columns = (name("id"), words("board"), words("load"), number("measured s"), number("of s"), number("max us"))
    echo_table(columns, [_row(status) for status in found])
    return 0


def _row(status: dict[str, Any]) -> tuple[str, ...]:
    highest = max((lane["max_ns"] for lane in status["lanes"] if lane["max_ns"] is not None), default=None)
    planned = "-" if status["planned_s"] is None else f"{status['planned_s']:.0f}"
    return (status["id"], status["board"], status["load"], str(status["elapsed_s"]), planned, format_us(highest))


def _status(path: Path) -> dict[str, Any]:
    from rtassay import store

    manifest = store.load_manifest(path)
    found = _sealed(path, manifest) if manifest.sealed else _unsealed(path, manifest, store.is_running(path))
    load = manifest.plan.load or "none"
    return {"id": manifest.id, "path": str(path), "board": manifest.board, "load": load, **found}


def _sealed(path: Path, manifest: Manifest) -> dict[str, Any]:
    from rtassay.cli.show import findings_of

    data, _, _ = findings_of(path, None, False, {}, want_object=False)
    ladders = [_ladder(lane["quantiles"]) for lane in data["lanes"]]
    lanes = [
        {
            "lane": e.index,
            "name": e.name,
            "cpu": e.cpu,
            "n": e.n,
            "missed": e.missed,
            "dropped": e.dropped,
            "max_ns": e.max_ns,
            **ladder,
        }
        for e, ladder in zip(manifest.lanes, ladders, strict=True)
    ]
    return {
        "state": "sealed",
        "end_reason": manifest.end_reason,
        "planned_s": _seconds(manifest.plan.duration_ns),
        "elapsed_s": None,
        "lanes": lanes,
    }


def _ladder(quantiles: list[dict[str, Any]]) -> dict[str, int | None]:
    """p50_ns, p99_ns ...; None where the data hold only a lower limit."""
    exact = {q["q"]: q["value_ns"] for q in quantiles if q["bound"] == "exact"}
    return {key: exact.get(q) for key, q in _STEPS.items()}


def _unsealed(path: Path, manifest: Manifest, running: bool) -> dict[str, Any]:
    follower = Follower(path, manifest)
    try:
        follower.read()
    finally:
        follower.close()
    state = "running" if running else ("ended, not sealed" if follower.ended else "abandoned, not sealed")
    return {
        "state": state,
        "end_reason": None,
        "planned_s": _seconds(manifest.plan.duration_ns),
        "elapsed_s": follower.lanes.measured_ns // NS_PER_S,
        "lanes": [lane_dict(lane) for lane in follower.lanes.snapshot()],
    }


def lane_dict(lane: LaneProgress) -> dict[str, Any]:
    """A lane of a recording that is still written, as `status --json` and `watch --json` tell it."""
    return {
        "lane": lane.lane,
        "name": f"lane {lane.lane}" if lane.cpu is None else f"cpu{lane.cpu}",
        "cpu": lane.cpu,
        "n": lane.n,
        "missed": lane.missed,
        "dropped": lane.dropped,
        "max_ns": lane.worst_ns,
        "p50_ns": lane.p50_ns,
        "p99_ns": lane.p99_ns,
        "p99_9_ns": lane.p99_9_ns,
        "p99_99_ns": lane.p99_99_ns,
    }


def _seconds(ns: int | None) -> float | None:
    return None if ns is None else ns / NS_PER_S


def _print(status: dict[str, Any]) -> None:
    length = "" if status["elapsed_s"] is None else f", {status['elapsed_s']} s"
    planned = "" if status["planned_s"] is None else f" of {status['planned_s']:.0f} s"
    echo(f"{status['id']}: {status['state']}{length}{planned if length else ''}")
    titles = ("n", "missed", "dropped", "p50 us", "p99 us", "p99.9 us", "p99.99 us", "max us")
    counted = [
        ["-" if lane[key] is None else str(lane[key]) for key in ("n", "missed", "dropped")] for lane in status["lanes"]
    ]
    timed = [[format_us(lane[key]) for key in (*_STEPS, "max_ns")] for lane in status["lanes"]]
    rows = [[lane["name"], *a, *b] for lane, a, b in zip(status["lanes"], counted, timed, strict=True)]
    echo_table([words("lane"), *(number(title) for title in titles)], rows)
    if status["state"].endswith("not sealed"):
        echo(f"rtassay seal {status['id']} makes it a whole recording", err=True)
