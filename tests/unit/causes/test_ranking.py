"""Known attributions, ranked: every number can be worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from rtassay.causes.ranking import rank
from rtassay.causes.removing import key_of, left_ns, without
from rtassay.model import causes as kinds
from rtassay.model import ranking as steps
from rtassay.model.causes import Cause
from rtassay.model.recording import Recording
from rtassay.reports.causes import causes_text

from ...support.attributions import IRQ, MS, TIMER, UNKNOWN, US, WAKE_UP, attribution, ranked, run


def test_shares_of_lateness_and_of_exceedances() -> None:
    found = ranked(
        run(
            attribution(10, (IRQ, 290 * US), (WAKE_UP, 10 * US)),
            attribution(500, (TIMER, 90 * US), (WAKE_UP, 10 * US)),
            attribution(900, (IRQ, 100 * US), (UNKNOWN, 200 * US)),
        )
    )
    assert found.lateness_ns == 700 * US and found.exceedances == 2 and found.attributed == 3 and found.answered
    irq, unknown, timer, wake_up = found.causes
    assert (irq.cause, irq.hits, irq.owned, irq.exceedances, irq.largest_ns) == (IRQ, 2, 1, 1, 290 * US)
    assert irq.share_of_lateness == pytest.approx(390 / 700) and irq.share_of_exceedances == 0.5
    assert unknown.cause == UNKNOWN and found.share_unattributed == pytest.approx(200 / 700)
    assert timer.exceedances == 0 and wake_up.hits == 2
    assert [one.next_step for one in found.causes] == [
        steps.MOVE_INTERRUPT, steps.MORE_EVENTS, steps.SOFTIRQ_LOAD, steps.ORDINARY,
    ]  # fmt: skip
    assert sum(one.share_of_lateness for one in found.causes) == pytest.approx(1)


def test_the_observer_has_its_share_and_no_rank() -> None:
    own = Cause(kinds.OBSERVER, "rtprobe-trace", None, 12, 9)
    found = ranked(run(attribution(1, (IRQ, 300 * US)), attribution(2, (own, 250 * US), (IRQ, 50 * US))))
    assert [share.cause for share in found.causes] == [IRQ]
    assert found.observer is not None
    assert (found.observer.cause, found.observer.owned, found.observer.without) == (own, 1, None)
    assert (found.lateness_ns, found.observer.lateness_ns) == (600 * US, 250 * US)
    assert any("no cause of the board" in line for line in causes_text.counts(found))


def test_all_threads_of_the_measurement_are_one_observer() -> None:
    reads, keeps = (Cause(kinds.OBSERVER, f"rtprobe-{name}", None, 12, 9) for name in ("lane", "trace"))
    found = ranked(run(attribution(1, (reads, 250 * US)), attribution(2, (keeps, 150 * US), (IRQ, 100 * US))))
    assert [share.cause for share in found.causes] == [IRQ] and found.observer is not None
    assert found.observer.cause == Cause(kinds.OBSERVER, "", None, 12, 9)
    assert (found.observer.owned, found.observer.lateness_ns, found.observer.share_of_lateness) == (2, 400 * US, 0.8)


def test_without_an_observer_nothing_is_said_of_one() -> None:
    found = ranked(run(attribution(1, (IRQ, 300 * US))))
    assert found.observer is None
    assert not any("no cause of the board" in line for line in causes_text.counts(found))


def test_a_prediction_takes_only_the_part_of_the_cause_away() -> None:
    hits = [attribution(100 * (i + 1), (IRQ, 400 * US + i), (WAKE_UP, 30 * US)) for i in range(30)]
    found = ranked(run(*hits))
    irq = found.causes[0]
    assert found.demonstrated_ns is not None and found.demonstrated_ns > 400 * US
    assert irq.without is not None
    assert irq.without.exceedances == 0 and irq.without.max_ns == 30 * US
    # The samples that were not traced are as they were, and below the level no cause is known.
    assert irq.without.demonstrated_ns is not None and irq.without.demonstrated_ns <= 31 * US and irq.without.at_most
    assert irq.without.spread is None
    wake_up = found.causes[1]
    assert wake_up.without is None, "the ordinary path of a wake-up cannot be removed"


def test_the_prediction_is_the_verdicts_own_rule_over_changed_samples() -> None:
    kept = [attribution(50 * (i + 1), (TIMER, 300 * US + i)) for i in range(40)]
    gone = [attribution(50 * (i + 1) + 25, (IRQ, 800 * US), (WAKE_UP, 10 * US)) for i in range(40)]
    both, without_irq = ranked(run(*kept, *gone)), ranked(run(*kept))
    irq = next(one for one in both.causes if one.cause == IRQ)
    assert irq.without is not None and irq.without.demonstrated_ns == without_irq.demonstrated_ns
    assert both.demonstrated_ns is not None and both.demonstrated_ns > 800 * US


def test_two_causes_that_mask_each_other_are_told() -> None:
    found = ranked(run(*(attribution(40 * (i + 1), (IRQ, 250 * US), (TIMER, 240 * US)) for i in range(10))))
    assert [one.without.exceedances for one in found.causes if one.without] == [10, 10]
    (pair,) = found.masked
    assert {pair.first, pair.second} == {IRQ, TIMER} and pair.without_both.exceedances == 0
    apart = [attribution(40 * (i + 1), (IRQ if i % 2 else TIMER, 300 * US)) for i in range(10)]
    assert ranked(run(*apart)).masked == ()


def test_a_stall_that_becomes_shorter_misses_less() -> None:
    stall = attribution(10, (IRQ, 5 * MS), (WAKE_UP, 100 * US))
    one = run(stall)
    (lane,) = one.recording.traced
    (changed,) = without([lane], {(0, 10): 100 * US}, 1)
    assert lane.entry.missed == 5 and changed.entry.missed == 0
    assert changed.entry.n == lane.entry.n + 5 and changed.entry.due == lane.entry.due
    assert changed.histogram.total == changed.entry.n and changed.entry.max_ns == 100 * US
    assert changed.spills is not None and list(changed.spills.rows()) == [(10, 100 * US, 0)]


def test_runs_and_cpus_are_told_apart() -> None:
    first = run(attribution(10, (IRQ, 300 * US)), attribution(10, (TIMER, 300 * US), lane=1), name="a")
    second = replace(run(attribution(10, (IRQ, 100 * US), (TIMER, 300 * US)), name="b"), groups=("load y",))
    found = ranked(first, second)
    irq = next(one for one in found.causes if one.cause == IRQ)
    assert irq.groups == {"cpu 0": 400 / 700, "cpu 1": 0.0, "load x": 0.5, "load y": 0.25}
    assert irq.spread is not None
    assert (irq.spread.low, irq.spread.high, irq.spread.runs, irq.spread.confidence) == (0.25, 0.5, 2, 0.5)


def test_only_hits_above_the_level_count() -> None:
    late = run(attribution(10, (IRQ, 300 * US)), attribution(90, (TIMER, 150 * US), stall=True))
    assert ranked(late).stall_possible == 1
    found = ranked(late, deadline_ns=None, above_ns=200 * US)
    assert [one.cause for one in found.causes] == [IRQ] and found.exceedances == 1 and found.hits == 2
    assert found.above_ns == 200 * US


def test_threads_of_one_name_are_one_cause() -> None:
    threads = [Cause(kinds.THREAD, "stress-ng", pid=pid, priority=4) for pid in (10, 11)]
    found = ranked(run(*(attribution(10 + i, (cause, 300 * US)) for i, cause in enumerate(threads))))
    (one,) = found.causes
    assert one.cause == Cause(kinds.THREAD, "stress-ng", pid=None, priority=4) and one.owned == 2


def test_without_hits_nothing_is_answered() -> None:
    found = ranked(run())
    assert not found.answered and found.causes == () and found.share_unattributed is None and found.max_ns is None
    only = ranked(run(attribution(10, (UNKNOWN, 300 * US))))
    assert not only.answered and only.share_unattributed == 1.0


def test_quantiles_below_the_traced_level_are_left_out() -> None:
    found = ranked(run(*(attribution(20 * (i + 1), (IRQ, 300 * US)) for i in range(200)), n=10_000))
    assert [level.q for level in found.quantiles] == [0.99, 0.999, 0.9999]
    assert found.quantiles[0].hits == 200 == found.quantiles[0].late
    assert found.causes[0].share_of_quantiles == (1.0, 1.0, 1.0)


def test_a_prediction_is_never_worse_than_what_is() -> None:
    """With fewer events the bound can be wider; a deadline that holds as it is holds with less lateness, too."""
    measured = run(attribution(10, (IRQ, 300 * US)), attribution(90, (TIMER, 250 * US)))

    def wider(recordings: Sequence[Recording]) -> int:
        return 400 * US if recordings[0].lanes == measured.recording.traced else 500 * US

    found = rank([measured, measured], wider, deadline_ns=200 * US, above_ns=None, p=1e-3, confidence=0.95)
    predictions = [share.without for share in found.causes if share.without is not None]
    assert found.demonstrated_ns == 400 * US and len(predictions) == 2
    assert all(one.demonstrated_ns == 400 * US and one.spread is not None for one in predictions)
    assert all(one.spread is not None and one.spread.high == 400 * US for one in predictions)


HOG = Cause(kinds.THREAD, "hog", None, 7, 0)
TICK = Cause(kinds.HRTIMER, "tick_sched_timer")
OFF = Cause(kinds.INTERRUPTS_OFF, "driver")


def left(*owners: tuple[Cause, int], without: Cause = HOG) -> int:
    return left_ns(attribution(1, *owners), {key_of(without)})


def test_what_interrupted_a_thread_for_long_goes_with_it() -> None:
    """Without the hog the thread had run at 60 us: no tick had come yet."""
    turns = [(HOG, 4 * MS), (TICK, 30 * US)] * 5
    assert left((WAKE_UP, 50 * US), *turns, (HOG, MS), (WAKE_UP, 10 * US)) == 60 * US


def test_what_came_before_the_thread_would_have_run_stays() -> None:
    owners = (
        (WAKE_UP, 50 * US),
        (HOG, 5 * US),
        (TICK, 30 * US),
        (HOG, 20 * US),
        (IRQ, 7 * US),
        (HOG, MS),
        (WAKE_UP, 10 * US),
    )
    # At 55 us the tick came, with 5 us of the wake-up to go; that makes 90 us, but the interrupt came at 105 us.
    assert left(*owners) == 90 * US


def test_interrupts_that_were_kept_out_or_came_later_stay() -> None:
    assert left((OFF, MS), (TICK, 30 * US), (OFF, MS), (WAKE_UP, US), without=OFF) == 31 * US
    assert left((HOG, MS), (TICK, 30 * US), (WAKE_UP, US)) == 31 * US
    assert left((HOG, MS), (UNKNOWN, 30 * US), (HOG, MS)) == 30 * US


def test_a_thread_above_it_that_came_later_goes_with_it() -> None:
    above = Cause(kinds.THREAD, "above", None, 8, 0)
    assert left((WAKE_UP, 50 * US), (HOG, MS), (above, MS), (HOG, MS)) == 50 * US
    assert left((WAKE_UP, 50 * US), (HOG, MS), (above, MS), (HOG, MS), without=above) == 50 * US + 2 * MS
