"""Files of the board, read by one `rtprobe watch --count 1`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class Reading:
    """Contents by path: `first`, and `later` of what was read again, after `spans` ns. `errors`: errno of what could not be read at first."""

    first: dict[str, bytes] = field(default_factory=dict)
    later: dict[str, bytes] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    spans: dict[str, int] = field(default_factory=dict)


async def read_files(board: LinuxBoard, rtprobe: str, paths: Sequence[str]) -> dict[str, bytes]:
    """Contents of what exists and can be read; globs are expanded on the board. Raises BoardError if the board cannot be read."""
    argv = [rtprobe, "watch", "--count", "1", "--max-bytes", str(_MAX_BYTES), *paths]
    return _contents(await _watched(board, argv))


async def read_twice(board: LinuxBoard, rtprobe: str, paths: Sequence[str], apart_ns: int) -> Reading:
    """As `read_files`, twice. `1h:PATH` is read at first only. Raises BoardError if the board cannot be read."""
    argv = [rtprobe, "watch", "--count", "2", "--every", f"{apart_ns}ns", "--max-bytes", str(_MAX_BYTES), *paths]
    return _apart(await _watched(board, argv), apart_ns)


def _apart(frames: Sequence[FileContent], apart_ns: int) -> Reading:
    """The two rounds. A source may give several frames in one: its round is known by the time."""
    reading = Reading()
    started: dict[str, int] = {}
    for frame in frames:
        began = started.setdefault(frame.path, frame.mono_ns)
        is_later = frame.mono_ns - began >= apart_ns // 2
        into = reading.later if is_later else reading.first
        if frame.error and not is_later:
            reading.errors.setdefault(frame.path, frame.error)
        if frame.error:
            continue
        if is_later:
            reading.spans[frame.path] = frame.mono_ns - began
        content = reading.first.get(frame.path, b"") if frame.content is None else frame.content
        into[frame.path] = into[frame.path] + content if frame.path in into else content
    return reading


def _contents(frames: Iterable[FileContent]) -> dict[str, bytes]:
    return {frame.path: frame.content for frame in frames if frame.error == 0 and frame.content is not None}


async def _watched(board: LinuxBoard, argv: Sequence[str]) -> list[FileContent]:
    process = await board.start(argv)
    parser = StreamParser()
    frames: list[FileContent] = []
    allowed = Allowance(f"board '{board.name}'", "reading its files", _MOST)
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            async for chunk in process.chunks():
                allowed.spend(chunk)
                frames += _files(parser.feed(chunk))
            code = await process.wait(_TIMEOUT_S)
    except TimeoutError as error:
        await process.close_stdin()
        raise BoardError(
            f"board '{board.name}' does not answer", f"reading its files took more than {_TIMEOUT_S:.0f} s"
        ) from error
    frames += _files(parser.finish())
    if code != 0 or not parser.ended:
        raise BoardError(
            f"cannot read the files of board '{board.name}'", said(await process.errors()) or f"exit code {code}"
        )
    return frames


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


def _files(events: Iterable[object]) -> list[FileContent]:
    return [event for event in events if isinstance(event, FileContent)]
