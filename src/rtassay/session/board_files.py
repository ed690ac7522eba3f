"""Files of the board, read by one `rtprobe watch --count 1`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from rtassay.boards.base import Allowance, LinuxBoard
from rtassay.model.errors import BoardError
from rtassay.model.events import FileContent
from rtassay.wire.stream import StreamParser

# Long enough for a board that is under load.
_TIMEOUT_S = 60.0
# One frame's worth: a kernel configuration is some 300 kB.
_MAX_BYTES = 1_000_000
# The limit of all files together: thousands of processes, and the kernel's log.
_MOST = 64 * 1024 * 1024
# The kernel's trace of a hit.
_TRACE_MOST = 256 * 1024 * 1024


async def read_files(board: LinuxBoard, rtprobe: str, paths: Sequence[str]) -> dict[str, bytes]:
    """Contents of what exists and can be read; globs are expanded on the board. Raises BoardError if the board cannot be read."""
    argv = [rtprobe, "watch", "--count", "1", "--max-bytes", str(_MAX_BYTES), *paths]
    process = await board.start(argv)
    parser = StreamParser()
    files: dict[str, bytes] = {}
    allowed = Allowance(f"board '{board.name}'", "reading its files", _MOST)
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            async for chunk in process.chunks():
                allowed.spend(chunk)
                _keep(parser.feed(chunk), files)
            code = await process.wait(_TIMEOUT_S)
    except TimeoutError as error:
        await process.close_stdin()
        raise BoardError(
            f"board '{board.name}' does not answer", f"reading its files took more than {_TIMEOUT_S:.0f} s"
        ) from error
    _keep(parser.finish(), files)
    if code != 0 or not parser.ended:
        raise BoardError(
            f"cannot read the files of board '{board.name}'", said(await process.errors()) or f"exit code {code}"
        )
    return files


async def take_file(board: LinuxBoard, path: str, tee: Callable[[bytes], None]) -> None:
    """Move a file that the probe left on the board, of at most 256 MiB, to `tee`. Raises BoardError if it cannot be read; it then stays there."""
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            reading = await board.start(["cat", path])
            allowed = Allowance(f"board '{board.name}'", path, _TRACE_MOST)
            async for chunk in reading.chunks():
                allowed.spend(chunk)
                tee(chunk)
            code = await reading.wait(_TIMEOUT_S)
            if code == 0:
                await (await board.start(["rm", "-f", path])).wait(_TIMEOUT_S)
    except TimeoutError as error:
        raise BoardError(f"board '{board.name}' does not answer", f"reading {path}") from error
    if code != 0:
        raise BoardError(
            f"cannot read {path} of board '{board.name}'", said(await reading.errors()) or f"exit code {code}"
        )


def said(errors: bytes) -> str | None:
    """The last sentence a program left on stderr, without its name in front."""
    lines = [line.strip() for line in errors.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1].removeprefix("rtprobe: ") if lines else None


def _keep(events: Sequence[object], files: dict[str, bytes]) -> None:
    for event in events:
        if isinstance(event, FileContent) and event.error == 0 and event.content is not None:
            files[event.path] = event.content
