"""rtassay kernel deploy: a kernel onto a board, beside its own, and a first boot that falls back; or onto a card."""

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
@click.argument("board", type=BOARD, required=False)
@click.option(
    "--image",
    "card",
    type=click.Path(path_type=Path),
    help="The image of a card, or its device (never a mounted one), in place of BOARD.",
)
@click.option(
    "--yes-this-one", "this_one", is_flag=True, help="The device of --image is meant, though it is not removable."
)
@click.option("--default", "default", is_flag=True, help="Make it the default: on a board after it has come up once.")
@click.option(
    "--within", metavar="TIME", default="10min", show_default=True, help="How long the board may take to return."
)
@json_option
def command(
    build: str, board: str | None, card: Path | None, this_one: bool, default: bool, within: str, as_json: bool
) -> int:
    """Put kernel BUILD beside the others of BOARD, boot it once, and prove that it runs. Or put it onto a card.

    \b
      rtassay kernel deploy 6.12.117-rt pi5
      rtassay kernel deploy 6.12.117-rt --image sdcard.img

    BUILD is a name of `rtassay kernel list`, a Debian package, or a directory as `make dir-pkg` makes it. The default
    stays: if the kernel does not come up, the next boot is the old one. --default changes that after the proof.

    A card needs neither root nor the board: nothing of it is mounted or executed. Its first kernel stays the default, and an initrd
    is made of the first one's with the modules of the new kernel. All that was written is read back; whatever fails is undone.
    """
    from rtassay.model.errors import UsageError
    from rtassay.model.units import parse_duration_ns

    if (board is None) == (card is None):
        raise UsageError(
            "deploy needs a board or --image", hint="rtassay kernel deploy BUILD BOARD, or BUILD --image FILE"
        )
    if this_one and card is None:
        raise UsageError("--yes-this-one is for the device of --image")
    source = _source(build)
    if card is not None:
        return _onto_card(source[0], card, this_one, default, as_json)
    assert board is not None
    release, now = asyncio.run(_deploy(source, board, default, parse_duration_ns(within) / 1e9))
    if as_json:
        row = {"board": board, "release": release, "running": asdict(now), "default": default}
        print_json({"schema": "rtassay/kernel-deploy/1", **row})
    else:
        echo(f"{board} runs {now.release} {now.version}" + (", from now on" if default else ", for this boot"))
    return 0


def _onto_card(source: Path, card: Path, this_one: bool, default: bool, as_json: bool) -> int:
    from rtassay.kernels.cards.deploying import deploy

    done = deploy(source, card, default=default, this_one=this_one, say=say)
    if as_json:
        print_json({"schema": "rtassay/kernel-card/1", "card": str(card), **asdict(done)})
        return 0
    echo(
        f"{done.release} is on {card} beside {done.first} ({done.loader})" + (", and is its default" if default else "")
    )
    if not default:
        echo(f"  to boot it once, {done.trial}")
    for where, paths in done.written.items():
        echo(f"  {where}: {len(paths)} files written and read back")
    if done.absent:
        echo(f"  modules of the first initrd that this kernel does not have: {', '.join(done.absent)}")
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
