"""Timers that fire on the application's CPUs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rtassay.knobs.base import Knob, NotRead, Seen, cpus_text, ok, unknown, wrong
from rtassay.knobs.reading import INTERRUPTS, interrupt_rates
from rtassay.model.knobs import BY_HAND, MEDIUM, RUN_TIME, UNKNOWN, Action, Detail, Goal, Look

_LIST = "/proc/timer_list"
_CPU = re.compile(r"^cpu: (\d{1,5})$", re.MULTILINE)
_TIMER = re.compile(
    r"^ #\d{1,6}: <[^>]*>, (\S+(?: \[\S+\])?), S:\S+.*\n # expires at \d{1,20}-\d{1,20} nsecs \[in (-?\d{1,20}) to",
    re.MULTILINE,
)
# The tick, which nohz-full is about. Its name changed with Linux 6.9.
_TICK = ("tick_sched_timer", "tick_nohz_handler")
# What fires less often is no load; the watch itself waits for a second.
_SOON_NS = 100_000_000
_OFTEN = 20
# The application's own may be among them.
_OF_PROGRAMS = {
    "hrtimer_wakeup": "a program that sleeps",
    "posix_timer_fn": "a program's timer_create",
    "it_real_fn": "a program's setitimer",
    "timerfd_tmrproc": "a program's timerfd",
}


@dataclass(frozen=True, slots=True)
class _Timer:
    function: str
    in_ns: int


class CpuTimers(Knob):
    """The list tells when each timer fires next, not how often: those due soon in both readings fire often. Whose timer of a program it is, it does not tell."""

    name = "cpu-timers"
    title = "timers that fire often on the application's CPUs"
    why = (
        "A timer's handler runs in the interrupt, before any thread; that of a program wakes a thread on the same CPU."
    )
    effect = "removes these interrupts from the application's CPUs"
    harm = "depends on whose timer it is"
    scope = RUN_TIME
    evidence = "C"
    severity = MEDIUM
    sources = ("kernel: timers/highres.rst", "kernel: timers/no_hz.rst (OS jitter)")
    counts = (INTERRUPTS, _LIST)
    needs = ("thread-affinity",)

    def look(self, seen: Seen, goal: Goal) -> Look:
        measured = seen.measured(goal)
        first, second = (
            self._by_cpu(seen.text(_LIST)),
            self._by_cpu(seen.later.get(_LIST, b"").decode(errors="replace")),
        )
        if not first or not second:
            raise NotRead(UNKNOWN, f"{_LIST} names no timers")
        rates = self._interrupts(seen)
        found = {
            (cpu, name)
            for cpu in measured
            for name in self._often(rates.get(cpu), first.get(cpu, []), second.get(cpu, []))
        }
        if not found:
            return ok(f"none on {cpus_text(measured)} but the tick")
        # A timer that is no program's first.
        ordered = sorted(found, key=lambda one: (one[1] in _OF_PROGRAMS, one))
        details = tuple(Detail(self._words(name), f"CPU {cpu}{self._told(rates.get(cpu))}") for cpu, name in ordered)
        now = f"{details[0].name} on {details[0].now}" + (f" and {len(details) - 1} more" if len(details) > 1 else "")
        if ordered[0][1] in _OF_PROGRAMS:
            mend = Action(BY_HAND, "", "move the program (thread-affinity); its timer follows when it is set anew")
            return unknown(
                f"{now}; the application's own timer is right there",
                "those of other programs on other CPUs",
                mend,
                details=details,
            )
        mend = Action(BY_HAND, "", "find the driver or function that sets it, and stop it or bind it to another CPU")
        return wrong(now, "on other CPUs", mend, details=details)

    def _often(self, rate: float | None, first: list[_Timer], second: list[_Timer]) -> set[str]:
        """Functions with a timer that is due soon in both readings; `rate`: timer interrupts a second there."""
        if rate is not None and rate < _OFTEN:
            return set()
        soon = [{one.function for one in some if one.in_ns <= _SOON_NS} for some in (first, second)]
        return (soon[0] & soon[1]) - set(_TICK)

    def _told(self, rate: float | None) -> str:
        return "" if rate is None else f", {rate:.0f} timer interrupts a second there"

    def _by_cpu(self, text: str) -> dict[int, list[_Timer]]:
        _, *parts = _CPU.split(text.partition("\nTick Device:")[0])
        return {
            int(cpu): [_Timer(match[1], int(match[2])) for match in _TIMER.finditer(part)]
            for cpu, part in zip(parts[::2], parts[1::2], strict=True)
        }

    def _words(self, function: str) -> str:
        return f"{function} ({_OF_PROGRAMS[function]})" if function in _OF_PROGRAMS else function

    def _interrupts(self, seen: Seen) -> dict[int, float]:
        """Timer interrupts a second by CPU; {} where they have no row of their own."""
        try:
            row = interrupt_rates(seen).get("LOC")
        except NotRead:
            return {}
        return {} if row is None else row[1]
