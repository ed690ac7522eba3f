"""Points where a test makes this process die: `RTASSAY_FAILPOINT="journal sealed:2"` kills it the second time it gets there.

Unset, as always outside of tests, a point costs one comparison. This is the only place that reads the variable.
"""

from __future__ import annotations

import os
import signal

VARIABLE = "RTASSAY_FAILPOINT"

_name, _, _times = os.environ.get(VARIABLE, "").rpartition(":")
_left = int(_times) if _times.isdigit() else 0


def reached(name: str) -> None:
    """Die here, as by a power cut, if the variable says so. Called where a crash would hurt most."""
    global _left
    if not _left or name != _name:
        return
    _left -= 1
    if not _left:
        os.kill(os.getpid(), signal.SIGKILL)
