"""rtassay compare: groups of runs against each other."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rtassay.cli import ci
from rtassay.cli.ci import ci_options
from rtassay.cli.names import RECORDING
from rtassay.cli.options import json_option, print_json, wants_colour
from rtassay.cli.terminal import echo, echo_rendered, report_width
from rtassay.model.errors import EXIT_INVALID, EXIT_NOT_DEMONSTRATED, EXIT_OK, EXIT_VIOLATED, UsageError
from rtassay.model.findings import PRIMARY_Q

if TYPE_CHECKING:
    from rtassay.model.comparison import Comparison
    from rtassay.model.recording import Recording


class FailOn(click.ParamType[float]):
    """`regression` or `regression=PERCENT`: the tolerated percentage."""

    name = "condition"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        match = re.fullmatch(r"regression(?:=(\d+(?:\.\d+)?)\s*%?)?", str(value))
        if match is None:
            self.fail(f"'{value}' is neither regression nor regression=PERCENT", param, ctx)
        return float(match[1] or 0)


class Step(click.ParamType[float]):
    """`p99.9` or `0.999` as the quantile 0.999."""

    name = "quantile"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        match = re.fullmatch(r"(p?)(\d+(?:\.\d+)?|\.\d+)", str(value).strip())
        q = (Decimal(match[2]) / (100 if match[1] else 1)) if match else Decimal(0)
        if not 0 < q < 1:
            self.fail(f"'{value}' is no quantile: p99.9 or 0.999", param, ctx)
        return float(q)


class GroupsCommand(click.Command):
    """Lets --with take all names that follow it: `compare a1 a2 --with b1 b2`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, spread(args))


def spread(args: list[str], option: str = "--with") -> list[str]:
    """`--with b1 b2 -o f` as `--with b1 --with b2 -o f`; nothing else is touched."""
    spreaded: list[str] = []
    inside = False
    for position, word in enumerate(args):
        if word == "--":
            return spreaded + args[position:]
        if word == option:
            inside = True
        elif word.startswith("-") and word != "-":
            inside = False
            spreaded.append(word)
        elif inside:
            spreaded += [option, word]
        else:
            spreaded.append(word)
    if args and args[-1] == option:
        spreaded.append(option)
    return spreaded


@click.command("compare", cls=GroupsCommand)
@click.argument("a", type=RECORDING, nargs=-1, required=True, metavar="A...")
@click.option(
    "--with",
    "b",
    multiple=True,
    required=True,
    metavar="B...",
    help="The recordings of group B: everything up to the next option.",
)
@click.option(
    "--factor",
    "factor",
    multiple=True,
    metavar="NAME",
    help="The factor that differs on purpose: kernel, load, governor, cmdline, board ... or the key of a label. Every other difference "
    "is reported as a confound. Default: the label that differs between the groups, else the kernel.",
)
@click.option(
    "--fail-on",
    "tolerated",
    type=FailOn(),
    metavar="regression[=PERCENT]",
    help="Exit 1 if B is later than A by more than PERCENT (default 0) at the primary step, or, after Holm's correction, at another step "
    "of the ladder: the whole 95 % interval of B / A lies above 1 + PERCENT/100. Exit 4 with fewer than three runs of A or of B, "
    "5 if the comparison is refused. Else 0: no regression was shown, which does not prove that there is none.",
)
@click.option(
    "--at",
    "at",
    type=Step(),
    default=f"p{100 * PRIMARY_Q:g}",
    show_default=True,
    metavar="Q",
    help="The primary step, p99.99 or 0.9999: the conclusion rests on it. Name it before you look at the runs: it is tested alone, "
    "so it tells smaller differences than the others, which are corrected for being many.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write a report; the suffix names the format (.html, .md, .json, .txt). '-' is stdout.",
)
@click.option(
    "--format", "format_name", metavar="NAME", help="html, markdown, json or terminal; it overrides the suffix."
)
@ci_options
@json_option
def command(
    a: tuple[str, ...],
    b: tuple[str, ...],
    factor: tuple[str, ...],
    tolerated: float | None,
    at: float,
    output: str | None,
    format_name: str | None,
    as_json: bool,
    **files: str | None,
) -> int:
    """Group A of recordings against group B, run by run: who is later at which quantile, and how surely.

    A word is a path, an id, a unique beginning of an id, or a name; a directory of recordings, or what is known of them: kernel=rt, kernel=stock (or a
    release), os=linux-rt, os=freertos, board=, load=, tool=, probe=, experiment=, name=, verdict=, since=2026-11-01, until=2026-11-30, or any label. kernel=rt,board=pi5: both.
    Ratios are B / A: above 1, B is later. Repeat the runs: an answer needs five or more of each group, interleaved.
    Five runs of each show a factor of two at the primary step in 88 % of comparisons if runs scatter by 30 %.

    \b
      rtassay compare stock1 stock2 stock3 --with rt1 rt2 rt3 --at p99.99
      rtassay compare kernel=stock --with kernel=rt -o kernels.html
      rtassay compare os=freertos --with os=linux-rt
      rtassay compare before/ --with after/ --fail-on regression=10
    """
    from rtassay.analysis.many.compare import compare

    if as_json and output == "-":
        raise UsageError("--json and -o - both want stdout")
    name = format_name or _format_of(output)
    result = compare(_open(a, "A"), _open(b, "B"), factor=factor, at=at, titles=(_title(a), _title(b)))
    if output is not None:
        _write(name, output, result)
    if as_json:
        from rtassay.analysis.many.compare import comparison_dict

        print_json(comparison_dict(result) | ({"path": output} if output is not None else {}))
    elif output is None and not ci.on_stdout(files):
        _show(result, format_name)
    elif output is not None and output != "-":
        echo(f"{result.sentence}\n{output}")
    ci.write(files, result)
    return exit_code(result, tolerated)


