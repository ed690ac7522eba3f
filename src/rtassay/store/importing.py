"""Recordings from files of our own and other tools: any iterator of events becomes a sealed recording."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rtassay.model.errors import BoardError, InputFileError
from rtassay.model.events import Event
from rtassay.model.files import open_regular
from rtassay.model.foreign import file_name, is_sentence
from rtassay.model.manifest import Damage, Manifest, Plan, Seal, Source
from rtassay.store.disk import disk_error, explain, sha256_of, sync_directory
from rtassay.store.manifests import save_manifest
from rtassay.store.paths import SUFFIX, make_directory, new_id
from rtassay.store.sealing import seals_of, with_causes, write_tables

_OWN_FORMAT = "rtw"
_COPY_BYTES = 1 << 20


def import_events(
    home: Path,
    source_path: Path,
    source: Source,
    events: Iterable[Event],
    labels: dict[str, str] | None = None,
    note: str | None = None,
    name: str | None = None,
    board: str = "imported",
    plan: Plan | None = None,
    damage: Callable[[], Damage] = Damage,
    inventory: dict[str, Any] | None = None,
) -> Path:
    """A sealed recording in `home` from the events of one file; returns its path.

    `original/` keeps the file byte for byte. Of our own streams, whose samples would be stored twice, `logs/original.sha256` keeps only
    the SHA-256. `plan` None: FACTS give the request. `damage` is called after the last event and returns the losses of the file.
    `inventory`: more facts of the board, as JSON.
    Raises InputFileError if the events hold no measurement, BoardError if the disk fails; then nothing is left behind.
    """
    make_directory(home)
    identity = new_id()
    aside = home / f".importing-{identity}"
    final = home / f"{identity}{SUFFIX}"
    try:
        (aside / "logs").mkdir(parents=True)
        manifest = Manifest(
            id=identity,
            created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            source=replace(source, file=_name_of(source_path)),
            plan=plan or Plan(),
            board=board,
            labels=dict(labels or {}),
            note=note,
            name=name,
            inventory=dict(inventory or {}),
        )
        with _kept_original(aside, source_path, source) as kept:
            manifest, made = write_tables(aside, manifest, events, damage)
            if plan is None:
                manifest = replace(
                    manifest, plan=_plan_of(manifest), inventory=manifest.inventory | _inventory_of(manifest)
                )
            manifest, _ = with_causes(aside, manifest, made)
            if not any(lane.n for lane in manifest.lanes):
                raise InputFileError(f"{source_path} holds no measurement", "there is not one sample in it")
            known = kept.result()
        save_manifest(aside, replace(manifest, sealed=True, seals=seals_of(aside, known=known)))
        aside.rename(final)
        sync_directory(home)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        raise disk_error(error, final, "nothing was imported") from error
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    return final


@contextmanager
def _kept_original(directory: Path, source_path: Path, source: Source) -> Iterator[Future[dict[str, Seal]]]:
    """Copy and hash the file in one reading, on another CPU while the caller decodes it. Gives name in the recording -> seal.

    Raises InputFileError at the end if the file changed meanwhile: the decoded and the kept bytes might differ.
    """
    before, stop = _size_and_time(source_path), threading.Event()
    with ThreadPoolExecutor(1, "original") as pool:
        try:
            yield pool.submit(_keep_original, directory, source_path, source, stop)
        finally:
            stop.set()
    after = _size_and_time(source_path)
    if before != after:
        raise InputFileError(
            f"{source_path} changed while it was being read",
            f"it had {before[0]} bytes and now has {after[0]}",
            "import it when nothing writes to it any more",
        )


def _size_and_time(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise InputFileError(f"cannot read {path}", explain(error)) from error
    return found.st_size, found.st_mtime_ns


def _name_of(path: Path) -> str:
    """What the file is called in the recording: as it is called, or without what no text and no terminal can show."""
    return path.name if is_sentence(path.name) else file_name(path.name)


def _keep_original(directory: Path, source_path: Path, source: Source, stop: threading.Event) -> dict[str, Seal]:
    if source.format == _OWN_FORMAT:
        _, text = sha256_of(source_path)
        (directory / "logs" / "original.sha256").write_text(f"{text}  {_name_of(source_path)}\n")
        return {}
    name = f"original/{_name_of(source_path)}"
    (directory / "original").mkdir()
    digest, size = hashlib.sha256(), 0
    try:
        with open_regular(source_path) as original, (directory / name).open("xb", buffering=0) as copy:
            while not stop.is_set() and (piece := original.read(_COPY_BYTES)):
                digest.update(piece)
                size += len(piece)
                rest = memoryview(piece)
                while rest:
                    rest = rest[copy.write(rest) :]
            os.fsync(copy.fileno())
    except OSError as error:
        raise BoardError(f"cannot copy {source_path} into the recording", explain(error)) from error
    return {name: Seal(size, digest.hexdigest())}


def _inventory_of(manifest: Manifest) -> dict[str, Any]:
    """The kernel, if the file names it. Our own streams do; no session has looked at the board."""
    told = {key: value for key, value in manifest.probe_facts.kernel.as_dict().items() if value is not None}
    return {"kernel": told} if told else {}


def _plan_of(manifest: Manifest) -> Plan:
    """The request to the probe, as far as FACTS state it."""
    facts = manifest.probe_facts
    asked = facts.requested
    return Plan(
        probe=manifest.source.tool,
        policy=asked.policy,
        cpus=asked.cpus,
        keep_samples=manifest.has_samples,
        command=facts.argv or (),
        interval_ns=asked.interval_ns or facts.interval_ns,
        duration_ns=asked.duration_ns,
        count=asked.count,
        priority=asked.priority,
        deadline_ns=asked.deadline_ns,
        break_above_ns=asked.break_above_ns,
        dma_latency_us=asked.dma_latency_us,
        aligned=asked.aligned,
        mlock=asked.mlock,
        sleep=asked.sleep or (None if facts.settings is None else facts.settings.sleep),
        clock=asked.clock or (None if facts.settings is None else facts.settings.clock),
    )
