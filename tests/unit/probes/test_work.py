"""A work as a probe: rounds of a stream to samples, what the plan may hold, its command line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtassay.model.errors import UsageError
from rtassay.model.events import End, Facts, Note, Samples
from rtassay.model.manifest import Plan
from rtassay.probes.base import find
from rtassay.wire.encode import StreamEncoder


def round_(wall, cpu=5):
    output = f"fork: 15 processes in {wall} ns, {cpu} ns of CPU time\n"
    return Note(
        "round", None, {"event": "round", "mono_ns": 1, "started_ns": 0, "user_ns": 1, "system_ns": 1, "output": output}
    )


def stream(rounds, end=True):
    events = [Facts({"stream": 1, "probe": "rtprobe", "version": "0.1.0", "command": "repeat"}), *rounds]
    return StreamEncoder().encode_all(events + ([End({"reason": "duration", "exit": 0, "cut": False})] if end else []))


PLAN = Plan(probe="work:builtin", settings={"arguments": "fork,10%"}, duration_ns=10**9)


def parsed(data, at=None):
    parser = find(PLAN.probe).parser(PLAN)
    pieces = [data] if at is None else [data[:at], data[at:]]
    return [event for piece in pieces for event in parser.feed(piece)] + parser.finish()


def test_a_round_is_a_sample_of_both_lanes():
    facts, wall, cpu, end = parsed(stream([round_(70, 40), round_(50, 45)]))
    assert isinstance(wall, Samples) and isinstance(cpu, Samples)
    assert wall.latency_ns.tolist() == [70, 50] and cpu.latency_ns.tolist() == [40, 45]
    assert [lane["measure"] for lane in facts.data["lanes"]] == ["work:builtin-fork", "work-cpu:builtin-fork"]
    assert facts.data["work"] == {
        "name": "builtin",
        "argument": "fork,10%",
        "parts": [{"lane": 0, "part": "fork", "amount": 15, "unit": "processes"}],
        "rounds": 2,
        "unread": 0,
        "cut": False,
    }
    assert end.data["reason"] == "duration"
    assert end.data["lanes"][0] == {
        **dict.fromkeys(("due", "missed", "truncated", "exceedances")),
        **{"lane": 0, "n": 2, "over": 0, "min_ns": 50, "max_ns": 70, "sum_ns": 120, "dropped": 0},
    }


def test_a_round_that_cannot_be_read_is_counted_and_is_no_sample():
    facts, wall, *_ = parsed(stream([Note("round", None, {"event": "round", "output": "killed"}), round_(70)]))
    assert wall.latency_ns.tolist() == [70] and facts.data["work"]["unread"] == 1


def test_without_a_round_there_is_no_sample():
    assert [type(event) for event in parsed(stream([]))] == [Facts, End]


@given(st.data())
def test_a_cut_stream_holds_the_rounds_before_the_cut(data):
    whole = stream([round_(wall) for wall in (10, 20, 30)])
    at = data.draw(st.integers(0, len(whole)))
    events = parsed(whole[:at])
    found = [event.latency_ns.tolist() for event in events if isinstance(event, Samples) and event.lane == 0]
    assert (found[0] if found else []) in ([], [10], [10, 20], [10, 20, 30])
    assert sum(isinstance(event, End) for event in events) == (at == len(whole))
    assert len(parsed(whole, at)) == 4


def test_the_command_is_bounded_and_tells_rounds():
    plan = Plan(probe="work:hackbench", settings={"arguments": "-g 1 -l 5", "rounds": "3"}, duration_ns=2 * 10**9)
    probe = find(plan.probe)
    probe.check(plan)
    assert probe.needs == "hackbench" and probe.name == "work:hackbench"
    assert probe.command(plan, "/rtprobe", (0, 2)) == [
        *("/rtprobe", "repeat", "--tell", "--cpus", "0,2", "--duration", "2000000000ns", "--rounds", "3", "--"),
        *("hackbench", "-g", "1", "-l", "5"),
    ]


@pytest.mark.parametrize(
    "plan",
    [
        Plan(settings={"speed": "1"}),
        Plan(settings={"rounds": "many"}),
        Plan(settings={"arguments": "swim"}),
        Plan(deadline_ns=1),
        Plan(count=5),
        Plan(break_above_ns=5),
    ],
)
def test_what_a_work_cannot_do_is_refused(plan):
    with pytest.raises(UsageError):
        find("work").check(plan)


def test_a_work_that_is_not_there_names_those_that_are():
    with pytest.raises(UsageError) as error:
        find("work:swim")
    assert "builtin" in str(error.value.hint)


def test_facts_of_a_work_are_json():
    assert json.dumps(parsed(stream([round_(70)]))[0].data)
