"""The order of a comparison: groups, lanes, replication, and what is left of a refused one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rtassay.analysis.many.compare import compare
from rtassay.analysis.many.compare.comparing import _replication
from rtassay.model.errors import UsageError
from rtassay.model.findings import LADDER
from rtassay.model.manifest import Source
from rtassay.model.recording import Recording

from ...build import US, cyclictest, recording, skip_lane
from .groups import run

COUNTS = {10_000: 90, 20_000: 10}


def timed(name: str, *values: int, **changes: Any) -> Recording:
    """A run with a lane a value."""
    return run(name, [{value: 200} for value in values], **changes)


def test_groups_are_called_by_their_only_run_or_as_they_were_told() -> None:
    def titles(a: list[Recording], b: list[Recording], told: tuple[str | None, str | None]) -> tuple[str, str]:
        found = compare(a, b, titles=told)
        return found.a.title, found.b.title

    one, two = timed("a", 10), timed("b", 20)
    named = replace(one, manifest=replace(one.manifest, name="mine"))
    assert titles([one], [two], (None, None)) == ("A", "B")
    assert titles([one], [two], ("old", "new")) == ("old", "new")
    assert titles([named, one], [two], (None, None))[0] == "A"
    assert titles([named], [two], ("old", "new")) == ("mine", "new")


def test_what_cannot_be_asked() -> None:
    one = timed("a", 10)
    for a, b in (([], [one]), ([one], []), ([], [])):
        with pytest.raises(UsageError, match="a group to compare is empty"):
            compare(a, b)
    for at in (0.0, 1.0, -0.5, 1.5):
        with pytest.raises(UsageError, match="between 0 and 1"):
            compare([one], [one], at=at)
    assert compare([one], [timed("b", 20)], at=0.5).primary_q == 0.5


def test_figures_of_a_group() -> None:
    found = compare([timed("a", 10, 30, boot="x"), timed("b", 20, 40, boot="y")], [timed("c", 50, 60, boot="x")])
    a = found.a
    assert (a.name, a.n, a.mean_ns, a.max_ns, a.boots, a.lanes) == ("A", 800, 25.0, 40, 2, ("CPU0", "CPU1"))
    assert [row.id for row in a.runs] == ["a", "b"] and found.b.boots == 1
    assert a.histogram is not None and a.histogram.total == 800
    assert compare([timed("a", 10, boot="x"), timed("b", 20)], [timed("c", 50)]).a.boots is None
    blind = cyclictest(skip_lane({5: 10}, over=3, max_ns=None), id="blind")
    assert compare([blind, cyclictest(skip_lane({6: 10}))], [cyclictest(skip_lane({7: 10}))]).a.max_ns is None
    assert found.extra == {"measure": "wake-up"} and found.bin_width_ns == 1


def test_the_boots_of_a_group_have_their_share() -> None:
    a = [
        timed(f"a{i}", value, boot=boot)
        for i, (value, boot) in enumerate(((10_000, "x"), (10_100, "x"), (20_000, "y"), (20_200, "y")))
    ]
    found = compare(a, [timed("b", 50)])
    assert found.a.boot_variance[0].boots == 2 and found.a.boot_variance[0].icc > 0.9 and found.b.boot_variance == ()


def test_lanes_that_all_runs_have_are_compared_each() -> None:
    two, other = timed("a", 10_000, 20_000), timed("b", 15_000, 40_000)
    rows = compare([two], [other]).lanes
    assert [(lane.name, lane.cpu, lane.quantiles[0].ratio) for lane in rows] == [("CPU0", 0, 1.5), ("CPU1", 1, 2.0)]
    assert compare([timed("a", 10)], [timed("b", 20)]).lanes == (), "one lane is the pool"
    for a, b in (([two], [timed("b", 15_000)]), ([timed("a", 10_000)], [other]), ([two, timed("c", 10_000)], [other])):
        assert [lane.name for lane in compare(a, b).lanes] == ["CPU0"]
    three = [timed(name, 10_000 + 10 * i, 20_000) for i, name in enumerate("abc")]
    shown = compare(three, [timed(name, 30_000 + 10 * i, 60_000) for i, name in enumerate("xyz")])
    assert {row.shown for lane in shown.lanes for row in lane.quantiles if row.method} <= {"a_better", None}


@pytest.mark.parametrize(
    ("a", "b", "smallest", "exact"),
    [
        (1, 1, 1.0, None),
        (3, 3, 0.1, None),
        (4, 4, 2 / 70, True),
        (1, 39, 0.05, True),
        (1, 38, 2 / 39, None),
        (11, 11, 2 / 705_432, False),
    ],
)
def test_how_much_was_repeated(a: int, b: int, smallest: float, exact: bool | None) -> None:
    """Four of each reach 5 %, and six of each a seventh of it: 2 / 252 is above, 2 / 924 below."""
    found = _replication(a, b, 7)
    assert (found.a_runs, found.b_runs, found.smallest_p, found.exact) == (a, b, pytest.approx(smallest), exact)
    assert (found.needed_per_group, found.needed_with_holm) == (4, 6)


def test_the_steps_beside_the_primary_one_are_corrected() -> None:
    one, two = timed("a", 10), timed("b", 20)
    assert len(LADDER) == 8
    for at, others in ((0.5, 7), (0.7, 8)):
        assert compare([one], [two], at=at).replication == _replication(1, 1, others)
    # a 20th of 5 % and a 50th: 2 / 924 = 0.0022, 2 / 3432 = 0.0006
    assert [_replication(1, 1, others).needed_with_holm for others in (20, 23, 24, 50)] == [6, 6, 7, 7]


def test_finer_bins_are_rounded_and_not_refused() -> None:
    coarse = cyclictest(skip_lane({5: 90, 7: 10}), id="c")
    fine = cyclictest(skip_lane({5: 80, 7: 20}), id="f", bin_width_ns=US // 2)
    found = compare([coarse], [fine])
    assert (found.conclusion == "refused") is False and found.bin_width_ns == US
    assert found.refusals == () and found.quantiles[0].ratio is not None


def test_a_refused_comparison_says_why_and_shows_values() -> None:
    other = cyclictest(skip_lane({5: 10}), source=Source("x", "1", "stream", "skip"), bin_width_ns=1500)
    found = compare([other], [cyclictest(skip_lane({6: 10}))])
    assert found.conclusion == "refused" and found.lanes == () and found.crossover is None
    assert found.refusals == ("the bins of A are 1.5us wide, those of B 1us, and neither divides the other",)
    assert found.sentence == f"Not compared: {found.refusals[0]}."
    first, last = found.quantiles[0], found.quantiles[-1]
    assert (first.a_ns, first.b_ns, first.ratio, first.bound, last.bound) == (5 * US, 6 * US, None, "exact", "at_least")
    several = compare([other, other], [cyclictest(skip_lane({6: 10}))])
    assert (several.quantiles[0].a_ns, several.quantiles[0].b_ns, several.quantiles[0].bound) == (
        None,
        6 * US,
        "at_least",
    )


def test_a_recording_without_lanes_hides_no_measure() -> None:
    found = compare([recording(id="empty")], [timed("b", 20)])
    assert found.extra == {"measure": "wake-up"} and found.conclusion == "refused"
    assert "empty hold no sample" in found.refusals
    assert compare([recording(id="empty")], [recording(id="other")]).extra == {"measure": None}
