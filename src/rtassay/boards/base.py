"""How to reach a board. To add a transport: a file here, a line in `__init__.py`, a page in docs/extend."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import Any, Protocol

from rtassay.model.errors import UsageError


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


class Parting(Enum):
    """What `close` does with what still runs on a board that detaches, and with what of its output has not arrived here."""

    REMOVE = auto()  # end it, remove it
    KEEP = auto()  # end it, wait for the rest; what does not arrive stays on the board, for `recall`
    LEAVE = auto()  # let it go on, for `recall`


class Board(Protocol):
    """One way to reach a board. Commands are lists, never strings: no shell is needed on the board.

    Every method raises BoardError when the board or the way to it fails.

    `detaches`: what was launched goes on without a connection. `notice` is told sentences for people while things go on. `synced` is
    awaited before the board may forget what has arrived here: set it to what makes that safe on disk. `parting`: set it to what `close`
    shall do.
    """

    name: str
    detaches: bool
    notice: Callable[[str], None]
    synced: Callable[[], Awaitable[None]]
    parting: Parting

    @property
    def connected(self) -> bool: ...

    @property
    def offline_s(self) -> float:
        """Seconds without a connection since `open`: whatever is bounded in time may take that much longer."""
        ...

    @property
    def memory(self) -> Mapping[str, Any] | None:
        """Once open: what `recall` needs, as JSON, after this process has died; None where nothing outlives it."""
        ...

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Before `open`: take over the run of a host that died. Raises UsageError where nothing can be left of it."""
        ...

    async def reattach(self, name: str, offset: int) -> BoardProcess:
        """After `recall` and `open`: what was launched as `name`, with its stream from byte `offset` on."""
        ...

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


async def nothing_to_sync() -> None:
    return


class NeverAway:
    """Part of a transport whose commands live and die with us: there is no connection to lose, and nothing to find again."""

    detaches = False
    connected = True
    offline_s = 0.0
    memory: Mapping[str, Any] | None = None

    def __init__(self) -> None:
        self.notice: Callable[[str], None] = lambda sentence: None
        self.synced: Callable[[], Awaitable[None]] = nothing_to_sync
        self.parting = Parting.REMOVE

    def recall(self, memory: Mapping[str, Any]) -> None:
        raise UsageError(
            "there is nothing to attach to", "a run on this machine ends with its host", "rtassay seal finishes it"
        )

    async def reattach(self, name: str, offset: int) -> BoardProcess:
        raise UsageError(f"there is no '{name}' to attach to", "a run on this machine ends with its host")
