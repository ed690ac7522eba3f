"""rtassay run --attach: finds the recording and the way to its board."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rtassay.cli.terminal import echo
from rtassay.model.errors import UsageError

if TYPE_CHECKING:
    from rtassay.session.control import RunResult

# It gets the progress view and the request to stop from the command line. It measures and seals.
Work = Callable[[Any, Any], Awaitable["RunResult"]]


def attaching(name: str, home: Path, *, told: bool) -> Work:
    """Work that continues the recording `name`; an empty name means the only one there is. Raises UsageError."""

    async def work(view: Any, stop: Any) -> RunResult:
        from rtassay.boards.known import resolve
        from rtassay.cli.judging import parser_for
        from rtassay.session.attach import attach, board_of

        path = _recording(name, home)
        board = resolve(board_of(path))
        if told:
            board.notice = lambda sentence: echo(sentence, err=True)
        return await attach(board, path, parser_for=parser_for, on_event=view, stop=stop)

    return work


def _recording(name: str, home: Path) -> Path:
    from rtassay import store
    from rtassay.session.attach import attachable

    if name:
        return store.find(name)
    found = [path for path in attachable(home) if not store.is_running(path)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError("there is no run to attach to", f"none in {home} was left behind on a board")
    names = ", ".join(path.name.removesuffix(".rta") for path in found)
    raise UsageError(f"{len(found)} runs were left behind on boards", hint=f"which one: {names}")
