"""rtassay image: a bootable card for a board, from Debian, with the kernels that are to be compared."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

import click

from rtassay.cli.kernel import say
from rtassay.cli.names import BUILD
from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo

_SIZE = re.compile(r"(\d{1,6})([MG])i?B?", re.IGNORECASE)


def _size(context: click.Context, parameter: click.Parameter, value: str) -> int:
    """MiB of a size as 3G or 2048M."""
    found = _SIZE.fullmatch(value)
    if found is None:
        raise click.BadParameter(f"'{value}' is no size", param_hint="--size (as 3G or 2048M)")
    return int(found[1]) * (1024 if found[2].upper() == "G" else 1)


@click.command("image")
@click.argument("kernels", nargs=-1, required=True, metavar="BUILD...", type=BUILD)
@click.option(
    "-o", "--output", "out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The image to write."
)
@click.option(
    "--for",
    "board",
    type=click.Choice(["u-boot", "raspberry-pi"]),
    default="u-boot",
    show_default=True,
    help="How the board boots: U-Boot in its own flash that reads extlinux.conf, or a Raspberry Pi's firmware.",
)
@click.option("--arch", default="arm64", show_default=True, help="arm64, armhf, riscv64 or amd64.")
@click.option("--key", type=click.Path(path_type=Path), help="The public SSH key for root.  [default: yours in ~/.ssh]")
@click.option("--name", "host", default="board", show_default=True, help="The board's host name.")
@click.option("--size", default="3G", show_default=True, callback=_size, help="The size of the image.")
@click.option("--words", default="", help="More words for the kernels' command line, as isolcpus=3.")
@json_option
def command(
    kernels: tuple[str, ...],
    out: Path,
    board: str,
    arch: str,
    key: Path | None,
    host: str,
    size: int,
    words: str,
    as_json: bool,
) -> int:
    """Make a bootable card with Debian and the kernels BUILD...; the first one is the default.

    \b
      rtassay image linux-image-arm64 linux-image-rt-arm64 -o card.img
      rtassay image 6.12.117-stock 6.12.117-rt --for raspberry-pi -o card.img

    BUILD is a name of `rtassay kernel list`, a .deb, or a package of Debian. The card has root's login by your SSH key, DHCP on the
    wire, a serial console, the tools that loads need, no desktop, no swap, and no timers that wake up by themselves.
    """
    from rtassay.kernels.cards.making import Asked, make

    made = make(Asked(kernels, out, board, arch, key, host, size, words), say)
    if as_json:
        print_json({"schema": "rtassay/image/1", **asdict(made), "path": str(made.path)})
        return 0
    echo(f"{made.path}  {made.arch}  {made.board}  {made.bytes / 1e6:.0f} MB")
    for number, release in enumerate(made.kernels):
        echo(f"  {release}" + ("  (default)" if number == 0 else ""))
    echo(f"  write it onto a card: sudo dd if={made.path} of=/dev/CARD bs=4M conv=fsync", err=True)
    return 0
