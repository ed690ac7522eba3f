"""Command lines of the loads, and what their output says was done."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import outputs
from outputs import S, fed

from rtassay.loads.base import CLASSES, Asked, LoadSpec, parse_asked
from rtassay.loads.builtin import KINDS, BuiltinLoad
from rtassay.loads.command import CommandLoad
from rtassay.loads.hackbench import HackbenchLoad
from rtassay.loads.iperf import IperfLoad
from rtassay.loads.iperf3 import Iperf3Load
from rtassay.loads.none import NoLoad
from rtassay.loads.stress import StressLoad
from rtassay.loads.stress_ng import STRESSORS, StressNgLoad
from rtassay.loads.stress_ng_output import StressNgMeter
from rtassay.loads.tools import Lines, inside
from rtassay.model.errors import UsageError
from rtassay.model.events import End, Facts, Note
from rtassay.wire.encode import StreamEncoder

GIB = 1024**3
SPEC = LoadSpec(None, (0, 1, 2, 3), 90, 2 * GIB, "/opt/rtprobe", None)


def option(argv: tuple[str, ...] | list[str], name: str) -> str:
    return argv[argv.index(name) + 1]


def argv_of(load: object, argument: str | None = None, spec: LoadSpec = SPEC) -> list[list[str]]:
    """Command lines, without the wrapper that bounds them."""
    return [inside(command.argv) for command in load.commands(replace(spec, argument=argument))]  # type: ignore[attr-defined]


def stream(*operations: int, unit: str = "rounds", reason: str = "duration", exit_code: int = 0) -> str:
    """The stream of rtprobe load or repeat: a `work` event a second."""
    encoder = StreamEncoder()
    notes = [
        Note("work", None, {"event": "work", "mono_ns": i * S, "operations": n, "unit": unit})
        for i, n in enumerate(operations)
    ]
    events = [Facts({"stream": 1}), *notes, End({"reason": reason, "exit": exit_code})]
    return b"".join(encoder.encode(event) for event in events).decode("latin-1")


# ---- how a load is asked for


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("none", Asked("none")),
        ("stress-ng:cpu,vm@0-1,3", Asked("stress-ng", "cpu,vm", (0, 1, 3))),
        ("iperf3:-c 10.0.0.2 -P 4", Asked("iperf3", "-c 10.0.0.2 -P 4")),
        ("command:ssh user@host true", Asked("command", "ssh user@host true")),
        ("stress-ng:cache@others", Asked("stress-ng", "cache", None, True)),
        ("command:mail me@others.org", Asked("command", "mail me@others.org")),
        ("builtin@2", Asked("builtin", None, (2,))),
        ("command:wget http://a:8080/x", Asked("command", "wget http://a:8080/x")),
    ],
)
def test_name_arguments_and_cpus(text: str, asked: Asked) -> None:
    assert parse_asked(text) == asked
    assert parse_asked(str(asked)) == asked


@pytest.mark.parametrize("text", ["stress-ng:", "stress:  ", "builtin@3-1"])
def test_what_is_no_load_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_asked(text)


# ---- stress-ng


def test_profile_is_bounded_in_time_and_memory_and_keeps_to_its_cpus() -> None:
    (argv,) = argv_of(StressNgLoad())
    assert option(argv, "--timeout") == "90s"
    assert option(argv, "--taskset") == "0-3"
    instances, size = int(option(argv, "--vm")), option(argv, "--vm-bytes")
    assert size.endswith("k")
    assert 0 < instances * int(size[:-1]) * 1024 <= 2 * GIB // 4


def test_two_runs_of_a_board_have_the_same_load_though_less_memory_is_free() -> None:
    for load in (StressNgLoad(), StressLoad()):
        lines = {tuple(argv_of(load, spec=replace(SPEC, memory_available_bytes=mib << 20))[0]) for mib in (1043, 1155)}
        assert len(lines) == 1


def test_profile_has_no_disk_and_no_network() -> None:
    (command,) = StressNgLoad().commands(SPEC)
    assert not {"--hdd", "--iomix", "--io", "--sock", "--udp", "--aio", "--readahead", "--all"} & set(command.argv)
    assert command.classes == ("cpu", "cache", "vm", "fork", "timer", "scheduler")


def test_profile_works_where_memory_is_unknown_or_scarce() -> None:
    for available in (None, 1024 * 1024):
        (argv,) = argv_of(StressNgLoad(), spec=replace(SPEC, memory_available_bytes=available))
        assert int(option(argv, "--vm-bytes")[:-1]) >= 1024


def test_classes_have_fixed_stressors_within_memory() -> None:
    assert set(STRESSORS) == set(CLASSES)
    (command,) = StressNgLoad().commands(replace(SPEC, argument="vm, hdd ,vm"))
    argv = list(command.argv)
    assert command.classes == ("vm", "hdd")
    assert {word for word in argv if word in {f"--{name}" for names in STRESSORS.values() for name in names}} == {
        "--vm",
        "--mmap",
        "--hdd",
    }
    sizes = [int(option(argv, name)[:-1]) * 1024 * 4 for name in ("--vm-bytes", "--mmap-bytes")]
    assert sum(sizes) <= 2 * GIB // 4
    assert argv[len(argv) - argv[::-1].index("--temp-path")] == "/var/tmp"
    for name in CLASSES:
        (command,) = StressNgLoad().commands(replace(SPEC, argument=name))
        assert command.classes == (name,)


def test_a_class_that_is_none_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        StressNgLoad().needs("cpu,disk")
    assert "disk" in caught.value.what and "hdd" in str(caught.value.hint)


def test_own_arguments_come_last_and_see_no_shell() -> None:
    (argv,) = argv_of(StressNgLoad(), "--cpu 4 --temp-path '/tmp/a b' ; reboot")
    assert argv[-6:] == ["--cpu", "4", "--temp-path", "/tmp/a b", ";", "reboot"]


@pytest.mark.parametrize(
    ("argument", "classes"),
    [
        ("--all 1", CLASSES),
        ("-c 2 --switch 1 --iomix=1", ("cpu", "io", "scheduler")),
        ("--nothing-known 1", ()),
    ],
)
def test_own_arguments_stress_what_they_say(argument: str, classes: tuple[str, ...]) -> None:
    (command,) = StressNgLoad().commands(replace(SPEC, argument=argument))
    assert command.classes == classes


@pytest.mark.parametrize("argument", ["--cpu '4", "", "  "])
def test_arguments_that_cannot_be_read_are_refused(argument: str) -> None:
    with pytest.raises(UsageError):
        StressNgLoad().commands(replace(SPEC, argument=argument))


def test_work_and_skips_of_every_stressor() -> None:
    for err, out in ((outputs.STRESS_NG_0_15, outputs.STRESS_NG_YAML), (outputs.STRESS_NG_0_15, "")):
        result, rates = fed(StressNgMeter(), err, out)
        assert (result.operations, result.unit, result.error, rates) == (66085.0, "bogo ops", None, [])
        parts = {part.name: part for part in result.parts}
        assert set(parts) == {"apparmor", "plugin", "cpu", "vm", "null"}
        assert parts["apparmor"].skipped and "AppArmor is not enabled" in str(parts["apparmor"].why)
        assert parts["plugin"].skipped and parts["plugin"].operations is None
        assert (parts["vm"].operations, parts["vm"].instances, parts["vm"].skipped) == (0.0, 2, False)
        assert parts["cpu"].seconds == pytest.approx(1.0, abs=0.01)
        assert parts["null"].seconds == pytest.approx(1.99, abs=0.01)


def test_tables_of_0_13_and_the_summary_of_later_versions() -> None:
    old = "\n".join(line for line in outputs.STRESS_NG_0_15.replace("metrc:", "info: ").splitlines())
    result, _ = fed(StressNgMeter(), old + "\n" + outputs.STRESS_NG_SUMMARY)
    assert result.operations == 66085.0
    assert {part.name for part in result.parts if part.skipped} == {"apparmor", "plugin", "smi"}


def test_a_stressor_without_figures_is_not_passed_over() -> None:
    result, _ = fed(StressNgMeter(), "stress-ng: info:  [7] dispatching hogs: 3 sock\n")
    assert result.operations is None and result.error
    assert [(part.name, part.operations, part.instances) for part in result.parts] == [("sock", None, 3)]
    assert result.parts[0].why


def test_errors_of_stress_ng_are_passed_on() -> None:
    result, _ = fed(StressNgMeter(), "stress-ng: error: [7] Unknown option: '--nosuch'\n")
    assert (result.operations, result.error) == (None, "Unknown option: '--nosuch'")
    assert fed(StressNgMeter())[0].error is not None


# ---- stress, hackbench, commands


def test_stress_is_bounded_and_says_what_it_stresses() -> None:
    (command,) = StressLoad().commands(SPEC)
    argv = inside(command.argv)
    assert option(argv, "--timeout") == "90s"
    assert 4 * int(option(argv, "--vm-bytes")[:-1]) * 1024**2 <= 2 * GIB // 4
    assert command.classes == ("cpu", "io", "memory", "vm")
    (command,) = StressLoad().commands(replace(SPEC, argument="--cpu 4 --io 4 -m2 --hdd=1 --vm-bytes 256M"))
    result, _ = fed(StressLoad().meter(command.argv), "stress: info: [1] dispatching hogs\n", stream(0))
    assert [(part.name, part.instances) for part in result.parts] == [("cpu", 4), ("io", 4), ("vm", 2), ("hdd", 1)]
    assert (result.operations, result.error) == (None, None)


def test_stress_that_lost_a_worker_says_so() -> None:
    meter = StressLoad().meter(["stress", "--cpu", "1"])
    result, _ = fed(meter, outputs.STRESS_KILLED, stream(0, reason="child", exit_code=1))
    assert result.error == "<-- worker 12883 got signal 9"


def test_hackbench_counts_messages_of_complete_rounds() -> None:
    meter = HackbenchLoad().meter([])
    result, rates = fed(meter, outputs.HACKBENCH, stream(1, 2))
    # 2 groups, 20 senders to 20 receivers, 100 loops: 80000 messages a round.
    assert (result.operations, result.unit, result.error) == (160_000.0, "messages", None)
    assert [(rate.mono_ns, rate.value, rate.unit) for rate in rates] == [
        (2 * S, 320_000.0, "messages/s"),
        (5 * S, 160_000.0, "messages/s"),
    ]
    assert [(part.name, part.instances) for part in result.parts] == [("2 rounds", 80)]


def test_hackbench_has_arguments_and_classes() -> None:
    assert argv_of(HackbenchLoad()) == [["hackbench", "-g", "4", "-l", "200"]]
    assert argv_of(HackbenchLoad(), "-g 1 -l 5 -p") == [["hackbench", "-g", "1", "-l", "5", "-p"]]
    assert HackbenchLoad().commands(replace(SPEC, argument="--inet"))[0].classes == ("network", "scheduler")


def test_a_command_is_repeated_and_its_rounds_are_its_work() -> None:
    (command,) = CommandLoad().commands(replace(SPEC, argument="make -j4 'a b'", program="/usr/bin/make"))
    assert command.argv[:2] == ("/opt/rtprobe", "repeat") and option(command.argv, "--cpus") == "0-3"
    assert "--once" not in command.argv and option(command.argv, "--duration") == "90s"
    assert inside(command.argv) == ["/usr/bin/make", "-j4", "a b"]
    assert CommandLoad().needs("make -j4") == "make"
    result, rates = fed(CommandLoad().meter(command.argv), "compiling\n", stream(0, 2, 5))
    assert (result.operations, result.unit, result.error) == (5.0, "rounds", None)
    assert [(rate.mono_ns, rate.value, rate.unit) for rate in rates] == [(S, 2.0, "rounds/s"), (2 * S, 3.0, "rounds/s")]
    with pytest.raises(UsageError):
        CommandLoad().needs(None)


def test_a_command_without_a_round_tells_nothing_and_one_that_fails_says_why() -> None:
    assert fed(CommandLoad().meter([]), out=stream(0, 0))[0].operations is None
    assert fed(CommandLoad().meter([]), out=stream(0, 0))[0].error is None
    failed, _ = fed(CommandLoad().meter([]), "make: *** no rule\n", stream(3, reason="child", exit_code=2))
    assert (failed.operations, failed.error) == (3.0, "make: *** no rule")
    meter = CommandLoad().meter([])
    meter.stopping()
    assert fed(meter, "terminated\n", stream(3, reason="child", exit_code=143))[0].error is None


# ---- iperf3, iperf


def rows(load: object, err: str) -> tuple[dict[str, float], list[float], str | None]:
    """Mbytes by direction, rates in Mbytes/s, error."""
    result, rates = fed(load.meter([]), err, stream(0))  # type: ignore[attr-defined]
    ways = {part.name: round(part.operations / 1e6, 1) for part in result.parts if part.operations}
    assert result.operations == pytest.approx(sum(part.operations for part in result.parts))
    return ways, [round(rate.value / 1e6, 1) for rate in rates], result.error


@pytest.mark.parametrize(
    ("err", "ways", "rates"),
    [
        # (3606429 + 3835317 + 7151588 + 7415491) kbit: the sums and the end's summary are left out.
        (outputs.IPERF3_REVERSE_CLIENT, {"received": 2751.1}, [930.2]),
        (outputs.IPERF3_SENDING_SERVER, {"sent": 1346.4}, [453.7]),
        (outputs.IPERF3_UDP_CLIENT, {"sent": 12.5}, [6.3]),
        (outputs.IPERF3_UDP_SERVER, {"received": 12.5}, [6.3]),
        (outputs.IPERF3_BOTH_CUT, {"sent": 824.3, "received": 835.2}, [1258.2]),
    ],
    ids=["reverse", "sending server", "udp client", "udp server", "both ways, cut"],
)
def test_what_went_through_iperf3(err: str, ways: dict[str, float], rates: list[float]) -> None:
    assert rows(Iperf3Load(), err) == (ways, rates, None)


def test_a_server_counts_all_its_clients() -> None:
    ways, _, error = rows(Iperf3Load(), outputs.IPERF3_UDP_SERVER * 2)
    assert (ways, error) == ({"received": 24.9}, None)


def test_what_went_through_iperf() -> None:
    result, rates = fed(IperfLoad().meter(["iperf", "-c", "host"]), outputs.IPERF_CLIENT, stream(0))
    assert result.operations == 3956480 * 1024
    assert [(part.name, part.instances) for part in result.parts] == [("sent", 1)]
    assert [round(rate.value / 1024) for rate in rates] == [1961472, 1429888]


def test_errors_count_until_the_end_is_asked_for() -> None:
    refused = "iperf3: error - unable to connect to server: Connection refused\n"
    result, _ = fed(Iperf3Load().meter([]), refused, stream(0, reason="child", exit_code=1))
    assert (result.operations, result.error) == (None, "unable to connect to server: Connection refused")
    meter = Iperf3Load().meter([])
    fed(meter, outputs.IPERF3_UDP_CLIENT)
    meter.stopping()
    assert fed(meter, "iperf3: error - control socket has closed\n", stream(0))[0].error is None
    assert fed(Iperf3Load().meter([]), "", stream(0))[0].error


def test_iperf3_alone_is_a_pair_on_the_loopback() -> None:
    server, client = Iperf3Load().commands(SPEC)
    assert "-s" in inside(server.argv) and server.ready and not client.ready
    assert option(inside(server.argv), "-B") == option(inside(client.argv), "-c") == "127.0.0.1"
    assert option(inside(server.argv), "-p") == option(inside(client.argv), "-p") == "5201"
    assert option(inside(client.argv), "-t") == "90" and "--bidir" in client.argv
    another, _ = Iperf3Load().commands(replace(SPEC, index=1))
    assert option(inside(another.argv), "-p") == "5202"
    assert server.classes == client.classes == ("network",)


def test_iperf_alone_never_connects_back() -> None:
    """With -d the server connects to the client, which may not listen yet: connection refused."""
    server, client = IperfLoad().commands(replace(SPEC, index=1, argument="streams=3,both"))
    assert "-s" in inside(server.argv) and server.ready and not client.ready
    assert option(inside(server.argv), "-p") == option(inside(client.argv), "-p") == "5002"
    assert "-d" not in client.argv and "-L" not in client.argv
    assert option(inside(client.argv), "-P") == "6", "as many connections as both directions have"
    (_, client) = IperfLoad().commands(replace(SPEC, argument="streams=3,reverse"))
    assert "-R" in inside(client.argv) and option(inside(client.argv), "-P") == "3"


def test_iperf3_over_the_network() -> None:
    (client,) = argv_of(Iperf3Load(), "client=10.0.0.2,streams=4,udp,rate=20M,reverse")
    assert (option(client, "-c"), option(client, "-P"), option(client, "-b")) == ("10.0.0.2", "4", "20M")
    assert "-R" in client and "-u" in client and "--bidir" not in client
    (server,) = argv_of(Iperf3Load(), "server,port=6000")
    assert server[1:4] == ["-s", "-p", "6000"]
    (raw,) = argv_of(Iperf3Load(), "-c 10.0.0.2 -w 64K -P 100")
    assert raw[-9:] == ["-c", "10.0.0.2", "-w", "64K", "-P", "100", "-t", "90"][-9:] or raw[-2:] == ["-t", "90"]
    assert option(raw, "-i") == "10"
    (timed,) = argv_of(Iperf3Load(), "-c 10.0.0.2 -t 5")
    assert timed.count("-t") == 1
    (client,) = argv_of(IperfLoad(), "client=10.0.0.2,both")
    assert client[client.index("-d") : client.index("-d") + 3] == ["-d", "-L", "5002"]


@pytest.mark.parametrize(
    "argument",
    [
        "client",
        "client=",
        "port=99999,server",
        "server,client=a",
        "server,reverse",
        "both,reverse",
        "speed=3",
        "-P 4",
        "-s -D",
        "-c h -J",
        "root@h,client=a",
        "root@h,server",
        "streams=2,root@h",
        "address=10.0.0.2",
        "client=a,address=b",
        "ro ot@h",
        "-h",
    ],
)
def test_connections_that_cannot_be_are_refused(argument: str) -> None:
    for load in (Iperf3Load(), IperfLoad()):
        with pytest.raises(UsageError):
            load.needs(argument)


@pytest.mark.parametrize(
    ("machine", "address"),
    [
        ("root@192.168.1.10", "192.168.1.10"),
        ("me@pi.local:2222", "pi.local"),
        ("pi5", "pi5"),
        ("me@[fe80::1]:22", "fe80::1"),
        ("pi5,address=10.0.0.7", "10.0.0.7"),
    ],
)
def test_the_far_end_is_started_on_another_machine(machine: str, address: str) -> None:
    """Its server takes one client and is on no CPU list of ours; data goes both ways."""
    for load, both in ((Iperf3Load(), "--bidir"), (IperfLoad(), "--full-duplex")):
        far, near = load.commands(replace(SPEC, argument=f"{machine},streams=2,port=7000", program="/usr/bin/it"))
        assert (far.on, near.on) == (machine.partition(",")[0], None)
        assert far.argv[:2] == (load.name, "-s") and option(far.argv, "-p") == option(near.argv, "-p") == "7000"
        assert far.ready == "Server listening" and near.ready is None
        words = inside(near.argv)
        assert words[:3] == ["/usr/bin/it", "-c", address] and both in words and option(words, "-P") == "2"
        backwards = inside(load.commands(replace(SPEC, argument=f"{machine},reverse"))[1].argv)
        assert both not in backwards and "-R" in backwards


def test_what_the_far_end_counts_comes_on_its_stdout() -> None:
    far, _ = Iperf3Load().commands(replace(SPEC, argument="root@h"))
    result, rates = fed(Iperf3Load().meter(far.argv), out=outputs.IPERF3_SENDING_SERVER)
    wrapped, _ = fed(Iperf3Load().meter(("/opt/rtprobe", "repeat", "--")), outputs.IPERF3_SENDING_SERVER)
    assert result.parts == wrapped.parts and result.operations == wrapped.operations and rates
    assert result.error is None


# ---- builtin, none, lines


def test_builtin_has_a_process_per_kind() -> None:
    made = BuiltinLoad().commands(SPEC)
    assert [command.argv[2] for command in made] == list(KINDS)
    assert all(
        command.argv[:2] == ("/opt/rtprobe", "load") and option(command.argv, "--cpus") == "0-3" for command in made
    )
    chosen = BuiltinLoad().commands(replace(SPEC, argument="cpu, timer"))
    assert [(command.argv[2], command.classes) for command in chosen] == [("cpu", ("cpu",)), ("timer", ("timer",))]
    with pytest.raises(UsageError):
        BuiltinLoad().needs("disk")


def test_builtin_work_is_the_last_count() -> None:
    meter = BuiltinLoad().meter(["rtprobe", "load", "memory"])
    result, rates = fed(meter, "noise\n", stream(10, 20, 30, unit="bytes"))
    assert (result.operations, result.unit, result.error) == (30.0, "bytes", None)
    assert [(rate.value, rate.unit) for rate in rates] == [(10.0, "bytes/s")] * 2
    assert [(part.name, part.operations) for part in result.parts] == [("memory", 30.0)]
    assert fed(BuiltinLoad().meter([]), "rtprobe: no memory\n")[0].error is not None


def test_none_starts_nothing_and_takes_no_argument() -> None:
    assert NoLoad().commands(SPEC) == []
    with pytest.raises(UsageError):
        NoLoad().needs("x")


def test_lines_come_whole_however_they_are_cut() -> None:
    text = b"one\r\ntwo\n\nthree"
    for size in range(1, len(text) + 1):
        lines = Lines()
        found = [line for at in range(0, len(text), size) for line in lines.feed(text[at : at + size])]
        assert [*found, *lines.finish()] == ["one", "two", "", "three"]
