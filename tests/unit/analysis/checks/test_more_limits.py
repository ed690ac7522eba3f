"""More exact limits of the checks: of the deviation of a summary, of the firmware's bits, and of numbers that are not known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rtassay.analysis.checks import environment
from rtassay.analysis.checks.context import Context
from rtassay.analysis.checks.platform import claims_rt
from rtassay.analysis.lane.account import accounts
from rtassay.analysis.lane.exceedance import exceedances
from rtassay.model.manifest import Obtained, Plan
from rtassay.model.measures import (
    HARDWARE_GAP,
    JOB_EXECUTION,
    JOB_RESPONSE,
    NOISE_LONGEST,
    NOISE_TOTAL,
    TIMER_IRQ,
    TIMER_THREAD,
    WAKE_UP,
)

from ..build import MS, SECOND, US, block_lane, counted_lane, cyclictest, inventory, recording, skip_lane
from .condition_cases import kernel, load, minute, under, watching
from .imported_cases import lane, told
from .test_limits import looked


@pytest.mark.parametrize(("sd_ns", "severity"), [(32_622.0, "pass"), (32_623.0, "invalid")])
def test_a_deviation_up_to_the_largest_that_the_other_numbers_allow(sd_ns: float, severity: str) -> None:
    """Bhatia-Davis with a bin of 1 us as slack: (sd - 1 us)^2 <= (999 us + 1 us) (0 + 1 us)."""
    n = 10**6
    beyond = lane(counts={}, over=n, max_ns=1000 * US)
    made = told("summary", beyond, min_ns=US, avg_ns=float(US), max_ns=1000 * US, sd_ns=sd_ns, n=n)
    assert looked("SUMMARY-INCONSISTENT", made).severity == severity


def test_the_bits_of_the_firmware_are_those_of_vcgencmd() -> None:
    bits = (environment.UNDER_VOLTAGE, environment.CAPPED, environment.THROTTLED, environment.SOFT_LIMIT)
    assert bits == (0x1, 0x2, 0x4, 0x8) and environment.STICKY == 16


def test_a_plan_by_time_is_not_held_against_a_lane_without_an_interval() -> None:
    plan = Plan(duration_ns=60 * SECOND)
    unknown = cyclictest(skip_lane({5: 100}, interval=None, due=100), plan=plan, end_reason="duration")
    assert looked("ENDED-EARLY", unknown).severity == "pass"
    no_account = recording(replace(minute(), entry=replace(minute().entry, due=None)), plan=plan)
    assert looked("ENDED-EARLY", no_account).severity == "pass"


def test_a_lane_that_closed_with_its_first_activation_has_one() -> None:
    once = block_lane({100: 1})
    assert once.entry.closed_ns == once.entry.first_due_ns
    assert looked("COUNT-MISMATCH", recording(once)).severity == "pass"
    early = replace(once, entry=replace(once.entry, closed_ns=(once.entry.first_due_ns or 0) - 1))
    assert "do not fit" in looked("COUNT-MISMATCH", recording(early)).message


def test_throttling_of_this_boot_is_told_only_if_there_was_some() -> None:
    limit = inventory(rt_runtime_us=950_000)
    clean = looked("RT-THROTTLE-ON", watching(watched=["threads"], inventory=limit))
    assert clean.severity == "note" and clean.message.endswith("of a CPU")
    old = {"throttle_messages": ["[1.0] old"]}
    earlier = looked("RT-THROTTLE-ON", watching(watched=["threads"], inventory=limit | old, inventory_end=old))
    assert earlier.message.endswith("of a CPU; it was reported earlier in this boot")


def test_shares_of_threads_have_four_digits() -> None:
    made = watching({"threads/hog[7].busy": [0.12345678] * 60}, inventory=inventory(rt_runtime_us=950_000))
    assert looked("RT-THROTTLE-ON", made).facts["other_threads"] == {"hog[7]": 0.1235}


def test_the_window_is_that_of_the_lanes_that_tell_theirs() -> None:
    told = minute()
    silent = replace(minute(1), entry=replace(minute(1).entry, first_due_ns=None, closed_ns=None))
    made = replace(recording(told, silent), manifest=replace(recording(told).manifest, started_ns=None, ended_ns=None))
    context = Context(made, accounts(made), (), None, 1e-6, 0.95)
    assert context.window_ns == (told.entry.first_due_ns, told.entry.closed_ns)


def test_measured_cpus_are_in_order_and_each_once() -> None:
    lanes = [block_lane({5: 9}, index=i, cpu=cpu) for i, cpu in enumerate((9, 33, None, 1, 9))]
    made = recording(*lanes)
    assert Context(made, accounts(made), (), None, 1e-6, 0.95).measured_cpus == (1, 9, 33)


@pytest.mark.parametrize(
    ("measure", "severity"),
    [
        (WAKE_UP, "warning"),
        (TIMER_IRQ, "pass"),
        (TIMER_THREAD, "pass"),
        (NOISE_TOTAL, "pass"),
        (HARDWARE_GAP, "pass"),
        (JOB_EXECUTION, "pass"),
        (JOB_RESPONSE, "warning"),
    ],
)
def test_the_kernels_tracer_may_skip_what_the_lanes_own_latency_does_not_show(measure: str, severity: str) -> None:
    lane = counted_lane([100] * 50, MS)
    skipped = replace(lane.entry, measure=measure, missed=5, due=55, closed_ns=None, last_due_ns=None)
    made = recording(replace(lane, entry=skipped))
    assert looked("COUNT-MISMATCH", made).severity == severity
    assert looked("CO-MISSED", made).severity == "warning"


@pytest.mark.parametrize(
    ("measure", "certain", "possible"),
    [
        (WAKE_UP, 3, 5),  # 3 ms stand for 3 activations that were 1 ms late or more; nobody knows of 5 others
        (TIMER_THREAD, 3, 5),
        (NOISE_LONGEST, 1, 8),  # 3 ms of noise in one window say nothing of another
    ],
)
def test_what_a_value_tells_of_the_activations_without_one(measure: str, certain: int, possible: int) -> None:
    lane = counted_lane([100] * 50 + [3 * MS], MS)
    made = recording(replace(lane, entry=replace(lane.entry, measure=measure, missed=8, due=59)))
    (account,) = accounts(made)
    found = exceedances(account, MS)
    assert (found.certain, found.possible) == (certain, possible)


@pytest.mark.parametrize(("measure", "possible"), [(WAKE_UP, 0), (TIMER_IRQ, 4), (HARDWARE_GAP, 4)])
def test_what_a_tracer_lost_is_in_no_maximum(measure: str, possible: int) -> None:
    """The lanes of rtprobe keep their own maximum, which holds what their ring lost; the kernel's tracers have none."""
    lane = counted_lane([100] * 50, MS)
    made = recording(replace(lane, entry=replace(lane.entry, measure=measure, dropped=4, due=54)))
    (account,) = accounts(made)
    assert exceedances(account, MS).possible == possible


