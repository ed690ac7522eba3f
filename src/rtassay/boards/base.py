"""Boards and how to reach them. To add a transport: a file here, a line in `__init__.py`, a page in docs/extend.

A `Transport` runs commands on a machine and copies files there. A `LinuxBoard` is what a run needs: it puts the probe on the machine
and keeps processes alive there; linux.py makes one out of any transport. A `Board` holds what all boards share, so that a board
with a console and nothing else can stand beside a Linux board.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from rtassay.model.errors import BoardError, UsageError

if TYPE_CHECKING:
    from rtassay.boards.places import Contact
    from rtassay.boards.watching import Watching

T = TypeVar("T")

# The name that a measurement is launched under.
PROBE = "probe"
# How long a board may take to answer a short script.
ANSWER_S = 30.0
# The most that it may say.
ANSWER_BYTES = 4 * 1024 * 1024


class LinkLost(BoardError):
    """The connection to the board is lost. The board itself may go on. `cut`: somebody answered there, and then the connection ended."""

    def __init__(self, what: str, why: str | None = None, hint: str | None = None, *, cut: bool = False) -> None:
        super().__init__(what, why, hint)
        self.cut = cut


class BoardProcess(Protocol):
    """A command running on the board. `pid` is the board's, not that of a local client."""

    pid: int

    def chunks(self) -> AsyncIterator[bytes]:
        """Bytes of stdout as they arrive, until it ends. Call it once."""
        ...

    async def errors(self) -> bytes:
        """The last 64 KiB of stderr, once it has ended."""
        ...

    async def close_stdin(self) -> None:
        """Close stdin. An attached guard takes that as the end of its owner, and ends what it guards."""
        ...

    async def signal(self, number: int) -> None:
        """Send a signal to the process; no error if it has ended."""
        ...

    async def wait(self, timeout_s: float | None = None) -> int:
        """Exit code (128 + n for signal n). Raises TimeoutError."""
        ...


class AttachedProcess(BoardProcess, Protocol):
    """A command that ends with its connection."""

    async def write(self, data: bytes) -> None:
        """Write to stdin. Bytes that the command does not read are lost, as in a pipe."""
        ...

    async def end(self) -> None:
        """Close stdin, give a guard time to end, then kill the command. Releases pipes and tasks."""
        ...


class Transport(Protocol):
    """A way to a machine that runs Linux: run, copy, read. Commands are lists, never strings, and need no shell.

    Every method raises BoardError when the machine or the way to it fails.
    """

    @property
    def name(self) -> str:
        """The name of the board in messages."""
        ...

    @property
    def connected(self) -> bool:
        """False while a connection is lost."""
        ...

    async def open(self) -> None:
        """Connect. Raises BoardError with the next step if that fails."""
        ...

    async def run(self, script: str, timeout_s: float = ANSWER_S) -> bytes:
        """Bytes that a short shell script writes to stdout. The script must not read stdin; its exit code and stderr are dropped."""
        ...

    async def start(self, argv: Sequence[str]) -> AttachedProcess:
        """Start a command with pipes on stdin, stdout and stderr."""
        ...

    async def put(self, source: Path, target: str, then: str = "") -> bytes:
        """Copy a local file there, executable. Returns the stdout of `then`, a short shell script that runs after the copy."""
        ...

    async def read(self, path: str) -> bytes | None:
        """The first 4 MiB of a file; None if it is not there or not readable."""
        ...

    async def close(self) -> None:
        """End the started commands and disconnect. Does nothing if not open."""
        ...


class RemoteTransport(Transport, Protocol):
    """A transport whose connection can be lost while the machine goes on.

    Methods raise LinkLost when the connection is lost; `reach` then connects again. `notice` is called with sentences for people.
    `verify` is awaited on every new connection: set it to a function that checks that this is the same board and still ours. `measures`
    tells whether the board measures without us: only then is it worth to try for long. `farewell` is a shell script that the machine
    runs, detached, when a connection has ended in any way.
    """

    notice: Callable[[str], None]
    verify: Callable[[], Awaitable[None]]
    measures: Callable[[], bool]
    farewell: str

    @property
    def alive(self) -> bool:
        """Whether a command can be sent at this moment."""
        ...

    @property
    def offline_s(self) -> float:
        """Seconds without a connection since the first `open`."""
        ...

    @property
    def contact(self) -> Contact:
        """The facts that the machine reported in `open`."""
        ...

    @property
    def uid(self) -> int:
        """The user id that commands run with."""
        ...

    async def reach(self) -> None:
        """Return when connected. Raises BoardError when the connection did not come back in the time allowed for it."""
        ...


class AtClose(Enum):
    """What `close` does with processes that still run on a board, and with output that has not arrived."""

    END = auto()  # end them and remove their output
    FETCH_REST = auto()  # end them and wait for the rest; output that does not arrive stays on the board, for `resume`
    LEAVE_RUNNING = auto()  # for `resume`


class Board(Protocol):
    """What every board has. `notice` is called with sentences for people while a run goes on."""

    notice: Callable[[str], None]

    @property
    def name(self) -> str:
        """As the user typed it, for messages and the manifest."""
        ...

    @property
    def connected(self) -> bool:
        """False while a connection is lost."""
        ...

    @property
    def offline_s(self) -> float:
        """Seconds without a connection since `open`: add them to every time limit."""
        ...

    async def open(self) -> None:
        """Connect and get the right to use the board. Raises BoardError with the next step if that fails."""
        ...

    async def close(self) -> None:
        """Release the board; `LinuxBoard.at_close` says what happens to its processes. Does nothing if not open."""
        ...


