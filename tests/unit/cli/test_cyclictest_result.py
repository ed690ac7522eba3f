"""The rows that a pasted cyclictest line ends with: cyclictest's own, and its parser reads them back."""

from __future__ import annotations

from dataclasses import replace

from rtassay.cli import cyclictest_result
from rtassay.model.findings import Demonstrated, LaneFindings
from rtassay.model.manifest import LaneEntry, Obtained

LANE = LaneFindings(
    name="cpu0", cpu=0, due=5, n=5, missed=0, dropped=0, truncated=0, over=0, min_ns=None, mean_ns=None, max_ns=None, sd_ns=None,
    quantiles=(), quantiles_due=None, demonstrated=Demonstrated(1e-6, None),
)  # fmt: skip


def test_a_row_has_cyclictests_fields_in_its_units() -> None:
    entry = LaneEntry(0, "0", 0, 200_000, 10_000, tid=1234, obtained_start=Obtained("fifo", 90))
    lane = replace(LANE, n=10_000, min_ns=1_999, mean_ns=2_500.7, max_ns=36_802_999)
    assert cyclictest_result.row(0, lane, entry, 3_100, 1000) == (
        "T: 0 ( 1234) P:90 I:200 C:  10000 Min:      1 Act:    3 Avg:    2 Max:   36802"
    )
    assert "Min:   1999 Act: 3100 Avg: 2500 Max:36802999" in cyclictest_result.row(0, lane, entry, 3_100, 1)


def test_what_is_not_known_is_no_number() -> None:
    entry = LaneEntry(3, "3", 3, 200_000, 7)
    told = cyclictest_result.row(3, replace(LANE, n=7, min_ns=1_000, max_ns=2_000), entry, None, 1000)
    assert "Act:    -" in told and "Avg:    -" in told
    empty = cyclictest_result.row(3, replace(LANE, n=0), replace(entry, n=0), None, 1000)
    assert "C:      0 Min:1000000 Act:    0 Avg:    0 Max:       0" in empty, (
        "as cyclictest prints a thread that never ran"
    )
