"""The kernel, CPU frequency, idle states, hypervisor and firmware of the measured board."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from rtassay.analysis.checks import series
from rtassay.analysis.checks.base import (
    INTEGRITY,
    INVALID,
    LIVE,
    NOTE,
    OPTIMISM,
    RECORDED,
    SYNTHETIC,
    WARNING,
    Outcome,
    check,
    passed,
    unknown,
)
from rtassay.analysis.checks.context import Context
from rtassay.analysis.checks.statistics import outlier_times
from rtassay.model.findings import VIRTUAL_BOARD
from rtassay.model.inventory import Tracing
from rtassay.model.units import NS_PER_MS

_RT_WORD = re.compile(r"(?<![a-z0-9])(rt\d*|preempt[_-]?rt|realtime)(?![a-z0-9])", re.I)
_NOT_RT = re.compile(r"(?<![a-z])(no|non|not|without|vs)[ _-]*(rt|preempt|realtime)", re.I)
_EMULATED = ("qemu", "tcg")
_BARE = ("none", "", "bare", "bare-metal", "metal")
_CONTAINERS = ("docker", "podman", "lxc", "lxc-libvirt", "systemd-nspawn", "container-other", "wsl")
STEADY = 0.1
# Labels that say what the kernel is. Others may hold the word too: an experiment of the preset rt-cost, the setting rt-throttling.
_OF_KERNEL = ("kernel", "os", "linux", "preempt", "config")
# Distributions build these in; they have no effect until the command line asks for them.
_FREE_UNLESS_ASKED = ("PAGE_POISONING", "DEBUG_KMEMLEAK", "FAULT_INJECTION")


@check(
    id="KERNEL-NOT-RT",
    condition="a label of the kernel (kernel, os, linux, preempt, config) or the kernel's name says real-time, and neither its version, configuration nor /sys/kernel/realtime does",
    kind=INTEGRITY,
    severity=INVALID,
    explanation="Some kernels called -rt were built without PREEMPT_RT; a comparison would then compare two ordinary kernels.",
    remedy="Check uname -v for PREEMPT_RT; boot the right kernel or mend the label.",
    proof=SYNTHETIC,
)
def kernel_not_rt(context: Context) -> Outcome:
    """A kernel called real-time that is not."""
    manifest = context.manifest
    kernel = manifest.board_start.kernel
    claims = [
        f"label {key}={value}" for key, value in manifest.labels.items() if key in _OF_KERNEL and claims_rt(value)
    ]
    if claims_rt(kernel.release or ""):
        claims.append(f"kernel release {kernel.release}")
    if not claims:
        return passed("no real-time kernel was claimed")
    facts = {
        "claims": claims,
        "release": kernel.release,
        "version": kernel.version,
        "preempt_model": kernel.preempt_model,
    }
    if kernel.realtime:
        return passed(f"{claims[0]}, and the kernel is PREEMPT_RT", **facts)
    if kernel.realtime is None:
        return unknown(f"{claims[0]}, but nothing shows what the kernel is", **facts)
    model = kernel.preempt_model or kernel.version
    return Outcome(INVALID, f"{claims[0]}, but the kernel is not PREEMPT_RT ({model})", facts)


def claims_rt(text: str) -> bool:
    """Whether a name or label says real-time: rt, rt11, preempt_rt as a word of its own, and not `non-rt`."""
    return bool(_RT_WORD.search(text)) and not _NOT_RT.search(text)


@check(
    id="GOVERNOR",
    condition="a measured CPU's frequency governor is not performance, or was changed during the run",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="A CPU that is slowed down when idle wakes up later. A frequency that moves under performance is a note.",
    remedy="Set the governor to performance, or deploy with the measured governor.",
    proof=SYNTHETIC,
)
def governor(context: Context) -> Outcome:
    """Frequency scaling on the measured CPUs."""
    manifest = context.manifest
    before, after = manifest.board_start.governors, manifest.board_end.governors
    if before is None:
        return unknown("the frequency governor is not known")
    measured = {f"cpu{cpu}" for cpu in context.measured_cpus}
    of_measured = {cpu: name for cpu, name in before.items() if not measured or cpu in measured}
    moved = frequency_spread(context)
    facts: dict[str, Any] = {"governors": of_measured, "frequency_spread": moved}
    if after is not None and any(after.get(cpu, name) != name for cpu, name in of_measured.items()):
        return Outcome(WARNING, "the frequency governor was changed during the run", facts | {"governors_end": after})
    slow = sorted({name for name in of_measured.values() if name != "performance"})
    if slow:
        return Outcome(WARNING, f"the frequency governor is {', '.join(slow)}, not performance", facts)
    if moved is not None and moved > STEADY:
        return Outcome(NOTE, f"the CPU frequency moved by {moved:.0%} during the run", facts)
    if not of_measured:
        return passed("no frequency scaling on this board", **facts)
    return passed("the governor is performance", **facts)


def frequency_spread(context: Context) -> float | None:
    """Largest (max - min) / max of a measured CPU's frequency over the run; None without telemetry."""
    spreads = []
    measured = context.measured_cpus
    for cpu, what, found in series.of_cpus(context, "frequency"):
        if (
            what == "frequency"
            and (cpu in measured or not measured)
            and found.values.size > 1
            and found.values.max() > 0
        ):
            spreads.append(float((found.values.max() - found.values.min()) / found.values.max()))
    return max(spreads) if spreads else None


