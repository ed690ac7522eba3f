"""What several settings of a Raspberry Pi read: its model, and config.txt."""

from __future__ import annotations

import re

from rtassay.knobs.base import NotRead, Seen
from rtassay.model.knobs import ABSENT, UNKNOWN

CONFIG = ("/boot/firmware/config.txt", "/boot/config.txt")
CMDLINE = ("/boot/firmware/cmdline.txt", "/boot/cmdline.txt")
_LINE = re.compile(r"\s*([A-Za-z0-9_]+)\s*=\s*([^#]*)")


def only_here(seen: Seen) -> None:
    """Raise NotRead on a board that is no Raspberry Pi, or may be one."""
    if seen.inventory.model is None and not seen.live:
        raise NotRead(UNKNOWN, "not recorded which board it is")
    if "Raspberry Pi" not in (seen.inventory.model or ""):
        raise NotRead(ABSENT, "no Raspberry Pi")


def text_of(seen: Seen, paths: tuple[str, ...]) -> str:
    """The file of the boot partition, in its new or its old place. Raises NotRead."""
    return seen.text(next((path for path in paths if seen.has(path)), paths[0]))


def lines(seen: Seen) -> dict[str, str]:
    """Settings of config.txt; of a name that comes twice the last, overlays joined by blanks. Raises NotRead."""
    found: dict[str, str] = {}
    for line in text_of(seen, CONFIG).split("\n"):
        if (match := _LINE.match(line)) is not None:
            name, value = match[1], match[2].strip()
            found[name] = f"{found.get(name, '')} {value}".strip() if name == "dtoverlay" else value
    return found
