"""A fast list of recordings: a cache in SQLite that can be deleted at any time.

The recordings are the truth. A row is valid while the times and sizes of its manifest.json and findings.json stay the same.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from rtassay.model.errors import RtassayError
from rtassay.model.findings import Assumption
from rtassay.model.inventory import preempt_rt
from rtassay.model.manifest import Manifest
from rtassay.store.manifests import FINDINGS, load_findings, load_manifest
from rtassay.store.paths import MANIFEST, SUFFIX, recordings

FILE: Final = ".index.sqlite3"
# Raise it with every change of IndexEntry: an index of another version is rebuilt.
VERSION: Final = 4
_BUSY_S = 5.0
_CREATE = "CREATE TABLE IF NOT EXISTS recording (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, entry BLOB NOT NULL)"


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One line of `rtassay list`. `state`, `demonstrated_ns` and what HOLDS `assumes` come from the cached findings, None without.

    `realtime`: whether the kernel is PREEMPT_RT; `probe`: how rtassay measured, empty for an imported file. `file`: the name of that file.
    `n`, `missed`, `max_ns` are over all lanes. `error` says why a recording is unreadable; the other fields are then blank.
    """

    id: str
    path: str
    created: str = ""
    sealed: bool = False
    board: str = ""
    kernel: str | None = None
    realtime: bool | None = None
    tool: str = ""
    probe: str = ""
    load: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    note: str | None = None
    name: str | None = None
    file: str | None = None
    duration_s: float | None = None
    interval_ns: int | None = None
    lanes: int = 0
    n: int = 0
    missed: int | None = None
    max_ns: int | None = None
    deadline_ns: int | None = None
    demonstrated_ns: int | None = None
    state: str | None = None
    assumes: tuple[Assumption, ...] = ()
    per_hour: float | None = None
    error: str | None = None


def called(entry: IndexEntry) -> str | None:
    """The recording's name, else the name of the imported file."""
    return entry.name or entry.file


def entries(home: Path) -> list[IndexEntry]:
    """All recordings of a directory, oldest first. Never fails for a damaged index or recording."""
    stamps = {str(path): _stamp(path) for path in recordings(home)}
    known = _read(home)
    fresh: dict[str, tuple[str, IndexEntry]] = {}
    for path, stamp in stamps.items():
        if path not in known or known[path][0] != stamp:
            fresh[path] = (stamp, describe(Path(path)))
    gone = [path for path in known if path not in stamps]
    if fresh or gone:
        _write(home, fresh, gone)
    found = [fresh[path][1] if path in fresh else known[path][1] for path in stamps]
    return sorted(found, key=lambda entry: entry.id)


def _planned_ns(manifest: Manifest) -> int | None:
    plan = manifest.plan
    if plan.duration_ns is None and plan.count is not None and plan.interval_ns is not None:
        return plan.count * plan.interval_ns
    return plan.duration_ns


def describe(path: Path) -> IndexEntry:
    """The entry of one recording, read now."""
    identity = path.name.removesuffix(SUFFIX)
    try:
        manifest = load_manifest(path)
    except RtassayError as error:
        return IndexEntry(identity, str(path), error=str(error))
    findings = load_findings(path) or {}
    pooled, verdict = _dict(findings.get("pooled")), _dict(findings.get("verdict"))
    started, ended = manifest.started_ns, manifest.ended_ns
    span_ns = ended - started if started is not None and ended is not None else _planned_ns(manifest)
    missed = [lane.missed for lane in manifest.lanes]
    highest = [lane.max_ns for lane in manifest.lanes if lane.max_ns is not None]
    told = manifest.board_start.kernel.release or manifest.probe_facts.kernel.release
    kernel = findings.get("kernel") or told
    return IndexEntry(
        id=manifest.id,
        path=str(path),
        created=manifest.created,
        sealed=manifest.sealed,
        board=manifest.board,
        kernel=kernel if isinstance(kernel, str) else None,
        realtime=_realtime(manifest),
        tool=manifest.source.tool,
        probe=manifest.plan.probe if manifest.plan.command else "",
        load=findings.get("load") or manifest.plan.load,
        labels=manifest.labels,
        note=manifest.note,
        name=manifest.name,
        file=manifest.source.file,
        duration_s=None if span_ns is None else span_ns / 1e9,
        interval_ns=manifest.plan.interval_ns,
        lanes=len(manifest.lanes),
        n=sum(lane.n for lane in manifest.lanes),
        missed=None if None in missed else sum(m for m in missed if m is not None),
        max_ns=max(highest, default=None),
        deadline_ns=manifest.plan.deadline_ns,
        demonstrated_ns=_demonstrated(findings, pooled),
        state=verdict.get("state"),
        assumes=_assumes(verdict),
        per_hour=verdict.get("per_hour"),
    )


