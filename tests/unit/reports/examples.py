"""Example findings and recordings for the report tests: realistic, made from a fixed seed, computed here without rtassay.analysis.

`EXAMPLES` gives name -> (Findings, Recording). Latencies are multiples of a 52 ns clock step, as on a board with a 19.2 MHz
counter, so that golden files stay small.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from example_parts import (
    CHECKS,
    INTERVAL_NS,
    INVENTORY,
    SAMPLES,
    STEP_NS,
    Pair,
    lane_findings,
    lane_of,
    latencies,
    pooled_findings,
)
from scipy.stats import beta

from rtassay.model.findings import (
    ACTIVATIONS,
    AS_SEEN,
    ASSUMED,
    CHECK,
    MORE_NEEDED,
    RUNS_DIFFER,
    CheckResult,
    Findings,
    LaneFindings,
    Needed,
    Reason,
    Verdict,
)
from rtassay.model.manifest import Damage, LaneEntry, LoadEntry, Manifest, Obtained, Plan, Source
from rtassay.model.measures import WAKE_UP
from rtassay.model.recording import EventRow, Histogram, Lane, Recording, Seconds, Series, Spills


def _telemetry(seconds: int, busy: float) -> tuple[Series, ...]:
    t = 1_000_000_000 + np.arange(seconds) * 1_000_000_000
    wave = np.sin(np.arange(seconds) / 17.0)
    series = [Series("cpu", f"cpu{c}.busy", "ratio", t, np.clip(busy + 4 * wave + c, 0, 100) / 100) for c in range(4)]
    series.append(
        Series(
            "temperature", "cpu-thermal", "degC", t, 48 + 14 * (1 - np.exp(-np.arange(seconds) / 120.0)) + 0.4 * wave
        )
    )
    series += [
        Series("frequency", f"cpu{c}.frequency", "Hz", t, np.where(np.arange(seconds) % 97 < 3, 1.5e9, 2.4e9))
        for c in range(4)
    ]
    return tuple(series)


def _build(
    name: str,
    values: list[Any],
    *,
    deadline_ns: int | None,
    p: float,
    load: str,
    checks: tuple[CheckResult, ...],
    judge: Callable[[tuple[LaneFindings, ...], tuple[Lane, ...]], Verdict | None],
    note: str | None = None,
    labels: dict[str, str] | None = None,
    damage: Damage | None = None,
) -> Pair:
    lanes = tuple(lane_of(i, v, deadline_ns=deadline_ns) for i, v in enumerate(values))
    length = int(max(lane.seconds.second[-1] for lane in lanes if lane.seconds)) + 1
    end = 1_000_000_000 + length * 1_000_000_000
    ident = f"20261121T2030{len(name):02d}-{abs(hash_of(name)):06x}"
    loads: tuple[LoadEntry, ...] = ()
    if load != "none":
        loads = (
            LoadEntry(
                load,
                ("stress-ng", "--cpu", "4", "--timer", "2", "--vm", "1", "--vm-bytes", "25%"),
                None,
                "0.15.06",
                started_ns=-4_000_000_000,
                ended_ns=end + 2_000_000_000,
                stop_asked_ns=end + 1_900_000_000,
                exit_code=None,
                signal=15,
                operations=1_482_911.0,
                operations_unit="bogo ops",
                log="logs/load-0.txt",
            ),
        )
    manifest = Manifest(
        id=ident,
        created="2026-11-21T20:30:00Z",
        source=Source("rtprobe", "0.1.0", "rtw/1", "counted"),
        plan=Plan(
            interval_ns=INTERVAL_NS,
            duration_ns=length * 1_000_000_000,
            policy="fifo",
            priority=90,
            cpus=(0, 1, 2, 3),
            load=load,
            deadline_ns=deadline_ns,
            p_target=p,
            dma_latency_us=0,
            mlock=True,
            aligned=False,
            argv=("rtassay", "run", "rpi5", "--deadline", "100us", "--load", load, "--duration", f"{length}s"),
            command=("/tmp/rtprobe", "cyclic", "--interval", "997us", "--priority", "90"),
            cyclictest_equivalent=f"cyclictest -S -m -p 90 -i 997 -D {length} -h 1000 -q",
        ),
        lanes=tuple(lane.entry for lane in lanes),
        sealed=True,
        board="rpi5",
        started_ns=1_000_000_000,
        ended_ns=end,
        wall_start="2026-11-21T20:13:20Z",
        wall_end="2026-11-21T20:30:00Z",
        end_reason="duration",
        facts={"origin_ns": 1_000_000_000, "dma_latency_us": 0, "mlocked": True, "fallback": None},
        inventory=INVENTORY,
        inventory_end=dict(INVENTORY, overcommit_memory=0, governor=["performance"] * 4),
        loads=loads,
        labels=labels or {},
        note=note,
        damage=damage or Damage(),
        tool_versions={"rtassay": "0.1.0", "rtprobe": "0.1.0", "stress-ng": "0.15.06"},
        has_samples=True,
    )
    events = (EventRow("signal", None, end, {"number": 15}),)
    watched = _telemetry(length, 3.0 if load == "none" else 88.0)
    recording = Recording(manifest, lanes, events, watched, path=f"/var/rta/{ident}.rta")
    found = tuple(lane_findings(lane, lane.histogram, lane.entry, p) for lane in lanes)
    findings = Findings(
        id=ident,
        source={"tool": "rtprobe", "version": "0.1.0", "format": "rtw/1", "late_policy": "counted"},
        board="rpi5",
        kernel="6.12.47-rt14+",
        load=load,
        labels=labels or {},
        interval_ns=INTERVAL_NS,
        bin_width_ns=1,
        clock_step_ns=STEP_NS,
        duration_s=float(length),
        sealed=True,
        lanes=found,
        pooled=pooled_findings(lanes, p),
        checks=checks,
        verdict=judge(found, lanes),
        created="2026-11-21T20:30:00Z",
        note=note,
        end_reason="duration",
        command=" ".join(manifest.plan.argv),
        cyclictest_equivalent=manifest.plan.cyclictest_equivalent,
        new_record=tuple({"mission_s": m, "probability": m / (length + m)} for m in (3600.0, 36_000.0, 604_800.0)),
    )
    return findings, recording


def hash_of(name: str) -> int:
    """A number from a name that is the same in every process."""
    return sum((i + 1) * 7919 * ord(c) for i, c in enumerate(name)) & 0xFFFFFF


_LACKING = Reason(
    MORE_NEEDED,
    {"n": 29_957_322, "duration_s": 29_867.5, "exceedances": 0, "lacks": ACTIVATIONS, "events": 0, "theta_lower": None},
)


def _verdict(
    state: str, deadline_ns: int, p: float, reasons: tuple[Reason, ...], sentence: str, needed: Needed | None = None
) -> Callable[[tuple[LaneFindings, ...], tuple[Lane, ...]], Verdict]:
    def judge(found: tuple[LaneFindings, ...], lanes: tuple[Lane, ...]) -> Verdict:
        seen = [int((lane.spills.latency_ns >= deadline_ns).sum()) if lane.spills else 0 for lane in lanes]
        worst = max(range(len(lanes)), key=lambda i: (seen[i], found[i].max_ns or 0))
        k, n = seen[worst], found[worst].due or found[worst].n
        return Verdict(
            state=state,
            lane=found[worst].name,
            deadline_ns=deadline_ns,
            p_target=p,
            confidence=0.95,
            due=n,
            exceedances=k,
            events=k,
            p_lower=0.0 if k == 0 else float(beta.ppf(0.05, k, n - k + 1)),
            p_upper=float(beta.ppf(0.95, k + 1, n - k)),
            rate_upper_per_h=10.8,
            needed=needed,
            reasons=reasons,
            sentence=sentence,
            safety_factor=deadline_ns / max(f.max_ns or 1 for f in found),
        )

    return judge


def _bulk(seed: int, *, stalls: tuple[dict[int, int], ...] = ({}, {}, {}, {}), scale: float = 5200.0) -> list[Any]:
    return [latencies(seed + c, SAMPLES, base_ns=6_300 + 700 * c, scale_ns=scale, stalls=stalls[c]) for c in range(4)]


@functools.cache
def holds() -> Pair:
    """A clean run that demonstrates p <= 1e-5 at 120 us."""
    return _build(
        "holds",
        _bulk(11),
        deadline_ns=120_000,
        p=1e-5,
        load="stress-ng",
        checks=tuple(c for c in CHECKS if c.id != "GOVERNOR"),
        judge=_verdict(
            "HOLDS",
            120_000,
            1e-5,
            (),
            "On rpi5 (6.12.47-rt14+), under stress-ng for 16.6 min in 1 run (1,000,000 "
            "activations of CPU3, 0 missed), 0 exceeded D = 120 us; with 95 % confidence the miss probability under these "
            "conditions is at most 3e-6 per activation. Required: 1e-5. HOLDS.",
        ),
        note="Ambient 21 degC, official 27 W supply.\nCase open, fan on.",
        labels={"ambient": "21 degC", "supply": "27 W"},
    )


@functools.cache
def violated() -> Pair:
    """Stalls of several milliseconds: exceedances, spills, missed activations."""
    stalls = (
        {120_000: 4_812_080, 480_000: 151_008},
        {300_000: 133_016},
        {},
        {700_000: 11_300_016, 700_400: 210_028, 910_000: 388_024},
    )
    checks = (
        CheckResult(
            "CO-MISSED",
            "warning",
            "integrity",
            "15 activations were never measured: the verdict counts each with its own lateness.",
            {"missed": 15},
        ),
        CheckResult("SIMULTANEOUS", "note", "optimism", "No outliers within 1 ms on two CPUs."),
        *CHECKS,
    )
    return _build(
        "violated",
        _bulk(23, stalls=stalls),
        deadline_ns=100_000,
        p=1e-6,
        load="stress-ng",
        checks=checks,
        judge=_verdict(
            "VIOLATED",
            100_000,
            1e-6,
            (Reason(ASSUMED, {"assumption": AS_SEEN}), Reason(RUNS_DIFFER, {"basis": "worst_run"})),
            "On rpi5 (6.12.47-rt14+), under stress-ng, CPU3 exceeded D = 100 us in 3 independent events. VIOLATED.",
        ),
        note="Found while the SD card was written to.",
        labels={"ambient": "21 degC"},
    )


@functools.cache
def not_demonstrated() -> Pair:
    """Clean, but too short for p = 1e-7."""
    return _build(
        "not_demonstrated",
        _bulk(37, scale=3900.0),
        deadline_ns=100_000,
        p=1e-7,
        load="stress-ng",
        checks=CHECKS,
        judge=_verdict(
            "NOT DEMONSTRATED",
            100_000,
            1e-7,
            (_LACKING,),
            "",
            Needed(29_957_322, 29_867.5),
        ),
    )


@functools.cache
def invalid() -> Pair:
    """The lanes did not get the policy they asked for; the stream was damaged."""
    findings, recording = _build(
        "invalid",
        _bulk(53, scale=16_000.0),
        deadline_ns=100_000,
        p=1e-6,
        load="none",
        checks=(
            CheckResult(
                "NOT-RT-POLICY",
                "invalid",
                "integrity",
                "Asked for fifo 90, got other 0 on CPU0-3: give CAP_SYS_NICE.",
                {"got": "other"},
            ),
            CheckResult("NO-LOAD", "warning", "optimism", "No load ran: the result says nothing about a loaded board."),
            *(c for c in CHECKS if c.id != "NOT-RT-POLICY"),
        ),
        judge=_verdict(
            "INVALID MEASUREMENT",
            100_000,
            1e-6,
            (Reason(CHECK, {"id": "NOT-RT-POLICY", "message": "Asked for fifo 90, got other 0 on CPU0-3"}),),
            "The measurement is not valid: the lanes did not run under the real-time policy that was asked for.",
        ),
        damage=Damage(skipped_bytes=1_312, bad_frames=2, lost_frames=3, unknown_frames=0, cut=True),
    )
    other = Obtained("other", 0, (0, 1, 2, 3), False)
    lanes = tuple(
        replace(lane, entry=replace(lane.entry, obtained_start=other, obtained_end=None)) for lane in recording.lanes
    )
    manifest = replace(
        recording.manifest,
        facts=dict(recording.manifest.facts, fallback="sched_setscheduler: Operation not permitted"),
        sealed=False,
        end_reason=None,
    )
    return replace(findings, sealed=False, end_reason=None), replace(recording, manifest=manifest, lanes=lanes)


@functools.cache
def imported() -> Pair:
    """A cyclictest histogram: 1 us bins, overflow, nothing known of board, time or order; no verdict asked."""
    lanes = []
    for index in range(4):
        values = latencies(70 + index, 200_000, base_ns=11_000 + 900 * index, scale_ns=14_000.0, stalls={}) // 1000
        over = (0, 3, 0, 41)[index]
        lower, counts = np.unique(values[values < 100], return_counts=True)
        histogram = Histogram(lower * 1000, np.full(len(lower), 1000), counts.astype(np.int64), over, 0, 100_000)
        peak = (0, 131_000, 0, 402_000)[index] or int(lower[-1]) * 1000
        lanes.append(
            Lane(
                LaneEntry(
                    index=index,
                    name=str(index),
                    measure=WAKE_UP,
                    cpu=None,
                    interval_ns=None,
                    n=histogram.total,
                    over=over,
                    min_ns=int(lower[0]) * 1000,
                    max_ns=peak,
                ),
                histogram,
            )
        )
    manifest = Manifest(
        id="20261121T203010-00c1c7",
        created="2026-11-21T20:30:10Z",
        source=Source("cyclictest", None, "cyclictest-hist"),
        lanes=tuple(lane.entry for lane in lanes),
        sealed=True,
        board="unknown",
        bin_width_ns=1000,
    )
    recording = Recording(manifest, tuple(lanes))
    found = tuple(lane_findings(lane, lane.histogram, lane.entry, 1e-6) for lane in lanes)
    checks = (
        CheckResult(
            "HIST-TRUNCATED",
            "warning",
            "optimism",
            "44 samples lie at or above 100 us; quantiles above p99.979 are lower bounds.",
        ),
        CheckResult("COUNT-MISMATCH", "unknown", "integrity", "The source does not tell its duration."),
    )
    findings = Findings(
        id=manifest.id,
        source={"tool": "cyclictest", "version": None, "format": "cyclictest-hist", "late_policy": "unknown"},
        board="unknown",
        kernel=None,
        load="unknown",
        labels={},
        interval_ns=None,
        bin_width_ns=1000,
        clock_step_ns=None,
        duration_s=None,
        sealed=True,
        lanes=found,
        pooled=pooled_findings(tuple(lanes), 1e-6),
        checks=checks,
        verdict=None,
    )
    return findings, recording


class _Examples(Mapping[str, Pair]):
    """Every example by name, made when it is asked for: every pytest worker imports this file."""

    MADE: ClassVar = {made.__name__: made for made in (holds, violated, not_demonstrated, invalid, imported)}

    def __getitem__(self, name: str) -> Pair:
        return self.MADE[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self.MADE)

    def __len__(self) -> int:
        return len(self.MADE)


EXAMPLES = _Examples()


@functools.cache
def huge() -> Pair:
    """1e9 samples: 60,000 distinct bins in each of 4 lanes, 24 h of seconds, telemetry at 1 Hz."""
    day = 86_400
    random = np.random.Generator(np.random.PCG64(99))
    lanes = []
    for index in range(4):
        lower = np.sort(np.concatenate((np.arange(2_000, 61_900), 61_900 + 9_973 * np.arange(1, 101)))).astype(np.int64)
        weight = np.exp(-(((np.log(lower) - np.log(9_000 + 500 * index)) / 0.4) ** 2))
        counts = np.maximum(1, (weight / weight.sum() * 250_000_000)).astype(np.int64)
        top = 400_000 + (random.random(day) * 600_000).astype(np.int64)
        seconds = Seconds(
            np.arange(day),
            np.full(day, 2894),
            (random.random(day) < 0.001).astype(np.int64),
            np.zeros(day, dtype=np.int64),
            np.zeros(day, dtype=np.int64),
            2_000 + (random.random(day) * 900).astype(np.int64),
            top,
            np.full(day, 26_000_000),
            np.zeros(day, dtype=np.int64),
        )
        late = (100_000 + random.random(20_000) * 9e5).astype(np.int64)
        spills = Spills(np.arange(20_000) * 12_345, late, np.zeros(20_000, np.int64))
        n = int(counts.sum())
        entry = replace(
            holds()[1].lanes[index].entry,
            n=n,
            due=n,
            max_ns=int(lower[-1]),
            min_ns=2_000,
            sum_ns=int((lower * counts).sum()),
        )
        lanes.append(Lane(entry, Histogram(lower, np.ones_like(lower), counts), seconds, spills))
    base_findings, base = holds()
    recording = replace(base, lanes=tuple(lanes), telemetry=_telemetry(day, 80.0))
    found = tuple(lane_findings(lane, lane.histogram, lane.entry, 1e-6) for lane in lanes)
    return replace(
        base_findings, lanes=found, pooled=pooled_findings(tuple(lanes), 1e-6), duration_s=float(day)
    ), recording
