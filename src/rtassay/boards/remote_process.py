"""A command on a board, attached to a client of OpenSSH.

The wrapper around it prints its pid before it starts and its exit code after it ended, with a random mark. So the output of start-up
files is kept apart from the output of the command, and a lost connection from a command that failed.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import shlex
from collections.abc import AsyncIterator, Sequence

from rtassay.boards import clients
from rtassay.boards.base import LinkLost
from rtassay.boards.openssh import Link
from rtassay.model.errors import BoardError

_CHUNK = 256 * 1024
_STDERR_KEPT = 64 * 1024
_NOISE_MAX = 1024 * 1024
_START_S = 60.0
# How long a command may take to end after its stdin was closed.
_ENDS_S = 4.0
# Its stderr ends with it, unless another process holds it open.
_ERRORS_S = 5.0

# $1 mark, $2 how to become root (words, or nothing), then the command. The outer shell lives on to tell the exit code: ssh itself
# gives 255 both for a command that a signal ended and for a connection that was lost. The messages of the outer shell ("Terminated") are dropped.
_WRAP = "; ".join(
    [
        'm=$1 b=$2; shift 2; echo "$m outer $$"; echo "$m" >&2; exec 3>&2 2>/dev/null',
        'none() { echo "$m none"; exit 127; }',
        'case $1 in */*) [ -x "$1" ] || none;; *) command -v "$1" >/dev/null || none;; esac',
        """(exec 2>&3 3>&-; exec $b sh -c 'echo "$0 pid $$"; exec "$@"' "$m" "$@")""",
        r"""c=$?; printf '\n%s exit %d\n' "$m" $c >&3""",
    ]
)

# $1 pid of the outer shell, $2 of the command: kills both, and their process group if it holds nothing else.
_KILL = (
    "o=$1 p=$2; kill -9 $p 2>/dev/null; "
    'if read -r x x x x g x </proc/$o/stat 2>/dev/null && [ "$g" = $o ]; then kill -9 -$o; else kill -9 $o; fi 2>/dev/null; true'
)


class RemoteProcess:
    """Made by `start`. `pid` is the command's on the board."""

    def __init__(self, link: Link, become: Sequence[str], argv: Sequence[str]) -> None:
        self._link = link
        self._become = tuple(become)
        self._argv = tuple(argv)
        self._mark = link.mark.encode()
        self._early = b""
        self._errors_raw = b""
        self._outer = 0
        self.pid = 0

    @classmethod
    async def start(cls, link: Link, become: Sequence[str], argv: Sequence[str]) -> RemoteProcess:
        """Raises BoardError if the program is not there or the connection is lost."""
        process = cls(link, become, argv)
        words = ["sh", "-c", _WRAP, "sh", link.mark, " ".join(become), *argv]
        try:
            process._client = await asyncio.create_subprocess_exec(
                *link.command(words),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                limit=_CHUNK,
            )
        except (OSError, ValueError) as error:
            raise BoardError(f"cannot start {argv[0]} on {link.target}", str(error)) from error
        process._reader = asyncio.create_task(process._keep_errors())
        try:
            async with asyncio.timeout(_START_S):
                await process._read_header()
        except TimeoutError as error:
            await process.end()
            raise LinkLost(
                f"board {link.target} does not answer", f"{argv[0]} did not start within {_START_S:.0f} s"
            ) from error
        except BaseException:  # also when cancelled: no client is left behind
            await process.end()
            raise
        return process

    _client: asyncio.subprocess.Process
    _reader: asyncio.Task[None]

    async def chunks(self) -> AsyncIterator[bytes]:
        if self._early:
            yield self._early
        stdout = self._client.stdout
        assert stdout is not None
        while chunk := await stdout.read(_CHUNK):
            yield chunk

    async def errors(self) -> bytes:
        await asyncio.wait([self._reader], timeout=_ERRORS_S)
        return self._words_and_code()[0][-_STDERR_KEPT:]

    async def write(self, data: bytes) -> None:
        """Write to the command's stdin. Bytes are lost if the command has ended, as in a pipe. Raises LinkLost if nothing takes them."""
        if not await clients.write(self._client, data):
            raise LinkLost(f"board {self._link.target} takes nothing", f"{self._argv[0]} does not read its stdin")

    async def close_stdin(self) -> None:
        await clients.close_stdin(self._client)

    async def signal(self, number: int) -> None:
        if self._client.returncode is None:
            words = " ".join([*self._become, "kill", f"-{int(number)}", str(self.pid)])
            await self._link.ask(f"{words}; true")

    async def wait(self, timeout_s: float | None = None) -> int:
        """Raises BoardError when the connection was lost before the exit code came."""
        async with asyncio.timeout(timeout_s):
            await self._client.wait()
            await asyncio.wait([self._reader])
        words, code = self._words_and_code()
        if code is None:
            last = words.decode(errors="replace").strip().splitlines()
            raise LinkLost(
                f"the connection to {self._link.target} was lost",
                last[-1] if last else f"while {self._argv[0]} ran",
                "look at the cable and the power of the board",
            )
        return code

    async def end(self) -> None:
        """Close stdin, wait a little, then kill the processes that remain."""
        await self.close_stdin()
        with contextlib.suppress(TimeoutError, BoardError):
            await self.wait(_ENDS_S)
        if self._client.returncode is None and self._outer and self._link.alive:
            with contextlib.suppress(BoardError):
                await self._link.ask(_kill_script(self._become, self._outer, self.pid))
            with contextlib.suppress(TimeoutError, BoardError):
                await self.wait(_ENDS_S)
        await clients.put_away(self._client)
        self._reader.cancel()
        await asyncio.wait([self._reader])

    async def _read_header(self) -> None:
        """Skip the output of start-up files, up to the mark with the pid."""
        stdout = self._client.stdout
        assert stdout is not None
        seen = b""
        while True:
            if found := re.search(self._mark + rb" none\n", seen):
                raise BoardError(
                    f"cannot start {self._argv[0]} on {self._link.target}", "there is no such program on the board"
                )
            if found := re.search(self._mark + rb" outer (\d{1,9})\n", seen):
                self._outer = int(found[1])
            if found := re.search(self._mark + rb" pid (\d{1,9})\n", seen):
                self.pid = int(found[1])
                self._early = seen[found.end() :]
                return
            chunk = await stdout.read(_CHUNK)
            if not chunk or len(seen) > _NOISE_MAX:
                raise await self._not_started(seen)
            seen += chunk

    async def _not_started(self, seen: bytes) -> BoardError:
        await asyncio.wait([self._reader], timeout=5.0)
        text = self._words_and_code()[0] or self._errors_raw or seen
        lines = [line.strip() for line in text.decode(errors="replace").splitlines() if line.strip()]
        why = lines[-1] if lines else "the connection ended"
        # If our wrapper printed nothing, the connection failed; otherwise sudo failed.
        kind = BoardError if self._outer else LinkLost
        return kind(f"cannot start {self._argv[0]} on {self._link.target}", why)

    def _words_and_code(self) -> tuple[bytes, int | None]:
        """Read the command's own stderr, and its exit code from the wrapper."""
        words = (
            self._errors_raw.partition(self._mark + b"\n")[2] if self._mark in self._errors_raw else self._errors_raw
        )
        found = re.search(rb"\n" + self._mark + rb" exit (\d{1,3})\n", words)
        return (words, None) if found is None else (words[: found.start()], int(found[1]))

    async def _keep_errors(self) -> None:
        """The last of stderr, without what came before the mark."""
        stderr = self._client.stderr
        assert stderr is not None
        while chunk := await stderr.read(_CHUNK):
            self._errors_raw += chunk
            begin = self._errors_raw.find(self._mark + b"\n")
            if begin >= 0:
                kept = self._errors_raw[begin + len(self._mark) + 1 :]
                self._errors_raw = self._mark + b"\n" + kept[-_STDERR_KEPT - 100 :]
            else:
                self._errors_raw = self._errors_raw[-_STDERR_KEPT:]


def _kill_script(become: Sequence[str], outer: int, pid: int) -> str:
    return shlex.join([*become, "sh", "-c", _KILL, "sh", str(outer), str(pid or outer)])