@check(
    id="VM-STEAL",
    condition="measured in a virtual machine, or time was stolen",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="The hypervisor decides when a virtual CPU runs. An emulated or lab board (QEMU without KVM; label lab=... or board=lab) can never "
    "show that a deadline holds (invalid, optimism).",
    remedy="Measure on the hardware that will be deployed.",
    proof=LIVE,
)
def vm_steal(context: Context) -> Outcome:
    """A hypervisor decides when these CPUs run."""
    manifest = context.manifest
    kind = manifest.board_start.virtualisation
    steal = steal_share(context)
    facts: dict[str, Any] = {"virtualisation": kind, "steal": steal}
    if is_lab(context):
        what = f"emulated CPUs ({kind})" if kind and _emulated(kind) else "a board of the lab"
        counted = manifest.board_start.virtual_time
        if counted is not None:
            facts["virtual_time"] = {"ns_per_instruction": counted.ns_per_instruction, "seed": counted.seed}
            what = f"virtual time, {counted.ns_per_instruction} ns an instruction"
        return Outcome(
            INVALID,
            f"{VIRTUAL_BOARD}; {what}: its times are not those of hardware, so it can never show that a deadline holds",
            facts,
            OPTIMISM,
        )
    stolen = f"{steal:.2%} of the time was stolen" if steal is not None else "stolen time is not known"
    if kind is None:
        if steal:
            return Outcome(WARNING, f"a hypervisor is there: {stolen}", facts)
        return unknown("whether this is a virtual machine is not known", **facts)
    name = str(kind).lower()
    if name in _BARE:
        return passed("bare metal", **facts)
    if name in _CONTAINERS:
        return Outcome(NOTE, f"measured inside a container ({kind})", facts)
    return Outcome(WARNING, f"measured in a virtual machine ({kind}); {stolen}", facts)


def _emulated(kind: str) -> bool:
    return any(word in kind.lower() for word in _EMULATED)


def is_lab(context: Context) -> bool:
    """Emulated CPUs (QEMU without KVM), a board `lab:NAME`, or labelled so: `lab=...` or `board=lab` (a room may be called lab)."""
    manifest = context.manifest
    label = str(manifest.labels.get("lab", "no")).lower()
    labelled = label not in ("no", "false", "0") or manifest.labels.get("board", "").lower() == "lab"
    labelled = labelled or manifest.board.startswith("lab:")
    kind = manifest.board_start.virtualisation
    return labelled or (kind is not None and _emulated(kind))


def steal_share(context: Context) -> float | None:
    """Mean stolen share over the measured CPUs; None without telemetry."""
    measured = context.measured_cpus
    shares = [
        float(found.values.mean())
        for cpu, what, found in series.of_cpus(context, "cpu")
        if what == "steal" and (cpu in measured or not measured)
    ]
    return float(np.mean(shares)) if shares else None


