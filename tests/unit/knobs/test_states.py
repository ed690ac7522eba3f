"""Each setting in its states: a real board's files with a few changed. Every setting has a case that is fine and one that is not."""

from __future__ import annotations

import pytest
from knob_readings import reading

from rtassay.knobs.base import NotRead
from rtassay.model import rooms
from rtassay.model.knobs import ABSENT, OK, UNKNOWN, WRONG, Goal, Look
from rtassay.session.examining import seen_of

CPU = "/sys/devices/system/cpu"
ONE = Goal(isolated=(1,), period_ns=1_000_000)
ANY = Goal()
CONFIG = "/boot/config-6.1.0-56-rt-amd64"
STAT = "{pid} ({comm}) S 1 1 1 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 1 1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0"


def process(pid: int, comm: str) -> dict[str, str]:
    return {f"/proc/{pid}/stat": STAT.format(pid=pid, comm=comm, flags=0)}


def status(pid: int, comm: str, cpus: str) -> dict[str, str]:
    return {f"/proc/{pid}/status": f"Name:\t{comm}\nPid:\t{pid}\nVmSize:\t10 kB\nCpus_allowed_list:\t{cpus}\n"}


def idle(latency_us: int, disabled: int = 0) -> dict[str, str]:
    told = {"name": "C6", "latency": str(latency_us), "residency": "100", "disable": str(disabled)}
    first = {"name": "POLL", "latency": "0", "residency": "0", "disable": "0"}
    return {f"{CPU}/cpu1/cpuidle/state{n}/{k}": v for n, row in enumerate((first, told)) for k, v in row.items()} | {
        f"{CPU}/cpuidle/current_driver": "intel_idle"
    }


def freq(name: str, value: str) -> dict[str, str]:
    return {f"{CPU}/cpu{n}/cpufreq/{name}": value for n in range(2)}


def timers(cpu: int, *due: tuple[str, int, int]) -> dict[str, str]:
    """/proc/timer_list with timers of that CPU: function, ms until it fires in the first and in the second reading. The CPU takes 250 timer interrupts a second."""
    head = "Timer List Version: v0.10\nHRTIMER_MAX_CLOCK_BASES: 8\nnow at 100 nsecs\n\n"
    texts = [
        head
        + f"cpu: {cpu}\n clock 0:\n  .index:      0\nactive timers:\n"
        + "".join(
            f" #{n}: <00000000ad7be8e6>, {row[0]}, S:01\n # expires at 9-9 nsecs [in {row[at] * 1_000_000} to 9 nsecs]\n"
            for n, row in enumerate(due)
        )
        + f"\nTick Device: mode:     1\nPer CPU device: {cpu}\n"
        for at in (1, 2)
    ]
    rows = [f"           CPU0       CPU1\n LOC:  {n}  {n}  Local timer interrupts\n" for n in (1000, 1250)]
    return {
        "/proc/timer_list": texts[0],
        "later /proc/timer_list": texts[1],
        "/proc/interrupts": rows[0],
        "later /proc/interrupts": rows[1],
    }


def limit(name: str, before: int, after: int) -> dict[str, str]:
    at = f"/sys/fs/cgroup/{name}/memory.events"
    texts = [f"low 0\nhigh {times}\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n" for times in (before, after)]
    return {at: texts[0], f"later {at}": texts[1]}


MEMORY: dict[str, str | None] = {"/sys/fs/cgroup/cgroup.controllers": "cpuset cpu memory"}
CMDLINE = "/proc/cmdline"
INIT = {"/proc/1/comm": "systemd"}
EFI = {"/sys/firmware/efi/fw_platform_size": "64", "/sys/devices/virtual/workqueue/efi_runtime/cpumask": "3"}
CGROUP2 = {"/proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu"}
CGROUP1 = {
    "/proc/mounts": "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n",
    "/sys/fs/cgroup/cpuset/cpuset.mems": "0",
}
RT = "@rt-threads"
RESCTRL = "/sys/fs/resctrl"
STOCK = {"/proc/version": "Linux version 6.1.0-56-amd64 #1 SMP PREEMPT_DYNAMIC", CONFIG: "CONFIG_PREEMPT=y\n"}
NEW = {"/proc/sys/kernel/osrelease": "6.12.1-rt", "/boot/config-6.12.1-rt": "CONFIG_PREEMPT_RT=y\n"}
GROUPS = {CONFIG: "CONFIG_PREEMPT_RT=y\nCONFIG_RT_GROUP_SCHED=y\n"}
PI = "/proc/device-tree/model"
GONE = None

