"""Did the measuring threads run where and how they were meant to? (METHOD.md 3.2)"""

from __future__ import annotations

from typing import Final

from rtassay.analysis.checks.base import INTEGRITY, INVALID, NOTE, WARNING, Check, lazy

ROWS: Final[tuple[Check, ...]] = (
    Check(
        id="SELF-INTERFERENCE",
        condition="more than one measuring thread on a CPU",
        kind=INTEGRITY,
        severity=INVALID,
        required=False,
        explanation="Threads of one priority on one CPU queue behind each other: the tool measures itself.",
        remedy="Measure with one lane per CPU.",
        proof="synthetic",
        function=lazy("placement:self_interference"),
    ),
    Check(
        id="MAIN-ON-MEASURED",
        condition="the probe's main or writer thread may run on a measured CPU",
        kind=INTEGRITY,
        severity=NOTE,
        required=False,
        explanation="Usual on boards with few CPUs, and harmless while the lanes preempt it; a warning if its priority is not below theirs.",
        remedy="Leave one CPU unmeasured (--cpus).",
        proof="live",
        function=lazy("placement:main_on_measured"),
    ),
    Check(
        id="NOT-PINNED",
        condition="a lane is allowed on several CPUs, or migrated",
        kind=INTEGRITY,
        severity=WARNING,
        required=False,
        explanation="Wake-up latency then holds the cost of moving, and belongs to no CPU.",
        remedy="Measure with one pinned lane per CPU (cyclictest -a -t).",
        proof="live",
        function=lazy("placement:not_pinned"),
    ),
    Check(
        id="NOT-RT-POLICY",
        condition="a lane's policy, read back from the kernel, is not fifo, rr or deadline, or its priority is not the one asked for",
        kind=INTEGRITY,
        severity=INVALID,
        required=False,
        explanation="An ordinary thread waits for its turn: its latency says nothing about a real-time thread.",
        remedy="Run as root, or with CAP_SYS_NICE or a real-time limit (ulimit -r).",
        proof="live",
        function=lazy("placement:not_rt_policy"),
    ),
    Check(
        id="PRIO-TIE",
        condition="another thread of the lanes' real-time priority or above runs, or may run, on a measured CPU (the kernel's migration threads and our guards apart)",
        kind=INTEGRITY,
        severity=WARNING,
        required=False,
        explanation="A lane does not preempt a thread of its own priority: the latency then holds the time that thread ran. All such threads are listed, those that slept all along, too: they may wake up in the next run.",
        remedy="Measure at a priority above them (--priority), as the application will run; or move or lower them.",
        proof="live",
        function=lazy("cpus:prio_tie"),
    ),
    Check(
        id="RT-THROTTLE-ON",
        condition="sched_rt_runtime_us is not -1 (note), and lanes or other real-time threads use half of it or more, or the kernel reported throttling (warning)",
        kind=INTEGRITY,
        severity=NOTE,
        required=False,
        explanation="The kernel stops real-time threads that use their share of a second, by default 95 %. A measurement rarely comes "
        "near; a busy real-time application may.",
        remedy="sysctl kernel.sched_rt_runtime_us=-1, if the application is deployed so.",
        proof="live",
        function=lazy("placement:rt_throttle_on"),
    ),
    Check(
        id="NOT-MLOCKED",
        condition="the probe's memory was not locked",
        kind=INTEGRITY,
        severity=WARNING,
        required=False,
        explanation="Memory that is not locked can be paged out, and a page fault enters the tail.",
        remedy="Run as root or raise RLIMIT_MEMLOCK (ulimit -l).",
        proof="live",
        function=lazy("placement:not_mlocked"),
    ),
    Check(
        id="PAGE-FAULTS",
        condition="a measuring thread had page faults after its first due time",
        kind=INTEGRITY,
        severity=WARNING,
        required=False,
        explanation="A page fault in the loop is latency of the probe, not of the board.",
        remedy="Lock memory; look for memory pressure.",
        proof="live",
        function=lazy("placement:page_faults"),
    ),
)
