"""What the probes are started with, for what was asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rtassay.model.cyclictest import equivalent
from rtassay.model.errors import UsageError
from rtassay.model.manifest import Plan
from rtassay.probes.base import Probe
from rtassay.probes.cyclicdeadline import CyclicdeadlineProbe
from rtassay.probes.cyclictest import CyclictestProbe
from rtassay.probes.hwlatdetect import HwlatdetectProbe
from rtassay.probes.jitterdebugger import JitterdebuggerProbe
from rtassay.probes.oslat import OslatProbe
from rtassay.probes.rteval import RtevalProbe
from rtassay.probes.rtla_osnoise import RtlaOsnoiseProbe
from rtassay.probes.rtla_timerlat import RtlaTimerlatProbe
from rtassay.probes.rtprobe import RtprobeProbe

PLAN = Plan(interval_ns=997_000, duration_ns=60 * 10**9, dma_latency_us=0, mlock=True)


def test_rtprobe_may_fall_back_only_where_no_policy_was_asked_for() -> None:
    probe = RtprobeProbe()
    assert "--fallback" in probe.command(PLAN, "/p", (0, 1))
    for asked in (replace(PLAN, policy="fifo"), replace(PLAN, priority=80)):
        assert "--fallback" not in probe.command(asked, "/p", (0, 1))


def test_rtprobe_command_says_all_that_was_asked() -> None:
    plan = replace(
        PLAN, policy="rr", priority=7, deadline_ns=100_000, break_above_ns=2_000_000, aligned=True, mlock=False, keep_samples=False,
        dma_latency_us=None,
    )  # fmt: skip
    assert RtprobeProbe().command(plan, "/p", (0, 2, 3)) == [
        "/p", "cyclic", "--cpus", "0,2-3", "--deadline", "100us", "--duration", "60s", "--interval", "997us", "--policy", "rr",
        "--priority", "7", "--break-above", "2ms", "--dma-latency", "off", "--aligned", "--no-mlock", "--no-samples",
    ]  # fmt: skip


def test_rtprobe_policy_other_takes_no_priority() -> None:
    assert "--priority" not in RtprobeProbe().command(replace(PLAN, policy="other", priority=0), "/p", (0,))


def test_cyclictest_command_is_the_one_everybody_knows() -> None:
    assert CyclictestProbe().command(PLAN, "/c", (0, 1)) == [
        "/c", "-q", "-m", "-p", "90", "-i", "997", "-h", "10000", "-a", "0-1", "-t", "2", "-D", "60s", "--latency=0",
    ]  # fmt: skip


def test_cyclictest_histogram_reaches_beyond_the_deadline() -> None:
    argv = CyclictestProbe().command(replace(PLAN, deadline_ns=50_000_000), "/c", (0,))
    assert argv[argv.index("-h") + 1] == "100000"


def test_cyclictest_loops_policy_and_break() -> None:
    plan = replace(
        PLAN, duration_ns=None, count=500, policy="other", break_above_ns=5_000_000, dma_latency_us=None, mlock=False
    )
    argv = CyclictestProbe().command(plan, "/c", (1,))
    assert argv == ["/c", "-q", "--policy=other", "-i", "997", "-h", "10000", "-a", "1", "-t", "1", "-l", "500", "-b", "5000",
                    "--default-system"]  # fmt: skip


@pytest.mark.parametrize(
    ("probe", "plan"),
    [
        (CyclictestProbe(), replace(PLAN, interval_ns=997_500)),
        (CyclictestProbe(), replace(PLAN, duration_ns=1_500_000_000)),
        (CyclictestProbe(), replace(PLAN, policy="deadline")),
        (CyclictestProbe(), replace(PLAN, deadline_ns=2 * 10**9)),
        (CyclictestProbe(), replace(PLAN, priority=100)),
        (RtprobeProbe(), replace(PLAN, policy="idle")),
        (RtprobeProbe(), replace(PLAN, priority=100)),
        (RtprobeProbe(), replace(PLAN, policy="other", priority=5)),
        (RtprobeProbe(), replace(PLAN, interval_ns=100)),
        (RtprobeProbe(), replace(PLAN, duration_ns=0)),
        (RtprobeProbe(), replace(PLAN, count=-1)),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_starts(
    probe: CyclictestProbe | RtprobeProbe, plan: Plan
) -> None:
    with pytest.raises(UsageError):
        probe.check(plan)


def test_cyclictest_lanes_know_their_cpu() -> None:
    parser = CyclictestProbe().parser(replace(PLAN, cpus=(1, 3)))
    facts = [*parser.feed(b"# Histogram\n000000 000001\t000002\n"), *parser.finish()][0].data
    assert [(lane["lane"], lane["cpu"]) for lane in facts["lanes"]] == [(0, 1), (1, 3)]
    assert facts["requested"]["priority"] == 90


def test_jitterdebugger_writes_where_nothing_can_stay() -> None:
    plan = replace(PLAN, priority=80, break_above_ns=5_000_000)
    argv = JitterdebuggerProbe().command(plan, "/j", (0, 2))
    assert argv[:4] == ["unshare", "-m", "sh", "-c"] and "mount -t tmpfs" in argv[4]
    assert argv[5:] == ["sh", "/j", "-i", "997", "-p", "80", "-a", "0,2", "-D", "60s", "-b", "5000"]
    by_count = JitterdebuggerProbe().command(replace(PLAN, duration_ns=None, count=500), "/j", (0,))
    assert by_count[-2:] == ["-l", "500"] and "-D" not in by_count


def test_oslat_runs_in_real_time_only_where_that_is_asked_for() -> None:
    assert OslatProbe().command(PLAN, "/o", (1,)) == ["/o", "-q", "-b", "1024", "-c", "1", "-D", "60"]
    assert OslatProbe().command(replace(PLAN, priority=5), "/o", (1,))[-2:] == ["-f", "5"]


@pytest.mark.parametrize(
    ("probe", "changes"),
    [
        (JitterdebuggerProbe(), {"interval_ns": 1_500}),
        (JitterdebuggerProbe(), {"break_above_ns": 1}),
        (JitterdebuggerProbe(), {"duration_ns": 1_500_000_000}),
        (JitterdebuggerProbe(), {"policy": "rr"}),
        (JitterdebuggerProbe(), {"priority": 99}),
        (JitterdebuggerProbe(), {"mlock": False}),
        (JitterdebuggerProbe(), {"aligned": True}),
        (JitterdebuggerProbe(), {"trace_above_ns": 1000}),
        (JitterdebuggerProbe(), {"settings": {"pid": "1"}}),
        (OslatProbe(), {"count": 100}),
        (OslatProbe(), {"break_above_ns": 1000}),
        (OslatProbe(), {"duration_ns": 1_500_000_000}),
        (OslatProbe(), {"policy": "rr"}),
        (OslatProbe(), {"trace_above_ns": 1000}),
        (OslatProbe(), {"settings": {"pid": "1"}}),
    ],
)
def test_what_jitterdebugger_and_oslat_cannot_do_is_refused(probe: Probe, changes: dict[str, object]) -> None:
    probe.check(PLAN)
    with pytest.raises(UsageError):
        probe.check(replace(PLAN, **changes))  # type: ignore[arg-type]


def test_ways_of_sleeping_reach_each_probe_as_far_as_it_has_them() -> None:
    asked = Plan(sleep="signal", clock="realtime", cpus=(1,))
    ours = RtprobeProbe().command(asked, "rtprobe", (1,))
    assert ours[ours.index("--sleep") :][:4] == ["--sleep", "signal", "--clock", "realtime"]
    assert {"-x", "-c1"} <= set(CyclictestProbe().command(asked, "cyclictest", (1,)))
    assert "-x -c1" in equivalent(asked)
    nothing_asked = RtprobeProbe().command(Plan(cpus=(1,)), "rtprobe", (1,))
    assert not {"--sleep", "--clock"} & set(nothing_asked)
    for probe in (RtprobeProbe(), CyclictestProbe()):
        probe.check(asked)


@pytest.mark.parametrize(
    ("probe", "plan", "said"),
    [
        (RtprobeProbe(), Plan(sleep="poll", clock="tai"), "--sleep poll has no --clock tai"),
        (RtprobeProbe("response"), Plan(sleep="poll"), "--sleep is for the method cyclic"),
        (CyclictestProbe(), Plan(sleep="timerfd"), "cyclictest has no --sleep timerfd"),
        (CyclictestProbe(), Plan(clock="tai"), "cyclictest has no --clock tai"),
        (JitterdebuggerProbe(), Plan(sleep="poll"), "jitterdebugger has no --sleep"),
        (OslatProbe(), Plan(clock="realtime"), "oslat has no --sleep and no --clock"),
    ],
)
def test_a_way_of_sleeping_that_a_probe_has_not_is_refused(probe: Probe, plan: Plan, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        probe.check(plan)


def test_the_policy_deadline_has_no_priority_and_is_of_cyclic() -> None:
    plan = Plan(policy="deadline", interval_ns=5_000_000)
    argv = RtprobeProbe().command(plan, "rtprobe", (0, 1))
    assert argv[argv.index("--policy") + 1] == "deadline" and "--priority" not in argv
    RtprobeProbe().check(plan)
    with pytest.raises(UsageError, match="policy deadline has no priority"):
        RtprobeProbe().check(replace(plan, priority=5))
    with pytest.raises(UsageError, match="--policy deadline is for the method cyclic"):
        RtprobeProbe("noise").check(plan)


def test_rtla_timerlat_has_the_settings_of_cyclictest_and_a_histogram_beyond_the_deadline() -> None:
    plan = replace(PLAN, deadline_ns=50_000_000, priority=80)
    argv = RtlaTimerlatProbe().command(plan, "/r", (0, 1))
    assert argv[:2] == ["sh", "-c"] and argv[3:6] == ["sh", "timerlat", "timerlat_hist"]
    assert argv[6:] == [
        "/r", "timerlat", "hist", "-p", "997", "-b", "1", "-E", "100000", "-c", "0-1", "-d", "60s", "-P", "f:80", "--dma-latency", "0",
    ]  # fmt: skip


def test_rtla_osnoise_leaves_a_real_time_board_its_part() -> None:
    assert RtlaOsnoiseProbe().command(PLAN, "/r", (1,))[6:] == [
        "/r", "osnoise", "hist", "-p", "1000000", "-r", "1000000", "-b", "1", "-E", "100000", "-c", "1", "-d", "60s",
    ]  # fmt: skip
    real_time = RtlaOsnoiseProbe().command(replace(PLAN, priority=5), "/r", (1,))
    assert real_time[-2:] == ["-P", "f:5"] and real_time[real_time.index("-r") + 1] == "950000"


def test_hwlatdetect_cyclicdeadline_and_rteval_say_all_that_was_asked() -> None:
    assert HwlatdetectProbe().command(PLAN, "/h", (0, 2))[6:] == [
        "/h", "--duration=60", "--threshold=10us", "--window=1000000us", "--width=500000us", "--cpu-list=0,2",
    ]  # fmt: skip
    deadline = CyclicdeadlineProbe().command(replace(PLAN, interval_ns=5_000_000), "/c", (0, 1))
    assert deadline[4:] == ["/c", "-q", "-i", "5000", "-s", "0", "-t", "2", "-D", "60"]
    assert "--json=/proc/self/fd/3" in deadline[2]
    rteval = RtevalProbe().command(replace(PLAN, settings={"config": "/etc/mine.conf"}, priority=80), "/e", (1,))
    assert rteval[4:] == [
        "/e", "--duration=60", "--measurement-cpulist=1", "--cyclictest-interval=997", "--cyclictest-priority=80",
        "--cyclictest-buckets=200000", "-f", "/etc/mine.conf",
    ]  # fmt: skip


SLOW = replace(PLAN, interval_ns=5_000_000)
REFUSED: list[dict[str, object]] = [
    {"count": 100},
    {"duration_ns": 1_500_000_000},
    {"break_above_ns": 1000_000},
    {"trace_above_ns": 1000},
    {"settings": {"pid": "1"}},
    {"sleep": "poll"},
    {"clock": "tai"},
    {"policy": "idle"},
]


@pytest.mark.parametrize(
    ("probe", "changes"),
    [
        *((probe, changes) for probe in (RtlaTimerlatProbe(), RtlaOsnoiseProbe(), HwlatdetectProbe(), CyclicdeadlineProbe(), RtevalProbe()) for changes in REFUSED),
        (RtlaTimerlatProbe(), {"interval_ns": 50_000}),
        (RtlaTimerlatProbe(), {"interval_ns": 1_000_500}),
        (RtlaTimerlatProbe(), {"aligned": True}),
        (RtlaTimerlatProbe(), {"mlock": False}),
        (RtlaTimerlatProbe(), {"policy": "other"}),
        (RtlaTimerlatProbe(), {"deadline_ns": 6 * 10**9}),
        (RtlaTimerlatProbe(), {"priority": 100}),
        (RtlaOsnoiseProbe(), {"priority": 100}),
        (HwlatdetectProbe(), {"priority": 5}),
        (CyclicdeadlineProbe(), {"interval_ns": 3_333_000}),
        (CyclicdeadlineProbe(), {"interval_ns": None}),
        (CyclicdeadlineProbe(), {"policy": "fifo"}),
        (CyclicdeadlineProbe(), {"aligned": True}),
        (CyclicdeadlineProbe(), {"mlock": False}),
        (RtevalProbe(), {"load": "stress-ng", "loads": ("stress-ng",)}),
        (RtevalProbe(), {"settings": {"config": "mine.conf"}}),
        (RtevalProbe(), {"priority": 99}),
        (RtevalProbe(), {"mlock": False}),
        (RtevalProbe(), {"interval_ns": 1_000_500}),
        (RtevalProbe(), {"deadline_ns": 2 * 10**9}),
    ],
)  # fmt: skip
def test_what_the_other_tools_cannot_do_is_refused(probe: Probe, changes: dict[str, object]) -> None:
    probe.check(SLOW)
    with pytest.raises(UsageError):
        probe.check(replace(SLOW, **changes))  # type: ignore[arg-type]
