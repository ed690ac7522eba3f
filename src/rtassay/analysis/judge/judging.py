"""Recording to findings: the only module of analysis that sets the order of the steps."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import replace

from rtassay.analysis.checks import CHECKS, run_all
from rtassay.analysis.checks.context import Context
from rtassay.analysis.judge.coincidence import outliers
from rtassay.analysis.judge.looks import look_at
from rtassay.analysis.judge.sentence import sentence
from rtassay.analysis.judge.verdict import judge_deadline
from rtassay.analysis.judge.waivers import check_waivers, waive
from rtassay.analysis.lane.account import Account, accounts
from rtassay.analysis.lane.claim import Requirement
from rtassay.analysis.lane.measures import of_one_measure
from rtassay.analysis.lane.summary import lane_findings, pooled_findings
from rtassay.model.errors import UsageError
from rtassay.model.findings import (
    ANALYSIS_VERSION,
    CheckResult,
    Findings,
    LaneFindings,
    Sealed,
    Verdict,
    lane_words,
)
from rtassay.model.manifest import Manifest
from rtassay.model.measures import UNKNOWN
from rtassay.model.recording import Recording
from rtassay.model.settings import BY_NAME, default
from rtassay.model.units import NS_PER_S

DEFAULT_P: float = default("p")
DEFAULT_CONFIDENCE: float = default("confidence")
MISSIONS_S = (3600, 10 * 3600, 24 * 3600, 8766 * 3600)


def judge(
    recording: Recording,
    *,
    deadline_ns: int | None = None,
    p_target: float | None = None,
    confidence: float | None = None,
    strict: bool | None = None,
    waivers: Mapping[str, str] | None = None,
    per_hour: float | None = None,
    sealed: Sealed | None = None,
) -> Findings:
    """See `rtassay.analysis.judge`."""
    manifest = recording.manifest
    strict = manifest.plan.strict if strict is None else strict
    excused = _excused(manifest.plan.waivers) | check_waivers(waivers or {})
    per_hour = _per_hour(manifest, deadline_ns, p_target, per_hour)
    deadline_ns, p, confidence = _requirement(manifest, deadline_ns, p_target, confidence)
    look = look_at(manifest, confidence)
    confidence = confidence if look is None else look.confidence
    lanes = accounts(recording)
    known = sealed.lanes if sealed is not None and len(sealed.lanes) == len(lanes) else (None,) * len(lanes)
    sealed_at = sealed.confidence if sealed is not None else None
    rows = tuple(
        lane_findings(lane, p, confidence, per_hour, len(lanes), row, sealed_at)
        for lane, row in zip(lanes, known, strict=True)
    )
    context = Context(recording, lanes, rows, deadline_ns, p, confidence, per_hour)
    checks = waive(run_all(context, sealed.checks if sealed is not None else None), excused)
    alike = of_one_measure([lane.entry for lane in lanes], list(zip(lanes, rows, strict=True)))
    pooled = pooled_findings(
        [lane for lane, _ in alike],
        [row for _, row in alike],
        p,
        confidence,
        per_hour,
        sealed.pooled if sealed is not None else None,
        sealed_at,
    )
    findings = Findings(
        id=manifest.id,
        source={
            "tool": manifest.source.tool,
            "version": manifest.source.version,
            "format": manifest.source.format,
            "late_policy": manifest.source.late_policy,
            "file": manifest.source.file,
        },
        board=manifest.board,
        kernel=kernel_of(manifest),
        load=load_of(manifest, context.own_run),
        labels=dict(manifest.labels),
        interval_ns=_interval(manifest, lanes),
        bin_width_ns=manifest.bin_width_ns,
        clock_step_ns=manifest.probe_facts.clock.step_ns,
        duration_s=context.duration_s,
        sealed=manifest.sealed,
        lanes=rows,
        pooled=pooled,
        checks=checks,
        verdict=None,
        created=manifest.created,
        note=manifest.note,
        name=manifest.name,
        end_reason=manifest.end_reason,
        command=shlex.join(manifest.plan.argv) if manifest.plan.argv else None,
        cyclictest_equivalent=manifest.plan.cyclictest_equivalent,
        new_record=new_record(context.duration_s, lanes),
        outliers=outliers(recording, lanes, rows, deadline_ns),
        strict=strict,
        analysis_version=ANALYSIS_VERSION,
    )
    if deadline_ns is None:
        return findings
    requirement = Requirement(deadline_ns, p, confidence, per_hour)
    verdict = judge_deadline(lanes, requirement, checks, pooled.max_ns, strict)
    if look is not None:
        verdict = replace(verdict, look=look.number, looks=look.planned)
    return replace(findings, verdict=replace(verdict, sentence=_sentence(findings, verdict, checks)))


def _excused(recorded: Mapping[str, str]) -> dict[str, str]:
    """The recording's waivers that this version knows and allows. Others are ignored: they must not prevent the reading."""
    known = {check.id for check in CHECKS if not check.unwaivable}
    return {name: because for name, because in recorded.items() if name in known and because.strip()}


