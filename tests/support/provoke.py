"""Runs a command on a machine that is made busy: many busy loops, and every half minute every CPU stands still for two seconds.

    .venv/bin/python tests/support/provoke.py [--loops 30] [--at-most 3600] -- COMMAND...

A test that fails here and not alone judges the machine. All ends with the command or after --at-most seconds: the loops look at the clock,
the kernel kills them with this process, and it kills a loop of real-time priority that goes on for a second too long (RLIMIT_RTTIME), since
nothing of a lower priority could. Needs root for the stalls.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable

EVERY_S = 30.0
STALL_S = 2.0
PRIORITY = 99
US_PER_S = 1_000_000
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


def forked(work: Callable[[], None]) -> int:
    """The pid of a child that does this and ends, or is killed when this process ends."""
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == parent:
                work()
        finally:
            os._exit(0)
    return pid


def burn(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def stall(cpu: int) -> None:
    """One CPU for itself alone."""
    limit = round((STALL_S + 1) * US_PER_S)
    resource.setrlimit(resource.RLIMIT_RTTIME, (limit, limit))
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    burn(STALL_S)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loops", type=int, default=30)
    parser.add_argument("--at-most", type=float, default=3600.0, metavar="SECONDS")
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    end = time.monotonic() + given.at_most
    loops = [forked(lambda: burn(given.at_most)) for _ in range(given.loops)]
    stalls = 0
    command = subprocess.Popen(given.command)
    try:
        while command.poll() is None and time.monotonic() < end:
            try:
                command.wait(min(EVERY_S, max(0.0, end - time.monotonic())))
            except subprocess.TimeoutExpired:
                for pid in [forked(lambda cpu=cpu: stall(cpu)) for cpu in sorted(os.sched_getaffinity(0))]:  # type: ignore[misc]
                    os.waitpid(pid, 0)
                stalls += 1
        if command.poll() is None:
            command.send_signal(signal.SIGINT)
            command.wait()
    finally:
        for pid in loops:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    print(
        f"provoke: {given.loops} busy loops, {stalls} stalls of {STALL_S:g} s; exit {command.returncode}",
        file=sys.stderr,
    )
    return command.returncode


if __name__ == "__main__":
    sys.exit(main())