# setting, what is changed on the RT board of the lab, what it is to do, state, a word of `now`
CASES: list[tuple[str, dict[str, str | None], Goal, str, str]] = [
    ("preempt-rt", {}, ANY, OK, "6.1.0-56-rt"),
    ("preempt-rt", {**STOCK, "/sys/kernel/realtime": GONE}, ANY, WRONG, "PREEMPT_DYNAMIC"),
    ("kernel-configuration", {}, ANY, WRONG, "LOCKUP_DETECTOR on"),
    ("kernel-configuration", {CONFIG: "CONFIG_PREEMPT_RT=y\nCONFIG_CPU_FREQ=y\nCONFIG_CPU_FREQ_DEFAULT_GOV_PERFORMANCE=y\nCONFIG_CPU_IDLE=y\nCONFIG_EFI_DISABLE_RUNTIME=y\nCONFIG_TRACING=y\n"}, ANY, OK, "as"),
    ("kernel-configuration", {CONFIG: GONE}, ANY, UNKNOWN, "not known"),
    ("cmdline-words", {}, ANY, OK, "none"),
    ("cmdline-words", {"@kmsg": '5,0,0,-;Linux\n5,9,0,-;Unknown kernel command line parameters "splash isolcpu=1", will be passed to user space.\n'}, ANY, WRONG, "isolcpu=1"),
    ("cmdline-words", {"@kmsg": "6,900,5000000,-;later\n"}, ANY, UNKNOWN, "gone"),
    ("governor", {}, ANY, ABSENT, "hypervisor"),
    ("governor", freq("scaling_governor", "performance"), ANY, OK, "performance on 2 CPUs"),
    ("governor", freq("scaling_governor", "schedutil"), ANY, WRONG, "schedutil"),
    ("frequency-limits", freq("scaling_min_freq", "1000") | freq("scaling_max_freq", "1000"), ANY, OK, "equal"),
    ("frequency-limits", freq("scaling_min_freq", "600") | freq("scaling_max_freq", "1000"), ANY, WRONG, "600 to 1000"),
    ("frequency-limits", freq("scaling_min_freq", "600") | freq("scaling_max_freq", "1000") | freq("scaling_governor", "performance"), ANY, OK, "governor keeps"),
    ("turbo", {f"{CPU}/cpufreq/boost": "1"}, ANY, UNKNOWN, "disagree"),
    ("turbo", {f"{CPU}/intel_pstate/no_turbo": "1"}, ANY, OK, "off"),
    ("energy-hints", {f"{CPU}/cpu0/power/energy_perf_bias": "6"}, ANY, WRONG, "energy_perf_bias 6"),
    ("energy-hints", {f"{CPU}/cpu0/power/energy_perf_bias": "0"}, ANY, OK, "performance"),
    ("dma-latency", idle(133) | {"/dev/cpu_dma_latency": "\0\x94\x35\x77"}, ANY, WRONG, "133 us"),
    ("dma-latency", idle(133) | {"/dev/cpu_dma_latency": "\0\0\0\0"}, ANY, OK, "holds it at 0"),
    ("dma-latency", {}, ANY, ABSENT, "no cpuidle driver"),
    ("max-cstate", {}, ANY, ABSENT, "no cpuidle driver"),
    ("resume-latency", idle(133) | {f"{CPU}/cpu1/power/pm_qos_resume_latency_us": "0"}, ONE, WRONG, "CPU 1"),
    ("resume-latency", idle(133) | {f"{CPU}/cpu1/power/pm_qos_resume_latency_us": "n/a"}, ONE, OK, "CPU 1"),
    ("idle-states", idle(133) | {"/dev/cpu_dma_latency": GONE}, ANY, WRONG, "C6 takes 133 us"),
    ("idle-states", idle(133, 1), ANY, OK, "10 us"),
    ("idle-states", idle(133), Goal(period_ns=100_000_000), OK, "1000 us"),
    ("max-cstate", idle(133), ANY, UNKNOWN, "no boot word"),
    ("max-cstate", idle(2), ANY, OK, "2 us"),
    ("idle-poll", {CMDLINE: "idle=poll"}, ANY, WRONG, "virtual"),
    ("idle-poll", {}, ANY, OK, "not set"),
    ("smt", {f"{CPU}/smt/active": "1", f"{CPU}/cpu1/topology/thread_siblings_list": "0-1"}, ONE, WRONG, "CPU 0 shares"),
    ("smt", {f"{CPU}/smt/active": "1", f"{CPU}/cpu1/topology/thread_siblings_list": "1"}, ONE, OK, "no sibling"),
    ("smt", {f"{CPU}/smt/active": "0", f"{CPU}/smt/control": "off"}, ANY, OK, "off"),
    ("smt", {f"{CPU}/smt/active": "0"}, ANY, OK, "no two CPUs share a core"),
    ("pcie-aspm", {"/sys/module/pcie_aspm/parameters/policy": "default [performance] powersave"}, ANY, OK, "performance"),
    ("pcie-aspm", {"/sys/module/pcie_aspm/parameters/policy": "[default] performance powersave"}, ANY, WRONG, "default"),
    ("i915-power", {"/sys/module/i915/parameters/enable_dc": "-1"}, ANY, WRONG, "enable_dc -1"),
    ("i915-power", {"/sys/module/i915/parameters/enable_dc": "0"}, ANY, OK, "off"),
    ("clocksource", {"/sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet", "/sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet"}, ANY, WRONG, "hpet"),
    ("clocksource", {}, ANY, WRONG, "hpet, and the kernel offers no fast one"),
    ("clocksource", {"/sys/devices/system/clocksource/clocksource0/current_clocksource": "dmtimer"}, ANY, OK, "no better one"),
    ("clocksource", {"/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc", CMDLINE: "tsc=reliable"}, ANY, OK, "tsc"),
    ("clocksource", {"/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc", CMDLINE: "quiet"}, ANY, UNKNOWN, "watched"),
    ("skew-tick", {f"{CPU}/online": "0-63"}, ANY, UNKNOWN, "not set"),
    ("skew-tick", {f"{CPU}/online": "0-63", CMDLINE: "skew_tick=1"}, ANY, OK, "skew_tick=1"),
    ("timer-migration", {}, ANY, UNKNOWN, "timer_migration 1"),
    ("timer-migration", {"/proc/sys/kernel/timer_migration": "0"}, ANY, OK, "0"),
    ("isolcpus", {}, ONE, WRONG, "CPU 1 not isolated"),
    ("isolcpus", {CMDLINE: "isolcpus=1"}, ONE, WRONG, "although isolcpus=1"),
    ("isolcpus", {f"{CPU}/isolated": "1"}, ONE, OK, "CPU 1"),
    ("isolcpus", {}, ANY, UNKNOWN, "--for isolated"),
    ("isolcpus", {}, Goal(isolated=(0, 1)), UNKNOWN, "leave one"),
    ("isolcpus", {f"{CPU}/online": "0"}, ONE, ABSENT, "one CPU"),
    ("cpuset-partition", {**CGROUP2, "/sys/fs/cgroup/rt/cpuset.cpus.partition": "isolated invalid (Cpu list in cpuset.cpus not exclusive)"}, ONE, WRONG, "not exclusive"),
    ("cpuset-partition", {**CGROUP2, "/sys/fs/cgroup/cpuset.cpus.isolated": "1"}, ONE, OK, "CPU 1"),
    ("cpuset-partition", CGROUP2, ONE, UNKNOWN, "none for CPU 1"),
    ("cpuset-v1", {**CGROUP1, "/sys/fs/cgroup/cpuset/rt/cpuset.cpu_exclusive": "1", "/sys/fs/cgroup/cpuset/rt/cpuset.cpus": "1"}, ONE, OK, "CPU 1"),
    ("cpuset-partition", CGROUP1, ONE, ABSENT, "see cpuset-v1"),
    ("cpuset-partition", {"/proc/mounts": "tmpfs /run tmpfs rw 0 0\n", "/proc/filesystems": "nodev\tcgroup2\n", "/proc/cgroups": "cpuset\t0\t1\t1\n"}, ONE, UNKNOWN, "none for CPU 1"),
    ("cpuset-partition", {"/proc/mounts": "tmpfs /run tmpfs rw 0 0\n", "/proc/filesystems": "nodev\tcgroup2\n", "/proc/cgroups": "cpuset\t0\t1\t0\n"}, ONE, ABSENT, "not mounted"),
    ("cpuset-v1", CGROUP1, ONE, UNKNOWN, "no shield"),
    ("cpuset-v1", {"/proc/mounts": "cgroup /dev/cpuset cgroup rw,cpuset 0 0\n"}, ONE, UNKNOWN, "not mounted at"),
    ("systemd-affinity", {**INIT, "/proc/1/status": "Cpus_allowed_list:\t0-1"}, ONE, WRONG, "CPU 1"),
    ("systemd-affinity", {**INIT, "/proc/1/status": "Cpus_allowed_list:\t0"}, ONE, OK, "CPU 0"),
    ("thread-affinity", status(999, "daemon", "0-1"), ONE, WRONG, "may run on CPU 1"),
    ("nohz-full", {f"{CPU}/nohz_full": "1"}, ONE, UNKNOWN, "advises against"),
    ("nohz-full", {f"{CPU}/nohz_full": "(null)"}, ONE, OK, "off"),
    ("nohz-full", {f"{CPU}/nohz_full": "(null)"}, Goal(isolated=(1,)), UNKNOWN, "computes all the time"),
    ("nohz-full", {"@kmsg": "5,0,0,-;Linux\n4,1,0,-;Housekeeping: nohz unsupported. Build with CONFIG_NO_HZ_FULL\n"}, ONE, WRONG, "built without"),
    ("rcu-nocbs", {CMDLINE: "quiet"}, ONE, WRONG, "CPU 1"),
    ("rcu-nocbs", {CMDLINE: "rcu_nocbs=1-3"}, ONE, OK, "CPU 1"),
    ("rcu-normal", {"/sys/kernel/rcu_normal": "0"}, ANY, WRONG, "0"),
    ("rcu-normal", {"/sys/kernel/rcu_normal": "1"}, ANY, OK, "1"),
    ("fair-server", {}, ANY, ABSENT, "has none"),
    ("fair-server", {**NEW, "/sys/kernel/debug/sched/fair_server/cpu1/runtime": "50000000"}, ONE, WRONG, "50 ms"),
    ("fair-server", {**NEW, "/sys/kernel/debug/sched/fair_server/cpu1/runtime": "0"}, ONE, OK, "off"),
    ("fair-server", NEW, ONE, UNKNOWN, "cannot be read"),
    ("rt-throttling", {}, ANY, WRONG, "95%"),
    ("rt-throttling", {"/proc/sys/kernel/sched_rt_runtime_us": "-1"}, ANY, OK, "off"),
    ("rt-throttling", NEW, ANY, OK, "admission"),
    ("rt-throttling", {"@kmsg": "4,346,1433147002,-;sched: RT throttling activated\n"}, ANY, WRONG, "throttled real-time threads in this boot"),
    ("rt-group", {}, ANY, OK, "not built in"),
    ("rt-group", {**GROUPS, "/sys/fs/cgroup/cpu/app/cpu.rt_runtime_us": "0"}, ANY, WRONG, "1 groups"),
    ("priority", {}, Goal(priority=99), WRONG, "99"),
    ("priority", {}, Goal(priority=80), OK, "above every"),
    ("priority", {}, Goal(priority=40), UNKNOWN, "interrupt threads"),
    ("kthread-priority", {RT: "15 15 fifo 90 0 5 0 0 ktimers/0"}, ANY, UNKNOWN, "not below"),
    ("kthread-priority", {RT: "15 15 fifo 1 0 5 0 0 ktimers/0"}, ANY, OK, "at most 1"),
    ("foreign-rt-threads", {RT: "900 900 fifo 95 1 5 0 0 hog", **process(900, "hog")}, ONE, WRONG, "hog (fifo 95 on CPU 1"),
    ("foreign-rt-threads", {RT: "900 900 fifo 50 1 5 0 0 hog", **process(900, "hog")}, ONE, OK, "all below 80"),
    ("autogroup", {"/proc/sys/kernel/sched_autogroup_enabled": "1"}, ANY, UNKNOWN, "1"),
    ("autogroup", {}, ANY, OK, "0"),
    ("numa-balancing", {"/proc/sys/kernel/numa_balancing": "1"}, ANY, WRONG, "1"),
    ("numa-balancing", {"/proc/sys/kernel/numa_balancing": "0"}, ANY, OK, "0"),
    ("irq-affinity", {}, ONE, WRONG, "virtio"),
    ("irq-default-affinity", {"/proc/irq/default_smp_affinity": "3"}, ONE, WRONG, "CPU 1"),
    ("irq-default-affinity", {"/proc/irq/default_smp_affinity": "1"}, ONE, OK, "CPU 0"),
    ("irqbalance", process(700, "irqbalance"), ONE, WRONG, "irqbalance runs"),
    ("irqbalance", process(700, "irqbalance"), ANY, UNKNOWN, "set aside"),
    ("irqbalance", {}, ONE, OK, "none"),
    ("managed-irq", {"/proc/irq/70/smp_affinity_list": "1", "/sys/kernel/irq/70/actions": "nvme0q2"}, ONE, WRONG, "2 on CPU 1"),  # and virtio2-req.1 of the board
    ("managed-irq", {CMDLINE: "isolcpus=managed_irq,domain,1"}, ONE, OK, "managed_irq"),
    ("threadirqs", {}, ANY, OK, "PREEMPT_RT"),
    ("threadirqs", {**STOCK, "/sys/kernel/realtime": GONE, CMDLINE: "quiet"}, ANY, UNKNOWN, "not set"),
    ("irq-thread-priority", {}, ANY, UNKNOWN, "at 50"),
    ("cpu-timers", timers(1, ("rtfault_hrtimer [rtfault]", 3, 2), ("hrtimer_wakeup", 1, 1)), ONE, WRONG, "rtfault_hrtimer [rtfault] on CPU 1, 250 timer interrupts a second there and 1 more"),
    ("cpu-timers", timers(1, ("posix_timer_fn", 3, 2)), ONE, UNKNOWN, "posix_timer_fn (a program's timer_create) on CPU 1"),
    ("cpu-timers", timers(1, ("tick_nohz_handler", 3, 2), ("hrtimer_wakeup", 500, 3), ("dl_task_timer", 3, 500)), ONE, OK, "but the tick"),
    ("cpu-timers", timers(0, ("rtfault_hrtimer", 3, 2)), ONE, OK, "none on CPU 1"),
    ("cpu-timers", {"/proc/timer_list": "Timer List\n", "later /proc/timer_list": "Timer List\n"}, ONE, UNKNOWN, "no timers"),
    ("workqueue-mask", {}, ONE, WRONG, "hold CPU 1"),
    ("efi-runtime", EFI, ONE, OK, "PREEMPT_RT"),
    ("efi-runtime", {**EFI, CMDLINE: "efi=runtime"}, ONE, UNKNOWN, "on"),
    ("lockup-detector", {}, ANY, WRONG, "soft_watchdog"),
    ("lockup-detector", {"/proc/sys/kernel/watchdog": "0"}, ANY, OK, "off"),
    ("vmstat-interval", {}, ANY, WRONG, "every 1 s"),
    ("vmstat-interval", {"/proc/sys/vm/stat_interval": "60"}, ANY, OK, "60"),
    ("machine-check", {}, ANY, WRONG, "300 s"),
    ("machine-check", {f"/sys/devices/system/machinecheck/machinecheck{n}/check_interval": "0" for n in range(2)}, ANY, OK, "off"),
    ("printk", {}, ANY, OK, "0 messages"),
    ("printk", {"/proc/sys/kernel/printk": "7 4 1 7"}, ANY, WRONG, "level 7 on ttyS0"),
    ("printk", {"/proc/sys/kernel/printk": "7 4 1 7", "/proc/consoles": "tty0 -WU (EC p ) 4:1"}, ANY, OK, "no slow console"),
    ("printk", {"@kmsg": "3,9,99000000,-;bad\n6,10,99100000,-;info\n3,1,100,-;old\n", "/proc/uptime": "100.00 1.0"}, ANY, WRONG, "1 messages reached"),
    ("tracing", {"/sys/kernel/tracing/current_tracer": "function", "/sys/kernel/tracing/tracing_on": "1"}, ANY, WRONG, "tracer function"),
    ("tracing", {}, ANY, OK, "off"),
    ("irqpoll", {CMDLINE: "quiet irqpoll"}, ANY, WRONG, "irqpoll"),
    ("irqpoll", {}, ANY, OK, "not set"),
    ("haltpoll", {"/sys/module/haltpoll/parameters/guest_halt_poll_ns": "0"}, ANY, UNKNOWN, "off"),
    ("haltpoll", {"/sys/module/haltpoll/parameters/guest_halt_poll_ns": "200000"}, ANY, OK, "200000"),
    ("memlock", {}, ANY, WRONG, "8192 KiB"),
    ("memlock", {"/proc/1/limits": "Max locked memory         unlimited            unlimited            bytes\n"}, ANY, OK, "unlimited"),
    ("transparent-hugepages", {"/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never"}, ANY, WRONG, "always"),
    ("transparent-hugepages", {"/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never"}, ANY, OK, "madvise"),
    ("ksm", {"/sys/kernel/mm/ksm/run": "1"}, ANY, WRONG, "1"),
    ("ksm", {}, ANY, OK, "0"),
    ("compaction", {}, ANY, WRONG, "compaction_proactiveness 20"),
    ("compaction", {"/proc/sys/vm/compact_unevictable_allowed": "0", "/proc/sys/vm/compaction_proactiveness": "0"}, ANY, OK, "stay"),
    ("swap", {"/proc/swaps": "Filename\tType\n/dev/zram0 partition 1 0 100\n", "/proc/sys/vm/swappiness": "60"}, ANY, UNKNOWN, "/dev/zram0"),
    ("swap", {}, ANY, OK, "none"),
    ("dirty-writeback", {}, ANY, WRONG, "20 %"),
    ("dirty-writeback", {"/proc/sys/vm/dirty_bytes": "67108864"}, ANY, OK, "64 MiB"),
    ("overcommit", {}, ANY, UNKNOWN, "overcommit_memory 0"),
    ("overcommit", {"/proc/sys/vm/overcommit_memory": "2"}, ANY, OK, "2"),
    ("memory-limit", MEMORY | limit("app", 190, 410), ANY, UNKNOWN, "/sys/fs/cgroup/app: memory.high 220 times a second"),
    ("memory-limit", MEMORY | limit("app", 190, 190), ANY, OK, "1 were in this boot"),
    ("memory-limit", {"/sys/fs/cgroup/memory/memory.limit_in_bytes": "99"}, ANY, UNKNOWN, "cgroup v1"),
    ("memory-limit", MEMORY, ANY, OK, "no cgroup limits memory"),
    ("memory-limit", {"/sys/fs/cgroup/cgroup.controllers": "cpu pids"}, ANY, ABSENT, "no memory controller"),
    ("hugepages", {}, ANY, UNKNOWN, "none"),
    ("hugepages", {"/proc/meminfo": "HugePages_Total:      64\n"}, ANY, OK, "64"),
    ("cache-allocation", {"/proc/cpuinfo": "flags\t: fpu cat_l3 mba\n"}, ANY, UNKNOWN, "not mounted"),
    ("cache-allocation", {f"{RESCTRL}/schemata": "L3:0=fff", f"{RESCTRL}/rt/schemata": "L3:0=f00"}, ANY, OK, "1 groups"),
    ("desktop", process(800, "gnome-shell"), ANY, WRONG, "gnome-shell"),
    ("desktop", {}, ANY, OK, "none"),
    ("background-timers", {**INIT, "/etc/systemd/system/timers.target.wants/apt-daily.timer": "[Timer]"}, ANY, WRONG, "apt-daily"),
    ("background-timers", INIT, ANY, OK, "0 timers"),
    ("wlan", {"/sys/class/net/wlan0/operstate": "up", "/sys/class/net/wlan0/flags": "0x1003\n"}, ANY, WRONG, "wlan0 is up"),
    ("wlan", {"/sys/class/net/wlan0/operstate": "up", "/sys/class/net/wlan0/flags": "up\n"}, ANY, UNKNOWN, "no flags"),
    ("wlan", {"/sys/class/net/wlan0/operstate": "down"}, ANY, OK, "down"),
    ("nic-coalescing", {}, ANY, UNKNOWN, "ethtool"),
    ("usb-autosuspend", {"/sys/module/usbcore/parameters/autosuspend": "2"}, ANY, UNKNOWN, "after 2 s"),
    ("usb-autosuspend", {"/sys/module/usbcore/parameters/autosuspend": "-1"}, ANY, OK, "never"),
    ("mitigations", {}, ANY, UNKNOWN, "active"),
    ("mitigations", {CMDLINE: "mitigations=off"}, ANY, OK, "off"),
    ("firmware-smi", {}, ANY, UNKNOWN, "not counted"),
    ("firmware-smi", {"@msr:0x34": "0 17\n1 17\n", "later @msr:0x34": "0 18\n1 18\n"}, ANY, WRONG, "2 in the second"),
    ("firmware-smi", {"@msr:0x34": "0 17\n1 17\n", "later @msr:0x34": "0 17\n1 17\n"}, ANY, OK, "none in the second"),
    ("time-sync", process(600, "chronyd"), ANY, UNKNOWN, "chrony runs"),
    ("time-sync", {}, ANY, OK, "none"),
    ("second-core", {"/sys/class/remoteproc/remoteproc0/name": "m4", "/sys/class/remoteproc/remoteproc0/state": "running"}, ANY, OK, "m4 running"),
    ("second-core", {}, ANY, ABSENT, "remoteproc"),
]  # fmt: skip
# The same on boards written by hand.
PI_CASES: list[tuple[str, str, dict[str, str | None], str, str]] = [
    ("pi-throttled", "pi3-rt", {}, WRONG, "earlier in this boot"),
    ("pi-throttled", "pi5-hot", {}, WRONG, "soft temperature limit, at this moment"),
    ("pi-throttled", "pi5-hot", {"@run:vcgencmd get_throttled": "throttled=0x0"}, OK, "none"),
    ("pi-throttled", "pi5-hot", {"@run:vcgencmd get_throttled": GONE}, UNKNOWN, "did not answer"),
    ("governor", "pi3-rt", {}, WRONG, "ondemand on 4 CPUs"),
    ("governor", "pi5-hot", {}, UNKNOWN, "ignores the governor"),
    ("pi-clock", "pi3-rt", {}, UNKNOWN, "not set"),
    ("pi-clock", "pi5-hot", {}, OK, "force_turbo=1"),
    ("dwc-otg", "pi3-rt", {}, WRONG, "fiq_enable and fiq_fsm_enable with PREEMPT_RT"),
    ("dwc-otg", "pi3-rt", {"/sys/module/dwc_otg/parameters/fiq_enable": "N", "/sys/module/dwc_otg/parameters/fiq_fsm_enable": "N"}, OK, "no fast"),
    ("dwc-otg", "pi5-hot", {}, ABSENT, "another"),
    ("pi-isolation", "pi3-rt", {}, WRONG, "2 lines"),
    ("pi-isolation", "pi5-hot", {}, OK, "one line"),
    ("pi-kernel", "pi3-rt", {}, OK, "kernel7-rt.img"),
    ("pi-kernel", "pi5-hot", {}, UNKNOWN, "without PREEMPT_RT"),
    ("pi-overlays", "pi3-rt", {}, UNKNOWN, "Bluetooth and audio"),
    ("pi-overlays", "pi5-hot", {}, OK, "off"),
    ("foreign-rt-threads", "pi3-rt", {}, WRONG, "multipathd (rr 99 on CPU 3, 1% busy)"),
    ("printk", "pi3-rt", {}, OK, "level 3 on ttyS0, 0 messages"),
    ("isolcpus", "pi5-hot", {}, OK, "CPU 2-3"),
]  # fmt: skip
# It has no right value, or its right one needs a board with more than a few files changed.
NEVER_FINE = {"nic-coalescing"}
FINE_BELOW = {"thread-affinity", "irq-affinity", "irq-thread-priority", "workqueue-mask"}


