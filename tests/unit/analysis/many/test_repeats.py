"""Runs taken together: exposure adds up per CPU, what spoils one run spoils the sum, D* is the worst lane's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rtassay.analysis.lane.bounds import p_upper
from rtassay.analysis.many.repeats import judge_repeats
from rtassay.model.findings import STRICT, THESE_RUNS, WAIVED, Assumption, CheckResult, Reason, assumption_words
from rtassay.model.manifest import LaneEntry, Manifest, Plan, Source
from rtassay.model.recording import Histogram, Lane, Recording

N = 2000


def run(late: int = 0, n: int = N, cpus: tuple[int, ...] = (0, 1)) -> Recording:
    """Each lane: n samples of 10 us, of which `late` at 200 us on the last CPU."""
    lanes = []
    for index, cpu in enumerate(cpus):
        mine = late if cpu == cpus[-1] else 0
        values, counts = ([10_000, 200_000], [n - mine, mine]) if mine else ([10_000], [n])
        entry = LaneEntry(
            index=index, name=f"cpu{cpu}", cpu=cpu, measure="wake-up", interval_ns=1_000_000, n=n, due=n, missed=0, dropped=0, truncated=0,
            over=0, max_ns=max(values), min_ns=10_000,
        )  # fmt: skip
        arrays = [np.array(column, np.int64) for column in (values, [1] * len(values), counts)]
        lanes.append(Lane(entry, Histogram(*arrays, 0, 0, None)))
    manifest = Manifest(
        id="r",
        created="2026-11-21T00:00:00Z",
        source=Source("rtprobe", "1", "rtw/1", "counted"),
        plan=Plan(),
        sealed=True,
    )
    return Recording(manifest, tuple(lanes))


def judged(runs: list[Recording], checks: tuple[CheckResult, ...] = (), p: float = 1e-3):  # type: ignore[no-untyped-def]
    return judge_repeats(runs, checks, deadline_ns=100_000, p=p, confidence=0.95)


def test_two_short_runs_show_what_neither_shows_alone() -> None:
    assert judged([run()]).state == "NOT DEMONSTRATED"
    both = judged([run(), run()])
    assert both.state == "HOLDS"
    assert both.due == 2 * N
    assert both.p_upper == pytest.approx(p_upper(0, 2 * N, 0.95))
    assert judged([run()]).demonstrated_ns is None
    assert both.demonstrated_ns == 10_001


def test_two_to_four_runs_hold_of_these_runs_and_five_of_further_boots_too() -> None:
    """So few do not tell how far other boots lie from them, whether they look alike or not."""
    for runs in (1, 2, 4, 5):
        found = judged([run()] * runs)
        said = [one for one in found.assumes if one.code == THESE_RUNS]
        assert said == ([Assumption(THESE_RUNS, {"runs": runs})] if runs in (2, 4) else [])
    assert all(one.code != THESE_RUNS for one in judged([run(late=500), run()]).assumes), "VIOLATED assumes nothing"
    assert assumption_words(Assumption(THESE_RUNS, {"runs": 3})) == "other boots are like these 3 runs"


def test_exceedances_of_one_run_count_for_all_on_the_cpu_they_were_on() -> None:
    seen = judged([run(late=500), run(), run()])
    assert (seen.state, seen.lane, seen.exceedances, seen.due) == ("VIOLATED", "CPU1", 500, 3 * N)
    assert seen.demonstrated_ns == 200_001


def test_a_check_that_invalidates_one_run_invalidates_the_sum_and_a_short_run_does_not() -> None:
    short = CheckResult("N-TOO-SMALL", "warning", "optimism", "too short alone")
    broken = CheckResult("COUNT-MISMATCH", "invalid", "integrity", "not all there")
    idle = CheckResult("NO-LOAD", "warning", "optimism", "idle")
    assert judged([run(), run()], (short,)).state == "HOLDS"
    assert judged([run(), run()], (short, idle)).state == "NOT DEMONSTRATED"
    spoilt = judged([run(), run()], (broken, broken))
    assert spoilt.state == "INVALID MEASUREMENT"
    assert sum(reason.facts.get("id") == "COUNT-MISMATCH" for reason in spoilt.reasons) == 1


def test_without_a_deadline_there_is_only_d_star() -> None:
    found = judge_repeats([run(), run()], (), deadline_ns=None, p=1e-3, confidence=0.95)
    assert (found.state, found.demonstrated_ns, found.runs) == (None, 10_001, 2)


def test_a_check_that_other_runs_answer_does_not_cap_these() -> None:
    idle = CheckResult("NO-LOAD", "warning", "optimism", "the board was idle")
    told = {"deadline_ns": 100_000, "p": 1e-2, "confidence": 0.95}
    assert judge_repeats([run()], [idle], **told).state == "NOT DEMONSTRATED"
    assert judge_repeats([run()], [idle], **told, answered=("NO-LOAD",)).state == "HOLDS"


STEAL = CheckResult("VM-STEAL", "warning", "integrity", "in a VM")
IDLE = CheckResult("NO-LOAD", "warning", "optimism", "idle")
SHORT = CheckResult("N-TOO-SMALL", "warning", "optimism", "too short alone")
TOLD = {"deadline_ns": 100_000, "p": 1e-3, "confidence": 0.95}


def asked_strict(one: Recording) -> Recording:
    return replace(one, manifest=replace(one.manifest, plan=Plan(strict=True)))


@pytest.mark.parametrize("check", [STEAL, IDLE])
def test_a_warning_invalidates_the_sum_if_strict_as_it_does_one_run(check: CheckResult) -> None:
    runs = [run(), run()]
    plain = judge_repeats(runs, [check], **TOLD)
    assert plain.state == {"VM-STEAL": "HOLDS", "NO-LOAD": "NOT DEMONSTRATED"}[check.id]
    strict = judge_repeats(runs, [check], **TOLD, strict=True)
    assert strict.state == "INVALID MEASUREMENT"
    assert Reason(STRICT) in strict.reasons
    assert judge_repeats(runs, [SHORT], **TOLD, strict=True).state == "HOLDS", "short runs are cured by more of them"


def test_runs_that_were_asked_to_be_strict_are_judged_so_together() -> None:
    runs = [run(), asked_strict(run())]
    assert judge_repeats(runs, [STEAL], **TOLD).state == "INVALID MEASUREMENT"
    assert judge_repeats(runs, [STEAL], **TOLD, strict=False).state == "HOLDS"
    assert judge_repeats(runs, [], **TOLD).state == "HOLDS"


def test_strict_hides_no_violation_and_excuses_what_was_waived() -> None:
    late = [run(late=500), run(), run()]
    assert judge_repeats(late, [IDLE], **TOLD, strict=True).state == "VIOLATED"
    waived = replace(STEAL, waived="deployed in a VM")
    assert judge_repeats([run(), run()], [waived], **TOLD, strict=True).state == "HOLDS"


def test_a_waiver_of_one_run_does_not_excuse_another() -> None:
    waived = replace(STEAL, severity="invalid", waived="deployed in a VM")
    found = judge_repeats([run(), run()], [waived, replace(STEAL, severity="invalid")], **TOLD)
    assert found.state == "INVALID MEASUREMENT"
    assert Reason(WAIVED, {"id": "VM-STEAL", "because": "deployed in a VM"}) in found.reasons
