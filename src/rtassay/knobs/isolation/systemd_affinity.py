"""Where systemd lets services run."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, absent, cpu_list, cpus_text, ok, wrong
from rtassay.model.knobs import BY_HAND, LOW, RUN_TIME, Action, Goal, Look
from rtassay.model.units import format_cpu_list

_SLICES = "/sys/fs/cgroup/*.slice/cpuset.cpus"
_EFFECTIVE = "/sys/fs/cgroup/*.slice/cpuset.cpus.effective"
_SYSTEMD = "/run/systemd/system"
_INIT = "/proc/1/status"


class SystemdAffinity(Knob):
    """By the CPUs that the slices may use, or by those that init itself and thus every service inherits."""

    name = "systemd-affinity"
    title = "CPUs of services (systemd)"
    why = "Services start wherever the scheduler likes, also on the application's CPUs."
    effect = "as moving all programs by hand, and it holds for services that start later"
    harm = "services have fewer CPUs"
    scope = RUN_TIME
    evidence = "V"
    severity = LOW
    sources = ("tuned: profile cpu-partitioning (CPUAffinity)", "systemd.resource-control(5): AllowedCPUs")
    reads = (_INIT, _SLICES, _EFFECTIVE, "/proc/1/comm")

    def look(self, seen: Seen, goal: Goal) -> Look:
        if seen.text("/proc/1/comm") != "systemd":
            return absent("systemd does not run here")
        wanted = seen.measured(goal)
        if all(cpu in seen.isolated() for cpu in wanted):
            return ok(f"{cpus_text(wanted)} isolated: services are not balanced there")
        own = [line for line in seen.text(_INIT).split("\n") if line.startswith("Cpus_allowed_list:")]
        init = cpu_list(own[0].split()[1]) if own else ()
        slices = seen.matching(_EFFECTIVE) if seen.has(_EFFECTIVE) else {}
        inside = sorted({cpu for text in slices.values() for cpu in cpu_list(text)} & set(wanted))
        if init and not set(init) & set(wanted):
            return ok(f"services inherit {cpus_text(init)}")
        if slices and not inside:
            return ok(f"no slice uses {cpus_text(wanted)}")
        rest = format_cpu_list(seen.housekeeping(goal))
        return wrong(
            f"services may use {cpus_text(wanted)}",
            f"AllowedCPUs={rest}",
            Action(
                BY_HAND,
                "",
                f"systemctl set-property --runtime UNIT AllowedCPUs={rest}, for system.slice, user.slice and init.scope",
            ),
        )
