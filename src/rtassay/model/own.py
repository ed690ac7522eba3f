"""Which threads of a board are ours, by the names that monitors and inventories show."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from rtassay.model.measures import JOB_RESPONSE

# What lanes and writers call themselves; all others have the name of the program's file.
_LANE = "rtprobe-lane"
_NAMED = (_LANE, "rtprobe-writer")
_COMM = 15
"""Characters of a program's name that the kernel keeps."""


def is_guard(comm: str) -> bool:
    """Whether it is rtprobe's main thread or one of its guards, which sleep above everything by design.

    `rtprobe` in a checkout;
    `rtprobe-x86_64` as packaged; `rtprobe-d1b41b7`, cut by the kernel, as copied to a board.
    """
    return comm == "rtprobe" or (comm.startswith("rtprobe-") and comm not in _NAMED)


def job_names(settings: Mapping[str, str], measures: Iterable[str]) -> frozenset[str]:
    """Names that threads of the measured job have (`exec`): it is no other thread, it has the lanes' priority because it is what is measured.

    A lane has its own name until it has become the program.
    """
    command = settings.get("command")
    if command is None or JOB_RESPONSE not in measures:
        return frozenset()
    try:
        words = [part for word in shlex.split(command) for part in word.split()]
    except ValueError:
        words = command.split()
    return frozenset({_LANE, *(PurePosixPath(word).name[:_COMM] for word in words)})
