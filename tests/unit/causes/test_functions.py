"""Functions of a cause over many hits, and what a ranking does with them."""

from __future__ import annotations

from dataclasses import replace

from rtassay.causes.functions import functions
from rtassay.causes.removing import key_of
from rtassay.model import causes as kinds
from rtassay.model import ranking as steps
from rtassay.model.causes import AT_END, INSIDE, Attribution, Cause, Place

from ...support.attributions import IRQ, US, attribution, ranked, run

OFF = Cause(kinds.INTERRUPTS_OFF, "kworker/0:1", None, 77, 120)


def placed(k: int, ns: int, place: Place | None) -> Attribution:
    one = attribution(k, (OFF, ns), (IRQ, 10 * US))
    return replace(one, parts=(replace(one.parts[0], place=place), *one.parts[1:]))


def test_a_function_counts_once_whatever_its_offset_and_parts_without_a_place_count_in_the_whole() -> None:
    often, rare = (
        Place("flush+0x10 [drv]", AT_END, ("flush+0x10 [drv]", "a")),
        Place("flush+0x20 [drv]", AT_END, ("flush+0x20 [drv]", "b")),
    )
    hits = [
        placed(1, 100 * US, often),
        placed(2, 100 * US, often),
        placed(3, 300 * US, rare),
        placed(4, 500 * US, None),
    ]
    (one,) = functions(key_of(OFF), hits)
    assert (one.function, one.at, one.hits, one.lateness_ns) == ("flush+0x10 [drv]", AT_END, 3, 500 * US)
    assert one.share_of_cause == 0.5 and one.chain == ("flush+0x20 [drv]", "b")
    assert functions(key_of(IRQ), hits) == ()


def test_the_same_function_within_and_at_the_end_are_two_findings() -> None:
    hits = [placed(1, 100 * US, Place("f+0x1", AT_END)), placed(2, 300 * US, Place("f+0x1", INSIDE))]
    assert [one.at for one in functions(key_of(OFF), hits)] == [INSIDE, AT_END]


def test_the_next_step_after_the_name_is_another_one() -> None:
    def step(place: Place | None) -> str:
        (share,) = [one for one in ranked(run(placed(5, 400 * US, place))).causes if one.cause == OFF]
        return share.next_step

    assert step(Place("flush+0x10 [drv]", AT_END)) == steps.FUNCTION_KNOWN
    assert step(None) == steps.NAME_THE_FUNCTION
    assert step(Place("", AT_END)) == steps.NAME_THE_FUNCTION, "user space is no function"
