"""Moving memory to the node that uses it."""

from __future__ import annotations

from rtassay.knobs.kinds import OneNumber
from rtassay.model.knobs import LOW, RUN_TIME


class NumaBalancing(OneNumber):
    """Only on machines with several memory nodes."""

    name = "numa-balancing"
    title = "moving memory between nodes (numa_balancing)"
    why = "The kernel makes pages fault on purpose to learn which node uses them."
    effect = "removes page faults, on machines with several nodes"
    harm = "memory may stay on a far node"
    scope = RUN_TIME
    evidence = "V"
    severity = LOW
    sources = ("tuned: profile realtime",)
    path = "/proc/sys/kernel/numa_balancing"
    reads = (path,)
    good = (0,)
    best = 0
