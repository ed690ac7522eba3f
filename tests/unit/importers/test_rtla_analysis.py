"""rtla's auto-analysis, real output of rtla 6.12 on faults that were injected (tests/data/causes/README.md), and beside our causes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cause_traces import DATA

from rtassay import rankings
from rtassay.importers.rtla_analysis import read_analyses
from rtassay.model.errors import InputFileError
from rtassay.model.ranking import Analysis
from rtassay.reports.causes.terminal import TerminalCauses

from ...support.attributions import IRQ, US, attribution, ranked, run

REAL = DATA / "tracer"


def real(fault: str) -> Analysis:
    (one,) = read_analyses(REAL / f"rtla-6.12-{fault}.txt")
    return one


def test_a_thread_that_was_blocked_has_its_parts_and_the_blocking_thread() -> None:
    one = real("p")
    assert (one.cpu, one.latency_ns) == (0, 1_488_100)
    assert one.parts == {"timer-interrupt": 4_660, "threads": 1_392_240}
    assert one.names == ("rtfault_p:212",) and one.largest == "threads"
    assert one.stack[:2] == ("timerlat_irq", "__hrtimer_run_queues") and "rtfault_preemption_off" in one.stack


@pytest.mark.parametrize(("fault", "latency_ns"), [("i", 1_477_540), ("h", 1_422_640)])
def test_a_late_interrupt_has_one_part_and_a_stack(fault: str, latency_ns: int) -> None:
    one = real(fault)
    assert one.parts == {"timer-interrupt": latency_ns} and one.latency_ns == latency_ns
    assert ("rtfault_interrupts_off" in one.stack) == (fault == "i")


def test_interference_is_added_up_by_kind(tmp_path: Path) -> None:
    """Self-made, after rtla-timerlat(1): no real file had these lines yet."""
    text = (REAL / "rtla-6.12-p.txt").read_text()
    more = """\
  IRQ interference                                          8.42 us (0.57 %)
                       local_timer:236                      8.42 us
  Softirq interference                                      3.05 us (0.20 %)
                       TIMER:1                              3.05 us
  Thread interference                                      11.00 us (0.74 %)
                       migration/0:18                      11.00 us
"""
    file = tmp_path / "rtla.txt"
    file.write_text(
        text.replace("------------------------------------------------------------------------\n", f"{more}-----\n")
    )
    (one,) = read_analyses(file)
    assert one.parts == {"timer-interrupt": 4_660, "threads": 1_403_240, "interrupts": 8_420, "softirqs": 3_050}
    assert one.names == ("rtfault_p:212", "local_timer:236", "TIMER:1", "migration/0:18")


def test_a_file_that_breaks_off_or_holds_no_analysis_is_refused(tmp_path: Path) -> None:
    whole = (REAL / "rtla-6.12-f.txt").read_text().splitlines(keepends=True)
    begin = next(at for at, line in enumerate(whole) if line.startswith("## CPU"))
    end = next(at for at, line in enumerate(whole) if line.startswith("  Thread latency"))
    file = tmp_path / "cut.txt"
    for kept in range(len(whole) + 1):
        file.write_text("".join(whole[:kept]))
        if kept > end:
            assert len(read_analyses(file)) == 1
            continue
        why = "breaks off" if kept > begin else "no auto-analysis"
        with pytest.raises(InputFileError, match=why):
            read_analyses(file)


def test_both_stand_side_by_side_and_a_difference_is_told() -> None:
    one = run(attribution(1, (IRQ, 900 * US)))
    analysis = real("p")
    ranking = ranked(one)

    def told(analysis: Analysis) -> str:
        beside = rankings.beside([one.recording], [analysis], 0)
        return TerminalCauses(None).render(replace(ranking, beside=beside)).decode()

    cpu = one.recording.causes[0].hit.cpu
    differs = told(replace(analysis, cpu=cpu))
    assert "threads after that 94 % (rtfault_p:212)" in differs and "they DISAGREE" in differs
    same = told(
        replace(
            analysis,
            cpu=cpu,
            parts={rankings.beside([one.recording], [replace(analysis, cpu=cpu)], 0)[0].largest or "": 5},
        )
    )
    assert ": the same." in same
    assert "no late wake-up of this CPU" in told(replace(analysis, cpu=cpu + 1))
