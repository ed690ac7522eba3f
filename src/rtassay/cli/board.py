"""rtassay board: names boards, describes them, and removes rtassay from them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, Literal

import click

from rtassay.cli.names import BOARD
from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo
from rtassay.model.errors import UsageError


@click.group("board")
def command() -> None:
    """Boards: name them, look at them, clear them.

    \b
      rtassay board add pi5 root@192.168.1.7
      rtassay board add m4 serial:/dev/ttyUSB0 --wait 'nsh> ' --send 'rtlite\\n'
      rtassay board inventory pi5
      rtassay board list
    """


@command.command("add")
@click.argument("name")
@click.argument("address")
@click.option("--port", type=click.IntRange(1, 65535), help="Port of its sshd, if ssh_config does not say it.")
@click.option(
    "--directory", metavar="DIR", help="Where rtassay may live on the board.  [default: the first place that fits]"
)
@click.option(
    "--sudo",
    type=click.Choice(["auto", "never"]),
    default="auto",
    show_default=True,
    help="auto: use `sudo -n` if the user is not root; never: measure as that user.",
)
@click.option("--ssh-option", "words", multiple=True, metavar="WORD", help="One more word for ssh, as -F or -oFOO=BAR.")
@click.option("--send", metavar="TEXT", help="Of a console with rtprobe-lite: as for run.")
@click.option("--wait", metavar="TEXT", help="Of a console with rtprobe-lite: as for run.")
@click.option("--reset", metavar="COMMAND", help="Of a console with rtprobe-lite: as for run.")
@click.option("--note", help="A sentence about it.")
@click.option("--replace", is_flag=True, help="Change a board that has this name already.")
@json_option
def add(
    name: str,
    address: str,
    port: int | None,
    directory: str | None,
    sudo: Literal["auto", "never"],
    words: tuple[str, ...],
    send: str | None,
    wait: str | None,
    reset: str | None,
    note: str | None,
    replace: bool,
    as_json: bool,
) -> int:
    """Name a board: NAME for ADDRESS, which is user@host[:port], an alias of your ssh_config, or a console (serial:/dev/ttyUSB0?baud=115200)."""
    from rtassay.boards.known import (
        ALIAS,
        CONSOLE,
        KnownBoard,
        boards_file,
        check_name,
        known_boards,
        parse_address,
        save_boards,
    )

    check_name(name)
    boards = known_boards()
    if name in boards and not replace:
        raise UsageError(f"there is a board '{name}' already", boards[name].address, "--replace changes it")
    transport = _transport_of(address, {"--send": send, "--wait": wait, "--reset": reset})
    if transport != "ssh" and (port is not None or words):
        raise UsageError("--port and --ssh-option go with SSH", hint="the speed of a console: ?baud=115200")
    if transport != "ssh":
        pass
    elif "@" in address:
        address, of_address = parse_address(address)
        port = of_address if port is None else port
    elif not ALIAS.fullmatch(address):
        raise UsageError(
            f"'{address}' is not the address of a board", hint="user@host[:port], or an alias of ssh_config"
        )
    if directory is not None and not directory.startswith("/"):
        raise UsageError(f"--directory {directory} is not an absolute path")
    board = KnownBoard(
        name,
        address,
        transport=transport,
        port=port,
        directory=directory,
        sudo=sudo,
        options=words,
        note=note,
        send=send,
        wait=wait,
        reset=reset,
    )
    save_boards({**boards, name: board})
    if as_json:
        print_json({"schema": "rtassay/board/1", "board": asdict(board), "file": str(boards_file())})
    else:
        then = (
            f"measure it: rtassay run {name}" if transport == CONSOLE else f"look at it: rtassay board inventory {name}"
        )
        echo(f"{name}: {address}; {then}")
    return 0


def _transport_of(address: str, of_lite: dict[str, str | None]) -> str:
    """ssh, serial or console. Raises UsageError for an option that only a console with rtprobe-lite has."""
    from rtassay.boards.consoles import is_console, parse
    from rtassay.boards.known import CONSOLE

    transport = "ssh" if not is_console(address) else "serial" if parse(address).linux else CONSOLE
    given = [name for name, value in of_lite.items() if value is not None]
    if given and transport != CONSOLE:
        raise UsageError(f"{given[0]} does not go with {address}", "it is for a console with rtprobe-lite")
    return transport


@command.command("list")
@json_option
def list_(as_json: bool) -> int:
    """The boards you named."""
    from rtassay.boards.known import boards_file, known_boards

    boards = known_boards()
    if as_json:
        rows = [asdict(board) for board in boards.values()]
        print_json({"schema": "rtassay/boards/1", "file": str(boards_file()), "boards": rows})
        return 0
    for board in boards.values():
        port = "" if board.port is None else f":{board.port}"
        extra = "".join(f"  {text}" for text in (board.directory, board.note) if text)
        echo(f"{board.name:16} {board.transport:7} {board.address}{port}{extra}")
    if not boards:
        echo("no board has a name yet: rtassay board add NAME user@host", err=True)
    return 0


@command.command("remove")
@click.argument("name", type=BOARD)
def remove(name: str) -> int:
    """Forget the name of a board. The board itself is not touched."""
    from rtassay.boards.known import known_boards, save_boards

    boards = known_boards()
    if name not in boards:
        raise UsageError(f"there is no board '{name}'", hint=f"known: {', '.join(boards) or 'none'}")
    save_boards({key: board for key, board in boards.items() if key != name})
    echo(f"{name} is forgotten")
    return 0


@command.command("inventory")
@click.argument("names", type=BOARD, nargs=-1, metavar="[NAME]")
@click.option("--diff", is_flag=True, help="Two boards: only what differs.")
@json_option
def inventory(names: tuple[str, ...], diff: bool, as_json: bool) -> int:
    """What a board is and how it is set up: NAME, user@host, or this machine; two with --diff."""
    wanted = names or ("local",)
    if len(wanted) != (2 if diff else 1):
        raise UsageError("--diff needs two boards" if diff else "one board, or two with --diff")
    found = {name: asyncio.run(_on_board(name, _read)) for name in dict.fromkeys(wanted)}
    first, last = wanted[0], wanted[-1]
    rows = _rows(found[first])
    if not diff:
        if as_json:
            print_json({"schema": "rtassay/inventory/1", "board": first, "inventory": found[first]})
        else:
            _page(first, rows)
        return 0
    there = dict(_rows(found[last]))
    keys = list(dict.fromkeys([*dict(rows), *there]))
    here = dict(rows)
    differing = {key: (here.get(key), there.get(key)) for key in keys if here.get(key) != there.get(key)}
    if as_json:
        print_json({"schema": "rtassay/inventory-diff/1", "boards": [first, last], "differs": differing})
        return 0
    for key, (a, b) in differing.items():
        echo(f"{key}\n  {first:12} {_text(a)}\n  {last:12} {_text(b)}")
    if not differing:
        echo("no difference")
    return 0


@command.command("clean")
@click.argument("name", type=BOARD)
@click.option("--force", is_flag=True, help="End everything that runs there, no matter who started it.")
@json_option
def clean(name: str, force: bool, as_json: bool) -> int:
    """Remove everything of rtassay from a board, and list it. A measurement that was not fetched is lost."""
    from rtassay.boards.known import resolve

    found = asyncio.run(resolve(name).clean(force=force))
    if as_json:
        print_json({"schema": "rtassay/board-clean/1", "board": name, "removed": found})
    else:
        echo("\n".join(found) if found else f"nothing of rtassay is on {name}")
    return 0


async def _on_board(name: str, work: Callable[[Any], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
    from rtassay.boards.known import resolve

    board = resolve(name)
    board.notice = lambda sentence: echo(sentence, err=True)
    await board.open()
    try:
        return await work(board)
    finally:
        await board.close()


async def _read(board: Any) -> dict[str, Any]:
    from rtassay.session.prepare import read_inventory

    return await read_inventory(board, await board.probe())


def _rows(data: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Nested fields as `kernel.release`; long values are in --json only."""
    rows: list[tuple[str, Any]] = []
    for key, value in data.items():
        if isinstance(value, dict) and value:
            rows += _rows(value, f"{prefix}{key}.")
        else:
            rows.append((f"{prefix}{key}", value))
    return rows


def _page(name: str, rows: list[tuple[str, Any]]) -> None:
    echo(f"board {name}\n")
    width = max((len(key) for key, _ in rows), default=0)
    for key, value in rows:
        echo(f"{key:{width}}  {_text(value)}")


def _text(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, list):
        if value and all(isinstance(item, int) for item in value):
            from rtassay.model.units import format_cpu_list

            return format_cpu_list(value)
        if len(value) > 8 or any(isinstance(item, dict) for item in value):
            return f"{len(value)}" + (" (--json lists them)" if value else "")
        return ", ".join(str(item) for item in value) or "none"
    return str(value)
