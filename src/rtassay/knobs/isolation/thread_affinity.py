"""Programs that may run on the application's CPUs."""

from __future__ import annotations

import re

from rtassay.knobs.base import Knob, NotRead, Seen, cpu_list, cpus_text, ok, wrong
from rtassay.model.knobs import LOW, PROGRAMS, RUN_TIME, UNKNOWN, Action, Detail, Goal, Look
from rtassay.model.units import format_cpu_list

_STATUS = "/proc/[0-9]*/status"
_FIELD = re.compile(r"^(Name|Pid|Kthread|VmSize|Cpus_allowed_list):\s*(.*)$", re.MULTILINE)
_SHOWN = 8


class ThreadAffinity(Knob):
    """The first thread of each program stands for all of its threads."""

    name = "thread-affinity"
    title = "programs that may run on the application's CPUs"
    why = "Any thread whose affinity holds the CPU may be put there by the scheduler."
    effect = "as isolation, for the programs that exist now"
    harm = "programs that pinned their threads on purpose (virtual machines) break if all are moved blindly"
    scope = RUN_TIME
    evidence = "D"
    severity = LOW
    sources = ("https://github.com/seapath/ansible/pull/985 (guests crashed)",)
    reads = (_STATUS,)

    def look(self, seen: Seen, goal: Goal) -> Look:
        wanted = set(seen.measured(goal))
        told = [dict(_FIELD.findall(text)) for text in seen.matching(_STATUS).values()]
        users = [fields for fields in told if "VmSize" in fields and "Cpus_allowed_list" in fields]
        if not users:
            raise NotRead(UNKNOWN, "no program's affinity could be read")
        there = [
            fields
            for fields in users
            if wanted & set(cpu_list(fields["Cpus_allowed_list"])) and not fields.get("Name", "").startswith("rtprobe")
        ]
        if not there:
            return ok(f"no program may run on {cpus_text(tuple(wanted))}")
        if wanted <= set(seen.isolated()):
            return ok(f"{len(there)} programs may, but the scheduler puts none on isolated {cpus_text(tuple(wanted))}")
        rest = format_cpu_list(seen.housekeeping(goal))
        details = tuple(
            Detail(f"{f.get('Name', '?')} ({f.get('Pid', '?')})", f"CPU {f['Cpus_allowed_list']}")
            for f in there[:_SHOWN]
        )
        return wrong(
            f"{len(there)} of {len(users)} programs may run on {cpus_text(tuple(wanted))}",
            f"all on CPU {rest}",
            Action(PROGRAMS, "", rest),
            details=details,
        )
