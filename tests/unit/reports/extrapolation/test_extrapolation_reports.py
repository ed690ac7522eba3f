"""Reports of an extrapolation: every level with its interval or its refusal, and the sentence about rarer modes."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from rtassay import reports
from rtassay.model.extrapolation import Extrapolation
from rtassay.reports.extrapolation.extrapolation_text import headline
from rtassay.reports.extrapolation.terminal import TerminalExtrapolation

from .extrapolations import EXAMPLES


def rendered(case: str, name: str) -> str:
    return reports.load(Extrapolation, name).render(EXAMPLES[case]()).decode()


@pytest.mark.parametrize("name", ["terminal", "markdown", "html"])
def test_levels_stand_with_their_interval_and_what_qualifies_them(name: str) -> None:
    subject = EXAMPLES["answered"]()
    (lane,) = subject.lanes
    text = re.sub(r"\\", "", rendered("answered", name))
    near, middle, far = lane.levels
    for level in (near, middle):
        assert f"{level.level_ns / 1000:.1f}" in text
        assert f"[{level.lo_ns / 1000:.1f}, {level.hi_ns / 1000:.1f}]" in text
    assert far.level_ns is None and "LEVEL-TOO-FAR" in text
    assert "rarer than 1e-6 (3/n) may exist" in text and "e+0" not in text and "-0.00 " not in text


@pytest.mark.parametrize("name", ["terminal", "markdown", "html"])
def test_a_refusal_names_its_reason_and_what_would_help(name: str) -> None:
    text = re.sub(r"\\", "", rendered("refused", name))
    assert "REFUSED" in text and "OVERFLOW-IN-TAIL" in text and "9 samples lie above the histogram" in text
    assert "ould help" in text and "wider histogram" in text


def test_the_page_draws_band_thresholds_and_the_end_of_the_data() -> None:
    page = rendered("answered", "html")
    assert page.count('class="band"') == page.count('class="fit"') == 2, "one for a screen, one for a phone"
    assert page.count('class="threshold chosen"') >= 1 and page.count('class="threshold"') > 5
    assert (
        '<text class="end"' in page.split("the data end: 1/n")[0][-60:]
    )  # left of its line: to the right it would be cut off
    assert 'class="band"' not in rendered("refused", "html")


def test_the_json_is_the_schema_with_codes() -> None:
    data = json.loads(rendered("both", "json"))
    assert data["schema"] == "rtassay/extrapolate/1" and [lane["name"] for lane in data["lanes"]] == ["CPU0", "CPU1"]
    assert data["lanes"][0]["levels"][1]["lo_ns"] < data["lanes"][0]["levels"][1]["hi_ns"]
    assert data["lanes"][1]["levels"] == [] and data["lanes"][1]["refusals"][0]["code"] == "LOST-IN-TAIL"


def test_a_spread_over_the_thresholds_is_told_with_both_ends() -> None:
    subject = EXAMPLES["answered"]()
    (lane,) = subject.lanes
    told = (
        TerminalExtrapolation(None)
        .render(replace(subject, lanes=(replace(lane, notes=("THRESHOLDS-SPREAD",)),)))
        .decode()
    )
    shapes = [row.xi for row in lane.thresholds]
    assert f"the shape goes from {min(shapes):.2f} to {max(shapes):.2f}" in told
    lines = told.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("  1 in")) + len(lane.levels)
    assert lines[first].startswith("  Note: the answer depends on the threshold")
    assert lines[0] == "Levels beyond the data, which depend on the threshold"
    both = EXAMPLES["both"]()
    plain = replace(both, lanes=tuple(replace(lane, notes=()) for lane in both.lanes))
    assert headline(plain) == "Levels beyond the data, of 1 of 2 lanes; the others are REFUSED"
    assert headline(replace(subject, lanes=(replace(lane, notes=()),))) == "Levels beyond the data"
