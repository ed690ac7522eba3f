"""Heat, power, memory and disk during the measurement."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from rtassay.analysis.checks import series
from rtassay.analysis.checks.base import INTEGRITY, INVALID, SYNTHETIC, WARNING, Outcome, check, passed, unknown
from rtassay.analysis.checks.context import Context
from rtassay.model.units import NS_PER_S

# Bits of the Raspberry Pi firmware's `get_throttled`: now; the same bits shifted left by 16 mean "since power-on".
UNDER_VOLTAGE, CAPPED, THROTTLED, SOFT_LIMIT = 1 << 0, 1 << 1, 1 << 2, 1 << 3
STICKY = 16
_BIT_WORDS = {CAPPED: "frequency capped", THROTTLED: "throttled"}
_FAN = re.compile(r"fan|pump|pwm[_-]?led|backlight", re.IGNORECASE)
_HOT_LOG = re.compile(r"clock throttled|temperature above threshold|critical temperature|thermal.*(throttl|trip)", re.I)
_POWER_LOG = re.compile(r"under-?voltage detected|undervoltage", re.IGNORECASE)
_OOM_LOG = re.compile(r"out of memory|oom-kill|invoked oom-killer|oom_reaper", re.IGNORECASE)
_DISK_LOG = re.compile(
    r"no space left|(ext[234]|btrfs|xfs|f2fs|vfat|fat|ubifs|jffs2)\b.*\b(error|corrupt|shutdown)|i/o error|"
    r"mmc\d+:.*(error|timeout|timed out|stuck|failed)|mmcblk\d+:.*(error|timeout|timed out)|remounting filesystem read-only|"
    r"nvme\S*:.*(timeout|i/o|reset)|ata\d+.*(failed command|exception emask)",
    re.IGNORECASE,
)
RANGE_C = 5.0
SLOPE_C_PER_MIN = 0.2
SLOPE_FROM_S = 60.0
# A slope of less than this over the whole run is the sensor's last digit.
LEAST_RISE_C = 1.0
_OF_CPU = re.compile(r"cpu|soc|pkg|core|package|tctl|tdie|cluster|acpitz|gpu", re.IGNORECASE)


@check(
    id="THERMAL-THROTTLE",
    condition="the processor was slowed down during the run: a cooling device above 0, a falling frequency limit, the firmware's throttle bits, the kernel's log. A warning for a limit that was constant, the soft temperature limit, and what happened before the run",
    kind=INTEGRITY,
    severity=INVALID,
    explanation="A throttled processor is another processor. The kernel's own frequency readings do not show it where firmware decides (Raspberry Pi): its throttle bits do.",
    remedy="Cool the board, or measure at the frequency it can keep; if heat is the condition to be tested, waive the check and say so.",
    proof=SYNTHETIC,
)
def thermal_throttle(context: Context) -> Outcome:
    """The processor was slowed down because of heat (or lack of power)."""
    now: list[str] = []
    sticky: list[str] = []
    facts: dict[str, Any] = {}
    watched = False
    for name, states in series.held(context, "cooling"):
        if _FAN.search(name):
            continue  # a fan that turns faster slows nothing down
        watched = True
        if states.max() > 0:
            now.append(f"cooling device {name} at state {states.max():g}")
    clocks = {(cpu, what): values for cpu, what, values in series.held_of_cpus(context, "frequency")}
    for (cpu, what), limits in clocks.items():
        rated = clocks.get((cpu, "rated"))
        if what != "limit" or rated is None:
            continue
        watched = True
        if limits.min() < rated.max():
            text = f"CPU {cpu} was limited to {limits.min() / 1e6:.0f} of {rated.max() / 1e6:.0f} MHz"
            (now if limits.max() > limits.min() else sticky).append(text)
    if (bits := series.held_of(context, "raspberry", "throttled")) is not None:
        watched = True
        during, before = _firmware(bits)
        now += during
        sticky += before
        facts["throttled"] = hex(_or_of(bits))
    lines = series.log_lines(context, _HOT_LOG)
    now += [f"the kernel's log, {series.moment(context, line.mono_ns)}: {line.text[:100]}" for line in lines[:2]]
    facts |= {"during": now, "besides": sticky}
    if now:
        return Outcome(INVALID, f"the processor was slowed down during the run: {'; '.join(now[:3])}", facts)
    if sticky:
        return Outcome(WARNING, "; ".join(sticky[:3]), facts)
    if not watched:
        return unknown(
            "nothing on this board tells whether it was throttled (cooling devices, frequency limits, firmware)"
        )
    return passed("no throttling seen", **facts)


def _firmware(bits: series.Floats) -> tuple[list[str], list[str]]:
    """What the firmware reports: throttling during the run, and separately the soft limit and events before the run."""
    seen, fresh = _or_of(bits), _fresh(bits)
    now = [word for bit, word in _BIT_WORDS.items() if seen & bit or fresh & bit << STICKY]
    before = [word for bit, word in _BIT_WORDS.items() if seen & bit << STICKY and word not in now]
    besides = [f"firmware: {word} at some time since power-on" for word in before]
    if seen & SOFT_LIMIT or fresh & SOFT_LIMIT << STICKY:
        besides.append("firmware: soft temperature limit")
    elif seen & SOFT_LIMIT << STICKY:
        besides.append("firmware: soft temperature limit at some time since power-on")
    return [f"firmware: {word}" for word in now], besides


@check(
    id="UNDERVOLTAGE",
    condition="the firmware or the kernel reported under-voltage during the run or, by the firmware's sticky bits, at any time since power-on",
    kind=INTEGRITY,
    severity=INVALID,
    explanation="With a weak supply the firmware slows the processor down and does not tell the kernel.",
    remedy="Use the supply and the cable the board is meant for; power-cycle it to clear the sticky bits.",
    proof=SYNTHETIC,
)
def undervoltage(context: Context) -> Outcome:
    """The supply was too weak: the firmware then slows everything down, and the kernel does not know."""
    bits, alarm = (series.held_of(context, "raspberry", name) for name in ("throttled", "undervoltage"))
    lines = series.log_lines(context, _POWER_LOG)
    if lines:
        when = series.moment(context, lines[0].mono_ns)
        return Outcome(
            INVALID, f"the kernel reported under-voltage {when}: {lines[0].text[:100]}", {"lines": len(lines)}
        )
    if alarm is not None and alarm.max() > 0:
        return Outcome(INVALID, "the kernel's voltage alarm was on during the run")
    if bits is None:
        if alarm is not None:
            return passed("the kernel's voltage alarm was off")
        return unknown("nothing on this board tells whether its supply was sufficient")
    seen = _or_of(bits)
    facts = {"throttled": hex(seen)}
    if seen & UNDER_VOLTAGE or _fresh(bits) & UNDER_VOLTAGE << STICKY:
        return Outcome(INVALID, "the firmware reported under-voltage during the run", facts)
    if seen & UNDER_VOLTAGE << STICKY:
        text = "the firmware reports under-voltage at some time since power-on: this supply is too weak"
        return Outcome(INVALID, text, facts)
    return passed("no under-voltage since power-on", **facts)


def _or_of(bits: series.Floats) -> int:
    return int(np.bitwise_or.reduce(bits.astype(np.int64)))


def _fresh(bits: series.Floats) -> int:
    """Bits that are set in a later reading but not in the first one."""
    return _or_of(bits) & ~int(bits[0])


@check(
    id="TEMP-DRIFT",
    condition="the processor's temperature ranged over more than 5 degC, or rose or fell by more than 0.2 degC a minute over a run of a minute or more",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Latency depends on temperature, through frequency and throttling: a run that warms up mixes conditions, and two runs at different temperatures cannot be compared.",
    remedy="Warm the board up under the load first (--warm-up), until its temperature is steady.",
    proof=SYNTHETIC,
)
def temp_drift(context: Context) -> Outcome:
    """The board warmed up or cooled down while it was measured."""
    chosen = processor_zones(context)
    if not chosen:
        return unknown("no temperature was read while the run went on")
    worst, text = 0.0, ""
    facts: dict[str, Any] = {}
    for found in chosen:
        low, high = float(found.values.min()), float(found.values.max())
        slope = _slope_c_per_min(found)
        facts[found.name] = {"min": low, "max": high, "slope_c_per_min": None if slope is None else round(slope, 3)}
        steep = slope is not None and abs(slope) > SLOPE_C_PER_MIN
        if (high - low > RANGE_C or steep) and high - low > worst:
            worst = high - low
            drift = f", {slope:+.2g} degC a minute" if steep else ""
            text = f"{found.name} went from {low:.1f} to {high:.1f} degC{drift}"
    if text:
        return Outcome(WARNING, f"{text}: latency at one temperature is not that at another", {"zones": facts})
    return passed("the temperature stayed within 5 degC, without a slope above 0.2 degC a minute", zones=facts)


def processor_zones(context: Context) -> list[series.Inside]:
    """Temperatures inside the measurement with at least two values: the processor's if they are known, else all."""
    zones = [found for found in series.of(context, "temperature") if found.values.size > 1]
    zones += [found for found in series.of(context, "raspberry") if found.unit == "degC" and found.values.size > 1]
    return [found for found in zones if _OF_CPU.search(found.name)] or zones


