"""Settings of a board for the length of one run: changed before its inventory is read, put back after its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rtassay.boards.base import LinuxBoard
from rtassay.model.errors import BoardError, RtassayError
from rtassay.model.inventory import inventory_of
from rtassay.model.knobs import Goal
from rtassay.model.tuning import DIFFERS, REFUSED
from rtassay.session import tuning
from rtassay.session.tuning_plans import Asked


class Settings:
    """Those of one run; `asked` None: none are changed."""

    def __init__(self, board: LinuxBoard, asked: Asked | None) -> None:
        self._board = board
        self._asked = asked
        self._changed = False

    async def change(self, for_ns: int) -> None:
        """Change what was asked for, and tell what was not changed. Raises UsageError, BoardError; nothing is changed then."""
        if self._asked is None:
            return
        plan, fighting = await tuning.planned(self._board, self._asked, self._asked.goal or Goal())
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

    def tell(self, inventory: Mapping[str, Any]) -> None:
        """Say what somebody changed before this run: it is measured so, and the recording lists it."""
        found = inventory_of(inventory).tuned
        if self._changed or found is None or found.owner is None:
            return
        names = ", ".join(dict.fromkeys(one.setting or "?" for one in found.made))
        self._board.notice(
            f"settings of the board are changed by {found.owner} since {found.since}: {names}; "
            f"`rtassay tune {self._board.name} --revert` puts them back"
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
