"""The work that rtprobe brings along, for boards where nothing is installed."""

from __future__ import annotations

import re

from rtassay.model.errors import UsageError
from rtassay.works.base import Done, Part

KINDS = {
    "cpu": (6_000_000, "rounds of arithmetic"),
    "memory": (200_000, "pages copied"),
    "syscall": (400_000, "system calls"),
    "switch": (2_000, "messages through pipes and back"),
    "socket": (2_000, "messages through sockets and back"),
    "fork": (150, "processes"),
    "fault": (51_200, "pages mapped and touched"),
}
_ROW = re.compile(r"^(?P<kind>[a-z]+): \d+ .+ in (?P<ns>\d+) ns, (?P<cpu>\d+) ns of CPU time$", re.MULTILINE)
_PERCENT = re.compile(r"(\d{1,6})%")


class BuiltinWork:
    """`rtprobe work KIND`: arithmetic and copying, which no kernel should slow down, beside system calls, messages between processes, new processes
    and new pages. `builtin:switch,fork` chooses kinds, `builtin:20%` or `builtin:switch,20%` does less of each (a slow board)."""

    name = "builtin"
    summary = f"rtprobe's own: {', '.join(KINDS)}; builtin:KIND,KIND chooses, builtin:20% does less of each"
    program: str | None = None

    def parts(self, argument: str | None) -> tuple[Part, ...]:
        kinds, percent = _asked(argument)
        return tuple(Part(kind, max(KINDS[kind][0] * percent // 100, 1), KINDS[kind][1]) for kind in kinds)

    def command(self, argument: str | None, rtprobe: str) -> tuple[str, ...]:
        kinds, percent = _asked(argument)
        return rtprobe, "work", ",".join(kinds), "--percent", str(percent)

    def read(self, argument: str | None, text: str) -> tuple[Done, ...]:
        return tuple(Done(row["kind"], int(row["ns"]), int(row["cpu"])) for row in _ROW.finditer(text))


def _asked(argument: str | None) -> tuple[tuple[str, ...], int]:
    """Kinds in the order of the table, and the percentage of their amounts."""
    kinds: list[str] = []
    percent = 100
    for part in [] if argument is None else [piece.strip() for piece in argument.split(",")]:
        if found := _PERCENT.fullmatch(part):
            percent = int(found[1])
        elif part in KINDS:
            kinds.append(part)
        else:
            raise UsageError(f"there is no built-in work '{part}'", hint=f"known: {', '.join(KINDS)}, or 20%")
    if not 1 <= percent <= 100_000:
        raise UsageError(f"builtin:{percent}% is not in 1% to 100000%")
    return tuple(kind for kind in KINDS if kind in kinds or not kinds), percent
