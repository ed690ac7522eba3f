"""The text of rtla's auto-analysis (`rtla timerlat top -a US`): why the sample that stopped it was late, for each CPU that it stopped.

    ## CPU 0 hit stop tracing, analyzing it ##
      IRQ handler delay:                                         0.00 us (0.00 %)
      IRQ latency:                                               4.66 us
      Timerlat IRQ duration:                                    77.18 us (5.19 %)
      Blocking thread:                                        1392.24 us (93.56 %)
                           rtfault_p:212                      1392.24 us
        Blocking thread stack trace
                    -> timerlat_irq
      IRQ interference, Softirq interference, Thread interference: as Blocking thread
    ------------------------------------------------------------------------
      Thread latency:                                         1488.10 us (100%)

Where the interrupt itself was late the last line says `IRQ latency: ... (100%)`, and the blocking thread has no time. It is read for a comparison with our own causes, not
imported: it has one sample a CPU and no due time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rtassay.importers.columns import bad, text_lines
from rtassay.model.foreign import one_line
from rtassay.model.ranking import INTERRUPTS, SOFTIRQS, THREADS, TIMER_INTERRUPT, Analysis

_BEGIN = re.compile(r"\s*## CPU (\d{1,5}) hit stop tracing, analyzing it ##\s*$")
_TIME = r"(\d{1,12}(?:\.\d{1,9})?) us"
_SUM = re.compile(rf"\s*([A-Z][A-Za-z ]{{1,30}}?):?\s+{_TIME}(?:\s+\(\s*[\d.]+\s*%\))?\s*$")
_ITEM = re.compile(rf"\s*(\S.{{0,60}}?)\s+{_TIME}\s*$")
_FUNCTION = re.compile(r"\s*-> (\S{1,200})\s*$")
_TOTALS = ("Thread latency", "IRQ latency")
_PARTS = {
    "IRQ handler delay": None,
    "IRQ latency": TIMER_INTERRUPT,
    "Timerlat IRQ duration": None,
    "Blocking thread": THREADS,
    "IRQ interference": INTERRUPTS,
    "Softirq interference": SOFTIRQS,
    "Thread interference": THREADS,
}
"""What is counted nowhere lies in another line (the handler's delay), or is the ordinary path of a wake-up."""


def read_analyses(path: Path) -> tuple[Analysis, ...]:
    """All CPUs that were analysed. Raises InputFileError if there is none, or one breaks off."""
    found: list[Analysis] = []
    lines = text_lines(path)
    for number, line in lines:
        if begin := _BEGIN.match(line):
            found.append(_one(path, number, int(begin[1]), lines))
    if not found:
        raise bad(
            path, "it holds no auto-analysis of rtla", hint="rtla timerlat top -a 100, with an rtla newer than 6.1"
        )
    return tuple(found)


def _one(path: Path, begun: int, cpu: int, lines: Iterator[tuple[int, str]]) -> Analysis:
    """Until the total, which follows a ruled line."""
    parts: dict[str, int] = {}
    names: list[str] = []
    stack: list[str] = []
    known, ruled = False, False
    for _, line in lines:
        if line.startswith("-----"):
            ruled = True
        elif function := _FUNCTION.match(line):
            stack.append(one_line(function[1], 200))
        elif (total := _SUM.match(line)) and ruled and total[1].strip() in _TOTALS:
            whole_ns = _ns(total[2])
            if total[1].strip() == "IRQ latency":
                parts = {TIMER_INTERRUPT: whole_ns}
            return Analysis(cpu, whole_ns, parts, tuple(names), tuple(stack))
        elif total and total[1].strip() in _PARTS:
            known = True
            part = _PARTS[total[1].strip()]
            if part is not None:
                parts[part] = parts.get(part, 0) + _ns(total[2])
        elif known and (item := _ITEM.match(line)):
            names.append(one_line(item[1], 100))
    raise bad(path, f"the analysis of CPU {cpu} breaks off", line=begun, hint="keep all of rtla's output")


def _ns(us: str) -> int:
    return round(float(us) * 1000)