def look(name: str, board: str, changes: dict[str, str | None], goal: Goal) -> Look:
    made = reading(board)
    made.spans = {
        path: 1_000_000_000 for path in (*made.spans, "@msr:0x34", RT, "/proc/interrupts", "/proc/timer_list")
    }
    for path, text in changes.items():
        into, path = (made.later, path[6:]) if path.startswith("later ") else (made.first, path)
        if text is None:
            into.pop(path, None)
        else:
            into[path] = text.encode("latin-1")
    try:
        found: Look = rooms.load("knobs", name)().look(seen_of(made), goal)
    except NotRead as missing:
        return Look(missing.state, missing.why)
    return found


@pytest.mark.parametrize(("name", "changes", "goal", "state", "word"), CASES)
def test_state(name: str, changes: dict[str, str | None], goal: Goal, state: str, word: str) -> None:
    found = look(name, "lab-rt", changes, goal)
    assert (found.state, word in found.now) == (state, True), found


@pytest.mark.parametrize(("name", "board", "changes", "state", "word"), PI_CASES)
def test_state_on_a_raspberry_pi(name: str, board: str, changes: dict[str, str | None], state: str, word: str) -> None:
    found = look(name, board, changes, ANY)
    assert (found.state, word in found.now) == (state, True), found


def test_every_setting_has_a_case_that_is_fine_and_one_that_is_not() -> None:
    told = [(case[0], case[3]) for case in (*CASES, *PI_CASES)]
    names = set(rooms.table("knobs"))
    assert {name for name, state in told if state == OK} >= names - NEVER_FINE - FINE_BELOW
    assert {name for name, state in told if state != OK} == names