@pytest.mark.parametrize(
    ("text", "claimed"),
    [
        ("rt", True),
        ("PREEMPT_RT", True),
        ("6.1.0-21-rt-amd64", True),
        ("4.14.27-rt21-v7+", True),
        ("6.8.4-rt11-raspi", True),
        ("stock", False),
        ("non-rt", False),
        ("no rt", False),
        ("6.12.48-amd64", False),
        ("smart", False),
        ("port1", False),
    ],
)
def test_what_claims_to_be_real_time(text: str, claimed: bool) -> None:
    assert claims_rt(text) is claimed


def test_what_an_importer_finds_in_its_file_invalidates_it() -> None:
    made = cyclictest(
        skip_lane({5: 10}), facts={"import": {"inconsistent": ["ALL: counts 3 of Thr, the columns add up to 4"]}}
    )
    found = looked("SUMMARY-INCONSISTENT", made)
    assert found.severity == "invalid" and "ALL: counts 3" in found.message


@pytest.mark.parametrize(
    ("measure", "asked", "severity"),
    [
        (NOISE_TOTAL, "other", "note"),
        (HARDWARE_GAP, "other", "note"),
        (NOISE_TOTAL, "fifo", "invalid"),
        (WAKE_UP, "other", "invalid"),
    ],
)
def test_only_a_busy_loop_may_be_an_ordinary_thread(measure: str, asked: str, severity: str) -> None:
    lane = counted_lane([100] * 50, MS)
    made = recording(
        replace(lane, entry=replace(lane.entry, measure=measure, obtained_start=Obtained("other", 0, (0,))))
    )
    facts = {"requested": {"policy": asked, "priority": 0 if asked == "other" else 90}}
    made = replace(made, manifest=replace(made.manifest, facts={**made.manifest.facts, **facts}))
    assert looked("NOT-RT-POLICY", made).severity == severity


