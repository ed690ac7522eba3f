"""The events of an experiment: one line of JSON for each, appended and synced, with the CRC of the rest of its line.

A crash can only damage the end: a reader skips torn lines at the end, a writer cuts them off before it appends. A bad line with
good lines after it is damage, and an error.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from rtassay.model import failpoints
from rtassay.model.errors import CorruptRecording
from rtassay.model.files import read_regular
from rtassay.store.disk import disk_error, explain, sync_directory

JOURNAL = "journal.jsonl"
# A cell in one of these states is not measured again.
DONE = ("sealed", "skipped")
_LEFT = "the experiment can be resumed from what was written before"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line. `event`: planned, opened, started, sealed, failed, superseded, looked, skipped, closed; `cell` and `recording` are ids
    where it is about one."""

    event: str
    at: str
    cell: str | None = None
    recording: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)


class Journal:
    """Open for appending; one process at a time (the experiment's lock)."""

    def __init__(self, path: Path) -> None:
        """Raises CorruptRecording for a damaged journal, BoardError if it cannot be written."""
        self.path = path / JOURNAL
        new = not self.path.exists()
        self.entries, self._whole = ([], 0) if new else _read(self.path)
        try:
            self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            self._cut_what_is_torn()
            if new:
                sync_directory(path)
        except OSError as error:
            raise disk_error(error, self.path, _LEFT) from error

    def add(self, event: str, *, cell: str | None = None, recording: str | None = None, **facts: Any) -> Entry:
        """Append and sync. When this returns, a power cut does not undo it. Raises BoardError; the journal is as before then."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        entry = Entry(event, at, cell, recording, facts)
        line = _line(entry)
        failpoints.reached(f"journal before {event}")
        try:
            self._cut_what_is_torn()
            # Two writes, so that a crash between them (the failpoint) leaves what a power cut can leave: half a line.
            half = len(line) // 2
            self._write(line[:half])
            failpoints.reached(f"journal torn {event}")
            self._write(line[half:])
            os.fsync(self._fd)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._cut_what_is_torn()
            raise disk_error(error, self.path, _LEFT) from error
        failpoints.reached(f"journal after {event}")
        self.entries.append(entry)
        self._whole += len(line)
        return entry

    def _write(self, data: bytes) -> None:
        """Raises OSError, also where only a part of it fits."""
        if os.write(self._fd, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))

    def _cut_what_is_torn(self) -> None:
        """A line that a crash or a full disk left half; a whole one after it would be damage. Raises OSError."""
        if os.fstat(self._fd).st_size > self._whole:
            os.ftruncate(self._fd, self._whole)
            os.fsync(self._fd)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_journal(path: Path) -> list[Entry]:
    """Every whole line of the experiment at `path`, also while it runs; empty if nothing was journaled yet."""
    try:
        return _read(path / JOURNAL)[0]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CorruptRecording(f"{path / JOURNAL} cannot be read", explain(error)) from error


def _line(entry: Entry) -> bytes:
    data: dict[str, Any] = {"event": entry.event, "at": entry.at}
    data |= {key: value for key, value in (("cell", entry.cell), ("recording", entry.recording)) if value is not None}
    body = json.dumps(data | ({"facts": entry.facts} if entry.facts else {}), separators=(",", ":"), allow_nan=False)
    return f'{body[:-1]},"crc":"{_crc(body)}"}}\n'.encode()


def _crc(body: str) -> str:
    return f"{zlib.crc32(body.encode()):08x}"


def _read(file: Path) -> tuple[list[Entry], int]:
    """Entries, and how many bytes of the file are whole lines."""
    data = read_regular(file)
    entries: list[Entry] = []
    whole = at = number = 0
    bad: int | None = None
    while at < len(data):
        end = data.find(b"\n", at)
        number += 1
        entry = None if end < 0 else _entry(data[at:end])
        at = len(data) if end < 0 else end + 1
        if entry is None:
            bad = bad or number
        elif bad is not None:
            raise CorruptRecording(f"{file} is damaged", f"line {bad} is, and whole ones follow it", "check the disk")
        else:
            entries.append(entry)
            whole = at
    return entries, whole


def _entry(line: bytes) -> Entry | None:
    """None for a line that is not whole."""
    head, found, tail = line.rpartition(b',"crc":"')
    if not found or len(tail) != 10 or not tail.endswith(b'"}'):
        return None
    body = head.decode("utf-8", "replace") + "}"
    if _crc(body).encode() != tail[:8]:
        return None
    fields = json.loads(body)
    return Entry(fields["event"], fields["at"], fields.get("cell"), fields.get("recording"), fields.get("facts", {}))


@dataclass(slots=True)
class CellState:
    """State of one cell by the journal. `state`: planned, running, sealed, failed, skipped (a planned look made it needless). `superseded`: recordings that do not count."""

    state: str = "planned"
    recording: str | None = None
    attempts: int = 0
    superseded: list[str] = field(default_factory=list)
    why: str | None = None
    started: str | None = None
    ended: str | None = None


def states(entries: Iterable[Entry], cells: Iterable[str]) -> dict[str, CellState]:
    """The state of every cell after these entries. `running` means interrupted if no process writes the journal any more."""
    found = {cell: CellState() for cell in cells}
    for entry in entries:
        state = found.get(entry.cell or "")
        if state is None:
            continue
        if entry.event == "started":
            state.state, state.attempts, state.started, state.ended = "running", state.attempts + 1, entry.at, None
        elif entry.event == "sealed":
            state.state, state.recording, state.why, state.ended = "sealed", entry.recording, None, entry.at
        elif entry.event == "failed":
            state.state, state.why, state.ended = "failed", entry.facts.get("why"), entry.at
        elif entry.event == "skipped":
            state.state, state.why = "skipped", entry.facts.get("why")
        elif entry.event == "superseded":
            if entry.recording is not None and entry.recording not in state.superseded:
                state.superseded.append(entry.recording)
            if state.state == "running":
                state.state = "planned"
            state.why = entry.facts.get("why")
    return found
