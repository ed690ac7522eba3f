"""Any program of the board as the load."""

from __future__ import annotations

from collections.abc import Sequence

from rtassay.loads.base import LoadCommand, LoadSpec, Meter
from rtassay.loads.tools import RepeatMeter, repeated, split
from rtassay.model.errors import UsageError


class CommandLoad:
    """`command:CMD ARGS`, split as a shell would but given to no shell, run on the load's CPUs by `rtprobe repeat`.

    A command that ends with exit code 0 is started again, and its rounds are the work done. For a command that never ends by itself,
    only the CPU time is known. Any other exit code ends the load, and LOAD-WINDOW names the gap.
    """

    name = "command"
    summary = "any program: command:'CMD ARGS', started again whenever it ends"

    def needs(self, argument: str | None) -> str | None:
        if argument is None:
            raise UsageError("load 'command' needs a command", hint="write --load command:'make -j4'")
        return split(self.name, argument)[0]

    def commands(self, spec: LoadSpec) -> list[LoadCommand]:
        words = split(self.name, spec.argument or "")
        return [LoadCommand(repeated(spec, [spec.program or words[0], *words[1:]]))]

    def meter(self, argv: Sequence[str]) -> Meter:
        return RepeatMeter()