def test_a_window_is_looked_at_in_every_phase_of_the_tick() -> None:
    lane = counted_lane([100] * 50, MS)
    busy = replace(lane, entry=replace(lane.entry, measure=NOISE_TOTAL))
    assert looked("ALIASING", watching(inventory=kernel(config_hz=250), lanes=(lane,))).severity == "warning"
    assert looked("ALIASING", watching(inventory=kernel(config_hz=250), lanes=(busy,))).severity == "pass"


@pytest.mark.parametrize(
    ("measure", "least_ns", "severity"),
    [(WAKE_UP, 0, "warning"), (NOISE_LONGEST, 0, "pass"), (HARDWARE_GAP, 0, "pass"), (NOISE_TOTAL, -1, "warning")],
)
def test_a_window_from_which_nothing_was_taken_is_0(measure: str, least_ns: int, severity: str) -> None:
    lane = counted_lane([100] * 50, MS)
    made = recording(replace(lane, entry=replace(lane.entry, measure=measure, min_ns=least_ns)))
    assert looked("NEGATIVE-OR-ZERO", made).severity == severity


def test_what_is_at_the_begin_of_the_tail_is_an_outlier() -> None:
    """1000 samples: their p99.9 is the second largest, 700; both it and the largest lie in the tail, one below it does not."""
    from rtassay.analysis.checks.statistics import outlier_times

    (lane,) = accounts(recording(counted_lane([100] * 997 + [600, 700, 800], spill_from=600, first_due=SECOND)))
    assert lane.tail_from_ns == 700
    times = outlier_times(lane)
    assert times is not None and times.tolist() == [SECOND + 998 * MS + 700, SECOND + 999 * MS + 800]


@pytest.mark.parametrize(("policy", "severity"), [("deadline", "note"), ("fifo", "warning")])
def test_lanes_that_the_kernel_does_not_let_be_bound_are_a_note(policy: str, severity: str) -> None:
    got = Obtained(policy, 0, (0, 1), False, 500_000, 5 * MS)
    lane = counted_lane([100] * 50, 5 * MS)
    entry = replace(lane.entry, name="deadline 0", cpu=None, migrations=2, obtained_start=got, obtained_end=got)
    made = recording(replace(lane, entry=entry))
    made = replace(made, manifest=replace(made.manifest, end={**made.manifest.end, "overruns": 3}))
    found = looked("NOT-PINNED", made)
    assert found.severity == severity
    if policy == "deadline":
        assert "500us in each 5ms, 3 overruns signalled (2 migrations seen)" in found.message
        assert found.facts["overruns"] == 3


@pytest.mark.parametrize(
    ("last", "severity"), [((4, 4, 3, 3, 3, 3, 3, 3, 3, 0), "pass"), ((4, 4, 3, 3, 3, 3, 3, 3, 2, 0), "warning")]
)
def test_a_drift_must_be_more_than_four_standard_errors(last: tuple[int, ...], severity: str) -> None:
    """Twenty values each, from 20 to 24 on average. Squares of 95 twice: variances of 10, a standard error of sqrt(10/20 + 10/20) = 1."""
    first = [20.0 + sign * by for by in (4, 4, 3, 3, 3, 3, 3, 3, 3, 0) for sign in (1, -1)]
    end = [24.0 + sign * by for by in last for sign in (1, -1)]
    made = under(load(), telemetry={"load/0.stress-ng.work": [*first, *([22.0] * 20), *end]})
    found = looked("LOAD-DRIFT", made)
    assert found.severity == severity and found.facts["0.stress-ng"]["last_third_over_first"] == 1.2