def _assumes(verdict: dict[str, Any]) -> tuple[Assumption, ...]:
    try:
        return msgspec.convert(verdict.get("assumes") or [], tuple[Assumption, ...])
    except msgspec.ValidationError:
        return ()


def _realtime(manifest: Manifest) -> bool | None:
    """From the board's inventory, else from the `uname -v` of the probe or the file."""
    told = manifest.board_start.kernel.realtime
    return told if told is not None else preempt_rt(manifest.probe_facts.kernel.version)


def _demonstrated(findings: dict[str, Any], pooled: dict[str, Any]) -> int | None:
    """D* of the worst lane; None if a lane has none."""
    lanes = [_dict(_dict(lane).get("demonstrated")).get("deadline_ns") for lane in findings.get("lanes") or [pooled]]
    return None if None in lanes else max((int(value) for value in lanes if value is not None), default=None)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _stamp(path: Path) -> str:
    parts = []
    for name in (MANIFEST, FINDINGS):
        try:
            status = (path / name).stat()
            parts.append(f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}")
        except OSError:
            parts.append("-")
    return " ".join(parts)


def _read(home: Path) -> dict[str, tuple[str, IndexEntry]]:
    """Rows of the index; none if it is missing or damaged."""
    if not (home / FILE).is_file():
        return {}
    try:
        with _database(home) as database:
            rows = database.execute("SELECT path, stamp, entry FROM recording").fetchall()
        return {path: (stamp, msgspec.json.decode(entry, type=IndexEntry)) for path, stamp, entry in rows}
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            return {}
        _discard(home)
    except (sqlite3.DatabaseError, msgspec.DecodeError, TypeError, ValueError):
        _discard(home)
    return {}


def _write(home: Path, fresh: dict[str, tuple[str, IndexEntry]], gone: list[str]) -> None:
    """Update the index. A directory that cannot hold it is no error: the next list reads the manifests again."""
    if not home.is_dir() or ((home / FILE).exists() and not (home / FILE).is_file()):
        return
    with contextlib.suppress(sqlite3.Error), _database(home) as database:
        database.execute("BEGIN IMMEDIATE")
        database.executemany("DELETE FROM recording WHERE path = ?", [(path,) for path in gone])
        rows = [(path, stamp, msgspec.json.encode(entry)) for path, (stamp, entry) in fresh.items()]
        database.executemany("INSERT OR REPLACE INTO recording VALUES (?, ?, ?)", rows)
        database.execute("COMMIT")


@contextlib.contextmanager
def _database(home: Path) -> Iterator[sqlite3.Connection]:
    database = sqlite3.connect(home / FILE, timeout=_BUSY_S, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        if database.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            database.execute("BEGIN IMMEDIATE")
            if database.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                database.execute("DROP TABLE IF EXISTS recording")
            database.execute(_CREATE)
            database.execute(f"PRAGMA user_version = {VERSION}")
            database.execute("COMMIT")
        yield database
    finally:
        database.close()


def _discard(home: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            (home / f"{FILE}{suffix}").unlink(missing_ok=True)
