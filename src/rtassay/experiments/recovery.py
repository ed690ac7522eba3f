"""Recordings of a killed experiment: each is adopted if its measurement reached its planned end, else superseded."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rtassay.experiments.directory import RECORDINGS
from rtassay.experiments.journal import CellState, Journal, states
from rtassay.experiments.matrix import Cell
from rtassay.model.errors import BoardError, RtassayError
from rtassay.model.manifest import PLANNED_ENDS, Manifest
from rtassay.session.attach import attachable
from rtassay.store import is_running, load_manifest
from rtassay.store.paths import MANIFEST, recordings

_NEEDLESS = {"sealed": "its cell has a sealed recording", "skipped": "its combination was decided without it"}
Finish = Callable[[Path], Manifest]


@dataclass(frozen=True, slots=True)
class Found:
    """The result of recovery, for people: recording ids."""

    adopted: tuple[str, ...]
    superseded: tuple[str, ...]


def recover(path: Path, cells: dict[str, Cell], plan_hash: str, journal: Journal, finish: Finish) -> Found:
    """Go through the recordings that the journal has not settled. `finish` seals one whose measurement was whole.

    A recording whose rest is still on a board is left for `left_on_boards`.
    """
    elsewhere = {recording for recording, _ in left_on_boards(path, cells, plan_hash)}
    known = states(journal.entries, cells)
    settled = {state.recording for state in known.values() if state.recording is not None}
    settled |= {recording for state in known.values() for recording in state.superseded}
    adopted, superseded = [], []
    for recording in recordings(path / RECORDINGS):
        recording_id = recording.name.removesuffix(".rta")
        if recording_id in settled or recording in elsewhere or is_running(recording):
            continue
        if not (recording / MANIFEST).exists():
            # Killed before its first byte: it belongs to no cell.
            with contextlib.suppress(OSError):
                shutil.rmtree(recording)
            continue
        manifest = load_manifest(recording)
        cell = cells.get(manifest.labels.get("cell", ""))
        if cell is None or manifest.labels.get("plan") != plan_hash:
            continue  # not of this experiment: left alone
        why = _NEEDLESS.get(known[cell.id].state)
        if why is None:
            why, manifest = _completed(recording, manifest, finish)
        if why is None:
            journal.add("sealed", cell=cell.id, recording=manifest.id, adopted=True, **ends_of(manifest))
            known = states(journal.entries, cells)
            adopted.append(manifest.id)
        else:
            journal.add("superseded", cell=cell.id, recording=recording_id, why=why)
            superseded.append(recording_id)
    return Found(tuple(adopted), tuple(superseded))


def left_on_boards(path: Path, cells: dict[str, Cell], plan_hash: str) -> list[tuple[Path, Cell]]:
    """Recordings of this plan that a board continued alone, oldest first. They must be fetched before they are judged."""
    found = []
    for recording in attachable(path / RECORDINGS):
        with contextlib.suppress(RtassayError):
            manifest = load_manifest(recording)
            cell = cells.get(manifest.labels.get("cell", ""))
            ours = cell is not None and manifest.labels.get("plan") == plan_hash
            if cell is not None and ours and not manifest.sealed and not is_running(recording):
                found.append((recording, cell))
    return found


def cut_off_while_measuring(path: Path, known: Mapping[str, CellState]) -> bool:
    """Whether something of an interrupted cell may still run on the board: until all is collected its loads and probe do."""
    running = {cell: state for cell, state in known.items() if state.state == "running"}
    if not running:
        return False
    over = set()
    for recording in recordings(path / RECORDINGS):
        with contextlib.suppress(RtassayError):
            manifest = load_manifest(recording)
            if manifest.sealed or manifest.wall_end is not None:
                over.add((manifest.labels.get("cell"), manifest.labels.get("attempt")))
    return any((cell, str(state.attempts)) not in over for cell, state in running.items())


def _completed(recording: Path, manifest: Manifest, finish: Finish) -> tuple[str | None, Manifest]:
    """The reason why it does not count, or None and its sealed manifest."""
    if not manifest.sealed:
        # Written after the probe ended and all data were collected: only the sealing is missing.
        if manifest.wall_end is None:
            return "partial: it was cut off while it was measured", manifest
        try:
            manifest = finish(recording)
        except BoardError:
            raise
        except RtassayError as error:
            return f"partial: {error}", manifest
    return unfinished(manifest), manifest


def unfinished(manifest: Manifest) -> str | None:
    """The reason why a sealed recording is not the whole cell; None if it is whole."""
    if manifest.end_reason not in (
        *PLANNED_ENDS,
        None,
    ):  # None: a tool that gives no reason, but whose output was whole
        return f"partial: stopped before its planned end ({manifest.end_reason})"
    if manifest.damage.cut:
        return "partial: its stream was cut"
    if not any(lane.n for lane in manifest.lanes):
        return "it holds no samples"
    return None


def ends_of(manifest: Manifest) -> dict[str, int | str | None]:
    """For the journal: the measured interval on the board's clock, and the boot."""
    return {
        "started_ns": manifest.started_ns,
        "ended_ns": manifest.ended_ns,
        "boot": manifest.board_start.boot_id,
        "wall_start": manifest.wall_start,
        "wall_end": manifest.wall_end,
    }
