"""rtassay lab: virtual boards with real Debian kernels, to try rtassay without hardware."""

from __future__ import annotations

import subprocess
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from rtassay.cli.lab_rtos import record as record_rtos
from rtassay.cli.lab_script import Asked, record
from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo
from rtassay.lab import nuttx, rtos
from rtassay.lab.script import LIMIT_S
from rtassay.model.errors import UsageError
from rtassay.model.findings import VIRTUAL_BOARD
from rtassay.model.gate import LOADS

_KINDS = click.Choice(["quick", "disk"])


@click.group("lab")
def command() -> None:
    """Virtual boards with real kernels (QEMU), reached over SSH as any board. Their latencies are not those of hardware.

    \b
    rtassay lab start                       a quick board: BusyBox, both kernels, kexec
    rtassay run lab:quick --deadline 10ms   measure it (it can never be shown to hold)
    rtassay kernel use rt lab:quick   boot its other kernel
    rtassay lab start disk                  Debian on a disk behind GRUB (built once, two minutes)
    rtassay lab start freertos              FreeRTOS with rtprobe-lite, over its console: docs/guides/rtos.md
    rtassay lab start nuttx --source DIR    NuttX, built from your own tree of it
    rtassay lab stop quick
    """


def _arch_option(function: Any) -> Any:
    return click.option(
        "--arch",
        metavar="ARCH",
        default="amd64",
        show_default=True,
        help="amd64; arm64 or armhf (32-bit) as a quick board or with --deterministic.",
    )(function)


@command.command("build")
@click.argument("kind", type=_KINDS, default="quick")
@_arch_option
@json_option
def build(kind: str, arch: str, as_json: bool) -> int:
    """Make the image of a board once. Later starts use it again."""
    begun = time.monotonic()
    image = _image(kind, arch)
    if as_json:
        print_json({"schema": "rtassay/lab-build/1", "kind": kind, "arch": image.arch.name})
    else:
        echo(f"{kind} board for {image.arch.name} is ready ({time.monotonic() - begun:.0f} s)")
    return 0


