"""How to reach a board. To add a transport: a file here, a line in `__init__.py`, a page in docs/extend."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Protocol


class BoardProcess(Protocol):
    """A command running on the board. `pid` is the board's, not that of a local client."""

    pid: int

    def chunks(self) -> AsyncIterator[bytes]:
        """stdout as it comes, until it ends. To be called once."""
        ...

    async def errors(self) -> bytes:
        """All of stderr (the last 64 KiB of it), once it has ended."""
        ...

    async def close_stdin(self) -> None:
        """Let go: an attached guard takes the end of stdin as the end of its owner."""
        ...

    async def signal(self, number: int) -> None:
        """Send a signal to the process; no error if it is gone."""
        ...

    async def wait(self, timeout_s: float | None = None) -> int:
        """Exit code (128 + n for signal n). Raises TimeoutError."""
        ...


class Board(Protocol):
    """One way to reach a board. Commands are lists, never strings: no shell is needed on the board.

    Every method raises BoardError when the board or the way to it fails.
    """

    name: str
    detaches: bool

    async def open(self) -> None:
        """Get into contact. Raises BoardError with the next step if that cannot be."""
        ...

    async def probe(self) -> str:
        """Path of an rtprobe that runs on the board, put there if need be."""
        ...

    async def start(self, argv: Sequence[str]) -> BoardProcess:
        """Start a command with pipes on stdin, stdout and stderr."""
        ...

    async def launch(self, argv: Sequence[str], name: str, *, ends: Sequence[str] = ()) -> BoardProcess:
        """Start what must outlive a lost connection: a guard with `--attached`, whose owner then lives on the board itself.

        `name` is unique among what was launched since `open`. Where the board detaches, the command and its output go on without
        us; `chunks` is one unbroken stream all the same. When it has ended, those named by `ends` are let go, host or no host.
        """
        ...

    async def put(self, source: Path, target: str) -> None:
        """Copy a local file to the board, executable."""
        ...

    async def read(self, path: str) -> bytes | None:
        """A small file of the board, None if it is not there or not readable."""
        ...

    async def which(self, program: str) -> str | None:
        """Absolute path of a program on the board's PATH."""
        ...

    async def close(self) -> None:
        """Let go of the board; everything started through it has ended."""
        ...
