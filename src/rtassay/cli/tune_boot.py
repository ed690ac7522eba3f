"""The part of rtassay tune that boots: once, with words on the kernel's command line, and as before after that."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from rtassay.cli.terminal import echo
from rtassay.model.errors import EXIT_NOT_DEMONSTRATED, EXIT_OK, UsageError

if TYPE_CHECKING:
    from rtassay.boards.base import LinuxBoard
    from rtassay.model.knobs import Goal
    from rtassay.session.tuning_plans import Asked


async def boot_once(board: LinuxBoard, asked: Asked, goal: Goal, *, dry_run: bool, yes: bool) -> int:
    """Boot an open board with the words that the settings ask for, and tell which of them took. Raises UsageError, BoardError."""
    from rtassay.boot.switch import switch_kernel
    from rtassay.model.knobs import OK
    from rtassay.model.tuning import offer
    from rtassay.session import tuning
    from rtassay.session.examining import examine_board
    from rtassay.session.tuning_plans import boot_words_of

    echo(f"rtassay: looking at {board.name} for a second ...", err=True)
    found = await examine_board(board, await board.probe(), goal)
    wanted = boot_words_of(found, asked)
    if not wanted:
        raise UsageError("none of these settings asks for a word of the kernel's command line that is not there")
    for setting, word in wanted:
        echo(f"{setting}: {word}")
    if dry_run:
        return EXIT_OK
    if (there := await tuning.status(board)) is not None:
        raise UsageError(
            "a boot would undo what is changed", offer(board.name, there.owner, there.since, there.settings)
        )
    if not yes and sys.stdin.isatty() and not click.confirm(f"reboot {board.name} with these words, once?", err=True):
        return EXIT_OK
    words = tuple(dict.fromkeys(word for _, word in wanted))
    await switch_kernel(board, None, words=words, tell=lambda sentence: echo(f"rtassay: {sentence}", err=True))
    now = {one.id: one for one in (await examine_board(board, await board.probe(), goal)).found}
    names = tuple(dict.fromkeys(setting for setting, _ in wanted))
    for name in names:
        echo(f"{name}: {'took' if now[name].state == OK else 'did not take'}: {now[name].now}")
    echo(f"{board.name} has {' '.join(words)} in this boot; its next boot is as before")
    return EXIT_OK if all(now[name].state == OK for name in names) else EXIT_NOT_DEMONSTRATED
