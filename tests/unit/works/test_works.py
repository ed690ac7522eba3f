"""What works read of the output of their tools, and the arguments they take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtassay.model import rooms
from rtassay.model.errors import UsageError
from rtassay.works.base import Done, Part

NAMES = list(rooms.table("works"))


def work(name):
    return rooms.load("works", name)()


HACKBENCH = """Running in process mode with 2 groups using 40 file descriptors each (== 80 tasks)
Each sender will pass 200 messages of 100 bytes
Time: 0.387
"""
# stress-ng 0.15.06 --cpu 2 --cpu-ops 400 --metrics --yaml /dev/stdout, two stressors one after the other, shortened.
STRESS_NG = """stress-ng: info:  [22326] dispatching hogs: 2 cpu
---
metrics:
    - stressor: cpu
      bogo-ops: 404
      bogo-ops-per-second-usr-sys-time: 1702.643524
      wall-clock-time: 0.202000
      user-time: 0.303000
      system-time: 0.101000
...
metrics:
    - stressor: fork
      bogo-ops: 400
      wall-clock-time: 0.500000
      user-time: 0.250000
      system-time: 0.250000
...
"""
# The parts that count of what fio 3.33 wrote here, with one of its notes in front.
FIO = """write: (g=0): rw=write, bs=(R) 64.0KiB-64.0KiB, ioengine=psync, iodepth=1
{
  "fio version" : "fio-3.33",
  "jobs" : [
    {"jobname" : "write", "error" : 0, "job_runtime" : 112, "usr_cpu" : 0.000000, "sys_cpu" : 20.535714},
    {"jobname" : "random", "error" : 0, "job_runtime" : 808, "usr_cpu" : 0.990099, "sys_cpu" : 11.138614}
  ]
}
"""
IPERF3 = '{"start": {}, "end": {"sum_received": {"bytes": 536870912, "seconds": 0.5, "bits_per_second": 1}}}'


def test_what_a_round_took_is_what_the_tool_tells():
    assert work("hackbench").read(None, HACKBENCH) == (Done("", 387_000_000),)
    assert work("builtin").read("fork", "fork: 150 processes in 14 ns, 13 ns of CPU time\n") == (Done("fork", 14, 13),)


def test_time_is_scaled_to_the_fixed_amount():
    """A stressor does some operations more, a connection some bytes more."""
    assert work("stress-ng").read("cpu,fork", STRESS_NG) == (
        Done("cpu", 200_000_000, 400_000_000),
        Done("fork", 500_000_000, 500_000_000),
    )
    assert work("iperf3").read(None, IPERF3) == (Done("", 250_000_000),)


def test_fio_tells_the_time_of_each_job_and_its_share_of_a_cpu():
    assert work("fio").read(None, FIO) == (
        Done("write", 112_000_000, 23_000_000),
        Done("random", 808_000_000, 98_000_001),
    )
    failed = FIO.replace('"random", "error" : 0', '"random", "error" : 5')
    assert [done.part for done in work("fio").read(None, failed)] == ["write"]


def test_a_compiler_tells_nothing_so_that_the_time_of_the_round_counts():
    assert work("compile").read(None, "") == (Done("", None),)
    assert work("compile").parts("7") == (Part("", 7, "units compiled"),)


def test_a_stressor_that_ended_by_its_time_has_not_done_its_work():
    text = STRESS_NG.replace("wall-clock-time: 0.500000", "wall-clock-time: 60.000100")
    assert [done.part for done in work("stress-ng").read("cpu,fork", text)] == ["cpu"]


def test_an_iperf3_that_could_not_connect_tells_nothing():
    assert work("iperf3").read(None, '{"start": {}, "end": {}, "error": "unable to connect"}') == ()


@pytest.mark.parametrize("name", ["iperf3", "fio"])
def test_hostile_output_of_a_program_is_no_round(name: str) -> None:
    """A board sends what it likes: numbers that no float holds, and depth that Python does not follow."""
    long, deep = "9" * 400, '{\n"end":' + "[" * 100_000
    huge = f'{{\n"end": {{"sum_received": {{"bytes": {long}, "seconds": 1}}}}, "jobs": [{{"error": 0, "jobname": "a", "job_runtime": 1, "usr_cpu": 1e999, "sys_cpu": 0}}]}}'
    assert work(name).read(None, huge) == work(name).read(None, deep) == ()


@pytest.mark.parametrize("name", NAMES)
@given(
    st.one_of(
        st.text(),
        st.sampled_from([HACKBENCH, STRESS_NG, IPERF3, FIO]).flatmap(
            lambda t: st.integers(0, len(t)).map(lambda n: t[:n])
        ),
    )
)
def test_any_text_is_read_or_not_and_never_raises(name, text):
    one = work(name)
    names = {part.name for part in one.parts(None)}
    for done in one.read(None, text):
        assert done.part in names and (done.ns is None or done.ns >= 0)


def test_amounts_follow_the_arguments():
    assert work("hackbench").parts(None) == (Part("", 160_000, "messages"),)
    assert work("hackbench").parts("-g 1 -l 5 -f 3") == (Part("", 45, "messages"),)
    assert work("hackbench").parts("-g3 --loops=7 -f 2") == (Part("", 84, "messages"),)
    assert work("iperf3").parts("2G")[0].amount == 2 << 30
    assert [part.name for part in work("builtin").parts("fork,cpu,10%")] == ["cpu", "fork"]
    assert work("builtin").parts("fork,10%")[0].amount == 15
    assert work("stress-ng").parts("cpu=7,matrix=9") == (
        Part("cpu", 7, "bogo operations"),
        Part("matrix", 9, "bogo operations"),
    )


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("builtin", "swim"),
        ("builtin", "0%"),
        ("hackbench", "-g x"),
        ("hackbench", "-l 0"),
        ("hackbench", "'open"),
        ("stress-ng", "matrix"),
        ("stress-ng", "cpu=0"),
        ("stress-ng", "cpu; rm -rf /"),
        ("iperf3", "-c elsewhere"),
        ("compile", "0"),
        ("compile", "-j4"),
        ("fio", "disk"),
        ("fio", "/tmp --rw=write"),
        ("iperf3", "0M"),
    ],
)
def test_a_wrong_argument_is_refused(name, argument):
    with pytest.raises(UsageError):
        work(name).parts(argument)


def test_iperf3_stays_on_the_loopback():
    command = work("iperf3").command("1G", "rtprobe")
    assert command[-1] == "1024M" and "-c 127.0.0.1" in command[2] and "-B 127.0.0.1" in command[2]
