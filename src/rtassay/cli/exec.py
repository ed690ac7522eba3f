"""rtassay exec: the response and execution time of a program of the user's, started again and again."""

from __future__ import annotations

import shlex
from typing import Any

import click

from rtassay.cli import run
from rtassay.cli.names import BOARD
from rtassay.model.errors import UsageError

_DEFAULTS = ("--cpus", "0", "--interval", "100ms")
"""Of a job, where `rtassay run` has every CPU and the interval of a wake-up."""


class ExecCommand(click.Command):
    """`rtassay run --probe exec`, with the job after `--`; so every option of `rtassay run` goes."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if "--" not in args or {"--help", "-h"} & set(args[: args.index("--")]):
            super().make_context(info_name, args, parent, ignore_unknown_options=True, **extra)  # --help ends here
            raise UsageError("the job is missing", hint="rtassay exec --repeat 1000 -- ./job --its-options")
        at = args.index("--")
        given, job = args[:at], args[at + 1 :]
        if not job:
            raise UsageError("after -- there is no job", hint="rtassay exec --repeat 1000 -- ./job --its-options")
        given = ["--count" + word.removeprefix("--repeat") if _is_repeat(word) else word for word in given]
        words = [*given, "--probe", "exec", "--set", f"command={_line(job)}"]
        return run.command.make_context("run", [*_missing(given), *words], parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        return run.command.invoke(ctx)


def _is_repeat(word: str) -> bool:
    return word == "--repeat" or word.startswith("--repeat=")


def _line(job: list[str]) -> str:
    """A line that a shell splits into these words. `--set NAME=true` is a flag, so the program `true` is quoted."""
    line = shlex.join(job)
    return f"'{line}'" if line in ("true", "false") else line


def _missing(given: list[str]) -> list[str]:
    """The defaults of a job that were not given. `-i` and `-a` are cyclictest's letters for them."""
    letters = {"--cpus": "-a", "--interval": "-i"}
    said = {word if word.startswith("--") else word[:2] for word in (word.split("=")[0] for word in given)}
    pairs = zip(_DEFAULTS[::2], _DEFAULTS[1::2], strict=True)
    return [word for pair in pairs if not {pair[0], letters[pair[0]]} & said for word in pair]


@click.command("exec", cls=ExecCommand, options_metavar="[OPTIONS OF rtassay run]")
@click.argument("board", type=BOARD, default="local")
@click.option("--repeat", type=int, metavar="N", help="How often the job is started; --duration instead is a time.")
def command(**options: Any) -> int:
    """Measure your own program on BOARD: how long each run of it takes, under load, judged.

    \b
      rtassay exec --repeat 100 --deadline 50ms -- sha256sum /etc/services
      rtassay exec pi@board --duration 1min --interval 20ms --deadline 10ms --cpus 3 -- gzip -c /etc/services

    The job is started in every --interval (default: 100 ms) on one CPU (default: 0), with the policy and priority of the run
    (default: FIFO 90), and a job that is still busy when the next one is due makes that one missed. Two rows: the response time,
    from the due time to the end of the job, its start included, and the execution time, CPU time of all its threads. The
    deadline is for both. Page faults and context switches of each job are counted, and cycles, instructions and cache misses where
    the machine has such counters; not on a kernel where counting would lengthen the job, unless with --set counters=always. Its
    stdout is dropped; a job that fails ends the run. Every option of rtassay run goes.
    """
    raise AssertionError("ExecCommand runs rtassay run")