def exit_code(result: Comparison, tolerated: float | None) -> int:
    """1 for a regression beyond the tolerated percentage, 4 with too few runs, 5 if the comparison was refused, else 0. Without --fail-on 0."""
    from rtassay.analysis.many.compare import few_runs, regressions
    from rtassay.model.comparison import REFUSED

    if tolerated is None:
        return EXIT_OK
    if result.conclusion == REFUSED:
        return EXIT_INVALID
    few = few_runs(result)
    if few is not None:
        echo(f"rtassay: --fail-on regression: {few}", err=True)
        return EXIT_NOT_DEMONSTRATED
    found = regressions(result, tolerated)
    if not found:
        return EXIT_OK
    steps = ", ".join(f"p{q * 100:.9g}" for q in found)
    beyond = f" by more than {tolerated:g} %" if tolerated else ""
    echo(f"rtassay: regression: B is later than A{beyond} at {steps}", err=True)
    return EXIT_VIOLATED


def _format_of(output: str | None) -> str:
    from rtassay import reports
    from rtassay.model.comparison import Comparison

    if output is None:
        return "terminal"
    return "html" if output == "-" else reports.format_of(Comparison, output)


def _open(names: tuple[str, ...], group: str) -> list[Recording]:
    """The recordings of a group, each once, in the order they were named."""
    from rtassay import store
    from rtassay.cli.judging import parser_for

    paths: dict[Path, Path] = {}
    for name in names:
        for path in find_group(name):
            paths.setdefault(path.resolve(), path)
    if not paths:
        raise UsageError(f"group {group} is empty", hint="rtassay list shows all recordings")
    return [store.open_recording(path, parser_for=parser_for) for path in paths.values()]


def _title(names: tuple[str, ...]) -> str | None:
    """What a group is called: the expression or the directory that it was chosen by; None for a list of recordings."""
    from rtassay.store import selecting

    if len(names) != 1:
        return None
    if Path(names[0]).expanduser().is_dir():
        return Path(names[0]).resolve().name
    return names[0] if selecting.conditions(names[0]) is not None else None


def find_group(name: str) -> list[Path]:
    """The recordings of one name: one recording, those in a directory, or those of which `k=v` is known. Raises UsageError."""
    from rtassay import store
    from rtassay.store import selecting
    from rtassay.store.paths import MANIFEST, recordings

    path = Path(name).expanduser()
    if path.is_dir() and not (path / MANIFEST).is_file():
        found = list(recordings(path))
        if not found:
            raise UsageError(f"{name} holds no recordings", hint="name a directory with <id>.rta directories in it")
        return found
    if path.exists() or selecting.conditions(name) is None:
        return [store.find(name)]
    return selecting.select(name)


def _write(name: str, target: str, result: Comparison) -> None:
    from rtassay import reports
    from rtassay.cli.report import write_bytes
    from rtassay.model.comparison import Comparison

    write_bytes(target, reports.load(Comparison, name).render(result))


def _show(result: Comparison, format_name: str | None) -> None:
    if format_name not in (None, "terminal"):
        _write(str(format_name), "-", result)
        return
    from rtassay.reports.comparison.terminal import TerminalComparison

    report = TerminalComparison(width=report_width(), color=wants_colour())
    echo_rendered(report.render(result))
