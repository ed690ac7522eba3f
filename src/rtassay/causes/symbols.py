"""Addresses of the kernel to names: `name+0xoffset [module]`."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from rtassay.model.foreign import one_line

_LINE = re.compile(r"^([0-9a-fA-F]{4,16}) ([A-Za-z]) (\S{1,512})(?:[ \t]+(\[[^\]\s]{1,64}\]))?[ \t]*$", re.MULTILINE)
_FARTHEST = 1 << 20
"""Bytes. No function of the kernel is longer; an address further behind the nearest symbol has no name."""


@dataclass(frozen=True, slots=True)
class Symbols:
    """Addresses in rising order, and their names."""

    addresses: tuple[int, ...]
    names: tuple[str, ...]
    modules: tuple[str, ...]

    def name(self, address: int) -> str:
        """`name`, `name+0x1c`, with ` [module]` where it lies in one; the address in hex where no symbol is near."""
        at = self._at(address)
        if at is None:
            return f"0x{address:x}"
        offset = address - self.addresses[at]
        plus = f"+0x{offset:x}" if offset else ""
        return f"{self.names[at]}{plus}{self.modules[at]}"

    def function(self, address: int) -> str:
        """The name alone; empty where no symbol is near."""
        at = self._at(address)
        return "" if at is None else self.names[at]

    def _at(self, address: int) -> int | None:
        at = bisect_right(self.addresses, address) - 1
        return None if at < 0 or address - self.addresses[at] >= _FARTHEST else at


def symbols(kallsyms: str) -> Symbols:
    """Lines as /proc/kallsyms prints them. Lines of another shape, and addresses hidden as zero, are passed over."""
    found: dict[int, tuple[str, str]] = {}
    for line in _LINE.finditer(kallsyms):
        address = int(line[1], 16)
        if address:
            found.setdefault(address, (one_line(line[3], 200), f" {one_line(line[4], 80)}" if line[4] else ""))
    rising = sorted(found)
    return Symbols(tuple(rising), tuple(found[a][0] for a in rising), tuple(found[a][1] for a in rising))
