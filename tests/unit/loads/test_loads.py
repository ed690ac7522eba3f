"""Command lines of the loads, and what their output says was done."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rtassay.loads.base import LoadSpec
from rtassay.loads.builtin import KINDS, BuiltinLoad
from rtassay.loads.none import NoLoad
from rtassay.loads.stress_ng import StressNgLoad
from rtassay.model.errors import UsageError

GIB = 1024**3
SPEC = LoadSpec(None, (0, 1, 2, 3), 90, 2 * GIB, "/opt/rtprobe", "/usr/bin/stress-ng")


def option(argv: list[str], name: str) -> str:
    return argv[argv.index(name) + 1]


def test_profile_is_bounded_in_time_and_memory_and_keeps_to_its_cpus() -> None:
    (argv,) = StressNgLoad().commands(SPEC)
    assert option(argv, "--timeout") == "90s"
    assert option(argv, "--taskset") == "0-3"
    instances, size = int(option(argv, "--vm")), option(argv, "--vm-bytes")
    assert size.endswith("k")
    assert 0 < instances * int(size[:-1]) * 1024 <= 2 * GIB // 4


def test_profile_has_no_disk_and_no_network() -> None:
    (argv,) = StressNgLoad().commands(SPEC)
    stressors = {
        word
        for word in argv
        if word in {"--hdd", "--iomix", "--io", "--sock", "--udp", "--aio", "--readahead", "--all"}
    }
    assert stressors == set()


def test_profile_works_where_memory_is_unknown_or_scarce() -> None:
    for available in (None, 1024 * 1024):
        (argv,) = StressNgLoad().commands(replace(SPEC, memory_available_bytes=available))
        assert int(option(argv, "--vm-bytes")[:-1]) >= 1024


def test_own_arguments_come_last_and_see_no_shell() -> None:
    (argv,) = StressNgLoad().commands(replace(SPEC, argument="--cpu 4 --temp-path '/tmp/a b' ; reboot"))
    assert argv[-6:] == ["--cpu", "4", "--temp-path", "/tmp/a b", ";", "reboot"]


@pytest.mark.parametrize("argument", ["--cpu '4", "", "  "])
def test_arguments_that_cannot_be_read_are_refused(argument: str) -> None:
    with pytest.raises(UsageError):
        StressNgLoad().commands(replace(SPEC, argument=argument))


def test_metrics_of_0_15_and_of_0_13() -> None:
    new = b"""stress-ng: info:  [7370] dispatching hogs: 2 cpu, 1 fork
stress-ng: metrc: [7370] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s
stress-ng: metrc: [7370]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)
stress-ng: metrc: [7370] cpu                1918      3.01      1.59      0.01       637.72        1199.53
stress-ng: metrc: [7370] fork                257      3.01      0.08      0.07        85.39        1649.01
stress-ng: metrc: [7370] miscellaneous metrics:
stress-ng: metrc: [7370] cache           64829212.67 cache ops per second (geometic mean of 1 instances)
stress-ng: info:  [7370] successful run completed in 3.02s
"""
    old = new.replace(b"metrc:", b"info: ")
    for output in (new, old):
        result = StressNgLoad().result(output)
        assert (result.operations, result.unit, result.error) == (2175.0, "bogo ops", None)


def test_metrics_with_more_columns() -> None:
    row = b"stress-ng: metrc: [1] cpu-online  100  3.01  1.59  0.01  637.72  1199.53  99.80  3512\n"
    assert StressNgLoad().result(row).operations == 100.0


def test_errors_of_stress_ng_are_passed_on() -> None:
    result = StressNgLoad().result(b"stress-ng: error: [7] Unknown option: '--nosuch'\n")
    assert (result.operations, result.error) == (None, "Unknown option: '--nosuch'")
    assert StressNgLoad().result(b"").error is not None


def test_builtin_has_a_process_per_kind() -> None:
    commands = BuiltinLoad().commands(SPEC)
    assert [command[2] for command in commands] == list(KINDS)
    assert all(command[:2] == ["/opt/rtprobe", "load"] and option(command, "--cpus") == "0-3" for command in commands)
    assert [command[2] for command in BuiltinLoad().commands(replace(SPEC, argument="cpu, timer"))] == ["cpu", "timer"]
    with pytest.raises(UsageError):
        BuiltinLoad().commands(replace(SPEC, argument="disk"))


def test_builtin_work_is_the_last_count() -> None:
    from rtassay.model.events import End, Facts, Note
    from rtassay.wire.encode import StreamEncoder

    encoder = StreamEncoder()
    notes = [
        Note("work", None, {"event": "work", "mono_ns": n, "operations": 10 * n, "unit": "pages"}) for n in (1, 2, 3)
    ]
    stream = b"".join(encoder.encode(event) for event in [Facts({"stream": 1}), *notes, End({"reason": "signal"})])
    result = BuiltinLoad().result(b"noise on stderr\n" + stream)
    assert (result.operations, result.unit, result.error) == (30.0, "pages", None)
    assert BuiltinLoad().result(b"rtprobe: no memory\n").error is not None


def test_none_starts_nothing_and_takes_no_argument() -> None:
    assert NoLoad().commands(SPEC) == []
    with pytest.raises(UsageError):
        NoLoad().commands(replace(SPEC, argument="x"))