class LinuxBoard(Board, Protocol):
    """A board that runs commands. Every method raises BoardError when the board or the way to it fails.

    `detaches`: launched commands go on without a connection. `slow`: each kB of what comes or goes is felt. `baud`: the speed of
    the serial line to it, None where there is none or nobody chooses it. `synced` is awaited before the board may delete output that has
    arrived here: set it to a function that makes the output safe on disk. `at_close`: the action of `close`.
    """

    detaches: bool
    slow: bool
    baud: int | None
    synced: Callable[[], Awaitable[None]]
    at_close: AtClose

    async def probe(self) -> str:
        """Path of an rtprobe that runs on the board; it is copied there if necessary."""
        ...

    async def start(self, argv: Sequence[str]) -> BoardProcess:
        """Start a command that is short, or may end with the connection."""
        ...

    async def launch(self, argv: Sequence[str], name: str, *, ends: Sequence[str] = ()) -> BoardProcess:
        """Start a command that must outlive a lost connection: a guard with `--attached`, whose owner is then on the board itself.

        `name` is unique among what was launched since `open`. Where the board detaches, the command goes on without us, and `chunks`
        is still one unbroken stream. When the command has ended, the board closes the stdin of the commands named in `ends`.
        """
        ...

    async def put(self, source: Path, target: str) -> None:
        """Copy a local file to the board, executable."""
        ...

    async def read(self, path: str) -> bytes | None:
        """The first 4 MiB of a file; None if it is not there or not readable."""
        ...

    async def which(self, program: str) -> str | None:
        """Absolute path of a program on the board's PATH."""
        ...

    async def through_cuts(self, work: Callable[[], Awaitable[T]]) -> T:
        """The result of `work`, begun anew after the link was lost meanwhile: for what may be done twice."""
        ...

    async def clean(self, *, force: bool = False) -> list[str]:
        """Not open: remove all of rtassay from the board and return lines that say what was removed.

        Raises UsageError if this kind of board keeps nothing, BoardError while somebody uses the board, unless forced.
        """
        ...

    def watching(self) -> Watching:
        """Not open: a look at the run that another host has on the board. Raises UsageError if this kind of board keeps nothing."""
        ...

    @property
    def resume_data(self) -> Mapping[str, Any] | None:
        """The data that `resume` needs after this process has died, as JSON. None if nothing outlives this process."""
        ...

    def resume(self, data: Mapping[str, Any]) -> None:
        """Before `open`: take over the run of a host that died. Raises UsageError if this kind of board keeps nothing of it."""
        ...

    async def reattach(self, name: str, offset: int) -> BoardProcess:
        """After `resume` and `open`: the command launched as `name`, with its output from byte `offset` on. Raises RunLost."""
        ...


async def nothing_to_sync() -> None:
    """Default of `synced`: does nothing."""


class EndsWithHost:
    """Part of a LinuxBoard whose commands end with this process: no connection can be lost, and nothing stays behind."""

    detaches = False
    slow = False
    baud: int | None = None
    connected = True
    offline_s = 0.0
    resume_data: Mapping[str, Any] | None = None

    def __init__(self) -> None:
        self.notice: Callable[[str], None] = lambda sentence: None
        self.synced: Callable[[], Awaitable[None]] = nothing_to_sync
        self.at_close = AtClose.END

    async def through_cuts(self, work: Callable[[], Awaitable[T]]) -> T:
        """Nothing is cut here."""
        return await work()

    async def clean(self, *, force: bool = False) -> list[str]:
        """Raise UsageError: there is nothing to clean."""
        raise UsageError("there is nothing to clean", "commands on this machine end with rtassay")

    def watching(self) -> Watching:
        """Raise UsageError: another host has no run here."""
        raise UsageError("nothing runs here that rtassay started", hint="rtassay list shows what was recorded")

    def resume(self, data: Mapping[str, Any]) -> None:
        """Raise UsageError: no run outlives its host here."""
        raise UsageError(
            "there is nothing to attach to", "a run on this machine ends with its host", "rtassay seal finishes it"
        )

    async def reattach(self, name: str, offset: int) -> BoardProcess:
        """Raise UsageError: no run outlives its host here."""
        raise UsageError(f"there is no '{name}' to attach to", "a run on this machine ends with its host")


async def answer(
    process: BoardProcess, whose: str, what: str, *, most: int = ANSWER_BYTES, within_s: float = ANSWER_S
) -> bytes:
    """All that a command writes to stdout. Raises BoardError when it is more than `most` bytes, or takes longer than `within_s`."""
    said = bytearray()
    allowed = Allowance(whose, what, most)
    try:
        async with asyncio.timeout(within_s):
            async for chunk in process.chunks():
                allowed.spend(chunk)
                said += chunk
    except TimeoutError as error:
        raise BoardError(f"{whose} does not answer", f"{what} did not end within {within_s:.0f} s") from error
    return bytes(said)


def too_much(whose: str, what: str, most: int) -> BoardError:
    """The error for a peer that says more than it has to say."""
    return BoardError(
        f"{whose} floods the connection",
        f"more than {most:,} bytes came from {what}",
        "log in by hand and look at what the board prints: its start-up files, and the program named here",
    )


class Allowance:
    """The bytes that one stream of a peer may have. `whose` and `what` name the peer and the stream in the error."""

    def __init__(self, whose: str, what: str, most: int) -> None:
        self._whose, self._what, self._most = whose, what, most
        self._spent = 0

    def spend(self, chunk: bytes) -> None:
        """Count a chunk. Raises BoardError when it is one too many."""
        self._spent += len(chunk)
        if self._spent > self._most:
            raise too_much(self._whose, self._what, self._most)
