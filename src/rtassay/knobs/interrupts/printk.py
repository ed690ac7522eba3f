"""Messages of the kernel on a slow console."""

from __future__ import annotations

import re

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.knobs.reading import KERNEL_LOG, log_lines
from rtassay.model.knobs import HIGH, LOW, MEDIUM, RUN_TIME, WRITE, Action, Goal, Look

_LEVEL, _CONSOLES = "/proc/sys/kernel/printk", "/proc/consoles"
_SLOW = re.compile(r"^(tty(S|AMA|PS|SC|mxc|O|THS|SAC|STM|LP|MSM|GS)\d+|hvc\d+|netcon\S*|lp\d+|ttynull)\b")
_RECENT_US = 60_000_000
_QUIET = 4


class Printk(Knob):
    """Slow is a console over a serial line, a hypervisor or a network. Messages of the last minute are counted."""

    name = "printk"
    title = "kernel messages on a slow console (printk)"
    why = "A line takes milliseconds on a serial console, and before 6.12 the CPU that prints it waits with preemption off."
    effect = "removes stalls of 1 to 10 ms per line, if messages come"
    harm = "messages are missing on the console; the log keeps them"
    scope = RUN_TIME
    evidence = "V"
    severity = MEDIUM
    sources = ("Firefly: real-time performance report", "kernel: core-api/printk-basics.rst")
    reads = (_LEVEL, _CONSOLES)
    counts = (KERNEL_LOG,)

    def look(self, seen: Seen, goal: Goal) -> Look:
        levels = seen.told(seen.inventory.printk, _LEVEL)
        level = levels[0] if levels else 0
        slow = self._slow(seen)
        if not slow:
            return ok(f"level {level}, no slow console")
        if level <= 1:
            return ok(f"level {level} on {', '.join(slow)}")
        recent = self._recent(seen, level)
        write = Action(WRITE, _LEVEL, " ".join(["1", *map(str, levels[1:])]))
        told = "" if recent is None else f", {recent} messages reached it in the last minute"
        now = f"level {level} on {', '.join(slow)}{told}"
        if recent:
            return wrong(now, "level 1, or fewer messages", write, severity=HIGH)
        if level <= _QUIET:
            return ok(now) if recent == 0 else wrong(now, "level 1", write, severity=LOW)
        return wrong(now, "level 1, or quiet on the command line", write)

    def _slow(self, seen: Seen) -> list[str]:
        if seen.has(_CONSOLES):
            names = [line.split()[0] for line in seen.text(_CONSOLES).split("\n") if line.split()]
        else:  # a recording: by what was asked for at boot
            names = [word.partition("=")[2].split(",")[0] for word in seen.words() if word.startswith("console=")]
        return [name for name in names if _SLOW.match(name)]

    def _recent(self, seen: Seen, level: int) -> int | None:
        if KERNEL_LOG not in seen.files:
            return None
        before, fresh = log_lines(seen.files[KERNEL_LOG]), log_lines(seen.later.get(KERNEL_LOG, b""))
        uptime = seen.files.get("/proc/uptime", b"").split()
        lines = [*before, *fresh]
        now_us = int(float(uptime[0]) * 1e6) if uptime and re.fullmatch(rb"\d{1,12}(\.\d{1,9})?", uptime[0]) else None
        if now_us is None:
            now_us = max((line.at_us for line in lines), default=0)
        return sum(line.level < level and line.at_us >= now_us - _RECENT_US for line in lines)
