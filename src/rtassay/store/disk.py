"""Atomic writing: no incomplete file looks complete. Clear errors when the disk is full."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from rtassay.model.errors import BoardError
from rtassay.model.files import open_regular

_FULL = (errno.ENOSPC, errno.EDQUOT)
_HASH_CHUNK = 1 << 20


def explain(error: OSError) -> str:
    return error.strerror or str(error)


def is_full(error: OSError) -> bool:
    # If pyarrow's own file layer fails, the errno is only in the text.
    return error.errno in _FULL or "errno 28" in str(error)


def disk_error(error: OSError, path: Path, what_is_left: str, written: int | None = None) -> BoardError:
    """The BoardError for a failed write. `what_is_left` says what is still readable."""
    if is_full(error):
        amount = "" if written is None else f" {written} bytes written to {path};"
        return BoardError(
            f"the disk is full:{amount} nothing more fits in {path.parent}", what_is_left, "free some space and go on"
        )
    return BoardError(f"cannot write {path}", explain(error), what_is_left)


def sync_directory(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_file(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`. If the block succeeds, the file is synced and moved to `path`; else it is removed."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield aside
        sync_file(aside)
        aside.replace(path)
        sync_directory(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise


def write_replacing(path: Path, data: bytes, what_is_left: str) -> None:
    """A whole file or none. Raises BoardError."""
    try:
        with replacing(path) as aside:
            aside.write_bytes(data)
    except OSError as error:
        raise disk_error(error, path, what_is_left) from error


def sha256_of(path: Path) -> tuple[int, str]:
    """Size in bytes and SHA-256 of a file."""
    digest, size = hashlib.sha256(), 0
    with open_regular(path) as file:
        while chunk := file.read(_HASH_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return size, digest.hexdigest()
