"""Streams to latencies: figures, exceedances, and the first activation that differs."""

from __future__ import annotations

import gated
import pytest

from rtassay.gate.streams import Series, boot_of, events_of, exceedances, first_beyond, first_difference, series_of
from rtassay.model.errors import BoardError
from rtassay.model.gate import Difference

US, MS = 1_000, 1_000_000


def series(*latencies_ns: int, first_k: int = 0, traced_from: int | None = None) -> Series:
    return series_of(events_of(gated.stream(latencies_ns, first_k=first_k, traced_from=traced_from)))


def test_activations_behind_a_late_one_are_missed_and_keep_their_numbers() -> None:
    found = series(20 * US, 2 * MS + 1, 30 * US)
    assert found.k.tolist() == [0, 1, 4]
    assert (found.missed, found.realtime, found.interval_ns) == (2, True, MS)
    # The one behind it was late by 1 ms, the next one by nothing.
    assert exceedances(found, MS // 2) == 2
    assert exceedances(found, 1) == 5
    assert exceedances(found, 3 * MS) == 0


def test_figures_are_nearest_rank_and_the_tail_is_the_largest() -> None:
    content = gated.stream(range(1 * US, 1001 * US, US))
    found = boot_of(content, series_of(events_of(content)), deadline_ns=1000 * US, ran=True, virtual_ns=1, initrd="i")
    assert (found.n, found.p50_ns, found.p99_ns, found.p999_ns, found.tail_ns) == (
        1000,
        500 * US,
        990 * US,
        999 * US,
        1000 * US,
    )
    assert found.exceedances == 1


def test_the_first_activation_that_differs_or_that_one_of_both_missed() -> None:
    base = series(20, 30, 40, 50)
    assert first_difference(base, base) is None
    assert first_difference(base, series(20, 31, 41, 50)) == Difference(1, 30, 31)
    assert first_difference(base, series(20, 30)) is None, "a shorter run differs in nothing that both have"
    assert first_difference(series(20, 30, 40), series(20, MS, 40)) == Difference(1, 30, MS)
    assert first_difference(series(MS, 7), series(MS, 8)) == Difference(2, 7, 8)
    assert first_difference(series(20, 7, first_k=1), series(20, 20, 7)) == Difference(0, None, 20)


def test_the_first_activation_beyond_a_limit() -> None:
    assert first_beyond(series(10, 20, 30), series(10, 99, 100), 98) == Difference(1, 20, 99)
    assert first_beyond(series(10, 20, 30), series(10, 98, 98), 98) is None


def test_the_traced_part_begins_when_the_events_are_on() -> None:
    assert series(1, 2, 3).traced_from is None
    assert series(1, 2, 3, traced_from=2).traced_from == 2


def test_a_damaged_stream_and_one_without_samples_are_refused() -> None:
    whole = gated.stream([10, 20])
    with pytest.raises(BoardError, match="damaged"):
        events_of(whole[:-3])
    with pytest.raises(BoardError, match="no samples"):
        series_of(events_of(whole)[:1])