def _requirement(
    manifest: Manifest, deadline_ns: int | None, p: float | None, confidence: float | None
) -> tuple[int | None, float, float]:
    """The requirement: from the arguments; missing ones from the run's own plan, unless the arguments name another deadline."""
    plan = manifest.plan
    if deadline_ns is None:
        deadline_ns = plan.deadline_ns
        p = plan.p_target if p is None else p
        confidence = plan.confidence if confidence is None else confidence
    p = DEFAULT_P if p is None else p
    confidence = DEFAULT_CONFIDENCE if confidence is None else confidence
    if deadline_ns is not None and deadline_ns <= 0:
        raise UsageError(f"a deadline of {deadline_ns} ns", "it must be above 0")
    if not (math.isfinite(p) and 0 <= p < 1):
        raise UsageError(
            f"p = {p}", "it must be at least 0 and below 1", "a rare miss is allowed with 1e-6, for example"
        )
    BY_NAME["p"].check(p)
    if not (math.isfinite(confidence) and 0 < confidence < 1):
        raise UsageError(f"confidence = {confidence}", "it must lie between 0 and 1", "0.95 is usual")
    return deadline_ns, p, confidence


def _per_hour(manifest: Manifest, deadline_ns: int | None, p: float | None, per_hour: float | None) -> float | None:
    """Events per hour that are allowed: from the argument; else from the run's own plan, unless the arguments state another requirement."""
    if per_hour is None and deadline_ns is None and p is None:
        per_hour = manifest.plan.per_hour
    if per_hour is not None and not (math.isfinite(per_hour) and per_hour >= 0):
        raise UsageError(f"{per_hour} events per hour", "it must be 0 or more", "a rare event is allowed with 0.1")
    BY_NAME["at-most"].check(per_hour)
    if per_hour is not None and p is not None:
        raise UsageError("both p and events per hour are stated", "a requirement is judged by one of them")
    return per_hour


def kernel_of(manifest: Manifest) -> str | None:
    """The kernel's release, else its label."""
    return manifest.board_start.kernel.release or manifest.labels.get("kernel")


def load_of(manifest: Manifest, own_run: bool) -> str:
    """The planned load, else the declared one, else none; unknown for an imported file that does not state it."""
    if manifest.plan.load not in ("none", ""):
        return manifest.plan.load
    if manifest.loads:
        return ", ".join(load.name for load in manifest.loads)
    imports = manifest.probe_facts.imports
    said = manifest.labels.get("load") or (imports.load if imports is not None else None)
    return said or ("none" if own_run else "unknown")


def _interval(manifest: Manifest, lanes: tuple[Account, ...]) -> int | None:
    """The interval of all lanes in ns; if they differ, the planned one, or None."""
    intervals = {lane.interval_ns for lane in lanes}
    return intervals.pop() if len(intervals) == 1 else manifest.plan.interval_ns


def new_record(duration_s: float | None, lanes: tuple[Account, ...]) -> tuple[dict[str, float], ...]:
    """M / (K + M): the chance that the next M seconds like these K hold a new maximum. Empty where K is not known."""
    if not duration_s:
        spans = [lane.exposure * lane.interval_ns / NS_PER_S for lane in lanes if lane.interval_ns]
        duration_s = max(spans, default=0.0)
    if not duration_s:
        return ()
    return tuple({"mission_s": float(m), "probability": m / (duration_s + m)} for m in MISSIONS_S)


def _sentence(findings: Findings, verdict: Verdict, checks: tuple[CheckResult, ...]) -> str:
    kernel = f" with kernel {findings.kernel}" if findings.kernel else ""
    return sentence(
        verdict,
        fingerprint=f"{findings.board}{kernel}",
        load=findings.load,
        duration_s=findings.duration_s,
        missed=_missed(findings.lanes, verdict.lane),
        new_record=findings.new_record,
        checks=checks,
        lanes=len(findings.lanes),
        worst=_words_of(findings.lanes, verdict.lane),
        measure=next((lane.measure for lane in findings.lanes if lane.name == verdict.lane), UNKNOWN),
    )


def _words_of(lanes: tuple[LaneFindings, ...], name: str | None) -> str:
    return next((lane_words(lane.name, lane.cpu) for lane in lanes if lane.name == name), "no lane")


def _missed(lanes: tuple[LaneFindings, ...], name: str | None) -> int | None:
    return next((lane.missed for lane in lanes if lane.name == name), None)
