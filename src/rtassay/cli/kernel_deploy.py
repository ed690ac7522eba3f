"""rtassay kernel deploy: a kernel onto a board, beside its own, and a first boot that falls back."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from rtassay.cli.kernel import resolved, say
from rtassay.cli.names import BOARD, BUILD
from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo


@click.command("deploy")
@click.argument("build", type=BUILD)
@click.argument("board", type=BOARD)
@click.option("--default", "default", is_flag=True, help="Make it the default after it has come up once.")
@click.option(
    "--within", metavar="TIME", default="10min", show_default=True, help="How long the board may take to return."
)
@json_option
def command(build: str, board: str, default: bool, within: str, as_json: bool) -> int:
    """Put kernel BUILD beside the others of BOARD, boot it once, and prove that it runs.

    BUILD is a name of `rtassay kernel list`, a Debian package, or a directory as `make dir-pkg` makes it. The default
    stays: if the kernel does not come up, the next boot is the old one. --default changes that after the proof.
    """
    from rtassay.model.units import parse_duration_ns

    release, now = asyncio.run(_deploy(_source(build), board, default, parse_duration_ns(within) / 1e9))
    if as_json:
        row = {"board": board, "release": release, "running": asdict(now), "default": default}
        print_json({"schema": "rtassay/kernel-deploy/1", **row})
    else:
        echo(f"{board} runs {now.release} {now.version}" + (", from now on" if default else ", for this boot"))
    return 0


def _source(word: str) -> tuple[Path, str | None]:
    """(what to install, its machine as uname names it if that is known)."""
    from rtassay.kernels import builds
    from rtassay.kernels.arches import target_named

    if Path(word).exists() and not (Path(word) / builds.MANIFEST).is_file():
        return Path(word), None
    path, manifest = builds.find(word)
    return path, target_named(manifest.arch).machine


async def _deploy(source: tuple[Path, str | None], word: str, default: bool, within_s: float) -> tuple[str, Any]:
    from rtassay.boot.install import install_kernel
    from rtassay.boot.switch import switch_kernel

    board = resolved(word)
    try:
        await board.open()
        release = await install_kernel(board, source[0], say, machine=source[1])
        return release, await switch_kernel(board, release, default=default, back_within_s=within_s, tell=say)
    finally:
        await board.close()