@command.command("start")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[quick|disk|freertos|nuttx] [-- WORDS...]")
@_arch_option
@click.option("--name", help="Its name; use it as the board lab:NAME.  [default: the kind]")
@click.option("--kernel", type=click.Choice(["stock", "rt"]), help="Kernel that a quick board boots.  [default: stock]")
@click.option(
    "--deterministic",
    is_flag=True,
    help="One boot in virtual time instead: rtprobe runs with WORDS, and the recording is made. The same inputs give the same bytes.",
)
@click.option("--seed", type=click.IntRange(1), metavar="N", help="With --deterministic: other phases.  [default: 1]")
@click.option(
    "--load",
    type=click.Choice(["none", *LOADS[1:]]),
    help="With --deterministic.  [default: none]",
)
@click.option("-o", "--output", metavar="DIR", help="With --deterministic: directory for the recording.")
@click.option(
    "--limit",
    metavar="TIME",
    help="With --deterministic: a guest whose own time stands still for so long is ended.  [default: 5m]",
)
@click.option("--cpus", type=click.IntRange(1, 8), default=2, show_default=True)
@click.option("--memory", type=click.IntRange(512, 8192), default=768, show_default=True, help="MiB.")
@click.option(
    "--source",
    metavar="DIR",
    help="Of a nuttx board: the directory with your `nuttx` and `apps`. It is copied and built once.  [default: $RTASSAY_NUTTX_SOURCE]",
)
@click.option(
    "--no-network",
    is_flag=True,
    help="A quick board whose serial line is all it has; it is measured over that (os=linux in docs/guides/boards.md).",
)
@click.option("--append", default="", help="More words for the kernel command line of a quick board.")
@click.option(
    "--for", "lifetime", metavar="TIME", default="12h", show_default=True, help="The board ends itself after this time."
)
@json_option
def start(
    words: tuple[str, ...],
    arch: str,
    name: str | None,
    kernel: str | None,
    deterministic: bool,
    seed: int | None,
    load: str | None,
    output: str | None,
    limit: str | None,
    cpus: int,
    memory: int,
    source: str | None,
    no_network: bool,
    append: str,
    lifetime: str,
    as_json: bool,
) -> int:
    """Boot a board and wait until it answers an SSH command.

    With --deterministic: measure once in virtual time, as in `rtassay lab start --deterministic --kernel rt -- cyclic --interval 1ms --duration 5s`.
    """
    from rtassay.lab import machine
    from rtassay.lab.arches import arch_named
    from rtassay.model.units import parse_duration_ns

    if deterministic and words[:1] == (rtos.KIND,):
        refused = {"--kernel": kernel, "--seed": seed, "--load": load}
        if given := [option for option, value in refused.items() if value is not None]:
            raise UsageError(
                f"{given[0]} does not go with freertos", hint="its words say it: run count=5000 load=critical"
            )
        return record_rtos(words[1:], output, parse_duration_ns(limit) / 1e9 if limit else rtos.LIMIT_S, as_json)
    if deterministic:
        _refuse_for_script_board(words)
        limit_s = parse_duration_ns(limit) / 1e9 if limit else LIMIT_S
        asked = Asked(arch_named(arch), kernel or "stock", seed or 1, load or "none", words, output, limit_s)
        return record(asked, _say, as_json)
    for option, value in {"--seed": seed, "--load": load, "--output": output, "--limit": limit}.items():
        if value is not None:
            raise UsageError(f"{option} goes with --deterministic")
    kind = words[0] if words else "quick"
    if kind not in (*_KINDS.choices, *rtos.PROMPTS) or len(words) > 1:
        raise UsageError(
            f"no board '{' '.join(words)}'",
            hint="quick, disk, freertos or nuttx; or --deterministic -- WORDS for rtprobe",
        )
    if no_network and kind != "quick":
        raise UsageError(f"--no-network does not go with {kind}", hint="it is for a quick board")
    if kind == "disk" and (kernel or append):
        raise UsageError(
            "GRUB chooses the kernel of a disk board",
            hint="start it, then: rtassay kernel use rt lab:disk --once",
        )
    lifetime_s = max(60, int(parse_duration_ns(lifetime) / 1e9))
    if source is not None and kind != nuttx.KIND:
        raise UsageError(f"--source does not go with {kind}", hint="it is for a nuttx board")
    if kind in rtos.PROMPTS:
        if kernel or append or arch != "amd64":
            takes = "--name and --for" if kind == rtos.KIND else "--name, --for and --source"
            raise UsageError(f"a {kind} board takes {takes} only", hint="it has one program")
        called = name or machine.free_name(kind)
        if kind == rtos.KIND:
            started = rtos.start(_say, name=called, lifetime_s=lifetime_s)
        else:
            tree = None if source is None else Path(source)
            started = nuttx.start(_say, name=called, lifetime_s=lifetime_s, source=tree)
        return _tell_started(started, f"rtassay run lab:{started.name} --duration 10s --deadline 100us", as_json)
    begun = time.monotonic()
    image = _image(kind, arch, cached=True)
    started = machine.start(
        image,
        _say,
        name=name or machine.free_name(kind),
        kernel=kernel or "stock",
        cpus=cpus,
        memory_mib=memory,
        append=append,
        lifetime_s=max(60, int(parse_duration_ns(lifetime) / 1e9)),
        network=not no_network,
    )
    took = f" ({time.monotonic() - begun:.0f} s)"
    then = f"rtassay lab ssh {started.name}" if started.port else f"its console: unix:{started.console_socket}"
    next_lines = f"rtassay run lab:{started.name} --deadline 10ms     {then}"
    return _tell_started(started, next_lines, as_json, took)


def _tell_started(board: Any, next_lines: str, as_json: bool, took: str = "") -> int:
    if as_json:
        print_json({"schema": "rtassay/lab-start/1", "board": f"lab:{board.name}", **_row(board)})
        return 0
    echo(f"lab:{board.name} is up{took}; {VIRTUAL_BOARD}")
    echo(f"  {next_lines}     rtassay lab stop {board.name}", err=True)
    return 0


