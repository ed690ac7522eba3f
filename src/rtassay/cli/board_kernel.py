"""rtassay board kernel: the kernels of a board, and booting another one with proof that it runs."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from rtassay.cli.names import BOARD
from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo


@click.group("kernel")
def command() -> None:
    """The kernels of a board: list them, boot another one, put a new one beside them.

    \b
      rtassay board kernel list pi5
      rtassay board kernel use rt pi5
    """


@command.command("list")
@click.argument("board", type=BOARD)
@json_option
def list_(board: str, as_json: bool) -> int:
    """List the kernels that BOARD can boot, with marks for the default and the running one."""
    name, kernels, now = asyncio.run(_list(board))
    if as_json:
        rows = [asdict(kernel) for kernel in kernels]
        print_json(
            {"schema": "rtassay/kernels/1", "board": board, "loader": name, "kernels": rows, "running": asdict(now)}
        )
        return 0
    for kernel in kernels:
        marks = [word for word, on in (("default", kernel.default), ("running", kernel.release == now.release)) if on]
        kind = {True: "PREEMPT_RT", False: "stock", None: "?"}[kernel.rt]
        echo(f"{kernel.id:24} {kernel.release or '?':28} {kind:10} {', '.join(marks)}".rstrip())
    echo(f"{name}; running {now.release} {now.version}", err=True)
    return 0


@command.command("use")
@click.argument("name")
@click.argument("board", type=BOARD)
@click.option("--once", "how", flag_value="once", default=True, help="For the next boot only (the default).")
@click.option("--default", "how", flag_value="default", help="Also for every later boot, after the kernel has come up.")
@click.option(
    "--within", metavar="TIME", default="10min", show_default=True, help="How long the board may take to return."
)
@json_option
def use(name: str, board: str, how: str, within: str, as_json: bool) -> int:
    """Reboot BOARD into kernel NAME: an id or release of `list`, or `stock`, `rt`.

    The choice holds for one boot: if the kernel does not come up, a power cycle brings the old one back. A new boot_id
    proves the reboot. `uname -v` and the configuration prove the kernel.
    """
    from rtassay.model.units import parse_duration_ns

    now = asyncio.run(_use(board, name, how == "default", parse_duration_ns(within) / 1e9))
    if as_json:
        print_json({"schema": "rtassay/kernel/1", "board": board, "running": asdict(now), "default": how == "default"})
    else:
        echo(f"{board} runs {now.release} {now.version}" + (", from now on" if how == "default" else ""))
    return 0


@command.command("install")
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.argument("board", type=BOARD)
@json_option
def install(file: Path, board: str, as_json: bool) -> int:
    """Put a kernel beside the others of BOARD. The default kernel stays the same.

    FILE is a Debian package of a kernel, or a directory with boot/vmlinuz-RELEASE and lib/modules/RELEASE (make dir-pkg).
    """
    release = asyncio.run(_install(board, file))
    if as_json:
        print_json({"schema": "rtassay/kernel-install/1", "board": board, "release": release})
    else:
        echo(f"{release} is on {board}; boot it with: rtassay board kernel use {release} {board} --once")
    return 0


def _resolve(word: str) -> Any:
    from rtassay.boards.known import resolve

    board: Any = resolve(word)
    board.notice = _say
    return board


def _say(words: str) -> None:
    echo(words, err=True)


async def _list(word: str) -> tuple[str, list[Any], Any]:
    from rtassay.boot.switch import loader_of, running

    board = _resolve(word)
    await board.open()
    try:
        loader = await loader_of(board)
        return loader.name, await loader.kernels(board), await running(board)
    finally:
        await board.close()


async def _use(word: str, name: str, default: bool, within_s: float) -> Any:
    from rtassay.boot.switch import switch_kernel

    board = _resolve(word)
    try:
        return await switch_kernel(board, name, default=default, back_within_s=within_s, tell=_say)
    finally:
        await board.close()


async def _install(word: str, file: Path) -> str:
    from rtassay.boot.install import install_kernel

    board = _resolve(word)
    await board.open()
    try:
        return await install_kernel(board, file, _say)
    finally:
        await board.close()
