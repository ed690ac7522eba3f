"""A console of this machine: a shell, or another program, behind a terminal as a board's UART is; and what may go wrong on the way."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import threading
import tty
from collections.abc import Callable, Iterator, Sequence

from rtassay.model.errors import BoardError


class TtyLink:
    """A `Link` to a program on a new terminal. `spoil`: what the line makes of the bytes that come."""

    def __init__(self, argv: Sequence[str], spoil: Callable[[bytes], bytes] = bytes) -> None:
        # A Ctrl-C may come before the program has begun: it waits until it is known what becomes of it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_IGN if argv[1:] else signal.SIG_DFL)  # a getty ignores it
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.environ["PS1"] = "board# "
            os.execvp(argv[0], argv)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if not argv[1:]:
            select.select([self.fd], [], [], 60)  # its prompt: from now on a Ctrl-C does not end it
        self.spoil = spoil
        self.open = True
        self.sent = 0

    def read(self) -> bytes:
        if not self.open:
            raise BoardError("the console is gone")
        if not select.select([self.fd], [], [], 0.05)[0]:
            return b""
        try:
            return self.spoil(os.read(self.fd, 4096))
        except OSError as error:
            raise BoardError("the console is gone") from error

    def write(self, data: bytes) -> None:
        self.sent += len(data)
        while data:
            data = data[os.write(self.fd, data[:1024]) :]

    def close(self) -> None:
        """The line is let go; what runs behind it does not see that."""

    def end(self) -> None:
        """End the program and its terminal."""
        self.open = False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.close(self.fd)
        os.waitpid(self.pid, 0)


@contextlib.contextmanager
def on_a_tty(*argv: str, spoil: Callable[[bytes], bytes] = bytes) -> Iterator[TtyLink]:
    """The program on a terminal, and its link."""
    link = TtyLink(argv, spoil)
    try:
        yield link
    finally:
        link.end()


@contextlib.contextmanager
def line_to_a_shell(*argv: str) -> Iterator[str]:
    """The path of a serial line whose other end is the console of a board: this machine, with a shell or that program on it."""
    far, near = pty.openpty()
    tty.setraw(near)
    with on_a_tty(*(argv or ("sh",))) as board:
        ended = threading.Event()

        def carry() -> None:
            while not ended.is_set():
                if select.select([far], [], [], 0.02)[0]:
                    board.write(os.read(far, 4096))
                if select.select([board.fd], [], [], 0)[0]:
                    os.write(far, board.read())

        worker = threading.Thread(target=carry, daemon=True)
        worker.start()
        try:
            yield os.ttyname(near)
        finally:
            ended.set()
            worker.join()
            os.close(near)
            os.close(far)
