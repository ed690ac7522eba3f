"""Copies a file to a board through `cat`, since many boards have no sftp. The file gets its name when it is whole; then its hash, or all of it, is read back."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

from rtassay.boards.base import ANSWER_BYTES, Transport, answer
from rtassay.model.errors import BoardError

_CHUNK = 256 * 1024
COPY_S = 300.0
# $1 target path, $2 script to run after the copy. All is one command, because a link may be slow.
PUT = (
    """umask 077; t=$1.$$.new; trap 'rm -f "$t"' EXIT; cat >"$t" && chmod 755 "$t" && mv "$t" "$1" || exit; """
    """s=none; for c in md5sum sha256sum; do command -v $c >/dev/null && s="$c $($c <"$1")"; done; echo $s; eval "$2"; true"""
)


async def copy(transport: Transport, source: Path, target: str, then: str = "") -> bytes:
    """Copy a file, executable; returns the stdout of the shell script `then`.

    Raises BoardError that names a full disk, a place that cannot be written, or a hash that differs.
    """
    try:
        data = await asyncio.to_thread(source.read_bytes)
    except OSError as error:
        raise BoardError(f"cannot read {source}", error.strerror) from error
    process = await transport.start(["sh", "-c", PUT, "sh", target, then])
    try:
        for at in range(0, len(data), _CHUNK):
            await process.write(data[at : at + _CHUNK])
        await process.close_stdin()
        told = await answer(process, transport.name, f"copying {source.name}", within_s=COPY_S)
        code = await process.wait(COPY_S)
        words = (await process.errors()).decode(errors="replace").strip()
    except TimeoutError as error:
        raise BoardError(f"cannot copy {source.name} to {transport.name}", f"not within {COPY_S:.0f} s") from error
    finally:
        await process.end()
    if code != 0:
        raise refused(transport.name, source, target, words)
    sum_there, _, said = told.partition(b"\n")
    if not await _arrived(transport, target, data, sum_there):
        raise damaged(transport.name, source)
    return said


def refused(board: str, source: Path, target: str, words: str) -> BoardError:
    """The error for a copy that failed there, from the board's words."""
    full = "space" in words.lower()
    why = "no space left on the board" if full else words.splitlines()[-1] if words else None
    hint = "make room there, or name another place: rtassay board add NAME ... --directory DIR" if full else None
    return BoardError(f"cannot copy {source.name} to {target} on {board}", why, hint)


def damaged(board: str, source: Path) -> BoardError:
    """The error for a copy whose bytes are others there."""
    return BoardError(f"{source.name} did not arrive whole on {board}", "its hash there is another", "try again")


def has_sum(sum_there: bytes, data: bytes) -> bool | None:
    """Whether the first line of PUT names the hash of `data`; None where the board has no program for one."""
    words = sum_there.decode(errors="replace").split()
    if len(words) >= 2 and words[0] in ("sha256sum", "md5sum"):
        return words[1] == hashlib.new(words[0].removesuffix("sum"), data).hexdigest()
    return None


async def _arrived(transport: Transport, target: str, data: bytes, sum_there: bytes) -> bool:
    if (same := has_sum(sum_there, data)) is not None:
        return same
    process = await transport.start(["cat", target])
    try:
        most = len(data) + ANSWER_BYTES
        return await answer(process, transport.name, f"reading {target}", most=most, within_s=COPY_S) == data
    finally:
        await process.end()
