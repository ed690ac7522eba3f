"""Edits of finished recordings: change labels and notes, remove samples, move recordings to the trash and back.

The trash is a directory beside the recordings, so a move into it needs no space. No function here touches a recording that is being
written.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rtassay.model.errors import BoardError, UsageError
from rtassay.model.manifest import Edit, Manifest
from rtassay.store.disk import disk_error, explain, sync_directory
from rtassay.store.finding import find
from rtassay.store.manifests import FINDINGS, load_manifest, save_manifest
from rtassay.store.paths import SUFFIX
from rtassay.store.writer import Lock, is_running

TRASH = ".trash"
SAMPLES = "samples.parquet"
_KEEPS = "the recording is as it was"


@dataclass(frozen=True, slots=True)
class Trashed:
    """A recording in the trash, and its size."""

    id: str
    path: Path
    bytes: int


def size_of(path: Path) -> int:
    """Bytes of all files of a recording; a file that goes away meanwhile counts as 0."""
    total = 0
    for file in path.rglob("*"):
        try:
            if file.is_file() and not file.is_symlink():
                total += file.stat().st_size
        except OSError:
            continue
    return total


def edit(path: Path, *, labels: Mapping[str, str | None], note: str | None = None, name: str | None = None) -> Manifest:
    """Set labels (None removes one) and, unless None, the note and the name ("" removes it). The history keeps the old values.

    Cached findings are removed: labels can change them. Raises UsageError for an unsealed recording or a label to remove that
    is not there, BoardError if the disk does not take it.
    """
    manifest = _sealed(path)
    absent = [key for key, value in labels.items() if value is None and key not in manifest.labels]
    if absent:
        known = ", ".join(sorted(manifest.labels)) or "none"
        raise UsageError(f"{path.name} has no label '{absent[0]}'", f"its labels are: {known}")
    kept = {key: value for key, value in {**manifest.labels, **labels}.items() if value is not None}
    said = manifest.note if note is None else note or None
    called = manifest.name if name is None else name or None
    if (kept, said, called) == (manifest.labels, manifest.note, manifest.name):
        return manifest
    before = Edit(_now(), dict(manifest.labels), manifest.note, name=manifest.name)
    return _save(path, replace(manifest, labels=kept, note=said, name=called, history=(*manifest.history, before)))


def remove_samples(path: Path) -> int:
    """Remove the samples of a sealed recording of rtprobe and return the bytes freed, 0 if it keeps none.

    Histogram, seconds, late wake-ups and telemetry stay. Raises UsageError for an import: its histogram may be incomplete.
    """
    manifest = _sealed(path)
    file = path / SAMPLES
    if SAMPLES not in manifest.seals:
        return _unlink(file)
    if manifest.source.tool != "rtprobe":
        raise UsageError(
            f"{path.name} is an import of {manifest.source.tool}",
            "its samples are the only full account",
            "rtassay rm removes it",
        )
    seals = {name: seal for name, seal in manifest.seals.items() if name != SAMPLES}
    removed = Edit(_now(), dict(manifest.labels), manifest.note, manifest.seals[SAMPLES].bytes, manifest.name)
    # Write the manifest first: a file without a seal is a leftover, a seal without a file is damage.
    _save(path, replace(manifest, has_samples=False, seals=seals, history=(*manifest.history, removed)))
    return _unlink(file)


def put_away(path: Path) -> Trashed:
    """Move a recording into the trash of its directory. Raises UsageError while it is written, BoardError if it cannot be moved."""
    _idle(path)
    trash = path.parent / TRASH
    target = trash / path.name
    try:
        trash.mkdir(exist_ok=True)
        if target.exists():
            shutil.rmtree(target)
        path.rename(target)
        sync_directory(trash)
        sync_directory(path.parent)
    except OSError as error:
        raise BoardError(f"cannot move {path} to the trash", explain(error), _KEEPS) from error
    return Trashed(target.name.removesuffix(SUFFIX), target, size_of(target))


def take_back(name: str, home: Path) -> Path:
    """Move a recording from the trash back to its place. Raises UsageError if it is not in the trash, or its place is taken."""
    inside = find(name, home / TRASH)
    target = home / inside.name
    if target.exists():
        raise UsageError(f"{target} exists already", hint="remove that one first")
    try:
        inside.rename(target)
        sync_directory(home)
    except OSError as error:
        raise BoardError(f"cannot take {inside} back", explain(error)) from error
    return target


def trashed(home: Path) -> Iterator[Trashed]:
    """The recordings in the trash, oldest first."""
    trash = home / TRASH
    if not trash.is_dir():
        return
    for path in sorted(trash.glob(f"*{SUFFIX}")):
        yield Trashed(path.name.removesuffix(SUFFIX), path, size_of(path))


def remove(path: Path) -> int:
    """Remove a recording permanently and return the bytes freed. Raises UsageError while it is written, BoardError if it cannot be removed."""
    _idle(path)
    freed = size_of(path)
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise BoardError(f"cannot remove {path}", explain(error), "a part of it may be gone") from error
    return freed


def _sealed(path: Path) -> Manifest:
    manifest = load_manifest(path)
    if not manifest.sealed:
        raise UsageError(f"{path.name} is not sealed", hint="rtassay seal finishes it")
    return manifest


def _idle(path: Path) -> None:
    if is_running(path):
        raise UsageError(f"{path.name} is being written", hint="end the run first; rtassay status shows it")


def _save(path: Path, manifest: Manifest) -> Manifest:
    lock = Lock(path)
    try:
        save_manifest(path, manifest)
        (path / FINDINGS).unlink(missing_ok=True)
    except OSError as error:
        raise disk_error(error, path / FINDINGS, _KEEPS) from error
    finally:
        lock.release(remove=True)
    return manifest


def _unlink(file: Path) -> int:
    try:
        size = file.stat().st_size
        file.unlink()
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise BoardError(f"cannot remove {file}", explain(error)) from error
    return size


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
