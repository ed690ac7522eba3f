"""Who holds the time now and did not before."""

from __future__ import annotations

from dataclasses import replace

import gated
from attributions import IRQ, TIMER, UNKNOWN, WAKE_UP, attribution

from rtassay.gate import holders
from rtassay.gate.streams import events_of, series_of
from rtassay.model import causes as kinds
from rtassay.model.causes import Attribution, Cause, Place
from rtassay.model.gate import Holder

US = 1_000
OFF = Cause(kinds.PREEMPTION_OFF, "dd", pid=7)


def placed(one: Attribution, function: str) -> Attribution:
    """The attribution with a stack in its first part."""
    first = replace(one.parts[0], place=Place(function, kinds.AT_END, (function,)))
    return replace(one, parts=(first, *one.parts[1:]))


def test_the_largest_growth_in_one_wake_up_comes_first_and_what_shrank_is_not_named() -> None:
    new = [
        placed(attribution(1, (OFF, 100 * US), (WAKE_UP, 40 * US)), "settle_areas+0x1c"),
        placed(attribution(2, (replace(OFF, pid=8), 90 * US), (IRQ, 30 * US)), "settle_areas+0x20"),
        attribution(3, (TIMER, 5 * US), (UNKNOWN, 900 * US)),
    ]
    base = [attribution(1, (IRQ, 10 * US), (TIMER, 50 * US))]
    assert holders.compared(new, base) == (
        Holder(kinds.PREEMPTION_OFF, "dd", "settle_areas", 100 * US, 0, 2, 0),
        Holder(kinds.IRQ, "eth0", "", 30 * US, 10 * US, 1, 1),
    )


def test_parts_of_one_holder_in_one_wake_up_add_up() -> None:
    (found,) = holders.compared([attribution(1, (IRQ, 10 * US), (OFF, 0), (IRQ, 20 * US))], [])
    assert (found.kind, found.new_ns) == (kinds.IRQ, 30 * US)


def test_the_level_is_the_latest_traced_wake_up() -> None:
    untraced = series_of(events_of(gated.stream([900, 20, 30])))
    traced = series_of(events_of(gated.stream([900, 20, 30], traced_from=1)))
    assert (holders.level_ns(untraced), holders.level_ns(traced)) == (0, 30)
