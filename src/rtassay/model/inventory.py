"""What a board is and how it is set up: the names of `session.inventory.describe` as typed values.

None means that the board does not tell; an empty tuple or dict is an answer. `manifest.inventory` and `manifest.inventory_end` keep the
JSON; `manifest.board_start` and `manifest.board_end` are these views of it. At the end only what may change is read again.
"""

from __future__ import annotations

import re

from rtassay.model.views import View, view_of

_RELEASE = re.compile(r"(\d{1,4})\.(\d{1,4})")


class KernelState(View):
    """The kernel that runs.

    `preempt_model`: PREEMPT_RT, PREEMPT_DYNAMIC, PREEMPT, VOLUNTARY or NONE; `preempt_dynamic`: the mode of a
    PREEMPT_DYNAMIC one; `config_rt`: whether CONFIG_PREEMPT_RT is set; `debug`: what of debugging is built in or asked for.
    """

    release: str | None
    version: str | None
    machine: str | None
    realtime_file: str | None
    preempt_model: str | None
    preempt_dynamic: str | None
    config_sha256: str | None
    config_rt: bool | None
    config_hz: int | None
    debug: tuple[str, ...] | None

    @property
    def realtime(self) -> bool | None:
        """Whether it is PREEMPT_RT; None if nothing tells."""
        if self.preempt_model == "PREEMPT_RT" or self.config_rt or (self.realtime_file or "").strip() == "1":
            return True
        by_version = preempt_rt(self.version)
        return False if by_version is None and (self.preempt_model or self.config_rt is False) else by_version


def preempt_rt(version: str | None) -> bool | None:
    """Whether `uname -v` names PREEMPT_RT (old kernels: PREEMPT RT); None without one."""
    return "PREEMPT_RT" in version.replace("PREEMPT RT", "PREEMPT_RT") if version else None


def version_of(release: str | None) -> tuple[int, int] | None:
    """(6, 12) of `6.12.48-rt`; None for another text."""
    found = _RELEASE.match(release or "")
    return None if found is None else (int(found[1]), int(found[2]))


class CpuState(View):
    """CPUs by number. `cgroup_isolated`: by cpusets; `unbalanced`: in no scheduling domain; `allowed`: where a process of ours may run.

    `partition`: the cgroup that rtassay made for isolated CPUs.
    """

    present: tuple[int, ...] | None
    online: tuple[int, ...] | None
    isolated: tuple[int, ...] | None
    nohz_full: tuple[int, ...] | None
    cgroup_isolated: tuple[int, ...] | None
    unbalanced: tuple[int, ...] | None
    smt_active: bool | None
    allowed: tuple[int, ...] | None
    partition: str | None

    @property
    def kept_free(self) -> tuple[int, ...] | None:
        """CPUs that the kernel isolates, by boot word or by cpusets; None where it is not known."""
        known = [cpus for cpus in (self.isolated, self.cgroup_isolated) if cpus is not None]
        return tuple(sorted({cpu for cpus in known for cpu in cpus})) if known else None


class RtTask(View):
    """A thread of class fifo, rr or deadline. `pid` is its process; `cpu`: where it last ran."""

    tid: int | None
    pid: int | None
    comm: str | None
    policy: str | None
    priority: int | None
    cpu: int | None


class IrqThread(View):
    """A kernel thread that handles an interrupt (`irq/39-dwc_otg`)."""

    comm: str | None
    priority: int | None


class IdleDriver(View):
    """cpuidle. `driver` None: none is in use, or it is not known."""

    driver: str | None
    governor: str | None


class IdleState(View):
    """An idle state of a CPU: how long it takes to leave it (`latency_us`), and how long to stay in it is worth it (`residency_us`)."""

    name: str | None
    latency_us: int | None
    residency_us: int | None
    disabled: bool | None


class Irq(View):
    """An interrupt: `cpus` it may go to, `effective` where the kernel sends it, `name` of its devices."""

    name: str | None
    cpus: tuple[int, ...] | None
    effective: tuple[int, ...] | None


