"""A result that a program tells at its end: the events of its importer, with what the live run knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtassay.model.events import End, Event, Facts, HistogramPart
from rtassay.model.manifest import Plan
from rtassay.probes.base import Probe
from rtassay.probes.cyclicdeadline import CyclicdeadlineProbe
from rtassay.probes.hwlatdetect import HwlatdetectProbe
from rtassay.probes.jitterdebugger import JitterdebuggerProbe
from rtassay.probes.oslat import OslatProbe
from rtassay.probes.rteval import RtevalProbe
from rtassay.probes.rtla_osnoise import RtlaOsnoiseProbe
from rtassay.probes.rtla_timerlat import RtlaTimerlatProbe

DATA = Path(__file__).parents[2] / "data" / "importers"
CASES = [
    (JitterdebuggerProbe(), "jitterdebugger/us.ok.json", "wake-up", 250_000),
    (OslatProbe(), "oslat/rt-tests-2.40.ok.txt", "stall", None),
]
# (probe, file, measures, CPUs, lanes' interval): the file itself tells the lanes.
TOLD = [
    (RtlaTimerlatProbe(), "rtla-timerlat/rtla-6.1-over.ok.txt", ["timer-irq", "timer-thread"] * 2, [0, 0, 1, 1], 250_000),
    (RtlaOsnoiseProbe(), "rtla-osnoise/rtla-6.1-over.ok.txt", ["noise"] * 2, [0, 1], None),
    (HwlatdetectProbe(), "hwlatdetect/some-windows.ok.txt", ["hardware-gap"], [None], None),
    (CyclicdeadlineProbe(), "cyclicdeadline/two-threads.ok.json", ["wake-up"] * 2, [None, None], 250_000),
    (RtevalProbe(), "rteval/rteval-3.1.ok.xml", ["wake-up"] * 2, [1, 0], 250_000),
]  # fmt: skip


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


@pytest.mark.parametrize(("probe", "file", "measures", "cpus", "interval_ns"), TOLD)
def test_lanes_are_those_of_the_real_file(
    probe: Probe, file: str, measures: list[str], cpus: list[int | None], interval_ns: int | None
) -> None:
    path = DATA / file
    facts, *_, end = events(probe, path.read_bytes())
    assert isinstance(facts, Facts) and isinstance(end, End)
    lanes = facts.data["lanes"]
    assert [lane["measure"] for lane in lanes] == measures and [lane["cpu"] for lane in lanes] == cpus
    if interval_ns is not None:
        assert facts.data["interval_ns"] == interval_ns and {lane["interval_ns"] for lane in lanes} == {interval_ns}
    true = [int(line.split("\t")[1]) for line in path.with_name(f"{path.name}.count").read_text().splitlines()]
    assert [lane["n"] for lane in end.data["lanes"]] == true
    assert events(probe, path.read_bytes()[: path.stat().st_size // 2]) == []
