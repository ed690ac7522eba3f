"""A serial line that is slower than the samples of a run: what is said before it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rtassay.model.manifest import Plan
from rtassay.model.units import NS_PER_MS, NS_PER_S
from rtassay.session import line_speed


def said(baud: int | None, lanes: int = 2, length_s: int = 600, **plan: Any) -> list[str]:
    notices: list[str] = []
    prepared = SimpleNamespace(
        plan=Plan(**({"interval_ns": NS_PER_MS} | plan)),
        cpus=tuple(range(lanes)),
        probe=SimpleNamespace(own_threads=True),
        planned_ns=length_s * NS_PER_S,
    )
    line_speed.tell(SimpleNamespace(baud=baud, notice=notices.append), prepared)  # type: ignore[arg-type]
    return notices


def test_how_long_the_rest_takes_is_said_with_both_speeds() -> None:
    (text,) = said(baud=75_000)
    assert text == (
        "the output of this run needs some 150,000 baud, and the line has 75,000: "
        "the rest is fetched for about 10min after the end; --no-samples leaves the samples out"
    )
    assert "200,000 baud" in said(baud=75_000, lanes=4)[0]
    for plan in ({"keep_samples": False}, {"interval_ns": None}):
        (text,) = said(baud=50_000, **plan)
        assert text.endswith("for about 10min after the end") and "100,000 baud" in text


@pytest.mark.parametrize("quiet", [{"baud": None}, {"baud": 150_000}, {"baud": 115_200, "length_s": 10}])
def test_nothing_is_said_where_nothing_is_waited_for(quiet: dict[str, Any]) -> None:
    assert said(**quiet) == []
