"""rtassay gate: does this kernel wake up later than that one? In virtual time, without hardware, the same answer each time."""

from __future__ import annotations

import click

from rtassay.cli.gate_bisect import bisect, step
from rtassay.cli.gate_run import run


class _KernelByDefault(click.Group):
    """What is no command is a kernel: `gate KERNEL` is `gate run KERNEL`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name, one in self.commands.items() if not one.hidden]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = args and args[0] in self.commands
        return super().resolve_command(ctx, args if known else ["run", *args])


@click.group("gate", cls=_KernelByDefault, context_settings={"ignore_unknown_options": True})
def command() -> None:
    """A latency regression of a kernel, found without hardware: QEMU counts instructions instead of time.

    \b
      rtassay gate bzImage --quick                         measure one kernel: `gate run`
      rtassay gate bzImage --against linux-image-rt-amd64  against another one: who holds the time now?
      rtassay gate bisect v6.1 main --load mmap            the commit, by git bisect

    Virtual time shows path lengths and sections that cannot be preempted, on one CPU; no caches, DMA, SMP, firmware.
    Passing says nothing about your board.
    """


for _one in (run, bisect, step):
    command.add_command(_one)
