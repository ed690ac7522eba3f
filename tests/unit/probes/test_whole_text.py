"""A result that a program tells at its end: the events of its importer, with what the live run knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtassay.model.events import End, Event, Facts, HistogramPart
from rtassay.model.manifest import Plan
from rtassay.probes.base import Probe
from rtassay.probes.jitterdebugger import JitterdebuggerProbe
from rtassay.probes.oslat import OslatProbe

DATA = Path(__file__).parents[2] / "data" / "importers"
CASES = [
    (JitterdebuggerProbe(), "jitterdebugger/us.ok.json", "wake-up", 250_000),
    (OslatProbe(), "oslat/rt-tests-2.40.ok.txt", "stall", None),
]


def events(probe: Probe, text: bytes, step: int = 1000) -> list[Event]:
    parser = probe.parser(Plan(interval_ns=250_000, duration_ns=10**9, cpus=(2, 5), priority=70))
    for at in range(0, len(text), step):
        assert parser.feed(text[at : at + step]) == []
    return parser.finish()


@pytest.mark.parametrize(("probe", "file", "measure", "interval_ns"), CASES)
def test_a_real_result_has_the_facts_of_the_run(probe: Probe, file: str, measure: str, interval_ns: int | None) -> None:
    path = DATA / file
    facts, *parts, end = events(probe, path.read_bytes())
    assert isinstance(facts, Facts) and isinstance(end, End)
    assert [(lane["cpu"], lane["measure"]) for lane in facts.data["lanes"][:2]] == [(2, measure), (5, measure)]
    assert facts.data.get("interval_ns") == interval_ns and facts.data["requested"]["priority"] == 70
    assert facts.data["import"]["live"] is True, "the program's own summary is checked against its histogram"
    counted = sum(int(part.counts.sum()) + part.over for part in parts if isinstance(part, HistogramPart))
    true = [int(line.split()[1]) for line in path.with_name(f"{path.name}.count").read_text().splitlines()]
    assert [lane["n"] for lane in end.data["lanes"]] == true and counted == sum(true)


@pytest.mark.parametrize(("probe", "file", "measure", "interval_ns"), CASES)
def test_a_result_that_was_cut_gives_nothing(probe: Probe, file: str, measure: str, interval_ns: int | None) -> None:
    text = (DATA / file).read_bytes()
    assert events(probe, text[: len(text) // 2]) == [] and events(probe, b"") == []
