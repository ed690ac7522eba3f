"""A child process of ours and its pipes: writing to it, and giving it up, always end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from asyncio.subprocess import Process

# After SIGKILL and closed pipes only the kernel can hold a process up.
_REAPED_S = 5.0
_HANDED_OVER_S = 60.0
_CLOSED_S = 5.0
_LOOK_S = 0.02


async def write(process: Process, data: bytes) -> bool:
    """Write to its stdin. Bytes are lost if it has ended, as in a pipe. False if it takes nothing for a minute."""
    assert process.stdin is not None
    try:
        async with asyncio.timeout(_HANDED_OVER_S):
            with contextlib.suppress(OSError):
                process.stdin.write(data)
                await process.stdin.drain()
    except TimeoutError:
        return False
    return True


async def ended(process: Process, within_s: float) -> bool:
    """Whether it ends within this time. `Process.wait` would also wait for pipes that nobody reads."""
    until_s = time.monotonic() + within_s
    while process.returncode is None and time.monotonic() < until_s:
        await asyncio.sleep(_LOOK_S)
    return process.returncode is not None


async def close_stdin(process: Process) -> None:
    """Close its stdin. What it does not take within seconds is dropped."""
    stdin = process.stdin
    if stdin is None or stdin.is_closing():
        return
    stdin.close()
    try:
        async with asyncio.timeout(_CLOSED_S):
            with contextlib.suppress(OSError):
                await stdin.wait_closed()
    except TimeoutError:
        _drop_stdin(process)


def _drop_stdin(process: Process) -> None:
    """Forget what it did not take."""
    if process.stdin is not None and not process.stdin.transport.get_extra_info("pipe").closed:
        process.stdin.transport.abort()


async def put_away(process: Process) -> None:
    """Kill it and its session, and let go of its pipes. Always ends."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    # asyncio reports the end of a process when its pipes are closed, and a pipe that nobody reads never ends by itself.
    _drop_stdin(process)
    process._transport.close()  # type: ignore[attr-defined]
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_REAPED_S):
            await process.wait()