@check(
    id="DEBUG-KERNEL",
    condition="costly debugging is built into the kernel (lockdep, KASAN, DEBUG_PREEMPT ...) or switched on (slub_debug, a tracer, trace events)",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Such kernels check themselves at every lock and allocation: their latency is not that of the kernel that will be deployed.",
    remedy="Measure with the kernel and command line that will be deployed; switch tracing off.",
    proof=SYNTHETIC,
)
def debug_kernel(context: Context) -> Outcome:
    """A kernel that checks or traces itself while it works."""
    board = context.manifest.board_start
    options, tracing = board.kernel.debug, board.tracing
    found = [name for name in options or () if name not in _FREE_UNLESS_ASKED]
    if (tracer := _tracer(tracing)) is not None:
        found.append(tracer)
    facts = {
        "debug": None if options is None else list(options),
        "tracing": None if tracing is None else tracing.as_dict(),
    }
    if found:
        more = f" and {len(found) - 4} more" if len(found) > 4 else ""
        text = f"the kernel runs with {', '.join(found[:4])}{more}: that costs latency a kernel for use does not have"
        return Outcome(WARNING, text, facts)
    if options is None:
        return unknown("the kernel's configuration could not be read, so its debugging options are not known", **facts)
    return passed("no costly debugging option is built in", **facts)


def _tracer(tracing: Tracing | None) -> str | None:
    """The active tracer or number of events of ftrace; None if it is off."""
    if tracing is None or tracing.tracing_on is False:
        return None
    if tracing.current_tracer and tracing.current_tracer != "nop":
        return f"the tracer {tracing.current_tracer}"
    return f"{tracing.events_enabled} trace events" if tracing.events_enabled else None


@check(
    id="CSTATES",
    condition="cpu_dma_latency was not held and the CPUs have idle states that take time to leave (or it is not known that they have none)",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="A CPU in a deep idle state takes tens or hundreds of microseconds to come back. How often that happened depends on how idle the board was.",
    remedy="Hold it (--dma-latency 0, the default), or measure so on purpose, if the application will not hold it either.",
    proof=SYNTHETIC,
)
def cstates(context: Context) -> Outcome:
    """Idle states that take time to leave were allowed."""
    facts = context.manifest.probe_facts
    if "dma_latency_us" not in facts.told:
        return unknown("whether cpu_dma_latency was held is not known")
    held, states = facts.dma_latency_us, _idle_states(context)
    told = {"dma_latency_us": held, "idle_states": states}
    deep = sorted({name for name, latency in (states or {}).items() if latency > (held if held is not None else 0)})
    if held is not None:
        if held > 0 and deep:
            return passed(f"cpu_dma_latency was held at {held} us, so {', '.join(deep[:4])} were not entered", **told)
        return passed(f"cpu_dma_latency was held at {held} us", **told)
    if states is not None and not deep:
        return passed("cpu_dma_latency was not held, but no idle state takes time to leave", **told)
    why = f" ({facts.dma_latency_error})" if facts.dma_latency_error else ""
    which = f": {', '.join(f'{name} takes {(states or {})[name]} us' for name in deep[:4])} to leave" if deep else ""
    return Outcome(WARNING, f"cpu_dma_latency was not held{why}, so idle states were allowed{which}", told)


def _idle_states(context: Context) -> dict[str, int] | None:
    """Enabled idle states of measured CPUs: name -> exit latency in us; {}: none; None: not known."""
    board = context.manifest.board_start
    by_cpu, idle = board.idle_states, board.idle
    if by_cpu is None:
        # The board lists its CPUs in sysfs but no cpuidle driver: it has no idle states.
        known = idle is not None and not idle.driver and board.cpus.online
        return {} if known else None
    wanted = {f"cpu{cpu}" for cpu in context.measured_cpus} & set(by_cpu) or set(by_cpu)
    states: dict[str, int] = {}
    for state in (state for cpu in wanted for state in by_cpu[cpu]):
        if not state.disabled:
            name = state.name or "?"
            states[name] = max(state.latency_us or 0, states.get(name, 0))
    return states


