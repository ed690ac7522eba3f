"""Boot loaders choose the kernel that a board boots. To add a boot loader: a file here, a line in `__init__.py`, a page in docs/extend.

A member has no state of a board; every method is given an open one. `root` goes before every path it reads or writes, so that a
member can be tested on a copy of a board's files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from rtassay.boards.base import LinuxBoard


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel a board can boot.

    `id` is the name its loader uses, `release` the output of `uname -r` (None: not known before the boot), `rt` whether it is
    PREEMPT_RT (None: not known), `default` whether a plain reboot boots it. `words`: what its command line gets beyond the loader's.
    """

    id: str
    title: str
    release: str | None = None
    rt: bool | None = None
    default: bool = False
    words: tuple[str, ...] = ()


class BootLoader(Protocol):
    """A way to choose. Every method raises BoardError when the board refuses or cannot be reached.

    `keeps_default`: whether a default can be set. The choice of `use_once` holds for the next boot only, also if that boot fails.
    """

    name: str
    keeps_default: bool

    def __init__(self, root: str = "") -> None: ...

    async def fits(self, board: LinuxBoard) -> bool:
        """Whether the board boots by this loader. Reads only."""
        ...

    async def kernels(self, board: LinuxBoard) -> list[Kernel]:
        """The kernels that can be booted, in the order of the loader's menu. Reads only."""
        ...

    async def use_once(self, board: LinuxBoard, kernel: Kernel) -> None:
        """Choose the kernel for the next boot only, and read the choice back. The default stays as it is."""
        ...

    async def take_back(self, board: LinuxBoard) -> None:
        """Undo `use_once` if the boot is still armed; no error if it is not."""
        ...

    async def use_by_default(self, board: LinuxBoard, kernel: Kernel) -> None:
        """Make it the default of every plain reboot. Raises UsageError if `keeps_default` is False."""
        ...

    async def reboot(self, board: LinuxBoard) -> None:
        """Ask for the boot that `use_once` armed. Returns when the board was asked; a lost connection is no error."""
        ...

    async def with_words(self, board: LinuxBoard, kernel: Kernel, words: tuple[str, ...]) -> Kernel:
        """The kernel with more words on its command line, for `use_once`; the default untouched. Raises UsageError where it cannot be done."""
        ...

    async def without_words(self, board: LinuxBoard) -> None:
        """Take away what `with_words` made on the board; no error if there is nothing."""
        ...

    async def add(self, board: LinuxBoard, release: str) -> None:
        """Make a kernel whose files lie in /boot and /lib/modules bootable under its release, the default untouched."""
        ...

    async def remove(self, board: LinuxBoard, release: str) -> None:
        """Undo `add`: the loader offers the release no more. Does nothing if `add` did nothing."""
        ...
