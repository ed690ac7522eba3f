"""Processes in an inventory: which are real-time, which draw a desktop. From /proc/PID/stat, and `@rt-threads` for every thread."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass

_POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline", 7: "ext"}
_REAL_TIME = ("fifo", "rr", "deadline")
# Fields of stat(5) behind the closing parenthesis, counted from 0 at the state.
_CPU, _PRIORITY, _POLICY = 36, 37, 38
_THREAD = re.compile(r"(\d{1,9}) (\d{1,9}) (fifo|rr|deadline) (-?\d{1,9}) (-?\d{1,9}) \S+ \S+ \S+ ?(.*)")
# As the kernel shows them: at most 15 characters.
_DESKTOP = frozenset(
    [
        "Xorg",
        "Xwayland",
        "X",
        "gnome-shell",
        "mutter",
        "kwin_wayland",
        "kwin_x11",
        "plasmashell",
        "weston",
        "sway",
        "labwc",
        "wayfire",
        "mir",
        "miriway",
        "cage",
        "hyprland",
        "Hyprland",
        "river",
        "xfwm4",
        "xfce4-session",
        "lxsession",
        "lxqt-session",
        "openbox",
        "cinnamon",
        "marco",
        "mate-session",
        "budgie-wm",
        "compiz",
        "picom",
        "enlightenment",
    ]
)


@dataclass(frozen=True, slots=True)
class Process:
    """One line of /proc/PID/stat, as far as it matters here. `priority` is the real-time one, 0 for none."""

    pid: int
    comm: str
    policy: str
    priority: int
    cpu: int


def parse_stat(content: bytes) -> Process | None:
    """None for what is not a line of /proc/PID/stat. A name may hold spaces and parentheses: the last one counts."""
    text = content.decode(errors="replace")
    head, found, tail = text.rpartition(")")
    pid, opened, comm = head.partition("(")
    fields = tail.split()
    if not found or not opened or len(fields) <= _POLICY:
        return None
    try:
        number, cpu, priority, policy = int(pid), int(fields[_CPU]), int(fields[_PRIORITY]), int(fields[_POLICY])
    except ValueError:
        return None
    return Process(number, comm, _POLICIES.get(policy, str(policy)), priority, cpu)


@dataclass(frozen=True, slots=True)
class Thread:
    """A real-time thread; `tid` is `pid` for the first one of a process."""

    tid: int
    pid: int
    comm: str
    policy: str
    priority: int
    cpu: int


def parse_threads(content: bytes) -> list[Thread]:
    """The lines of `@rt-threads` (STREAM.md, FILE); what is no such line is left out."""
    threads = []
    for line in content.decode(errors="replace").split("\n"):
        match = _THREAD.fullmatch(line)
        if match is not None:
            tid, pid, policy, priority, cpu, comm = match.groups()
            threads.append(Thread(int(tid), int(pid), comm, policy, int(priority), int(cpu)))
    return threads


def real_time(processes: Iterable[Process], threads: bytes | None = None) -> list[dict[str, object]]:
    """Everything of class fifo, rr or deadline, the kernel's own threads included, highest priority first.

    `threads`: what `@rt-threads` said. Without it only the first thread of every process is known.
    """
    found = (
        [Thread(p.pid, p.pid, p.comm, p.policy, p.priority, p.cpu) for p in processes if p.policy in _REAL_TIME]
        if threads is None
        else parse_threads(threads)
    )
    return [asdict(thread) for thread in sorted(found, key=lambda t: (-t.priority, t.tid))]


def irq_threads(processes: Iterable[Process]) -> list[dict[str, object]]:
    """The kernel's threads that handle an interrupt (`irq/39-dwc_otg`), with their priority."""
    found = [process for process in processes if re.match(r"irq/\d+-", process.comm)]
    return [{"comm": p.comm, "priority": p.priority} for p in sorted(found, key=lambda p: (-p.priority, p.comm))]


def desktop(processes: Iterable[Process]) -> list[str]:
    """Names of running display servers and compositors."""
    return sorted({process.comm for process in processes if process.comm in _DESKTOP})
