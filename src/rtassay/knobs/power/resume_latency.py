"""The latency that one CPU tolerates of its idle states."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, cpus_text, ok, wrong
from rtassay.knobs.power.idle_states import deep_us
from rtassay.model.knobs import LOW, RUN_TIME, WRITE, Action, Goal, Look

_PATH = "/sys/devices/system/cpu/cpu{}/power/pm_qos_resume_latency_us"


class ResumeLatency(Knob):
    """As dma-latency, for the CPUs of the application alone."""

    name = "resume-latency"
    title = "exit latency of idle states, of one CPU"
    why = "It keeps the CPUs of the application out of deep idle states while the others go on saving power."
    effect = "as dma-latency, with less heat"
    harm = "a little more power"
    scope = RUN_TIME
    evidence = "C"
    severity = LOW
    sources = ("kernel: ABI/testing/sysfs-devices-power (pm_qos_resume_latency_us)",)
    reads = (_PATH.format("[0-9]*"),)

    def look(self, seen: Seen, goal: Goal) -> Look:
        cpus = seen.measured(goal)
        values = {cpu: seen.text(_PATH.format(cpu)) for cpu in cpus}
        if deep_us(seen) <= 1:
            return ok("no idle state takes longer than 1 us to leave")
        # "0" stands for no limit, "n/a" for no latency at all.
        loose = [cpu for cpu, value in values.items() if value == "0"]
        if not loose:
            return ok(f"limited on {cpus_text(cpus)}")
        return wrong(
            f"no limit on {cpus_text(loose)}", "n/a", *(Action(WRITE, _PATH.format(cpu), "n/a") for cpu in loose)
        )