def test_programs_off_the_application_s_cpus_are_fine() -> None:
    made = reading("lab-rt")
    changes = {path: None for path in made.first if path.endswith("/status") and path != "/proc/self/status"}
    assert look("thread-affinity", "lab-rt", {**changes, **status(999, "daemon", "0")}, ONE).state == OK
    isolated = {**changes, **status(999, "daemon", "0-1"), f"{CPU}/isolated": "1"}
    assert "puts none on isolated" in look("thread-affinity", "lab-rt", isolated, ONE).now


def test_interrupts_that_go_elsewhere_are_fine_wherever_they_may_go() -> None:
    made = reading("lab-rt")
    changes: dict[str, str | None] = {path: "0" for path in made.first if path.endswith("/effective_affinity_list")}
    assert look("irq-affinity", "lab-rt", changes, ONE).state == OK


def test_interrupts_that_come_count_more_than_those_that_may_come() -> None:
    head = "           CPU0       CPU1\n"
    there = {
        "/proc/irq/30/smp_affinity_list": "0-1",
        "/proc/irq/30/effective_affinity_list": "1",
        "/sys/kernel/irq/30/actions": "eth0",
    }
    first = {**there, "/proc/interrupts": f"{head} 30:  5  100  PCI-MSI 1-edge eth0\n"}
    busy = look(
        "irq-affinity", "lab-rt", {**first, "later /proc/interrupts": f"{head} 30:  5  400  PCI-MSI 1-edge eth0\n"}, ONE
    )
    quiet = look(
        "irq-affinity", "lab-rt", {**first, "later /proc/interrupts": f"{head} 30:  5  100  PCI-MSI 1-edge eth0\n"}, ONE
    )
    assert busy.severity == "high" and busy.details[0].name == "30 eth0" and "CPU 1, 300 a second" in busy.now
    assert quiet.severity == "medium"


