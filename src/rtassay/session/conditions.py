"""How the kernel of a board is set, as far as it bears on latency: idle states, where interrupts go, tracing, servers, its log.

Every function gives None for what the board does not tell, which is not the same as an empty answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rtassay.model import foreign
from rtassay.model.errors import UsageError
from rtassay.model.units import parse_cpu_list

KERNEL_LOG: Final = "@kmsg"
_CPUS = "/sys/devices/system/cpu"
_DMA_LATENCY = "/dev/cpu_dma_latency"
_TRACING = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
_SERVER = "/sys/kernel/debug/sched/fair_server"

PATHS: Final = (
    f"{_CPUS}/cpuidle/current_driver",
    f"{_CPUS}/cpuidle/current_governor",
    f"{_CPUS}/cpuidle/current_governor_ro",
    *(f"{_CPUS}/cpu[0-9]*/cpuidle/state[0-9]*/{name}" for name in ("name", "latency", "residency", "disable")),
    _DMA_LATENCY,
    "/proc/irq/[0-9]*/smp_affinity_list",
    "/proc/irq/[0-9]*/effective_affinity_list",
    "/sys/kernel/irq/[0-9]*/actions",
    *(f"{place}/{name}" for place in _TRACING for name in ("current_tracer", "tracing_on", "set_event")),
    f"{_SERVER}/cpu[0-9]*/runtime",
    f"{_SERVER}/cpu[0-9]*/period",
    KERNEL_LOG,
)

_STATE = re.compile(r"/cpu(\d{1,6})/cpuidle/state(\d{1,6})/(\w+)$")
_IRQ = re.compile(r"/irq/(\d{1,9})/(smp_affinity_list|effective_affinity_list|actions)$")
_SERVER_OF = re.compile(r"/fair_server/cpu(\d{1,6})/(runtime|period)$")
_FIRST_RECORD = re.compile(r"\d{1,6},0,")
_UNKNOWN_WORDS = re.compile(r';Unknown kernel command line parameters "(.*)", will be passed to user space')
_NO_NOHZ = ";Housekeeping: nohz unsupported"
_RECORD = re.compile(r"\d{1,6},\d{1,20},(\d{1,15})(?:,[^;]*)?;(.*RT throttling.*)")


def idle_states(files: Mapping[str, bytes]) -> dict[str, list[dict[str, Any]]] | None:
    """By CPU (`cpu0`), its idle states in order: name, latency_us, residency_us, disabled. None: no cpuidle there."""
    found: dict[int, dict[int, dict[str, str]]] = {}
    for match, text in _matching(files, _STATE):
        found.setdefault(int(match[1]), {}).setdefault(int(match[2]), {})[match[3]] = text
    if not found:
        return None
    return {
        f"cpu{cpu}": [_idle_state(states[index]) for index in sorted(states)] for cpu, states in sorted(found.items())
    }


def _idle_state(state: Mapping[str, str]) -> dict[str, Any]:
    disabled = foreign.number(state.get("disable"))
    return {
        "name": state.get("name"),
        "latency_us": foreign.number(state.get("latency")),
        "residency_us": foreign.number(state.get("residency")),
        "disabled": None if disabled is None else disabled != 0,
    }


def idle_driver(files: Mapping[str, bytes]) -> dict[str, str | None]:
    """`driver` and `governor` of cpuidle; None where there is none."""
    driver = _text(files, f"{_CPUS}/cpuidle/current_driver")
    governor = _text(files, f"{_CPUS}/cpuidle/current_governor") or _text(files, f"{_CPUS}/cpuidle/current_governor_ro")
    return {"driver": None if driver == "none" else driver, "governor": governor}


def dma_latency_us(files: Mapping[str, bytes]) -> int | None:
    """What /dev/cpu_dma_latency allows as long as nobody of ours holds it: the kernel's 2000000000 where nobody else does."""
    content = files.get(_DMA_LATENCY)
    if content is None or len(content) != 4:
        return None
    value = int.from_bytes(content, "little", signed=True)  # as every board that rtprobe is built for
    return value if value >= 0 else None


def irq_affinity(files: Mapping[str, bytes]) -> dict[str, dict[str, Any]] | None:
    """By number, of every interrupt: `cpus` it may go to, `effective` where the kernel sends it, `name` of its devices."""
    found: dict[int, dict[str, Any]] = {}
    for match, text in _matching(files, _IRQ):
        found.setdefault(int(match[1]), {})[match[2]] = text
    irqs = {irq: known for irq, known in found.items() if "smp_affinity_list" in known}
    if not irqs:
        return None
    return {
        str(irq): {
            "name": known.get("actions") or None,
            "cpus": _cpu_list(known["smp_affinity_list"]),
            "effective": _cpu_list(known.get("effective_affinity_list")),
        }
        for irq, known in sorted(irqs.items())
    }


def tracing(files: Mapping[str, bytes]) -> dict[str, Any] | None:
    """`current_tracer` (nop: none), `tracing_on`, and how many events are `events_enabled`."""
    for place in _TRACING:
        tracer, on = _text(files, f"{place}/current_tracer"), _text(files, f"{place}/tracing_on")
        if tracer is None and on is None:
            continue
        events = files.get(f"{place}/set_event")
        return {
            "current_tracer": tracer,
            "tracing_on": None if on is None else on == "1",
            "events_enabled": None if events is None else len(events.split()),
        }
    return None


def fair_servers(files: Mapping[str, bytes]) -> dict[str, dict[str, int | None]] | None:
    """By CPU, `runtime_ns` of every `period_ns` that kernels since 6.12 keep for ordinary tasks whatever real-time ones want."""
    found: dict[int, dict[str, int | None]] = {}
    for match, text in _matching(files, _SERVER_OF):
        entry = found.setdefault(int(match[1]), {"runtime_ns": None, "period_ns": None})
        entry[f"{match[2]}_ns"] = foreign.number(text)
    return {f"cpu{cpu}": found[cpu] for cpu in sorted(found)} or None


def throttle_messages(files: Mapping[str, bytes]) -> list[str] | None:
    """Lines `[seconds] text` of the kernel's log that report real-time throttling; None: the log could not be read.

    The kernel says it once in a boot: what is there before a run does not tell whether the run was throttled too.
    """
    log = files.get(KERNEL_LOG)
    if log is None:
        return None
    records = (_RECORD.fullmatch(line) for line in log.decode(errors="replace").split("\n"))
    return [f"[{int(record[1]) / 1e6:.6f}] {record[2]}" for record in records if record is not None]


def cmdline_ignored(files: Mapping[str, bytes]) -> dict[str, Any] | None:
    """`words` of the command line that the kernel did not know, and `nohz_unsupported`, by its log. None: the beginning of the log is gone."""
    log = (files.get(KERNEL_LOG) or b"").decode(errors="replace").split("\n")
    told = [match[1] for line in log if (match := _UNKNOWN_WORDS.search(line))]
    nohz = any(_NO_NOHZ in line for line in log)
    if not told and not nohz and not any(_FIRST_RECORD.match(line) for line in log[:1]):
        return None
    return {"words": [word for text in told for word in text.split()], "nohz_unsupported": nohz}


def _matching(files: Mapping[str, bytes], pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str]]:
    for path, content in files.items():
        if match := pattern.search(path):
            yield match, content.decode(errors="replace").strip()


def _text(files: Mapping[str, bytes], path: str) -> str | None:
    content = files.get(path)
    return None if content is None else content.decode(errors="replace").strip() or None


def _cpu_list(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return list(parse_cpu_list(text)) if text else []
    except UsageError:
        return None
