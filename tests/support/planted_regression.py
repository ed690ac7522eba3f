"""Eight commits on a kernel: a section of 100 us that cannot be preempted comes with the fifth; the sixth cannot be built."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import kernel_tree

FUNCTION = "settle_overruns"
_PLANTED = f"""\
static noinline void {FUNCTION}(void)
{{
	preempt_disable();
	udelay(100);
	preempt_enable();
}}

"""
_CALL = "SYSCALL_DEFINE1(timer_getoverrun, timer_t, timer_id)\n{"
_LOCK = "\ttimr = lock_timer(timer_id, &flags);"


@dataclass(frozen=True, slots=True)
class Planted:
    """`commits`: the eight, the first one first; `good`: before them. `later`: the one to find; `broken`: the one that cannot be built."""

    good: str
    commits: tuple[str, ...]
    later: str
    broken: str


def plant(tree: Path) -> Planted:
    """On a new branch of a tree whose functions are those of Linux 6.1. The branch that was checked out stays as it is."""
    good = kernel_tree.git(tree, "rev-parse", "HEAD")
    kernel_tree.git(tree, "checkout", "--quiet", "-B", "planted")
    made = [
        _harmless(tree, "pipe: say what the size is", "fs/pipe.c"),
        _harmless(tree, "sys: name the unit", "kernel/sys.c"),
        _harmless(tree, "msg: mend a comment", "ipc/msg.c"),
        _harmless(tree, "readdir: mend a comment", "fs/readdir.c"),
        kernel_tree.commit(
            tree, "posix-timers: settle overruns before they are told", "kernel/time/posix-timers.c", _later
        ),
        kernel_tree.commit(
            tree, "sem: count sleepers", "ipc/sem.c", lambda text: text + "\nstatic int sleepers = none;\n"
        ),
        kernel_tree.commit(
            tree, "sem: count them right", "ipc/sem.c", lambda text: text.replace("static int sleepers = none;\n", "")
        ),
        _harmless(tree, "signal: mend a comment", "kernel/signal.c"),
    ]
    return Planted(good, tuple(made), later=made[4], broken=made[5])


def _harmless(tree: Path, subject: str, file: str) -> str:
    return kernel_tree.commit(tree, subject, file, lambda text: text + f"\n/* {subject} */\n")


def _later(text: str) -> str:
    included = text.replace("#include <linux/mm.h>\n", "#include <linux/delay.h>\n#include <linux/mm.h>\n", 1)
    before, call, after = included.partition(_CALL)
    return before + _PLANTED + call + after.replace(_LOCK, f"\t{FUNCTION}();\n{_LOCK}", 1)
