"""Does the kernel do what it was told: time that it keeps for ordinary tasks, and words of its command line that it did not know."""

from __future__ import annotations

import difflib
from typing import Any, Final

from rtassay.analysis.checks import placement
from rtassay.analysis.checks.base import INTEGRITY, NOTE, SYNTHETIC, WARNING, Outcome, check, passed, unknown
from rtassay.analysis.checks.context import Context
from rtassay.model.inventory import version_of
from rtassay.model.units import format_cpu_list

FAIR_SERVERS_SINCE: Final = (6, 12)
UNKNOWN_WORDS_SINCE: Final = (5, 14)
# Words of the command line that bear on latency: one that is nearly one of these is misspelt.
_OF_LATENCY: Final = (
    "isolcpus", "nohz_full", "nohz", "rcu_nocbs", "rcu_nocb_poll", "irqaffinity", "threadirqs", "kthread_cpus", "skew_tick", "idle",
    "preempt", "mitigations", "nosmt", "nosoftlockup", "nowatchdog", "nmi_watchdog", "tsc", "clocksource", "highres", "hpet", "maxcpus",
    "nr_cpus", "intel_pstate", "amd_pstate", "cpuidle", "transparent_hugepage", "numa_balancing", "audit", "rcutree",
)  # fmt: skip


@check(
    id="FAIR-SERVER",
    condition="the kernel (6.12 and later) keeps time for ordinary tasks on a measured CPU (note), and lanes or other real-time threads use "
    "half of the rest or more (warning)",
    kind=INTEGRITY,
    severity=NOTE,
    explanation="From 6.12 on a fair server per CPU replaces real-time throttling: if ordinary tasks starve, it runs them before real-time "
    "threads, by default 50 ms of every second. sched_rt_runtime_us=-1 does not turn it off.",
    remedy="From 6.12 on: write 0 to /sys/kernel/debug/sched/fair_server/cpuN/runtime, if the application is deployed so. Before 6.12 there "
    "is none: see RT-THROTTLE-ON.",
    proof=SYNTHETIC,
)
def fair_server(context: Context) -> Outcome:
    """Time that the kernel keeps for ordinary tasks, and whether the run came near it."""
    board = context.manifest.board_start
    version = version_of(board.kernel.release)
    servers = board.fair_servers
    if servers is None:
        if version is None:
            return unknown("neither the kernel's version nor its fair servers are known")
        if version < FAIR_SERVERS_SINCE:
            return passed(f"kernel {board.kernel.release} has no fair server")
        return unknown(f"kernel {board.kernel.release} has fair servers, and they could not be read (debugfs)")
    measured = {f"cpu{cpu}" for cpu in context.measured_cpus}
    shares = {
        cpu: server.runtime_ns / server.period_ns
        for cpu, server in servers.items()
        if (not measured or cpu in measured) and server.runtime_ns is not None and server.period_ns
    }
    if len(shares) < len(measured) or not shares:
        return unknown("the fair server of a measured CPU could not be read")
    on = {cpu: share for cpu, share in shares.items() if share > 0}
    if not on:
        return passed("the fair server of every measured CPU is off", shares=shares)
    most = max(on.values())
    cpus = format_cpu_list([int(cpu.removeprefix("cpu")) for cpu in on])
    text = f"the fair server keeps up to {most:.3g} of the time of CPU {cpus} for ordinary tasks"
    return _near(context, 1 - most, text, {"shares": shares})


def _near(context: Context, limit: float, text: str, facts: dict[str, Any]) -> Outcome:
    share, others = placement.busiest(context), placement.busy_others(context)
    facts |= {"share": share, "other_threads": others}
    if (name := max(others, key=lambda name: others[name], default=None)) and others[name] >= limit / 2:
        return Outcome(WARNING, f"{text}; {name} used {others[name]:.0%} of a CPU", facts)
    if share is not None and share >= limit / 2:
        return Outcome(WARNING, f"{text}; a lane alone used {share:.0%} of its CPU", facts)
    used = "the lanes' CPU time is not known" if share is None else f"the lanes used at most {share:.1%} of a CPU"
    return Outcome(NOTE, f"{text}; {used}", facts)


@check(
    id="CMDLINE-IGNORED",
    condition="the kernel's log says that it did not know words of its command line (note), and one of them resembles a setting that bears "
    "on latency, or nohz_full is not built in (warning)",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="A misspelt isolcpus= or a nohz_full= without CONFIG_NO_HZ_FULL does nothing, and nobody is told but the kernel's log: the "
    "board then is not set up as its command line says.",
    remedy="Mend the word in the boot loader's configuration, or build the kernel with the option that it needs; look at dmesg after the reboot.",
    proof=SYNTHETIC,
)
def cmdline_ignored(context: Context) -> Outcome:
    """Words of the command line that the kernel ignored."""
    board = context.manifest.board_start
    ignored = board.cmdline_ignored
    if ignored is None:
        return unknown("the beginning of the kernel's log could not be read")
    words = [word for word in ignored.words or () if not _for_user_space(word)]
    facts = {"words": words, "nohz_unsupported": bool(ignored.nohz_unsupported)}
    grave = [f"it did not know {word} (meant: {close}?)" for word in words if (close := _meant(word)) is not None]
    if ignored.nohz_unsupported:
        grave.append("nohz_full= does nothing without CONFIG_NO_HZ_FULL")
    if grave:
        return Outcome(WARNING, f"the kernel ignored a part of its command line: {'; '.join(grave)}", facts)
    if words:
        return Outcome(NOTE, f"the kernel did not know these words of its command line: {' '.join(words)}", facts)
    version = version_of(board.kernel.release)
    if version is None or version < UNKNOWN_WORDS_SINCE:
        return unknown("kernels before 5.14 do not tell which words of their command line they ignored", **facts)
    return passed("the kernel knew every word of its command line", **facts)


def _for_user_space(word: str) -> bool:
    """Words that boot loaders and distributions pass for programs, not for the kernel."""
    name = word.partition("=")[0]
    return (
        name.isupper()
        or name in ("splash", "single", "emergency", "rescue", "nosplash", "text", "auto", "verbose")
        or name.isdigit()
    )


def _meant(word: str) -> str | None:
    """The setting a word resembles, or is, if the kernel was built without it."""
    close = difflib.get_close_matches(word.partition("=")[0].lower(), _OF_LATENCY, n=1, cutoff=0.8)
    return close[0] if close else None
