"""The machine rtassay runs on, reached as any other board: by starting commands and reading their pipes."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import shutil
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from rtassay.boards import clients
from rtassay.boards.base import ANSWER_S, Transport, answer
from rtassay.boards.binaries import probe_path
from rtassay.boards.linux import AttachedBoard
from rtassay.model.errors import BoardError
from rtassay.model.files import open_regular

_CHUNK = 256 * 1024
_STDERR_KEPT = 64 * 1024
_SMALL_FILE = 4 * 1024 * 1024
# A wide pipe lets the probe go on while the load keeps this process from running.
_PIPE_SIZES = (1024 * 1024, 256 * 1024)
_F_SETPIPE_SZ = 1031
# How long a guard may take to end its command in order, and then to end it at once.
_IN_ORDER_S = 4.0
_AT_ONCE_S = 4.0
# Its stderr ends with it, unless another process holds it open.
_ERRORS_S = 5.0


class LocalProcess:
    """A command on this machine, in its own session so that a terminal's Ctrl-C reaches rtassay only."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid
        self._kept = b""
        self._errors = asyncio.create_task(self._keep_errors())

    async def chunks(self) -> AsyncIterator[bytes]:
        stdout = self._process.stdout
        assert stdout is not None
        while chunk := await stdout.read(_CHUNK):
            yield chunk

    async def errors(self) -> bytes:
        await asyncio.wait([self._errors], timeout=_ERRORS_S)
        return self._kept

    async def write(self, data: bytes) -> None:
        """Write to the command's stdin. Bytes are lost if the command has ended, as in a pipe. Raises BoardError if nothing takes them."""
        if not await clients.write(self._process, data):
            raise BoardError("a command on this machine takes nothing", "it does not read its stdin")

    async def close_stdin(self) -> None:
        await clients.close_stdin(self._process)

    async def signal(self, number: int) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def wait(self, timeout_s: float | None = None) -> int:
        async with asyncio.timeout(timeout_s):
            code = await self._process.wait()
        return code if code >= 0 else 128 - code

    async def end(self) -> None:
        """Close stdin, which ends an attached guard. Then SIGTERM, on which the guard gives no more time; then SIGKILL to the session started here."""
        await self.close_stdin()
        if not await clients.ended(self._process, _IN_ORDER_S):
            await self.signal(signal.SIGTERM)
            await clients.ended(self._process, _AT_ONCE_S)
        await clients.put_away(self._process)
        self._errors.cancel()
        await asyncio.wait([self._errors])

    async def _keep_errors(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        while chunk := await stderr.read(_CHUNK):
            self._kept = (self._kept + chunk)[-_STDERR_KEPT:]


class LocalTransport:
    """This machine."""

    name = "local"
    connected = True

    def __init__(self) -> None:
        self._processes: list[LocalProcess] = []

    async def open(self) -> None:
        """Nothing to connect to."""

    async def run(self, script: str, timeout_s: float = ANSWER_S) -> bytes:
        process = await self.start(["sh", "-c", script])
        try:
            await process.close_stdin()
            return await answer(process, "this machine", "a short script", within_s=timeout_s)
        finally:
            self._processes.remove(process)
            await process.end()

    async def start(self, argv: Sequence[str]) -> LocalProcess:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                limit=_CHUNK,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise BoardError(f"cannot start {argv[0]} on this machine", reason) from error
        _widen(process)
        started = LocalProcess(process)
        self._processes.append(started)
        return started

    async def put(self, source: Path, target: str, then: str = "") -> bytes:
        try:
            shutil.copyfile(source, target)
            Path(target).chmod(0o755)
        except OSError as error:
            raise BoardError(f"cannot copy {source} to {target}", error.strerror) from error
        return await self.run(then) if then else b""

    async def read(self, path: str) -> bytes | None:
        try:
            with open_regular(Path(path)) as file:
                return file.read(_SMALL_FILE)
        except OSError:
            return None

    async def close(self) -> None:
        processes, self._processes = self._processes, []
        await asyncio.gather(*(process.end() for process in processes))


class LocalBoard(AttachedBoard):
    """This machine. Nothing is copied: the native rtprobe is started where it lies."""

    name = "local"

    def __init__(self, transport: Transport | None = None) -> None:
        super().__init__(transport or LocalTransport())

    async def open(self) -> None:
        """Look for the binary now, so that its absence shows before anything starts."""
        probe_path()
        await super().open()

    async def probe(self) -> str:
        return str(probe_path())

    async def which(self, program: str) -> str | None:
        found = shutil.which(program)
        return None if found is None else str(Path(found).absolute())


def _widen(process: asyncio.subprocess.Process) -> None:
    transport = process._transport.get_pipe_transport(1)  # type: ignore[attr-defined]
    pipe = transport.get_extra_info("pipe")
    for size in _PIPE_SIZES:
        try:
            fcntl.fcntl(pipe.fileno(), _F_SETPIPE_SZ, size)
        except (OSError, ValueError):
            continue
        return
