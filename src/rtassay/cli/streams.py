"""stdout and stderr of the command line, whatever they are: a pipe that its reader closed, a full disk, closed, not UTF-8."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import select
import signal
import sys

from rtassay.model.errors import BoardError


class _Output(io.RawIOBase):
    """A file descriptor to write to. What its reader does not want any more is dropped in silence.

    Any other failure raises BoardError once; on stderr it is dropped too, since nowhere is left to say it.
    """

    def __init__(self, fd: int, *, named: str | None) -> None:
        self._fd = fd
        self._named = named
        self._failed = False

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def isatty(self) -> bool:
        return os.isatty(self._fd)

    def write(self, data: object) -> int:
        view = memoryview(data)  # type: ignore[arg-type]
        while not self._failed:
            try:
                return os.write(self._fd, view)
            except BlockingIOError:
                select.select([], [self._fd], [])
            except BrokenPipeError:
                self._failed = True
            except OSError as error:
                self._failed = True
                if self._named is not None:
                    closed = error.errno == errno.EBADF
                    why = "it is closed" if closed else error.strerror
                    hint = "leave '>&-' out, or write to a file" if closed else "make room there, or name another file"
                    raise BoardError(f"cannot write to {self._named}", why, hint) from error
        return view.nbytes


def prepare() -> None:
    """For the start of the process: results and messages can be written or are dropped, and children can be waited for.

    A descriptor that the caller closed is bound to /dev/null, so that no file of ours takes its number and gets text of ours.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where a parent ignored it, no exit code of a child could be had
    closed = [fd for fd in (0, 1, 2) if not _is_open(fd)]
    for fd in closed:
        taken = os.open(os.devnull, os.O_RDWR)
        if taken != fd:
            os.dup2(taken, fd)
            os.close(taken)
    sys.stdout = _text(_Output(-1 if 1 in closed else 1, named="stdout"))
    sys.stderr = _text(_Output(2, named=None), line_buffering=True)


def _text(raw: _Output, *, line_buffering: bool = False) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=line_buffering
    )


def _is_open(fd: int) -> bool:
    with contextlib.suppress(OSError):
        os.fstat(fd)
        return True
    return False
