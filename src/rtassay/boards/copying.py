"""A file onto a board through `cat`, since many boards have no sftp: aside first, then its hash (or all of it) is read back."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from rtassay.boards.remote_process import RemoteProcess
from rtassay.model.errors import BoardError

_CHUNK = 256 * 1024
_COPY_S = 300.0
# $1 where to, $2 a line for the journal, $3 the journal or nothing, $4 an option that the file is then run with, or nothing. One command for
# all of it: a link may be slow.
_PUT = (
    """umask 077; t=$1.$$.new; trap 'rm -f "$t"' EXIT; cat >"$t" && chmod 755 "$t" && mv "$t" "$1" || exit; """
    """[ -z "$3" ] || echo "$(date -u +%FT%TZ)" "$2" >>"$3"; """
    """s=none; for c in md5sum sha256sum; do command -v $c >/dev/null && s="$c $($c <"$1")"; done; echo $s; [ -z "$4" ] || { "$1" "$4" 2>&1; echo "exit code $?"; }"""
)


class Receiver(Protocol):
    """A board, as far as copying needs it."""

    name: str

    async def attached(self, argv: Sequence[str]) -> RemoteProcess: ...

    async def output(self, argv: Sequence[str]) -> tuple[bytes, int]: ...


async def copy(
    board: Receiver, source: Path, target: str, journal: str | None = None, try_with: str | None = None
) -> bytes:
    """What the copy says when it is run with the option `try_with`. `journal`: a file there that gets a line about it.

    Raises BoardError that names a full disk, a place that cannot be written, or a hash that differs.
    """
    try:
        data = await asyncio.to_thread(source.read_bytes)
    except OSError as error:
        raise BoardError(f"cannot read {source}", error.strerror) from error
    words_of = [target, f"put {target}", journal or "", try_with or ""]
    process = await board.attached(["sh", "-c", _PUT, "sh", *words_of])
    try:
        for at in range(0, len(data), _CHUNK):
            await process.write(data[at : at + _CHUNK])
        await process.close_stdin()
        async with asyncio.timeout(_COPY_S):
            told = b"".join([chunk async for chunk in process.chunks()])
        code = await process.wait(_COPY_S)
        words = (await process.errors()).decode(errors="replace").strip()
    except TimeoutError as error:
        raise BoardError(f"cannot copy {source.name} to {board.name}", f"not within {_COPY_S:.0f} s") from error
    finally:
        await process.end()
    if code != 0:
        full = "space" in words.lower()
        why = "no space left on the board" if full else words.splitlines()[-1] if words else None
        hint = "make room there, or name another place: rtassay board add NAME ... --directory DIR" if full else None
        raise BoardError(f"cannot copy {source.name} to {target} on {board.name}", why, hint)
    sum_there, _, said = told.partition(b"\n")
    if not await _arrived(board, target, data, sum_there):
        raise BoardError(
            f"{source.name} did not arrive whole on {board.name}", "its hash there is another", "try again"
        )
    return said


def sha256_of(path: Path) -> str:
    """Hash of a local file, as hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


async def _arrived(board: Receiver, target: str, data: bytes, sum_there: bytes) -> bool:
    words = sum_there.decode(errors="replace").split()
    if len(words) >= 2 and words[0] in ("sha256sum", "md5sum"):
        return words[1] == hashlib.new(words[0].removesuffix("sum"), data).hexdigest()
    back, code = await board.output(["cat", target])
    return code == 0 and back == data
