"""rtassay kernel build: stock and PREEMPT_RT kernels from one source and one configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rtassay.cli.kernel import described, say
from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo

_SHOWN = 40


@click.command("build")
@click.argument("source")
@click.option("--arch", metavar="ARCH", help="amd64, arm64, armhf or riscv64.  [default: this machine's]")
@click.option("--stock", is_flag=True, help="Build the stock kernel. With --rt: both, from one source and one base.")
@click.option("--rt", is_flag=True, help="Build the PREEMPT_RT kernel.  [default: only the stock one]")
@click.option(
    "--config",
    "base",
    metavar="FILE|TARGET",
    default="defconfig",
    show_default=True,
    help="The base: a file, or a target of the kernel's Makefile as tinyconfig.",
)
@click.option(
    "--fragment",
    "fragments",
    multiple=True,
    metavar="FILE|OPTION=VALUE|lab",
    help="Lines that go over the base; `lab`: what a lab board needs. May be repeated; the last one counts.",
)
@click.option("--ref", metavar="REF", help="A branch, tag or commit, where SOURCE is a git repository.")
@click.option(
    "--patch",
    "patches",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="A patch, a queue (a directory with `series`), or Debian's linux_*.debian.tar.xz for its -rt queue. Both kernels get it.",
)
@click.option("--jobs", "-j", type=click.IntRange(1, 1024), help="Compilers at the same time.  [default: one per CPU]")
@click.option(
    "--with",
    "made_by",
    type=click.Choice(["auto", "tuxmake", "make"]),
    default="auto",
    show_default=True,
    help="auto: tuxmake if it is installed (pip install 'rtassay[kernels]'), else make.",
)
@click.option(
    "--container",
    is_flag=True,
    help="Compile in a Debian root of its own (mmdebstrap, unshare): the same compiler on every host.",
)
@click.option("--no-ccache", is_flag=True, help="Compile everything anew, although ccache is installed.")
@json_option
def command(
    source: str,
    arch: str | None,
    stock: bool,
    rt: bool,
    base: str,
    fragments: tuple[str, ...],
    ref: str | None,
    patches: tuple[Path, ...],
    jobs: int | None,
    made_by: str,
    container: bool,
    no_ccache: bool,
    as_json: bool,
) -> int:
    """Build kernels from SOURCE: a tree, a tarball, a git URL with --ref, or a package of Debian as linux-source-6.12.

    \b
      rtassay kernel build linux-source-6.12 --arch arm64 --stock --rt
      rtassay kernel build ~/linux --config .config-of-my-board --fragment HZ=1000 --rt

    Stock and PREEMPT_RT differ in PREEMPT_RT and what follows from it; the difference is printed. The same source,
    configuration and compiler give the same bytes. They are built once and then kept: `rtassay kernel list`.
    """
    from rtassay.kernels.building import Request, build

    kinds = tuple(kind for kind, asked in ((False, stock or not rt), (True, rt)) if asked)
    request = Request(source, arch, kinds, base, fragments, ref, patches, made_by, jobs, not no_ccache, container)
    made = build(request, say)
    if as_json:
        rows: list[dict[str, Any]] = [{**described(one.path, one.manifest), "cached": one.cached} for one in made]
        print_json({"schema": "rtassay/kernel-builds/1", "builds": rows})
        return 0
    for one in made:
        _tell(one)
    return 0


def _tell(one: Any) -> None:
    manifest = one.manifest
    echo(f"{manifest.release}  {manifest.arch}  {'PREEMPT_RT' if manifest.rt else 'stock'}  {one.path}")
    if manifest.difference:
        echo(f"  differs from the stock kernel of this source in {len(manifest.difference)} options:")
        for row in manifest.difference[:_SHOWN]:
            echo(f"    {row.option}: {row.stock} -> {row.rt}")
        if len(manifest.difference) > _SHOWN:
            echo(f"    ... and {len(manifest.difference) - _SHOWN} more: kernel.json in that directory")
    if manifest.not_taken:
        echo(f"  not kept by this kernel (unknown there, or a dependency is missing): {', '.join(manifest.not_taken)}")
    echo(f"  rtassay kernel deploy {manifest.release} BOARD", err=True)
