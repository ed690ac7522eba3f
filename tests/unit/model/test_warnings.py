"""Warnings are values: a fixed set of codes, put into words in one place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rtassay.model import warnings
from rtassay.model.manifest import LaneEntry, RunWarning

CODES = {value for name, value in vars(warnings).items() if name.isupper() and isinstance(value, str)}
RECORDING = Path(__file__).parents[3] / "wire" / "RECORDING.md"
LANES = (LaneEntry(0, "0", None, None, 1), LaneEntry(1, "cpu3 irq", 3, None, 1))


def test_every_code_is_documented_and_nothing_else_is() -> None:
    section = RECORDING.read_text().split("## Warnings")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| `([a-z-]+)`( \+)? \|", section, re.M))
    assert set(rows) == CODES
    assert {code for code, plus in rows.items() if plus} == warnings.DOUBTS_OF_COUNTS


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_has_words_whatever_its_facts_hold(code: str) -> None:
    assert warnings.words(RunWarning(code)) != code
    assert warnings.words(RunWarning(code, 1, {"counts": 3, "frames": [1], "error": None}), LANES).startswith(
        "CPU3 irq"
    )


def test_a_lane_is_named_as_reports_name_it() -> None:
    warning = RunWarning(warnings.BLOCKS_OVERLAP, 0, {"blocks": 2})
    assert warnings.words(warning, LANES) == "lane 0: 2 blocks of samples overlap the one before them"
    assert warnings.words(RunWarning(warnings.HISTOGRAM_DIFFERS, 7), LANES).startswith("lane 7: ")


def test_words_of_a_full_spool_name_samples_and_frames() -> None:
    facts = {"frames": {"samples": 2, "seconds": 5}, "samples": 8192}
    text = warnings.words(RunWarning(warnings.SPOOL_FULL, 0, facts), LANES)
    assert "no room for 8192 samples, 5 frames of seconds" in text


def test_a_code_of_another_version_is_told_as_it_is() -> None:
    assert warnings.words(RunWarning("something-new", None, {"x": 1})) == "something-new"
