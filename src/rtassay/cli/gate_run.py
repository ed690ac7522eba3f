"""rtassay gate run: one kernel in virtual time, alone or against another one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rtassay.cli import ci
from rtassay.cli.ci import ci_options
from rtassay.cli.options import TimeType, json_option, print_json, wants_colour
from rtassay.cli.terminal import echo, echo_rendered, report_width
from rtassay.model.errors import (
    EXIT_BOARD,
    EXIT_NOT_DEMONSTRATED,
    EXIT_OK,
    EXIT_VIOLATED,
    UsageError,
)
from rtassay.model.gate import LOADS, NOT_COMPARED, QUICK, REGRESSED, TOO_LATE

if TYPE_CHECKING:
    from rtassay.gate.boots import Cell, Measured
    from rtassay.gate.gating import Plan, Tools
    from rtassay.gate.kernels import Opened
    from rtassay.model.gate import Gate, Verified

EXIT_BY_STATE = {REGRESSED: EXIT_VIOLATED, TOO_LATE: EXIT_VIOLATED, NOT_COMPARED: EXIT_NOT_DEMONSTRATED}
_QUICK_SEEDS = (1,)


def loads_option(function: Any) -> Any:
    return click.option(
        "--load",
        "loads",
        type=click.Choice(LOADS),
        multiple=True,
        help="Only this load; may be given several times.  [default: all nine]",
    )(function)


@click.command("run")
@click.argument("kernel", metavar="KERNEL")
@click.option("--against", metavar="BASE", help="A kernel to compare with, or the JSON file of an earlier gate.")
@click.option("--quick", is_flag=True, help="idle, hackbench and stress-ng, one seed: a minute or two.")
@loads_option
@click.option("--seeds", type=click.IntRange(1, 100), metavar="N", help="Boots of each load.  [default: 3]")
@click.option("--count", type=click.IntRange(100), metavar="N", help="Activations of each boot.  [default: 5000]")
@click.option("--deadline", type=TimeType(), metavar="TIME", help="In virtual time: count wake-ups this late or later.")
@click.option("--verify", is_flag=True, help="Boot KERNEL twice with the same inputs, and say where the two part.")
@click.option("-o", "--output", metavar="FILE", help="Also write the result: .json (a base for later), .md, .txt.")
@click.option(
    "--limit",
    type=TimeType(),
    metavar="TIME",
    help="Wall time without virtual progress that ends a boot.  [default: 5m]",
)
@ci_options
@json_option
def run(
    kernel: str,
    against: str | None,
    quick: bool,
    loads: tuple[str, ...],
    seeds: int | None,
    count: int | None,
    deadline: int | None,
    verify: bool,
    output: str | None,
    limit: int | None,
    as_json: bool,
    **files: str | None,
) -> int:
    """Measure KERNEL under each load in virtual time, and compare it with BASE. Results never depend on wall time.

    KERNEL and BASE: a bzImage or Image, a linux-image-*.deb, a build tree, or a Debian package such as
    linux-image-rt-amd64, for amd64, arm64 or armhf.
    A load regresses if its largest latency grows by more than a change without effect may show, in every seed.

    \b
    Exit codes: 0 no regression was seen; 1 a load regressed, or the deadline is newly exceeded; 2 usage, or a
    kernel that cannot be gated; 3 a boot failed, or --verify found other bytes; 4 a load was not compared.
    """
    from rtassay.gate import gating, needs, saved
    from rtassay.gate.kernels import opened

    _check(verify, against, output, {**files, "as_json": as_json})
    if quick and (loads or seeds):
        raise UsageError("--quick says its loads and its seed", hint="leave out --quick, or --load and --seeds")
    plan = gating.Plan(
        loads=loads or (QUICK if quick else LOADS),
        seeds=tuple(range(1, seeds + 1)) if seeds else _QUICK_SEEDS if quick else gating.SEEDS,
        count=count or gating.COUNT,
        deadline_ns=deadline,
    )
    new = opened(kernel, say)
    base: Opened | Gate | None = None
    if against is not None:
        is_saved = against.endswith(".json") and Path(against).is_file()
        base = saved.read(Path(against)) if is_saved else opened(against, say)
    gating.require_one_arch(new, base)
    if base is not None and not is_saved and new.kernel.arch not in needs.FOLLOWED:
        say(f"{gating.not_followed(new.kernel.arch)}; if a load regresses, a traced boot says who holds the time")
    booted = 2 if verify or (base is not None and not is_saved) else 1
    tell(plan, booted)
    if verify:
        return _told_verified(_verified(new, plan, limit, booted), as_json)
    result = measured(new, base, plan, booted, limit)
    ci.write(files, result)
    _write(output, result)
    if as_json:
        from rtassay.model.gate import gate_dict

        print_json(gate_dict(result))
    elif not ci.on_stdout(files):
        from rtassay.reports.gate.terminal import TerminalGate

        echo_rendered(TerminalGate(report_width(), wants_colour()).render(result))
    return EXIT_BY_STATE.get(result.state, EXIT_OK)


def say(words: str) -> None:
    echo(f"gate: {words}", err=True)


def tell(plan: Plan, booted: int) -> None:
    """How long it will take."""
    from rtassay.gate.boots import SECONDS_A_BOOT, at_once
    from rtassay.gate.gating import boots_of

    boots, together = boots_of(plan, booted), at_once()
    minutes = -(-boots // together) * SECONDS_A_BOOT / 60
    say(f"{boots} boots, {together} at once: about {max(minutes, 1):.0f} min on idle CPUs; more if a load regresses")


def tools(of: str) -> Tools:
    """QEMU, userland and rtprobe for the architecture `of`. Raises BoardError if one is missing."""
    from rtassay.boards.binaries import probe_path
    from rtassay.gate.gating import Tools
    from rtassay.lab import userland
    from rtassay.lab.arches import arch_named
    from rtassay.lab.script import qemu_version

    arch = arch_named(of)
    version = qemu_version(arch)
    programs = userland.cached(arch) or userland.build(arch, say)
    return Tools(version, programs, probe_path(arch.uname).read_bytes())


def measured(new: Opened, base: Opened | Gate | None, plan: Plan, booted: int, limit_ns: int | None) -> Gate:
    """One gate, with a line on stderr for each boot."""
    from rtassay.gate import gating
    from rtassay.gate.boots import boots

    used = tools(new.kernel.arch)
    with boots(used.programs, used.probe, _Progress(gating.boots_of(plan, booted)), *_limit(limit_ns)) as make:
        return gating.gate(new, base, plan, used, make)


def _verified(kernel: Opened, plan: Plan, limit_ns: int | None, booted: int) -> Verified:
    from rtassay.gate import gating
    from rtassay.gate.boots import boots

    used = tools(kernel.kernel.arch)
    with boots(used.programs, used.probe, _Progress(gating.boots_of(plan, booted)), *_limit(limit_ns)) as make:
        return gating.verify(kernel, plan, used, make)


def _limit(limit_ns: int | None) -> tuple[float, ...]:
    return () if limit_ns is None else (limit_ns / 1e9,)


class _Progress:
    """A line for each boot that ended."""

    def __init__(self, planned: int) -> None:
        self._planned, self._done = planned, 0

    def __call__(self, cell: Cell, made: Measured) -> None:
        self._done += 1
        of = f"{self._done}/{self._planned}" if self._done <= self._planned else "who holds the time"
        traced = "" if cell.traced_above_ns is None else ", traced"
        largest = made.boot(None).tail_ns / 1000
        say(f"{of}  {cell.kernel.kernel.name}, {cell.load}, seed {cell.seed}{traced}: largest {largest:.1f} us")


def _told_verified(found: Verified, as_json: bool) -> int:
    from rtassay.model.gate import verified_dict
    from rtassay.reports.gate import gate_text

    if as_json:
        print_json(verified_dict(found))
    else:
        echo(gate_text.verified_headline(found))
        for cell in found.cells:
            echo(f"  {gate_text.pair(cell)}")
        echo(found.honest)
    return EXIT_OK if found.same else EXIT_BOARD


def _check(verify: bool, against: str | None, output: str | None, files: dict[str, Any]) -> None:
    """Refuse what cannot be done before anything boots."""
    from rtassay import reports
    from rtassay.model.gate import Gate

    if verify and (against or output or any(files.get(name) for name in ci.FILES)):
        raise UsageError("--verify compares a kernel with itself", hint="it goes with --json, --quick, --load, --seeds")
    if output is not None:
        reports.format_of(Gate, output)
        if not Path(output).resolve().parent.is_dir():
            raise UsageError(f"--output {output}: there is no directory {Path(output).resolve().parent}")


def _write(output: str | None, result: Gate) -> None:
    from rtassay import reports
    from rtassay.cli.report import write_bytes

    if output is not None:
        write_bytes(output, reports.load(type(result), reports.format_of(type(result), output)).render(result))
