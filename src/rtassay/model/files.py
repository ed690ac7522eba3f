"""Files that a person or another program named: only regular ones are opened, since a FIFO would be waited for without end; whole ones are written."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def open_regular(path: Path) -> BinaryIO:
    """The file, open for reading. Raises OSError, also for a directory, a FIFO, a socket or a device."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def require_regular(path: Path) -> None:
    """For readers that open a path by themselves. Raises as `open_regular` does."""
    open_regular(path).close()


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """An OSError of the block names `path`: one of write, fsync or close names no file by itself."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def write_file(path: Path, data: bytes) -> None:
    """For files that nobody reads if this fails. Raises OSError that names the file."""
    with naming(path):
        path.write_bytes(data)


def replace_file(path: Path, data: bytes) -> None:
    """The whole new file, or the one that was there: aside, synced, renamed. Raises OSError."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with naming(path), aside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise


def read_regular(path: Path) -> bytes:
    """All of the file. Raises as `open_regular` does."""
    with open_regular(path) as file:
        return file.read()
