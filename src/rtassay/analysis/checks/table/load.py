"""Was there a load, and did it do its work all the time? (METHOD.md 3.2)"""

from __future__ import annotations

from typing import Final

from rtassay.analysis.checks.base import INTEGRITY, INVALID, NOTE, OPTIMISM, WARNING, Check, lazy

ROWS: Final[tuple[Check, ...]] = (
    Check(
        id="NO-LOAD",
        condition="no load was started or declared, and the CPUs were less than 20 % busy",
        kind=OPTIMISM,
        severity=WARNING,
        required=True,
        explanation="An idle board meets almost any deadline; it says nothing about a loaded one.",
        remedy="Run with --load; say with --label load=... what loaded the board if something else did.",
        proof="synthetic",
        function=lazy("load:no_load"),
    ),
    Check(
        id="LOAD-WINDOW",
        condition="a planned load was not alive from begin to end of the measurement (1 s either way)",
        kind=OPTIMISM,
        severity=INVALID,
        required=True,
        explanation="The time without load dilutes the outliers of the time with it. A warning where the load lived but it, or all CPUs, did nothing for 3 s or more: it was stopped, starved, or waits for a worker that died.",
        remedy="See the load's log in the recording, mend it and run again.",
        proof="live",
        function=lazy("load:load_window"),
    ),
    Check(
        id="LOAD-UNKNOWN",
        condition="a load did no work, or part of it was skipped or did none; it ended by itself with an error; or neither its work nor its CPU time is known",
        kind=OPTIMISM,
        severity=WARNING,
        required=False,
        explanation="A stressor that the machine skips loads nothing, whatever the command line says. Parts that failed qualify (integrity); a load without any work caps. A load that counts no work and used CPU time is a note.",
        remedy="See the load's log in the recording; leave out what this board cannot run.",
        proof="live",
        function=lazy("loads:load_unknown"),
    ),
    Check(
        id="LOAD-PARTIAL",
        condition="CPUs without a load, or no load of memory, disk or network",
        kind=INTEGRITY,
        severity=NOTE,
        required=False,
        explanation="What was not loaded may be what delays most: storage and network drivers as a rule. The facts hold the matrix of what was covered.",
        remedy="Add loads (--load several times) until they cover what the product does.",
        proof="live",
        function=lazy("loads:load_partial"),
    ),
    Check(
        id="LOAD-DRIFT",
        condition="the load's work per second in the last third of the run is not that of the first, by more than 10 % and by more than its scatter",
        kind=INTEGRITY,
        severity=WARNING,
        required=False,
        explanation="A load that slows down (heat, a full disk, other tenants) or speeds up is not one condition but several.",
        remedy="Look at temperature, frequency and the load's log at that time; declare a warm-up.",
        proof="synthetic",
        function=lazy("loads:load_drift"),
    ),
    Check(
        id="LOAD-RT",
        condition="a thread of a load runs under a real-time policy",
        kind=INTEGRITY,
        severity=WARNING,
        required=False,
        explanation="Such a load does not yield to the lanes at its priority and below: what is measured is the competition, not the kernel.",
        remedy="Run loads as ordinary threads, unless the product has such threads.",
        proof="live",
        function=lazy("loads:load_rt"),
    ),
    Check(
        id="ISOLATED-NOT-STRESSED",
        condition="nothing but the probe ran on isolated CPUs that were measured, and no load of shared caches or memory ran elsewhere",
        kind=OPTIMISM,
        severity=WARNING,
        required=False,
        explanation="Isolation moves the load away: an improvement may be the absence of load. CPUs share caches, memory and interconnect, which must be loaded to show what isolation is worth.",
        remedy="Add a load of caches and memory (stress-ng's cache, vm or memory classes), or load the isolated CPU itself (--load-cpus).",
        proof="synthetic",
        function=lazy("cpus:isolated_not_stressed"),
    ),
)
