"""Writes a recording during a run: the probe's bytes go to disk as they come, before anything parses them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self

from rtassay.model.errors import BoardError, CorruptRecording, RtassayError, UsageError
from rtassay.model.files import require_regular
from rtassay.model.manifest import Manifest
from rtassay.store.disk import disk_error, explain
from rtassay.store.manifests import load_manifest, save_manifest
from rtassay.store.paths import SUFFIX, make_directory
from rtassay.store.streams import stream_of

LOCK = "lock"
_TRIES = 20
_TRY_EVERY_S = 0.01
_READABLE = "what was written before is still readable: rtassay show, rtassay seal"


class Lock:
    """An advisory lock on a recording. The process holds it until it ends, however it ends."""

    def __init__(self, path: Path) -> None:
        """Raises UsageError if another process holds it, BoardError if it cannot be made."""
        self.file = path / LOCK
        try:
            if self.file.exists():
                require_regular(self.file)
            self._fd = os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise disk_error(error, self.file, _READABLE) from error
        try:
            self._lock()
        except BlockingIOError as error:
            holder = os.pread(self._fd, 32, 0).decode("ascii", "replace").strip()
            os.close(self._fd)
            raise UsageError(
                f"{path} is in use",
                f"process {holder or '?'} is writing it",
                "wait for it, or look with rtassay status",
            ) from error
        with contextlib.suppress(OSError):  # the pid is for people; the lock itself needs no space
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def _lock(self) -> None:
        # `is_running` holds a shared lock for a moment, without being a writer.
        for _ in range(_TRIES - 1):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            time.sleep(_TRY_EVERY_S)
        fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def release(self, *, remove: bool = False) -> None:
        if self._fd < 0:
            return
        # The kernel releases the lock even if it reports a disk error.
        with contextlib.suppress(OSError):
            if remove:
                self.file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            os.close(self._fd)
        self._fd = -1


def is_running(path: Path) -> bool:
    """Whether a live process is writing this recording (else an unsealed one is abandoned)."""
    try:
        fd = os.open(path / LOCK, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


class RecordingWriter:
    """Writes `<id>.rta/` while a run goes on. Every append reaches the operating system before it returns.

    `path`: the directory; `stream_bytes`: the bytes written so far. Every method raises BoardError if the disk fails.
    Close it before `seal`.
    """

    def __init__(self, path: Path, manifest: Manifest, stream_file: str, lock: Lock) -> None:
        self.path = path
        self.manifest = manifest
        self.stream_file = stream_file
        self._lock = lock
        self._files: dict[str, int] = {}
        self._written: dict[str, int] = {}

    @classmethod
    def create(cls, directory: Path, manifest: Manifest, stream_file: str) -> RecordingWriter:
        """A new recording in `directory` (`store.home()`); the manifest is written unsealed."""
        _plain_name(stream_file)
        make_directory(directory)
        path = directory / f"{manifest.id}{SUFFIX}"
        try:
            path.mkdir()
            (path / "logs").mkdir()
        except FileExistsError as error:
            raise UsageError(f"there is already a recording {path}") from error
        except OSError as error:
            shutil.rmtree(path, ignore_errors=True)
            raise disk_error(error, path, "nothing was recorded") from error
        try:
            lock = Lock(path)
            writer = cls(path, manifest, stream_file, lock)
            writer.update(manifest)
            writer._open(stream_file)
        except RtassayError:
            shutil.rmtree(path, ignore_errors=True)  # the manifest may be written already, and nothing could seal it
            raise
        return writer

    @classmethod
    def resume(cls, path: Path) -> RecordingWriter:
        """An unsealed recording whose host died, to append to. Raises UsageError while another process writes it, or for a sealed one."""
        manifest = load_manifest(path)
        if manifest.sealed:
            raise UsageError(f"{path} is sealed", "there is nothing to add to it")
        stream = stream_of(path)
        if stream is None:
            raise CorruptRecording(f"{path} holds no stream", "its host died before the probe was started")
        writer = cls(path, manifest, stream.name, Lock(path))
        for name in (stream.name, *(file.name for file in path.glob("*.rtw"))):
            writer._written[name] = (path / name).stat().st_size
        return writer

    def written(self, name: str) -> int:
        """Bytes of one file so far."""
        return self._written.get(name, 0)

    def sync(self) -> None:
        """Write everything appended so far to the disk."""
        for name, fd in list(self._files.items()):
            try:
                os.fsync(fd)
            except OSError as error:
                raise disk_error(error, self.path / name, _READABLE, self._written[name]) from error

    @property
    def stream_bytes(self) -> int:
        """Bytes of the stream written so far."""
        return self._written.get(self.stream_file, 0)

    def append(self, chunk: bytes) -> None:
        """Tee bytes of the probe's stream."""
        self.append_to(self.stream_file, chunk)

    def append_to(self, name: str, chunk: bytes) -> None:
        """Append to `telemetry.rtw`, `load-<i>.rtw`, `logs/<name>.txt`."""
        fd = self._open(name)
        view = memoryview(chunk)
        while view:
            try:
                done = os.write(fd, view)
            except OSError as error:
                raise disk_error(error, self.path / name, _READABLE, self._written[name]) from error
            self._written[name] += done
            view = view[done:]

    def update(self, manifest: Manifest) -> None:
        """Replace the manifest atomically."""
        save_manifest(self.path, manifest)
        self.manifest = manifest

    def close(self) -> None:
        """Sync and close all files and release the lock. A second call does no harm."""
        failed: BoardError | None = None
        for name, fd in self._files.items():
            try:
                os.fsync(fd)
            except OSError as error:
                failed = failed or disk_error(error, self.path / name, _READABLE, self._written[name])
            with contextlib.suppress(OSError):
                os.close(fd)
        self._files.clear()
        self._lock.release()
        if failed is not None:
            raise failed

    def _open(self, name: str) -> int:
        if name not in self._files:
            _plain_name(name)
            file = self.path / name
            try:
                if file.exists():
                    require_regular(file)
                self._files[name] = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            except OSError as error:
                raise BoardError(f"cannot write {file}", explain(error), _READABLE) from error
            self._written.setdefault(name, 0)
        return self._files[name]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _plain_name(name: str) -> None:
    """A name inside the recording: a file of it or of its logs/."""
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or len(parts) > 2 or PurePosixPath(name).is_absolute():
        raise ValueError(f"not a name inside a recording: {name!r}")
