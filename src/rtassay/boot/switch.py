"""Booting another kernel, with proof: another boot_id, and the kernel that was asked for."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rtassay.boards.base import LinuxBoard
from rtassay.boot.base import BootLoader, Kernel
from rtassay.boot.shell import must, sh
from rtassay.model import rooms
from rtassay.model.errors import BoardError, RtassayError, UsageError
from rtassay.model.foreign import one_line

BACK_WITHIN_S = 600.0
_GOES_DOWN_S = 90.0
_PAUSE_S = 1.0
# The board goes down two seconds after it was asked (shell.go_down). A question before that would be cut off.
_FIRST_PAUSE_S = 4.0
# How long each attempt to log in may take: a connection begun while the board was down may hang long after it is up.
_ATTEMPTS_S = (10.0, 15.0, 30.0)
# Matched as a word: kernel names that people give often say only this.
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:,=+/-]{0,200}")
_STOCK, _RT = ("stock", "std", "generic"), ("rt", "preempt_rt", "realtime")
_FACTS = """cat /proc/sys/kernel/random/boot_id; uname -r; uname -v
if [ -r /proc/config.gz ]; then zcat /proc/config.gz | grep '^CONFIG_PREEMPT_RT=y'
else grep '^CONFIG_PREEMPT_RT=y' "/boot/config-$(uname -r)"; fi 2>/dev/null
[ "$(cat /sys/kernel/realtime 2>/dev/null)" = 1 ] && echo realtime; true"""

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Running:
    """The kernel that a board reports. `rt`: PREEMPT_RT by the version, the configuration or /sys/kernel/realtime (which
    mainline's own PREEMPT_RT, 6.12 and later, does not have)."""

    boot_id: str
    release: str
    version: str
    rt: bool


async def running(board: LinuxBoard) -> Running:
    """The running kernel of an open board. Raises BoardError if the board does not report it."""
    lines = (await must(board, ["sh", "-c", _FACTS], "see what kernel runs")).splitlines()
    if len(lines) < 3 or not lines[0]:
        raise BoardError(f"board '{board.name}' does not say which kernel it runs", " / ".join(lines) or None)
    version = lines[2]
    rt = "PREEMPT_RT" in version or "PREEMPT RT" in version or any(lines[3:])
    return Running(lines[0], lines[1], version, rt)


async def loader_of(board: LinuxBoard) -> BootLoader:
    """The first boot loader that fits an open board. Raises BoardError when none does."""
    for name in rooms.table("boot"):
        loader: BootLoader = rooms.load("boot", name)()
        if await loader.fits(board):
            return loader
    raise BoardError(
        f"board '{board.name}' has no boot loader that rtassay can ask",
        f"looked for {', '.join(rooms.table('boot'))}",
        "log in as root or with sudo; with kexec-tools on the board its kernels in /boot can be booted",
    )


def resolve(kernels: list[Kernel], name: str) -> Kernel:
    """The kernel a person means: an id, title or release, `stock` or `rt` if exactly one kernel fits, else part of a name.

    Raises UsageError that lists what there is.
    """
    low = name.lower()
    tests: tuple[Callable[[Kernel], bool], ...] = (
        lambda k: name in (k.id, k.id.rpartition(">")[2]),
        lambda k: name in (k.title, k.release),
        lambda k: low in _RT and k.rt is True,
        lambda k: low in _STOCK and k.rt is False,
        lambda k: low not in (*_RT, *_STOCK) and low in f"{k.id} {k.title} {k.release or ''}".lower(),
    )
    for test in tests:
        found = [kernel for kernel in kernels if test(kernel) and "recovery" not in kernel.title]
        # The same kernel often stands in the menu twice: on top, and in the submenu of all.
        if len({kernel.release or kernel.id for kernel in found}) == 1:
            return found[0]
        if found:
            raise UsageError(f"'{name}' fits {len(found)} kernels", hint=f"which one: {_names(found)}")
    raise UsageError(f"there is no kernel '{name}' on this board", hint=f"there are: {_names(kernels)}")


async def switch_kernel(
    board: LinuxBoard,
    name: str | None,
    *,
    default: bool = False,
    words: Sequence[str] = (),
    back_within_s: float = BACK_WITHIN_S,
    tell: Tell = lambda words: None,
) -> Running:
    """Boot the kernel `name` (None: the running one anew) and prove that it runs. The board is opened here, and open when this returns.

    `words`: its command line gets them for this boot; it is proven that they are there. The choice holds for one boot. With `default`, the kernel becomes the default after it has come up. Raises UsageError
    for an unknown name, BoardError when the board refuses, does not come back in time, or comes back with another kernel.
    """
    if board.name == "local":
        raise UsageError(
            "this machine's own kernel cannot be switched", "rtassay would end with it", "run it from another machine"
        )
    await board.open()
    loader = await loader_of(board)
    if default and not loader.keeps_default:
        raise UsageError(f"{loader.name} keeps no default on board '{board.name}'", hint="use --once")
    before = await running(board)
    kernels = await loader.kernels(board)
    kernel = resolve(kernels, name) if name is not None else _same(kernels, before, loader)
    if words:
        kernel = await loader.with_words(board, kernel, _plain(words))
    await loader.use_once(board, kernel)
    tell(f"rebooting {board.name} into {kernel.title} ({loader.name})")
    # The messages of the transport about a lost link are meant for measurements. Here it is lost on purpose.
    notice, board.notice = board.notice, lambda words: None
    try:
        try:
            await loader.reboot(board)
        finally:
            await _close(board)
        after = await _back(board, loader, kernel, before, back_within_s)
    finally:
        board.notice = notice
    tell(f"{board.name} is back: {after.release} {'(PREEMPT_RT)' if after.rt else ''}".rstrip())
    if words:
        await loader.without_words(board)
    await loader.take_back(board)  # a loader that could not write its environment would boot it for ever
    if not _is(kernel, after):
        raise BoardError(
            f"board '{board.name}' came back with kernel {after.release}, not with {kernel.release or kernel.title}",
            f"{loader.name} fell back, or the entry boots another kernel; {after.version}",
            "look at its console while it boots; the default was not changed",
        )
    if missing := await _missing(board, words):
        raise BoardError(
            f"board '{board.name}' came back without {' '.join(missing)}",
            f"{loader.name} fell back to the command line of before",
            "look at its console while it boots",
        )
    if default:
        await loader.use_by_default(board, kernel)
    return after


def _same(kernels: list[Kernel], now: Running, loader: BootLoader) -> Kernel:
    """The entry that boots the running kernel, the default one of several. Raises BoardError if there is none."""
    found = [kernel for kernel in kernels if kernel.release == now.release]
    # The firmware of a Raspberry Pi tells no release of the kernel that it boots by default; after the boot it must be the same one.
    found = found or [
        replace(kernel, release=now.release) for kernel in kernels if kernel.default and not kernel.release
    ]
    if not found:
        raise BoardError(f"{loader.name} has no entry for the running kernel {now.release}", hint="rtassay kernel list")
    return next((kernel for kernel in found if kernel.default), found[0])


def _plain(words: Sequence[str]) -> tuple[str, ...]:
    """Words that no menu and no shell reads as anything else. Raises UsageError."""
    bad = [word for word in words if not _WORD.fullmatch(word)]
    if bad:
        raise UsageError(
            f"'{one_line(bad[0], 80)}' is no plain word of a command line", hint="write it as isolcpus=2-3"
        )
    return tuple(words)


async def _missing(board: LinuxBoard, words: Sequence[str]) -> list[str]:
    there = (await board.read("/proc/cmdline") or b"").decode(errors="replace").split() if words else []
    return [word for word in words if word not in there]


def _is(kernel: Kernel, now: Running) -> bool:
    if kernel.release is not None and kernel.release != now.release:
        return False
    return kernel.rt is None or kernel.rt == now.rt


async def _back(board: LinuxBoard, loader: BootLoader, kernel: Kernel, before: Running, within_s: float) -> Running:
    """Wait until the board answers with another boot_id."""
    begun = time.monotonic()
    last: RtassayError | None = None
    still_up = True
    await asyncio.sleep(_FIRST_PAUSE_S)
    attempts_s = itertools.chain(_ATTEMPTS_S, itertools.repeat(60.0))
    while time.monotonic() - begun < within_s:
        await asyncio.sleep(_PAUSE_S)
        try:
            async with asyncio.timeout(min(next(attempts_s), max(5.0, within_s - (time.monotonic() - begun)))):
                await board.open()
                now = await running(board)
        except (BoardError, TimeoutError) as error:
            last, still_up = (error if isinstance(error, BoardError) else last), False
            await _close(board)
            continue
        if now.boot_id != before.boot_id:
            return now
        still_up = True
        if time.monotonic() - begun > min(_GOES_DOWN_S, within_s / 2):
            await loader.take_back(board)
            raise BoardError(
                f"board '{board.name}' did not go down for the reboot",
                f"it still runs its boot {now.boot_id}",
                "reboot it by hand and look at its log; the choice was undone, the default was not changed",
            )
        await _close(board)
    words = "" if still_up or last is None else f": {last}"
    raise BoardError(
        f"board '{board.name}' is not back after {within_s:.0f} s with {kernel.title}{words}",
        "the kernel does not boot there, or needs longer",
        _way_out(loader),
    )


def _way_out(loader: BootLoader) -> str:
    return (
        "switch the board off and on: the choice was for one boot, the default was not changed"
        + (" (if config.txt.rtassay lies on the card, rename it to config.txt)" if loader.name == "raspberry" else "")
        + "; then look at its console while it boots"
    )


async def _close(board: LinuxBoard) -> None:
    with contextlib.suppress(BoardError, OSError):
        await board.close()


def _names(kernels: list[Kernel]) -> str:
    return ", ".join(dict.fromkeys(kernel.id for kernel in kernels))


async def facts_of_install(board: LinuxBoard, release: str, root: str = "") -> dict[str, bool]:
    """The parts of a kernel on a board: `kernel`, `modules`, `initrd`."""
    script = """[ -f "$1/boot/vmlinuz-$2" ] && echo kernel; [ -d "$1/lib/modules/$2" ] && echo modules
[ -f "$1/boot/initrd.img-$2" ] && echo initrd; true"""
    words = (await sh(board, script, root, release)).split()
    return {part: part in words for part in ("kernel", "modules", "initrd")}


async def switch_and_leave(board: LinuxBoard, name: str, tell: Tell = lambda words: None) -> Running:
    """`switch_kernel` for one boot; always closes the contact afterwards."""
    try:
        return await switch_kernel(board, name, tell=tell)
    finally:
        await _close(board)


async def check_names(board: LinuxBoard, names: Sequence[str]) -> None:
    """Whether a board has a kernel of every name; it is opened and closed here. Raises UsageError that lists what there is."""
    await board.open()
    try:
        kernels = await (await loader_of(board)).kernels(board)
        for name in names:
            resolve(kernels, name)
    finally:
        await _close(board)
