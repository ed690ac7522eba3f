"""rtassay gate bisect: the commit since which a kernel wakes up later, by `git bisect run`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtassay.cli.gate_run import loads_option, measured, say
from rtassay.cli.options import TimeType, json_option, print_json, wants_colour
from rtassay.cli.terminal import echo, echo_rendered, report_width
from rtassay.model.errors import EXIT_NOT_DEMONSTRATED, EXIT_OK
from rtassay.model.gate import QUICK

if TYPE_CHECKING:
    from rtassay.gate.gating import Plan
    from rtassay.gate.kernels import Opened
    from rtassay.model.bisection import Bisection
    from rtassay.model.gate import Gate


@click.command("bisect")
@click.argument("good")
@click.argument("bad")
@click.option(
    "--tree", metavar="DIR", default=".", help="The git work tree of the kernel, with its .config.  [default: here]"
)
@click.option(
    "--build",
    metavar="LINE",
    help="Shell line that builds the kernel, run in the tree.  [default: make, for the architecture of .config]",
)
@click.option("--image", metavar="PATH", help="The image or build tree that --build makes.  [default: the tree]")
@loads_option
@click.option(
    "--seeds", type=click.IntRange(1, 100), metavar="N", default=1, show_default=True, help="Boots of each load."
)
@click.option("--count", type=click.IntRange(100), metavar="N", help="Activations of each boot.  [default: 5000]")
@click.option(
    "--deadline", type=TimeType(), metavar="TIME", help="In virtual time: a commit that newly exceeds it is bad, too."
)
@json_option
def bisect(
    good: str,
    bad: str,
    tree: str,
    build: str | None,
    image: str | None,
    loads: tuple[str, ...],
    seeds: int,
    count: int | None,
    deadline: int | None,
    as_json: bool,
) -> int:
    """Find the first commit after GOOD, up to BAD, that wakes up later, and who holds the time since.

    GOOD and BAD are built and booted first: BAD has to be later. Then `git bisect run` chooses the commits; one that
    cannot be built or booted is passed over. The tree must have no changes, and is put back at the end.
    Default loads: idle, hackbench, stress-ng.

    \b
    Exit codes: 0 the commit is found; 2 usage, or BAD is not later; 3 git, a build or a boot failed; 4 only
    commits are left that cannot be built or booted.
    """
    from rtassay.gate import bisecting, gating
    from rtassay.gate.tree import tree_at
    from rtassay.model.bisection import bisection_dict

    home = Path(tree).expanduser()
    found_tree = tree_at(home, build, None if image is None else Path(image).expanduser())
    plan = gating.Plan(
        loads=loads or QUICK, seeds=tuple(range(1, seeds + 1)), count=count or gating.COUNT, deadline_ns=deadline
    )
    with tempfile.TemporaryDirectory(prefix="rtassay-bisect-") as scratch:
        argv = [sys.executable, "-m", "rtassay", "gate", "bisect-step", scratch]
        work = bisecting.Work(Path(scratch))
        found = bisecting.bisect(found_tree, (good, bad), plan, work, argv, _measured, say)
    if as_json:
        print_json(bisection_dict(found))
    else:
        _tell(found)
    return EXIT_OK if found.commit else EXIT_NOT_DEMONSTRATED


@click.command("bisect-step", hidden=True)
@click.argument("work")
def step(work: str) -> int:
    """What `git bisect run` starts for each commit of `gate bisect`."""
    from rtassay.gate import bisecting

    return bisecting.step(bisecting.Work(Path(work)), _measured, say)


def _measured(new: Opened, base: Opened | Gate | None, plan: Plan) -> Gate:
    from rtassay.gate.kernels import Opened

    return measured(new, base, plan, 2 if isinstance(base, Opened) else 1, None)


def _tell(found: Bisection) -> None:
    from rtassay.reports.gate import bisection_text
    from rtassay.reports.gate.terminal import TerminalGate

    for line in bisection_text.lines(found):
        echo(line)
    if found.gate is not None:
        echo()
        echo_rendered(TerminalGate(report_width(), wants_colour()).render(found.gate))
