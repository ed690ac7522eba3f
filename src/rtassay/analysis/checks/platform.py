"""Kernel, clock frequency and hypervisor underneath the measurement."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from rtassay.analysis.checks.base import INVALID, NOTE, OPTIMISM, WARNING, Context, Outcome, passed, unknown

_RT_WORD = re.compile(r"(?<![a-z0-9])(rt\d*|preempt[_-]?rt|realtime)(?![a-z0-9])", re.I)
_NOT_RT = re.compile(r"(?<![a-z])(no|non|not|without|vs)[ _-]*(rt|preempt|realtime)", re.I)
_EMULATED = ("qemu", "tcg")
_BARE = ("none", "", "bare", "bare-metal", "metal")
_CONTAINERS = ("docker", "podman", "lxc", "lxc-libvirt", "systemd-nspawn", "container-other", "wsl")
STEADY = 0.1


def kernel_not_rt(context: Context) -> Outcome:
    """A kernel called real-time that is not."""
    manifest = context.manifest
    kernel = manifest.inventory.get("kernel")
    kernel = kernel if isinstance(kernel, dict) else {}
    claims = [f"label {key}={value}" for key, value in manifest.labels.items() if claims_rt(value)]
    if claims_rt(str(kernel.get("release") or "")):
        claims.append(f"kernel release {kernel['release']}")
    if not claims:
        return passed("no real-time kernel was claimed")
    facts = {
        "claims": claims,
        "release": kernel.get("release"),
        "version": kernel.get("version"),
        "preempt_model": kernel.get("preempt_model"),
    }
    proofs = (
        "PREEMPT_RT" in str(kernel.get("version") or "").replace("PREEMPT RT", "PREEMPT_RT"),
        kernel.get("preempt_model") == "PREEMPT_RT",
        kernel.get("config_rt") is True,
        str(kernel.get("realtime_file") or "").strip() in ("1", "True"),
    )
    if any(proofs):
        return passed(f"{claims[0]}, and the kernel is PREEMPT_RT", **facts)
    told = kernel.get("version") or kernel.get("preempt_model") or kernel.get("config_rt") is False
    if not told:
        return unknown(f"{claims[0]}, but nothing shows what the kernel is", **facts)
    model = kernel.get("preempt_model") or kernel.get("version")
    return Outcome(INVALID, f"{claims[0]}, but the kernel is not PREEMPT_RT ({model})", facts)


def claims_rt(text: str) -> bool:
    """Whether a name or label says real-time: rt, rt11, preempt_rt as a word of its own, and not `non-rt`."""
    return bool(_RT_WORD.search(text)) and not _NOT_RT.search(text)


def governor(context: Context) -> Outcome:
    """Frequency scaling on the measured CPUs."""
    manifest = context.manifest
    before, after = manifest.inventory.get("governors"), manifest.inventory_end.get("governors")
    if not isinstance(before, dict):
        return unknown("the frequency governor is not known")
    measured = {f"cpu{cpu}" for cpu in context.measured_cpus}
    of_measured = {cpu: name for cpu, name in before.items() if not measured or cpu in measured}
    moved = frequency_spread(context)
    facts: dict[str, Any] = {"governors": of_measured, "frequency_spread": moved}
    if isinstance(after, dict) and any(after.get(cpu, name) != name for cpu, name in of_measured.items()):
        return Outcome(WARNING, "the frequency governor was changed during the run", facts | {"governors_end": after})
    slow = sorted({str(name) for name in of_measured.values() if name != "performance"})
    if slow:
        return Outcome(WARNING, f"the frequency governor is {', '.join(slow)}, not performance", facts)
    if moved is not None and moved > STEADY:
        return Outcome(NOTE, f"the CPU frequency moved by {moved:.0%} during the run", facts)
    if not of_measured:
        return passed("no frequency scaling on this board", **facts)
    return passed("the governor is performance", **facts)


def frequency_spread(context: Context) -> float | None:
    """Largest (max - min) / max of a CPU's frequency over the run; None without telemetry."""
    spreads = []
    for series in context.recording.telemetry:
        if series.monitor == "frequency" and len(series.values) > 1:
            values = np.asarray(series.values, dtype=float)
            values = values[np.isfinite(values)]
            if values.size > 1 and values.max() > 0:
                spreads.append(float((values.max() - values.min()) / values.max()))
    return max(spreads) if spreads else None


def vm_steal(context: Context) -> Outcome:
    """A hypervisor decides when these CPUs run."""
    manifest = context.manifest
    kind = manifest.inventory.get("virtualisation")
    steal = steal_share(context)
    facts: dict[str, Any] = {"virtualisation": kind, "steal": steal}
    if is_lab(context):
        what = f"an emulated board ({kind})" if kind and _emulated(kind) else "a lab board"
        return Outcome(
            INVALID,
            f"{what}: its times are not those of hardware, so it can never show that a deadline holds",
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


def _emulated(kind: object) -> bool:
    return any(word in str(kind).lower() for word in _EMULATED)


def is_lab(context: Context) -> bool:
    """Emulated CPUs (QEMU without KVM), or labelled so: `lab=...` or `board=lab` (a room may be called lab)."""
    manifest = context.manifest
    label = str(manifest.labels.get("lab", "no")).lower()
    labelled = label not in ("no", "false", "0") or manifest.labels.get("board", "").lower() == "lab"
    kind = manifest.inventory.get("virtualisation")
    return labelled or (kind is not None and _emulated(kind))


def steal_share(context: Context) -> float | None:
    """Mean stolen share over the measured CPUs; None without telemetry."""
    wanted = {f"cpu{cpu}.steal" for cpu in context.measured_cpus}
    shares = []
    for series in context.recording.telemetry:
        if series.monitor == "cpu" and series.name.endswith(".steal") and (series.name in wanted or not wanted):
            values = np.asarray(series.values, dtype=float)
            values = values[np.isfinite(values)]
            if values.size:
                shares.append(float(values.mean()))
    return float(np.mean(shares)) if shares else None
