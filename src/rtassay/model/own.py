"""Which threads of a board are ours, by the names that monitors and inventories show."""

from __future__ import annotations

# What lanes and writers call themselves; all others have the name of the program's file.
_NAMED = ("rtprobe-lane", "rtprobe-writer")


def is_guard(comm: str) -> bool:
    """Whether it is rtprobe's main thread or one of its guards, which sleep above everything by design.

    `rtprobe` in a checkout;
    `rtprobe-x86_64` as packaged; `rtprobe-d1b41b7`, cut by the kernel, as copied to a board.
    """
    return comm == "rtprobe" or (comm.startswith("rtprobe-") and comm not in _NAMED)