class Tracing(View):
    """The kernel's tracer (`nop`: none), whether it is on, and how many events are enabled."""

    current_tracer: str | None
    tracing_on: bool | None
    events_enabled: int | None


class FairServer(View):
    """`runtime_ns` of every `period_ns` that a CPU keeps for ordinary tasks."""

    runtime_ns: int | None
    period_ns: int | None


class CmdlineIgnored(View):
    """What the kernel's log says it did not take of its command line."""

    words: tuple[str, ...] | None
    nohz_unsupported: bool | None


class TunedChange(View):
    """A change that `rtassay tune` made (`model.tuning.Change`)."""

    setting: str | None
    kind: str | None
    target: str | None
    value: str | None
    state: str | None
    before: str | None


class TunedState(View):
    """What was changed when the board was looked at. `owner` None: nothing was."""

    owner: str | None
    since: str | None
    for_ns: int | None
    changes: tuple[TunedChange, ...] | None

    @property
    def made(self) -> tuple[TunedChange, ...]:
        """The changes that took effect, also where the board shows another value than was written."""
        return tuple(one for one in self.changes or () if one.state in ("took", "differs"))


class Memory(View):
    """RAM in bytes."""

    total_bytes: int | None
    available_bytes: int | None


class HostClock(View):
    """The board's clocks beside the host's (`session.host_clock.compare`)."""

    offset_ns: int | None
    round_trip_ns: int | None
    board_mono_ns: int | None
    host_mono_ns: int | None
    drift_ppm: float | None


class Rights(View):
    """What the probe may do there: its user id, the kernel's lockdown (`none`, `integrity`, `confidentiality`), whether it is in a container (None: unknown)."""

    uid: int | None
    lockdown: str | None
    container: bool | None

    @property
    def hides_tracefs(self) -> bool:
        """Whether the kernel is locked down so far that tracefs is empty; with `integrity` (Secure Boot) it is not."""
        return self.lockdown == "confidentiality"


class VirtualTime(View):
    """A board whose clock counts instructions. `qemu`: its version. `inputs`: SHA-256 of all that decides the result, by name."""

    ns_per_instruction: int | None
    seed: int | None
    qemu: str | None
    inputs: dict[str, str] | None


class Inventory(View):
    """A board at one moment. `told` has the names that were in the JSON. `governors`: `cpu0` -> governor; empty: nothing is scaled.

    `rt_runtime_us` -1: real-time threads are not throttled. `irq_affinity`: number of an interrupt -> where it goes.
    `throttle_messages`: lines of the kernel's log on real-time throttling.
    """

    told: frozenset[str]
    kernel: KernelState
    cmdline: str | None
    clocksource: str | None
    clocksources: tuple[str, ...] | None
    cpus: CpuState
    governors: dict[str, str] | None
    rt_runtime_us: int | None
    rt_period_us: int | None
    boot_id: str | None
    throttle_messages: tuple[str, ...] | None
    memory: Memory
    rt_tasks: tuple[RtTask, ...] | None
    irq_threads: tuple[IrqThread, ...] | None
    desktop: tuple[str, ...] | None
    printk: tuple[int, ...] | None
    overcommit: int | None
    virtualisation: str | None
    virtual_time: VirtualTime | None
    model: str | None
    cpu_model: str | None
    os: str | None
    hostname: str | None
    microcode: str | None
    idle: IdleDriver | None
    idle_states: dict[str, tuple[IdleState, ...]] | None
    cpu_dma_latency_us: int | None
    irq_affinity: dict[str, Irq] | None
    tracing: Tracing | None
    rights: Rights
    fair_servers: dict[str, FairServer] | None
    cmdline_ignored: CmdlineIgnored | None
    sched_features: tuple[str, ...] | None
    tuned: TunedState | None
    host_clock: HostClock | None


def inventory_of(data: object) -> Inventory:
    """An inventory as JSON, typed. Never raises."""
    return view_of(Inventory, data)
