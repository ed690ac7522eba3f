"""rtassay kernel: builds of kernels, the kernels of a board, and booting another one with proof that it runs."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click

from rtassay.cli.names import BOARD, BUILD
from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo, echo_table
from rtassay.reports.text_table import name as whole
from rtassay.reports.text_table import number, words

# Verbs of other files, imported when they are called; each module holds one command named `command`.
MORE: Final[dict[str, str]] = {"build": "rtassay.cli.kernel_build", "deploy": "rtassay.cli.kernel_deploy"}


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*MORE, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in MORE:
            found: click.Command = import_module(MORE[cmd_name]).command
            return found
        return super().get_command(ctx, cmd_name)


@click.group("kernel", cls=_Verbs)
def command() -> None:
    """Kernels: build them, bring them to a board beside its own, boot one with proof.

    \b
      rtassay kernel build linux-source-6.12 --arch arm64 --stock --rt
      rtassay kernel deploy 6.12.117-rt pi5
      rtassay kernel list           the kernels that were built here
      rtassay kernel list pi5       what the board can boot
      rtassay kernel use rt pi5
    """


@command.command("list")
@click.argument("board", type=BOARD, required=False)
@json_option
def list_(board: str | None, as_json: bool) -> int:
    """List the kernels that BOARD can boot, with marks for the default and the running one. Without BOARD: the kernels built here."""
    if board is None:
        return _list_builds(as_json)
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


def _list_builds(as_json: bool) -> int:
    from rtassay.kernels import builds

    found = builds.every()
    if as_json:
        rows = [described(path, manifest) for path, manifest in found]
        print_json({"schema": "rtassay/kernel-builds/1", "builds": rows})
        return 0
    if not found:
        echo("no kernels were built here; make one with: rtassay kernel build SOURCE", err=True)
        return 0
    columns = [whole("build"), words("arch"), words("kernel"), number("size MB"), words("source")]
    echo_table(columns, (_cells(manifest) for _, manifest in found))
    echo(f"in {builds.home()}", err=True)
    return 0


def _cells(manifest: Any) -> tuple[str, ...]:
    size = sum(file.bytes for file in manifest.files if not file.path.endswith(".deb")) / 1e6
    return (manifest.release, manifest.arch, "PREEMPT_RT" if manifest.rt else "stock", f"{size:.1f}", manifest.source)


def described(path: Path, manifest: Any) -> dict[str, Any]:
    """A build as JSON: its manifest and where it is."""
    import msgspec

    told: dict[str, Any] = msgspec.to_builtins(manifest)
    return {"path": str(path), **told}


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
        echo(f"{release} is on {board}; boot it with: rtassay kernel use {release} {board}")
    return 0


@command.command("remove")
@click.argument("name", type=BUILD)
@click.argument("board", type=BOARD, required=False)
@json_option
def remove(name: str, board: str | None, as_json: bool) -> int:
    """Remove kernel NAME from BOARD: one that rtassay put there, and that is neither running nor the default.

    Without BOARD: delete the build NAME of this machine.
    """
    if board is None:
        from rtassay.kernels import builds

        path, manifest = builds.find(name)
        builds.remove(path)
        release = manifest.release
    else:
        release = asyncio.run(_remove(board, name))
    if as_json:
        print_json({"schema": "rtassay/kernel-remove/1", "board": board, "release": release})
    else:
        echo(f"{release} is removed" + ("" if board is None else f" from {board}"))
    return 0


def resolved(word: str) -> Any:
    """A board by its name or address; its messages go to stderr."""
    from rtassay.boards.known import resolve

    board: Any = resolve(word)
    board.notice = say
    return board


def say(words: str) -> None:
    """Progress, on stderr."""
    echo(words, err=True)


async def _list(word: str) -> tuple[str, list[Any], Any]:
    from rtassay.boot.switch import loader_of, running

    board = resolved(word)
    await board.open()
    try:
        loader = await loader_of(board)
        return loader.name, await loader.kernels(board), await running(board)
    finally:
        await board.close()


async def _use(word: str, name: str, default: bool, within_s: float) -> Any:
    from rtassay.boot.switch import switch_kernel

    board = resolved(word)
    try:
        return await switch_kernel(board, name, default=default, back_within_s=within_s, tell=say)
    finally:
        await board.close()


async def _install(word: str, file: Path) -> str:
    from rtassay.boot.install import install_kernel

    board = resolved(word)
    await board.open()
    try:
        return await install_kernel(board, file, say)
    finally:
        await board.close()


async def _remove(word: str, name: str) -> str:
    from rtassay.boot.install import remove_kernel

    board = resolved(word)
    await board.open()
    try:
        return await remove_kernel(board, name)
    finally:
        await board.close()
