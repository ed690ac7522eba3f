"""Small commands on a board, for boot loaders."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from rtassay.boards.base import LinuxBoard, answer
from rtassay.model.errors import BoardError

_SHORT_S = 60.0
# Runs detached from the session, after two seconds, so that the answer still arrives.
_LATER = """trap '' HUP; if command -v setsid >/dev/null; then set -- setsid sh -c "sleep 2; sync; $1"; else set -- sh -c "sleep 2; sync; $1"; fi
"$@" </dev/null >/dev/null 2>&1 &"""
_REBOOT = (
    "if [ -d /run/systemd/system ]; then systemctl reboot; else reboot; fi; sleep 20; reboot -f; sleep 5; "
    "echo b > /proc/sysrq-trigger"
)


async def output(board: LinuxBoard, argv: Sequence[str], timeout_s: float = _SHORT_S) -> tuple[str, int, str]:
    """(stdout, exit code, last line of stderr) of a command. Raises BoardError when it does not end."""
    try:
        # Starting is bounded too: over a link that is lost just now it would wait as long as a measurement does.
        async with asyncio.timeout(timeout_s):
            process = await board.start(argv)
            await process.close_stdin()
            text = await answer(process, f"board '{board.name}'", argv[0], within_s=timeout_s)
            code = await process.wait(timeout_s)
            errors = (await process.errors()).decode(errors="replace").strip().splitlines()
    except TimeoutError as error:
        raise BoardError(f"board '{board.name}' does not answer", f"{argv[0]} did not end") from error
    return text.decode(errors="replace"), code, errors[-1] if errors else f"exit code {code}"


async def must(
    board: LinuxBoard, argv: Sequence[str], what: str, hint: str | None = None, timeout_s: float = _SHORT_S
) -> str:
    """stdout of a command that has to succeed. Raises BoardError that says `what` could not be done."""
    text, code, words = await output(board, argv, timeout_s)
    if code != 0:
        raise BoardError(f"cannot {what} on board '{board.name}'", words, hint)
    return text


async def sh(board: LinuxBoard, script: str, *arguments: str) -> str:
    """stdout of a shell script of reading commands; its exit code does not count."""
    text, _, _ = await output(board, ["sh", "-c", script, "sh", *arguments])
    return text


async def go_down(board: LinuxBoard, command: str = _REBOOT) -> None:
    """Start `command`, which ends this boot, a second from now. A connection lost by this is expected."""
    with contextlib.suppress(BoardError):
        await output(board, ["sh", "-c", _LATER, "sh", command], 20.0)


async def write(board: LinuxBoard, path: str, text: str, what: str) -> None:
    """Replace a file of the board, whole or not at all."""
    script = 'printf %s "$2" > "$1.rtassay-new" && sync && mv "$1.rtassay-new" "$1" && sync'
    await must(board, ["sh", "-c", script, "sh", path, text], what)


async def rt_by_release(board: LinuxBoard, root: str) -> dict[str, bool]:
    """release -> PREEMPT_RT, out of the configurations in /boot."""
    script = """for f in "$1"/boot/config-*; do [ -f "$f" ] || continue
if grep -q '^CONFIG_PREEMPT_RT=y' "$f"; then echo "1 ${f##*/config-}"; else echo "0 ${f##*/config-}"; fi; done"""
    rows = (line.split(" ", 1) for line in (await sh(board, script, root)).splitlines())
    return {release: flag == "1" for flag, release in rows}
