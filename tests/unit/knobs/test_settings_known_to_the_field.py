"""Every setting that guides, kernel documentation and papers name has a file here, and what can be done about it is done, not only told."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Final

import pytest
from knob_readings import NAMES as BOARDS

from rtassay.knobs.base import NotRead
from rtassay.model import rooms
from rtassay.model.knobs import AT_RUN_TIME, BOOT_WORD, OK, Action

_SPEC = importlib.util.spec_from_file_location("states", Path(__file__).with_name("test_states.py"))
assert _SPEC is not None and _SPEC.loader is not None
states = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(states)

RUN: Final = "run time"  # tune makes it and puts it back
BOOT: Final = "boot"  # tune --boot boots with the word, once
FILE: Final = "file"  # a word in a file of the boot loader, which a person writes
TOLD: Final = "told"  # a person does it; the reason stands beside it
# What the field names -> (the setting that looks at it, what rtassay does about it).
KNOWN: Final[dict[str, tuple[str, str]]] = {
    "cpufreq governor": ("governor", RUN),
    "lowest frequency = highest": ("frequency-limits", RUN),
    "turbo, boost": ("turbo", RUN),
    "energy_perf_bias, EPP, platform_profile": ("energy-hints", RUN),
    "/dev/cpu_dma_latency": ("dma-latency", RUN),
    "pm_qos_resume_latency_us of a CPU": ("resume-latency", RUN),
    "idle states disabled": ("idle-states", RUN),
    "processor.max_cstate, intel_idle.max_cstate": ("max-cstate", BOOT),
    "idle=poll": ("idle-poll", TOLD),  # full power, a sibling slowed, a virtual machine starved: nobody should get it by a profile
    "SMT off": ("smt", RUN),
    "PCIe ASPM": ("pcie-aspm", RUN),
    "i915 enable_dc, fbc, psr": ("i915-power", BOOT),
    "clocksource": ("clocksource", RUN),
    "tsc=reliable": ("clocksource", BOOT),
    "skew_tick": ("skew-tick", BOOT),
    "timer_migration": ("timer-migration", RUN),
    "isolcpus": ("isolcpus", BOOT),
    "cpuset partition (cgroup v2)": ("cpuset-partition", RUN),
    "cset shield (cgroup v1)": ("cpuset-v1", RUN),
    "CPUAffinity=, AllowedCPUs= of systemd": ("systemd-affinity", TOLD),  # systemd owns its tree
    "threads moved by affinity": ("thread-affinity", RUN),
    "nohz_full": ("nohz-full", BOOT),
    "rcu_nocbs": ("rcu-nocbs", BOOT),
    "rcu_normal_after_boot": ("rcu-normal", RUN),
    "fair server": ("fair-server", RUN),
    "sched_rt_runtime_us": ("rt-throttling", RUN),
    "RT_GROUP_SCHED": ("rt-group", RUN),
    "priority of the application": ("priority", TOLD),  # the application is the user's
    "priority of kernel threads": ("kthread-priority", RUN),
    "other programs at high priority": ("foreign-rt-threads", RUN),
    "autogroup": ("autogroup", RUN),
    "numa_balancing": ("numa-balancing", RUN),
    "interrupt affinity": ("irq-affinity", RUN),
    "default_smp_affinity": ("irq-default-affinity", RUN),
    "irqbalance": ("irqbalance", RUN),
    "managed interrupts": ("managed-irq", TOLD),  # the word is isolcpus=managed_irq: setting isolcpus has it
    "threadirqs": ("threadirqs", BOOT),
    "priority of interrupt threads": ("irq-thread-priority", TOLD),  # which device the application waits for, only its user knows
    "timers on the application's CPUs": ("cpu-timers", TOLD),  # a timer belongs to a program or a driver
    "unbound workqueues": ("workqueue-mask", RUN),
    "efi_runtime": ("efi-runtime", RUN),
    "lockup detectors": ("lockup-detector", RUN),
    "vm.stat_interval": ("vmstat-interval", RUN),
    "machine checks": ("machine-check", RUN),
    "printk level": ("printk", RUN),
    "ftrace": ("tracing", RUN),
    "irqpoll and its like": ("irqpoll", TOLD),  # a word is to be taken away
    "haltpoll": ("haltpoll", RUN),
    "mlock limit": ("memlock", TOLD),  # a limit of a login, for programs that start later
    "transparent huge pages": ("transparent-hugepages", RUN),
    "KSM": ("ksm", RUN),
    "compaction": ("compaction", RUN),
    "swap, swappiness": ("swap", RUN),
    "dirty writeback": ("dirty-writeback", RUN),
    "overcommit_memory": ("overcommit", RUN),
    "memory limits of cgroups": ("memory-limit", RUN),
    "huge pages, CMA": ("hugepages", TOLD),  # the application knows how many
    "resctrl, CAT, MPAM": ("cache-allocation", RUN),
    "desktop": ("desktop", RUN),
    "background timers": ("background-timers", RUN),
    "WLAN off": ("wlan", RUN),
    "NIC coalescing, EEE": ("nic-coalescing", TOLD),  # no file tells it
    "USB autosuspend": ("usb-autosuspend", RUN),
    "mitigations=off": ("mitigations", BOOT),
    "SMI, firmware": ("firmware-smi", TOLD),
    "time synchronisation": ("time-sync", RUN),
    "SMP + AMP": ("second-core", TOLD),  # docs: when to give a core to bare metal
    "force_turbo, arm_freq": ("pi-clock", FILE),
    "get_throttled": ("pi-throttled", TOLD),
    "dwc_otg fiq": ("dwc-otg", FILE),
    "cmdline.txt": ("pi-isolation", FILE),
    "kernel=, tryboot": ("pi-kernel", TOLD),  # rtassay kernel boots it once
    "HDMI, Bluetooth, audio overlays": ("pi-overlays", FILE),
    "options of the kernel": ("kernel-configuration", TOLD),  # another kernel
    "PREEMPT_RT": ("preempt-rt", TOLD),  # another kernel
    "words that the kernel does not know": ("cmdline-words", TOLD),
}  # fmt: skip


def actions_of(name: str) -> list[Action]:
    """What the setting would do on the boards of the tests, and in the cases of its states."""
    found = []
    cases = [("lab-rt", case[1], case[2]) for case in states.CASES if case[0] == name]
    cases += [(case[1], case[2], states.ONE) for case in states.PI_CASES if case[0] == name]
    cases += [(board, {}, goal) for board in BOARDS for goal in (states.ANY, states.ONE)]
    for board, changes, goal in cases:
        try:
            look = states.look(name, board, changes, goal)
        except NotRead:
            continue
        found += list(look.actions) if look.state != OK else []
    return found


def done(actions: list[Action]) -> set[str]:
    ways = {RUN for action in actions if action.kind in AT_RUN_TIME}
    ways |= {FILE if action.target else BOOT for action in actions if action.kind == BOOT_WORD}
    return ways


@pytest.mark.parametrize(("what", "name", "way"), [(what, *told) for what, told in KNOWN.items()])
def test_what_can_be_done_about_it_is_done(what: str, name: str, way: str) -> None:
    ways = done(actions_of(name))
    assert way in ways if way != TOLD else not ways, (what, ways)


def test_every_setting_is_known_to_the_field() -> None:
    assert {name for name, _ in KNOWN.values()} == set(rooms.table("knobs"))
