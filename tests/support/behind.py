"""Work that needs both CPUs for minutes, behind the tests that measure beside it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
LEAST = 19


def _step_back() -> None:
    """A session of its own: the kernel's autogroups share out the CPUs by session, and `make test` has asked for more for its own."""
    os.setsid()
    os.nice(LEAST)
    with contextlib.suppress(OSError):  # no such kernel: nice alone decides
        Path("/proc/self/autogroup").write_text(str(LEAST))


def behind(work: Callable[..., T], *args: object) -> T:
    """What `work(*args)` returns or raises, from a process that takes only the CPU time that is left."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_step_back) as pool:
        return pool.submit(work, *args).result()