def _slope_c_per_min(found: series.Inside) -> float | None:
    """Least squares over the run; None for a short run and for less than a degree in all."""
    span_s = float(found.times[-1] - found.times[0]) / NS_PER_S
    if span_s < SLOPE_FROM_S or found.values.size < 10:
        return None
    minutes = (found.times - found.times[0]) / (60.0 * NS_PER_S)
    slope = float(np.polyfit(minutes, found.values, 1)[0])
    return slope if abs(slope) * span_s / 60.0 >= LEAST_RISE_C else 0.0


@check(
    id="OOM-SWAP",
    condition="the kernel killed a process for want of memory, pages were read back from swap, or all tasks waited for memory (PSI full)",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="A board without memory delays everything by reclaiming it, and a killed process may have been the load.",
    remedy="Give the load less memory; look for a leak.",
    proof=SYNTHETIC,
)
def oom_swap(context: Context) -> Outcome:
    """Memory ran out, or almost."""
    memory = {found.name: found for found in series.of(context, "memory")}
    full = series.named(context, "pressure", "memory.full")
    lines = series.log_lines(context, _OOM_LOG)
    found: list[str] = []
    facts: dict[str, Any] = {}
    if "oom_kills" in memory and (kills := memory["oom_kills"].since) > 0:
        found.append(f"the kernel killed {kills:.0f} processes for want of memory")
    elif lines:
        found.append(f"out of memory {series.moment(context, lines[0].mono_ns)}: {lines[0].text[:100]}")
    for name, words in (("swap_in", "read back from swap"),):
        if name in memory and (peak := float(memory[name].values.max())) > 0:
            found.append(f"up to {peak:.0f} pages a second were {words}")
            facts[name] = peak
    if full is not None and (share := float(full.values.max())) > 0:
        found.append(f"every task waited for memory for up to {share:.2%} of a second (PSI full)")
        facts["memory_full"] = share
    if found:
        return Outcome(WARNING, "; ".join(found), facts | {"found": found})
    told = [name for name in ("oom_kills", "swap_in") if name in memory]
    if not told and full is None and not series.log_watched(context):
        return unknown("memory was not watched")
    return passed("no process was killed for memory, nothing was swapped in")


@check(
    id="DISK-FULL",
    condition="the kernel's log holds errors of a disk, card or file system from the time of the measurement",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="A failing or full card blocks every process that writes, and its driver retries for seconds.",
    remedy="Replace the card; free space; look at the kernel's log in the recording.",
    proof=SYNTHETIC,
)
def disk_full(context: Context) -> Outcome:
    """The disk or card gave errors, or was full."""
    return _log_check(context, _DISK_LOG, "storage gave errors", "the kernel reported no error of a disk or card")


def _log_check(context: Context, pattern: re.Pattern[str], what: str, fine: str) -> Outcome:
    lines = series.log_lines(context, pattern)
    if lines:
        first = lines[0]
        text = f"{what} {series.moment(context, first.mono_ns)}: {first.text[:140]}"
        return Outcome(
            WARNING, f"{text}{f' and {len(lines) - 1} more' if len(lines) > 1 else ''}", {"lines": len(lines)}
        )
    if not series.log_watched(context):
        return unknown("the kernel's log was not read")
    return passed(fine)