@check(
    id="DMA-LATENCY-SIDE-EFFECT",
    condition="the probe held cpu_dma_latency while the board has deeper idle states, and the application will not hold it (label dma-latency=off); a note where nobody says what it does",
    kind=OPTIMISM,
    severity=WARNING,
    explanation="Holding cpu_dma_latency speeds up the whole board, the application too, and ends with the measurement. An application that does not hold it wakes up from idle states that were never entered here.",
    remedy="Say what the application does: --label dma-latency=held or dma-latency=off; if off, measure with --dma-latency off.",
    proof=RECORDED,
)
def dma_latency_side_effect(context: Context) -> Outcome:
    """The probe keeps the CPUs out of deep idle states; does the application, too?"""
    facts = context.manifest.probe_facts
    if "dma_latency_us" not in facts.told:
        return unknown("whether cpu_dma_latency was held is not known")
    held = facts.dma_latency_us
    if held is None:
        return passed("cpu_dma_latency was not held, so the measurement does not change how CPUs idle")
    states = _idle_states(context)
    deep = {name: latency for name, latency in (states or {}).items() if latency > held}
    told = {"dma_latency_us": held, "idle_states": states}
    if states is not None and not deep:
        return passed("no idle state takes longer to leave than what was held", **told)
    said = context.manifest.labels.get("dma-latency", "").strip().lower()
    text = f"the probe held cpu_dma_latency at {held} us"
    if said in ("held", "0", "yes", str(held)):
        return passed(f"{text}, and so does the application (label dma-latency={said})", **told)
    names = f" ({', '.join(sorted(deep)[:4])})" if deep else ""
    if said in ("off", "no", "none"):
        text = f"{text}; the application will not (label dma-latency={said}), and wakes up from idle states{names} that were never entered"
        return Outcome(WARNING, text, told, OPTIMISM)
    return Outcome(NOTE, f"{text}: an application that does not will wake up later from idle states{names}", told)


@check(
    id="SMI-FIRMWARE",
    condition="system management interrupts were counted during the run; or, on bare metal without such a counter, all measured CPUs were late within 1 ms of each other",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Firmware can stop all CPUs for any time, and no priority helps against it. On Arm the secure world can do the same, and nothing counts it.",
    remedy="Look in the firmware's settings (USB legacy support, power management, error reporting); count with the kernel's hwlat tracer.",
    proof=SYNTHETIC,
    kept=True,
)
def smi_firmware(context: Context) -> Outcome:
    """Firmware took the CPUs away from the kernel."""
    counts = {
        cpu: float(found.values.sum()) for cpu, what, found in series.of_cpus(context, "firmware") if what == "smi"
    }
    facts: dict[str, Any] = {"smi": {str(cpu): count for cpu, count in counts.items()}}
    most = max(counts.values(), default=0.0)
    stalls = _all_cpu_stalls(context)
    facts["all_cpu_stalls"] = stalls
    if most > 0:
        with_stall = f"; {stalls} times all CPUs were late together" if stalls else ""
        text = f"{most:.0f} system management interrupts during the run{with_stall}: the kernel cannot see or stop them"
        return Outcome(WARNING, text, facts)
    kind = (context.manifest.board_start.virtualisation or "").lower()
    if counts:
        return passed("no system management interrupt during the run", **facts)
    if stalls and kind in ("none", "bare", "bare-metal", "metal"):
        text = f"all measured CPUs were late together {stalls} times, as if firmware (or secure-world software) had taken them"
        return Outcome(WARNING, text, facts)
    return unknown("nothing on this board counts what its firmware takes (SMI counter of x86)", **facts)


def _all_cpu_stalls(context: Context) -> int:
    """Number of moments at which every lane has a kept outlier within one millisecond; 0 with one lane."""
    times = [outlier_times(lane) for lane in context.accounts]
    known = [found for found in times if found is not None]
    if len(times) < 2 or len(known) < len(times):
        return 0
    first, *others = known
    together = np.ones(first.size, dtype=bool)
    for other in others:
        near = np.searchsorted(other, first + NS_PER_MS, side="right") > np.searchsorted(other, first - NS_PER_MS)
        together &= near
    return int(together.sum())