def test_a_soft_limit_of_memory_is_lifted_and_a_hard_one_is_told() -> None:
    soft = look("memory-limit", "lab-rt", MEMORY | limit("a.slice/b.service", 1, 5), ANY)
    assert [(one.kind, one.target, one.value) for one in soft.actions] == [
        ("write", "/sys/fs/cgroup/a.slice/b.service/memory.high", "max")
    ]
    at = "/sys/fs/cgroup/app/memory.events"
    hard = look("memory-limit", "lab-rt", MEMORY | {at: "high 0\nmax 1\n", f"later {at}": "high 0\nmax 9\n"}, ANY)
    assert [one.kind for one in hard.actions] == ["by hand"]


def test_kernel_work_off_the_application_s_cpus_is_fine() -> None:
    made = reading("lab-rt")
    changes: dict[str, str | None] = {path: "1" for path in made.first if path.endswith("/cpumask")}
    assert look("workqueue-mask", "lab-rt", changes, ONE).state == OK


def test_interrupt_threads_of_different_priorities_are_somebody_s_choice() -> None:
    stat = "9999 (irq/99-eth0) S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 -81 0 1 0 1 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 17 0 80 1 0 0 0"
    assert look("irq-thread-priority", "lab-rt", {"/proc/9999/stat": stat}, ANY).state == OK


def test_a_thread_that_works_counts_more_than_one_that_sleeps() -> None:
    changes = {RT: "900 900 fifo 95 1 5000000 0 0 hog", **process(900, "hog")}
    asleep = look("foreign-rt-threads", "lab-rt", {**changes, "later @rt-threads": changes[RT]}, ONE)
    busy = look(
        "foreign-rt-threads", "lab-rt", {**changes, "later @rt-threads": "900 900 fifo 95 1 905000000 0 0 hog"}, ONE
    )
    assert asleep.severity == "medium" and busy.severity == "high" and "% busy" in busy.now
