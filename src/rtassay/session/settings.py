"""Settings of a board for the length of one run: changed before its inventory is read, put back after its end. Isolated CPUs are one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rtassay.boards.base import LinuxBoard
from rtassay.model.errors import BoardError, RtassayError
from rtassay.model.inventory import CpuState, inventory_of
from rtassay.model.knobs import Goal
from rtassay.model.tuning import DIFFERS, REFUSED, offer
from rtassay.model.units import format_cpu_list
from rtassay.session import inventory, isolation, tuning
from rtassay.session.board_files import read_files
from rtassay.session.tuning_plans import Asked


async def read_cpus(board: LinuxBoard) -> CpuState:
    """The CPUs of an open board as they are now. Raises BoardError."""
    return inventory.cpus(await read_files(board, await board.probe(), inventory.CPU_PATHS))


class Settings:
    """Those of one run; `asked` None: none are changed."""

    def __init__(self, board: LinuxBoard, asked: Asked | None) -> None:
        self._board = board
        self._asked = asked
        self._changed = False

    async def change(self, for_ns: int, *, isolate: bool) -> None:
        """Change what was asked for, and tell what was not changed. `isolate`: also isolate CPUs, on a board that isolates none.

        Raises UsageError, BoardError; nothing is changed then.
        """
        asked = Asked(()) if self._asked is None else self._asked
        cpus = await self._to_isolate(asked) if isolate else ()
        if self._asked is None and not cpus:
            return
        goal = replace(asked.goal or Goal(), isolated=cpus) if cpus else asked.goal or Goal()
        plan, fighting = await tuning.planned(self._board, asked, goal, isolate=bool(cpus))
        if cpus:
            self._board.notice(
                f"no CPU is isolated here: CPU {format_cpu_list(cpus)} is for the length of this run; a plan (--tune) with "
                'for = "isolated=LIST" names others'
            )
        for one in plan.settings:
            if one.left is not None:
                self._board.notice(f"{one.id}: not changed: {one.left}")
        for name in fighting:
            self._board.notice(f"{name} runs, and may change settings of the board by itself")
        if not plan.changes:
            return
        tuned = await tuning.apply(self._board, plan, for_ns=for_ns)
        self._changed = True
        wrong = [one for one in tuned.changes if one.state in (REFUSED, DIFFERS)]
        if wrong:
            told = "; ".join(f"{one.target}: {one.why or f'shows {one.now}'}" for one in wrong[:4])
            raise BoardError(
                f"{len(wrong)} of {len(tuned.changes)} changes of settings had no effect",
                told,
                "rtassay tune --dry-run shows them; leave those settings out of the plan",
            )

    async def _to_isolate(self, asked: Asked) -> tuple[int, ...]:
        """CPUs that are to be isolated; () if some are already, or none can be."""
        cpus = await read_cpus(self._board)
        if not cpus.online or cpus.kept_free:
            return ()
        named = None if asked.goal is None else asked.goal.isolated
        return isolation.for_a_run(cpus.online) if named is None else named

    def tell(self, inventory: Mapping[str, Any]) -> None:
        """Say what somebody changed before this run: it is measured so, and the recording lists it."""
        found = inventory_of(inventory).tuned
        if self._changed or found is None or found.owner is None:
            return
        self._board.notice(
            offer(self._board.name, found.owner, found.since, (one.setting or "?" for one in found.made))
        )

    async def put_back(self) -> None:
        """Put back what was changed. What fails is told: the board does it by itself when the longest time of the run is over."""
        if not self._changed:
            return
        self._changed = False
        try:
            left = (await tuning.revert(self._board)).left
        except (RtassayError, OSError) as error:
            self._board.notice(
                f"the settings are not put back yet ({error}): the board does it by itself; or rtassay tune {self._board.name} --revert"
            )
            return
        for what, why in left:
            self._board.notice(f"not put back: {what}: {why}; rtassay tune {self._board.name} --revert tries again")
