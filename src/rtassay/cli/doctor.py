"""rtassay doctor: which settings of a board are wrong, unknown or fine."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rtassay.cli import ci
from rtassay.cli.ci import ci_options
from rtassay.cli.names import BoardName, RecordingName
from rtassay.cli.options import json_option, print_json, wants_colour
from rtassay.cli.terminal import echo, echo_rendered, report_width
from rtassay.model.errors import (
    EXIT_NOT_DEMONSTRATED,
    EXIT_OK,
    EXIT_VIOLATED,
    InputFileError,
    UsageError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from click.shell_completion import CompletionItem

    from rtassay.model.knobs import Examination, Goal

_MOST_BYTES = 16 * 1024 * 1024


class _Subject(BoardName):
    """A board, a recording, or a file of `board inventory --json`."""

    name = "subject"

    def known(self) -> Iterable[CompletionItem]:
        yield from super().known()
        yield from RecordingName().known()


@click.command("doctor")
@click.argument("subject", type=_Subject(), default="local", metavar="[BOARD|RECORDING|INVENTORY.json]")
@click.option(
    "--for",
    "goal_text",
    metavar="NAME=VALUE,...",
    help="What the board is for: isolated=LIST (CPUs of the application), period=TIME, priority=1..99.  [default: the CPUs that the board isolates, priority=80]",
)
@ci_options
@json_option
def command(subject: str, goal_text: str | None, as_json: bool, **files: str | None) -> int:
    """Look at every setting of a board that bears on latency, and change nothing.

    Wrong settings come first, ranked by severity and by the evidence behind the advice; each with what it is now, what is wanted,
    why, the expected effect, the harm, and how long a proof takes. What cannot be read is unknown, never fine. A recording or an
    inventory is looked at without its board.

    \b
      rtassay doctor                                             this machine
      rtassay doctor pi5 --for isolated=2-3,period=1ms,priority=80

    \b
    Exit codes: 0 nothing is wrong; 1 something is wrong; 4 nothing is wrong, but something important is
    unknown; 2 usage; 3 the board cannot be reached.
    """
    from rtassay.model.knobs import UNKNOWN, WRONG, examination_dict, parse_goal
    from rtassay.model.tuning import offer

    goal = parse_goal(goal_text)
    found = _examined(subject, goal)
    ci.write(files, found)
    if as_json:
        print_json(examination_dict(found))
    elif not ci.on_stdout(files):
        from rtassay.reports.examination.terminal import TerminalExamination

        echo_rendered(TerminalExamination(report_width(), wants_colour()).render(found))
    if found.kind == "board" and found.tuned is not None:
        changed = (one.setting or "?" for one in found.tuned.made)
        echo(f"rtassay: {offer(found.subject, found.tuned.owner or '?', found.tuned.since, changed)}", err=True)
    if found.of(WRONG):
        return EXIT_VIOLATED
    return EXIT_NOT_DEMONSTRATED if found.unknown_required and found.of(UNKNOWN) else EXIT_OK


def _examined(subject: str, goal: Goal) -> Examination:
    """A file, else a board by its name, else a recording. Raises UsageError that lists the boards."""
    from rtassay import store
    from rtassay.boards.known import resolve
    from rtassay.session import examining

    path = Path(subject).expanduser()
    if path.is_file() and path.suffix == ".json" and path.name != "manifest.json":
        return examining.examine_inventory(subject, "inventory", _inventory(path), goal)
    try:
        resolve(subject)
    except UsageError as no_board:
        try:
            recording = store.find(subject)
        except UsageError as no_recording:
            raise no_recording if path.exists() else _neither(subject, no_board, no_recording) from None
        return examining.examine_recording(subject, store.load_manifest(recording), goal)
    return asyncio.run(_on_board(subject, goal))


def _neither(subject: str, no_board: UsageError, no_recording: UsageError) -> UsageError:
    hints = "; ".join(text for text in (no_board.hint, no_recording.hint) if text)
    return UsageError(f"there is no board and no recording '{subject}'", hint=hints)


def _inventory(path: Path) -> Any:
    hint = "rtassay board inventory BOARD --json > FILE.json makes such a file"
    try:
        with path.open("rb") as opened:
            data = json.loads(opened.read(_MOST_BYTES))
    except OSError as error:
        raise InputFileError(f"cannot read {path}", error.strerror) from error
    except (ValueError, RecursionError) as error:
        raise InputFileError(f"{path} is no JSON", str(error), hint) from error
    if not isinstance(data, dict) or data.get("schema") != "rtassay/inventory/1":
        raise InputFileError(f"{path} is no inventory", 'its "schema" is not "rtassay/inventory/1"', hint)
    return data.get("inventory")


async def _on_board(name: str, goal: Goal) -> Examination:
    from rtassay.boards.known import resolve
    from rtassay.session.examining import examine_board

    board = resolve(name)
    board.notice = lambda sentence: echo(sentence, err=True)
    echo(f"rtassay: looking at {name} for a second ...", err=True)
    await board.open()
    try:
        return await examine_board(board, await board.probe(), goal)
    finally:
        await board.close()
