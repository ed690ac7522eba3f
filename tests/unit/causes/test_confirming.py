"""Predictions against measurements: counts that chance explains, and those that it does not."""

from __future__ import annotations

import pytest

from rtassay.causes import confirming
from rtassay.model import ranking as codes
from rtassay.model.errors import UsageError
from rtassay.model.ranking import Confirmation

from ...support.attributions import IRQ, TIMER, US, attribution, ranked, run


def confirmed(late_before: int, late_after: int) -> Confirmation:
    """With the interrupt: 30 late by it and some by the timer. Without it: others by the timer."""
    irqs = [attribution(20 * (i + 1), (IRQ, 400 * US)) for i in range(30)]
    timers = [attribution(20 * (i + 1) + 10, (TIMER, 300 * US)) for i in range(max(late_before, late_after))]
    before, after = run(*irqs, *timers[:late_before]), run(*timers[:late_after])
    ranking = ranked(before)
    share = confirming.find(ranking, "irq:eth0")
    return confirming.confirm(ranking, share, ranked(after), ([before.recording], [after.recording]))


@pytest.mark.parametrize(
    ("before", "after", "state"),
    [(20, 25, codes.AGREES), (0, 0, codes.AGREES), (5, 60, codes.WORSE), (60, 5, codes.BETTER)],
)
def test_chance_decides_whether_counts_differ(before: int, after: int, state: str) -> None:
    found = confirmed(before, after)
    assert found.state == state
    assert (found.exceedances_before, found.exceedances_predicted, found.exceedances_after) == (
        30 + before,
        before,
        after,
    )


def test_a_cause_that_is_still_there_was_not_removed() -> None:
    before = run(*(attribution(20 * (i + 1), (IRQ, 400 * US)) for i in range(30)))
    after = run(*(attribution(20 * (i + 1), (IRQ, 400 * US)) for i in range(10)))
    ranking = ranked(before)
    share = confirming.find(ranking, "irq")
    found = confirming.confirm(ranking, share, ranked(after), ([before.recording], [after.recording]))
    assert found.state == codes.NOT_REMOVED and found.share_after == 1.0
    nothing = confirming.confirm(ranking, share, ranked(after), ([before.recording], []))
    assert nothing.state == codes.TOO_LITTLE


def test_of_the_causes_that_are_gone_the_largest_is_told() -> None:
    both = run(
        *(attribution(20 * (i + 1), (IRQ, 400 * US)) for i in range(30)),
        *(attribution(20 * (i + 1) + 10, (TIMER, 300 * US)) for i in range(20)),
    )
    without_irq = run(*(attribution(20 * (i + 1) + 10, (TIMER, 300 * US)) for i in range(22)))
    clean = run()

    def gone(after: object) -> Confirmation | None:
        return confirming.removed(ranked(both), ranked(after), ([both.recording], [after.recording]))  # type: ignore[attr-defined, arg-type]

    irq, all_of_them = gone(without_irq), gone(clean)
    assert irq is not None and (irq.cause, irq.state, irq.exceedances_predicted, irq.exceedances_after) == (
        IRQ,
        codes.AGREES,
        20,
        22,
    )
    # Without it 20 were to be late, and none was: something else is gone too.
    assert all_of_them is not None and (all_of_them.cause, all_of_them.state) == (IRQ, codes.BETTER)
    assert gone(both) is None


def test_a_cause_is_found_by_its_code_and_name() -> None:
    found = ranked(run(attribution(10, (IRQ, 300 * US), (TIMER, 250 * US))))
    assert confirming.find(found, "softirq").cause == TIMER and confirming.find(found, "irq:40").cause == IRQ
    for text in ("softirq:NET_RX", "nonsense", ""):
        with pytest.raises(UsageError, match="can be removed") as caught:
            confirming.find(found, text)
        assert caught.value.hint == "known: irq:eth0, softirq:TIMER"
