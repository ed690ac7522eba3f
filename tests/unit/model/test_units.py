"""Times, durations and CPU lists as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtassay.model.errors import UsageError
from rtassay.model.units import format_cpu_list, format_time, format_us, parse_cpu_list, parse_duration_ns


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("200us", 200_000),
        ("1.5ms", 1_500_000),
        ("10s", 10**10),
        ("1h30m", 5400 * 10**9),
        ("2min", 120 * 10**9),
        (".5us", 500),
        ("997µs", 997_000),
        ("1d", 86_400 * 10**9),
        ("0s", 0),
        ("0.1us", 100),
    ],
)
def test_durations(text: str, ns: int) -> None:
    assert parse_duration_ns(text) == ns


@pytest.mark.parametrize(
    "text", ["", "us", "10", "-5us", "5x", "5 us us", "1.5ns", "1e3us", "nan", "10s5", "99999999999999999999d"]
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(UsageError):
        parse_duration_ns(text)


def test_a_bare_number_takes_the_unit_it_is_given() -> None:
    assert parse_duration_ns("200", bare="us") == 200_000
    assert parse_duration_ns("200ms", bare="us") == 200_000_000


@given(st.sets(st.integers(0, 4000), min_size=1))
def test_cpu_lists_come_back(cpus: set[int]) -> None:
    assert parse_cpu_list(format_cpu_list(sorted(cpus))) == tuple(sorted(cpus))


@pytest.mark.parametrize(
    ("text", "cpus"), [("0-3", (0, 1, 2, 3)), ("0-6:2", (0, 2, 4, 6)), ("5,1", (1, 5)), (" 2 ", (2,))]
)
def test_cpu_lists(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_cpu_list(text) == cpus


@pytest.mark.parametrize("text", ["", "a", "3-1", "1-", "-1", "0-4:0", "1;2", "99999999"])
def test_what_is_no_cpu_list(text: str) -> None:
    with pytest.raises(UsageError):
        parse_cpu_list(text)


@pytest.mark.parametrize(
    ("ns", "text"),
    [(812, "812ns"), (97_300, "97.3us"), (1_250_000, "1.25ms"), (12_500_000_000, "12.5s"), (12_240 * 10**9, "3.4h")],
)
def test_times_for_people(ns: int, text: str) -> None:
    assert format_time(ns) == text


def test_microseconds_for_tables() -> None:
    assert format_us(97_349) == "97.3"
    assert format_us(None) == "-"
