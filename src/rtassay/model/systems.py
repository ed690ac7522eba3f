"""Which operating system a recording is of, as far as the recording tells."""

from __future__ import annotations

import re
from typing import Final

LINUX: Final = "linux"
_NUMBERED = re.compile(r"\d+\.\d+")
_NAMED = re.compile(r"([A-Za-z][\w.+-]*)(?:/.*)?")
_TELLS_ITS_SYSTEM: Final = "rtprobe-lite"


def system_of(release: str | None, tool: str) -> str | None:
    """`linux`, `freertos`, `nuttx` ...; None if the recording does not tell.

    rtprobe-lite gives the name and the version of its system (`nuttx/12.6.0`). From every other tool a release is that of `uname -r`.
    """
    if release is None:
        return None
    if tool == _TELLS_ITS_SYSTEM:
        named = _NAMED.fullmatch(release)
        return named[1].lower() if named is not None else None
    return LINUX if _NUMBERED.match(release) else None


def systems(release: str | None, tool: str, realtime: bool | None) -> tuple[str, ...]:
    """The names that select a recording: its system, and of Linux also `linux-rt` or `linux-stock` where that is known."""
    system = system_of(release, tool)
    if system != LINUX or realtime is None:
        return () if system is None else (system,)
    return system, f"{LINUX}-rt" if realtime else f"{LINUX}-stock"