@command.command("ssh", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("name")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[COMMAND]...")
def ssh(name: str, words: tuple[str, ...]) -> int:
    """Open a shell on a board, or run one command there."""
    found = _found(name.removeprefix("lab:"))
    if not found.port:
        raise UsageError(
            f"lab:{found.name} has no network", hint=f"socat -,raw,echo=0 unix:{found.console_socket}  (package socat)"
        )
    return subprocess.call(["ssh", *found.ssh_options, found.name, *words])


@command.command("unplug")
@click.argument("name")
@click.option(
    "--for",
    "length",
    metavar="TIME",
    default="30s",
    show_default=True,
    help="Time until the cable is plugged in again.",
)
@json_option
def unplug(name: str, length: str, as_json: bool) -> int:
    """Pull the network cable of a board for a while. Its programs go on, and rtassay must connect again."""
    from rtassay.model.units import parse_duration_ns

    seconds = parse_duration_ns(length) / 1e9
    found = _found(name.removeprefix("lab:"))
    if not found.port:
        raise UsageError(f"lab:{found.name} has no network")
    found.set_link(False)
    try:
        _say(f"the cable of {found.name} is out for {seconds:.0f} s")
        time.sleep(seconds)
    finally:
        found.set_link(True)
    if as_json:
        print_json({"schema": "rtassay/lab-unplug/1", "board": f"lab:{found.name}", "seconds": seconds})
    else:
        echo(f"the cable of lab:{found.name} is plugged in again")
    return 0


@command.command("stop")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="Every board of the lab that runs.")
@json_option
def stop(names: tuple[str, ...], everything: bool, as_json: bool) -> int:
    """End boards. Their changes are lost."""
    from rtassay.lab import machine

    wanted: list[str | None] = [name.removeprefix("lab:") for name in names] or [None]
    boards = machine.running() if everything else [_found(name) for name in wanted]
    for board in boards:
        machine.stop(board)
    if as_json:
        print_json({"schema": "rtassay/lab-stop/1", "stopped": [board.name for board in boards]})
    else:
        echo("\n".join(f"lab:{board.name} is stopped" for board in boards) or "no board of the lab runs")
    return 0


@command.command("list")
@json_option
def list_(as_json: bool) -> int:
    """Boards of the lab that run."""
    from rtassay.lab import machine

    boards = machine.running()
    if as_json:
        print_json({"schema": "rtassay/lab-list/1", "boards": [_row(board) for board in boards]})
        return 0
    for board in boards:
        echo(
            f"lab:{board.name:14} {board.kind:6} {board.arch:6} started with {board.kernel:6} {board.cpus} CPUs  port {board.port}  pid {board.pid}"
        )
    if not boards:
        echo("no board of the lab runs; rtassay lab start", err=True)
    return 0


def _refuse_for_script_board(words: tuple[str, ...]) -> None:
    """What the script board does not have, where the user named it."""
    context = click.get_current_context()
    options = {"name": "--name", "cpus": "--cpus", "memory": "--memory", "append": "--append", "lifetime": "--for"}
    options["no_network"] = "--no-network"
    given = [o for name, o in options.items() if context.get_parameter_source(name) is not ParameterSource.DEFAULT]
    given += [word for word in words[:1] if word in _KINDS.choices]
    if given:
        raise UsageError(f"{given[0]} does not go with --deterministic", "it is one boot with one CPU")


def _found(name: str | None) -> Any:
    from rtassay.lab import machine

    return machine.find(name)


def _image(kind: str, arch: str, *, cached: bool = False) -> Any:
    """`cached`: the image of the last build, if there is one; `lab build` asks apt for newer kernels."""
    from rtassay.lab import disk, quick
    from rtassay.lab.arches import arch_named

    known = arch_named(arch)
    if kind == "quick":
        return (quick.cached(known) if cached else None) or quick.build(known, _say)
    if known.name != "amd64":
        raise UsageError("a disk board is amd64", hint=f"rtassay lab start quick --arch {arch}")
    return (disk.cached() if cached else None) or disk.build(_say)


def _row(board: Any) -> dict[str, Any]:
    row = asdict(board)
    del row["ticks"]
    if not board.port:
        return {**row, "console": f"unix:{board.console_socket}", "label": VIRTUAL_BOARD}
    return {**row, "ssh": ["ssh", *board.ssh_options, board.name], "label": VIRTUAL_BOARD}


def _say(words: str) -> None:
    echo(f"lab: {words}", err=True)
