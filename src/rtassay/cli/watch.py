"""rtassay watch: the live table of a run that was started elsewhere."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from rtassay.cli import watch_board
from rtassay.cli.following import Follower
from rtassay.cli.names import RUNNING
from rtassay.cli.progress import ProgressView
from rtassay.cli.status import lane_dict
from rtassay.cli.terminal import echo
from rtassay.model.errors import EXIT_NOT_DEMONSTRATED, EXIT_OK, UsageError
from rtassay.model.manifest import Manifest
from rtassay.model.units import NS_PER_S
from rtassay.session.control import Progress

_LOOK_EVERY_S = 0.5
# A run that nobody writes at so many looks in a row was left.
_QUIET_LOOKS = 4


@click.command("watch")
@click.argument("run", type=RUNNING, required=False, metavar="[RUN|BOARD]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on each line of stdout, about one a second.")
def command(run: str | None, as_json: bool) -> int:
    """Watch a run that another terminal started, until it ends. Ctrl-C ends only the watching.

    RUN: a recording (path, id, unique beginning of an id, or name), also of a run whose directory another host writes. BOARD: the run on
    that board. If another host started it, the board itself is read every two seconds, and nothing there is changed; the verdict is with
    that host. Without a name: the only run that goes on. The exit code is 0, or 4 if the run was left without being sealed.

    \b
      rtassay watch
      rtassay watch pi5
    """
    from rtassay import store

    path = _running(run)
    if isinstance(path, str):
        return watch_board.watch(path, as_json)
    manifest = store.load_manifest(path)
    follower = Follower(path, manifest)
    try:
        return _watch(path, manifest, follower, as_json)
    except KeyboardInterrupt:
        echo(f"\n{manifest.id} goes on; rtassay watch {manifest.id} follows it again", err=True)
        return EXIT_OK
    finally:
        follower.close()


def _watch(path: Path, manifest: Manifest, follower: Follower, as_json: bool) -> int:
    view = ProgressView(as_json, on=sys.stdout, ctrl_c="ends only the watching")
    told = 0
    for progress in _progress(path, manifest, follower):
        seconds = progress.elapsed_ns // NS_PER_S
        view(progress)
        if as_json and (seconds > told or not told):
            told = seconds
            _line({"state": "running", **_so_far(manifest, progress)})
    view.close()
    return _end(path, as_json)


def _progress(path: Path, manifest: Manifest, follower: Follower) -> Iterator[Progress]:
    """What is known of the run, at every look, as long as it goes on."""
    from rtassay import store

    quiet = 0
    while quiet < _QUIET_LOOKS and not store.load_manifest(path).sealed:
        # Between its measurement and its sealing, a run holds no lock for a moment.
        quiet = 0 if store.is_running(path) else quiet + 1
        follower.read()
        lanes = follower.lanes
        phase = "seal" if follower.ended else "measure" if lanes.measured_ns else "warm-up"
        planned = manifest.plan.duration_ns if phase == "measure" else None
        yield Progress(phase, lanes.measured_ns, planned, lanes.snapshot(), path)
        time.sleep(_LOOK_EVERY_S)


def _end(path: Path, as_json: bool) -> int:
    """Tell how the run ended."""
    from rtassay import store
    from rtassay.cli.show import findings_of
    from rtassay.reports.recording.answer import answer

    manifest = store.load_manifest(path)
    if not manifest.sealed:
        if as_json:
            _line({"state": "abandoned, not sealed", "id": manifest.id, "path": str(path), "board": manifest.board})
        echo(f"{manifest.id} is not written any more, and not sealed; rtassay seal {manifest.id} finishes it", err=True)
        return EXIT_NOT_DEMONSTRATED
    data, findings, recording = findings_of(path, None, False, {}, want_object=True)
    assert findings is not None
    if as_json:
        ended = {"id": manifest.id, "path": str(path), "board": manifest.board, "end_reason": manifest.end_reason}
        _line({"state": "sealed", **ended, "verdict": data["verdict"] and data["verdict"]["state"]})
    else:
        echo(f"{answer(findings, recording).line}\nrtassay show {manifest.id}")
    return EXIT_OK


def _so_far(manifest: Manifest, progress: Progress) -> dict[str, Any]:
    planned = manifest.plan.duration_ns
    return {
        "id": manifest.id,
        "path": str(progress.path),
        "board": manifest.board,
        "elapsed_s": progress.elapsed_ns // NS_PER_S,
        "planned_s": None if planned is None else planned / NS_PER_S,
        "lanes": [lane_dict(lane) for lane in progress.lanes],
    }


def _line(told: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"schema": "rtassay/watch/1", **told}, allow_nan=False) + "\n")
    sys.stdout.flush()


def _running(word: str | None) -> Path | str:
    """The recording to watch, or the name of a board that this host records no run of. Raises UsageError if nothing or too much fits."""
    from rtassay import store
    from rtassay.boards.known import known_boards
    from rtassay.store.paths import recordings

    running = [path for place in places() for path in recordings(place) if store.is_running(path)]
    boards = {path: store.load_manifest(path).board for path in running}
    if word is not None and word not in boards.values():
        if word in known_boards() or word == "local" or "@" in word or word.startswith("lab:"):
            return word
        begun = [path for path in running if word and path.name.startswith(word)]
        return begun[0] if len(begun) == 1 else store.find(word)
    found = [path for path in running if word is None or boards[path] == word]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"nothing is being recorded in {store.home()}", hint="rtassay list shows what was")
    which = ", ".join(f"{path.name.removesuffix('.rta')} ({boards[path]})" for path in found)
    raise UsageError(f"{len(found)} runs go on", hint=f"which one: {which}")


def places() -> list[Path]:
    """The directories in which runs are recorded: ours, and those of the experiments beside it."""
    from rtassay import store

    home = store.home()
    return [home, *sorted((home.parent / "experiments").glob("*/recordings"))]
