"""The kernels of the boards of an experiment. A kernel is booted when a cell needs it, and checked before every run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rtassay.experiments.matrix import Cell
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.inventory import Inventory
from rtassay.session.board_files import read_files

_RELEASE = "/proc/sys/kernel/osrelease"
_VERSION = "/proc/version"

# A `boards.base.Board`: here it is only handed on.
Board = Any


class Running(Protocol):
    """The kernel that a board reports: `uname -r` and `uname -v`."""

    @property
    def release(self) -> str: ...

    @property
    def version(self) -> str: ...


# Boots a kernel by the name of its entry and returns when it runs, with proof.
Switch = Callable[[Board, str], Awaitable[Running]]
# Raises UsageError if the board has no kernel of one of these names, BoardError if it cannot be asked.
CheckNames = Callable[[Board, Sequence[str]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Booted:
    """`kernel` as the experiment names it. `version` None: only the release is known."""

    kernel: str
    release: str
    version: str | None
    doubtful: bool = False


class Kernels:
    """The running kernel of each board. `board`: a new contact with a board of that name; without `switch` kernels cannot be changed."""

    def __init__(self, board: Callable[[str], Board], switch: Switch | None, check_names: CheckNames | None) -> None:
        self._board = board
        self._switch = switch
        self._check_names = check_names
        self._booted: dict[str, _Booted] = {}

    async def check(self, cells: Sequence[Cell]) -> None:
        """Check, before anything is measured, that every kernel can be booted, or that the only one asked for runs already."""
        for name in dict.fromkeys(cell.board for cell in cells if cell.kernel is not None):
            wanted = list(dict.fromkeys(cell.kernel for cell in cells if cell.board == name and cell.kernel))
            if self._can_switch(name):
                if self._check_names is not None:
                    await self._check_names(self._board(name), wanted)
                continue
            release, _ = await self._now(name)
            if wanted != [release]:
                others = ", ".join(sorted(kernel for kernel in wanted if kernel != release))
                raise UsageError(
                    f"board '{name}' runs kernel {release}; booting {others} is not possible",
                    "this board has no way to choose the kernel it boots next",
                    "leave `kernels` out and run the experiment once under each kernel, or name the one that runs",
                )
            self._booted[name] = _Booted(release, release, None)

    async def boot(self, cell: Cell, tell: Callable[[str], None]) -> None:
        """Make the kernel of `cell` run. `tell` is called with its name if it is booted."""
        known = self._booted.get(cell.board)
        if cell.kernel is None or (
            known is not None and known.kernel == cell.kernel and await self._still(cell, known)
        ):
            return
        if not self._can_switch(cell.board) or self._switch is None:
            raise BoardError(f"kernel {cell.kernel} cannot be booted on '{cell.board}'")
        tell(cell.kernel)
        self._booted.pop(cell.board, None)
        running = await self._switch(self._board(cell.board), cell.kernel)
        self._booted[cell.board] = _Booted(cell.kernel, running.release, running.version)

    def accept(self, cell: Cell) -> Callable[[Inventory], None]:
        """A check for the session: raises BoardError, before anything is started, if the inventory shows another kernel than the cell's."""

        def accepted(inventory: Inventory) -> None:
            known = self._booted.get(cell.board)
            if cell.kernel is None or known is None:
                return
            release, version = inventory.kernel.release, inventory.kernel.version or ""
            if release != known.release or (known.version is not None and known.version not in version):
                del self._booted[cell.board]
                raise BoardError(
                    f"board '{cell.board}' runs kernel {release}, not {cell.kernel} ({known.release})",
                    "it was restarted since, or somebody booted another one",
                    "look at its power, its watchdog and its log",
                )

        return accepted

    def doubt(self, board: str) -> None:
        """Mark the board's kernel as doubtful after a failure: the board may have restarted, so look before the next run."""
        known = self._booted.get(board)
        if known is not None:
            self._booted[board] = _Booted(known.kernel, known.release, known.version, doubtful=True)

    async def answers(self, board: str) -> bool:
        """Whether a board can be reached at all."""
        try:
            await self._now(board)
        except BoardError:
            return False
        return True

    async def _still(self, cell: Cell, known: _Booted) -> bool:
        if self._can_switch(cell.board):
            if cell.fresh_boot:
                return False
            if known.doubtful:
                release, version = await self._now(cell.board)
                if release != known.release or (known.version is not None and known.version not in version):
                    return False
                self._booted[cell.board] = _Booted(known.kernel, known.release, known.version)
        # Else a fresh boot that was asked for cannot be had; the recordings' boot_id tells (ONE-BOOT).
        return True

    def _can_switch(self, board: str) -> bool:
        """Whether another kernel can be booted there. This machine cannot be rebooted while rtassay runs on it."""
        return self._switch is not None and board != "local"

    async def _now(self, name: str) -> tuple[str, str]:
        """`uname -r`, and /proc/version, which holds `uname -v`."""
        board = self._board(name)
        await board.open()
        try:
            found = await read_files(board, await board.probe(), [_RELEASE, _VERSION])
        finally:
            await board.close()
        return tuple(found.get(path, b"").decode(errors="replace").strip() for path in (_RELEASE, _VERSION))  # type: ignore[return-value]
