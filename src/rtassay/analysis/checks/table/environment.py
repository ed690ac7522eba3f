"""Heat, power, memory and storage (METHOD.md 3.2)"""

from __future__ import annotations

from typing import Final

from rtassay.analysis.checks.base import INTEGRITY, INVALID, WARNING, Check, lazy

ROWS: Final[tuple[Check, ...]] = (
    Check(
        id="OOM-SWAP",
        condition="the kernel killed a process for want of memory, pages were read back from swap, or all tasks waited for memory (PSI full)",
        kind=INTEGRITY,
        severity=WARNING,
        required=False,
        explanation="A board without memory delays everything by reclaiming it, and a killed process may have been the load.",
        remedy="Give the load less memory; look for a leak.",
        proof="synthetic",
        function=lazy("environment:oom_swap"),
    ),
    Check(
        id="DISK-FULL",
        condition="the kernel's log holds errors of a disk, card or file system from the time of the measurement",
        kind=INTEGRITY,
        severity=WARNING,
        required=False,
        explanation="A failing or full card blocks whatever writes, and its driver retries for seconds.",
        remedy="Replace the card; free space; look at the kernel's log in the recording.",
        proof="synthetic",
        function=lazy("environment:disk_full"),
    ),
    Check(
        id="THERMAL-THROTTLE",
        condition="the processor was slowed down during the run: a cooling device above 0, a falling frequency limit, the firmware's throttle bits, the kernel's log. A warning for a limit that was constant, the soft temperature limit, and what happened before the run",
        kind=INTEGRITY,
        severity=INVALID,
        required=False,
        explanation="A throttled processor is another processor. The kernel's own frequency readings do not show it where firmware decides (Raspberry Pi): its throttle bits do.",
        remedy="Cool the board, or measure at the frequency it can keep; if heat is the condition to be tested, waive the check and say so.",
        proof="synthetic",
        function=lazy("environment:thermal_throttle"),
    ),
    Check(
        id="UNDERVOLTAGE",
        condition="the firmware or the kernel reported under-voltage during the run or, by the firmware's sticky bits, at any time since power-on",
        kind=INTEGRITY,
        severity=INVALID,
        required=False,
        explanation="A weak supply makes the firmware slow the processor down without a word to the kernel.",
        remedy="Use the supply and the cable the board is meant for; power-cycle it to clear the sticky bits.",
        proof="synthetic",
        function=lazy("environment:undervoltage"),
    ),
    Check(
        id="TEMP-DRIFT",
        condition="the processor's temperature ranged over more than 5 degC, or rose or fell by more than 0.2 degC a minute over a run of a minute or more",
        kind=INTEGRITY,
        severity=WARNING,
        required=False,
        explanation="Latency depends on temperature, by frequency and by throttling: a run that warms up mixes conditions, and two runs at different temperatures do not compare.",
        remedy="Warm the board up under the load first (--warm-up), until its temperature keeps still.",
        proof="synthetic",
        function=lazy("environment:temp_drift"),
    ),
)
