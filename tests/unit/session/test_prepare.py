"""What a plan becomes on a board: CPUs, loads with their memory and time, programs and their versions, and what is refused."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))  # pytest's importlib mode has no sibling imports

from scripted_board import FILES, RTPROBE, Part, S, ScriptedBoard, Step, end, facts, run_skipping, skip_time, watched

from rtassay.model.errors import BoardError, UsageError
from rtassay.model.manifest import Plan
from rtassay.session import host_clock, inventory
from rtassay.session.board_files import read_files, said, take_file
from rtassay.session.far import FarMachines
from rtassay.session.prepare import (
    Prepared,
    asked_loads,
    load_seconds,
    planned_ns,
    prepare,
    read_inventory,
)

MS = S // 1000
MIB = 1024 * 1024


def prepared(board: ScriptedBoard, plan: Plan, *, isolated: bool = False, lanes: int | None = None) -> Prepared:
    return run_skipping(prepare(board, plan, isolated=isolated, lanes=lanes, far=FarMachines(None)))


def with_programs(**versions: str) -> ScriptedBoard:
    made = ScriptedBoard()
    made.programs = {name.replace("_", "-"): Part([text.encode()]) for name, text in versions.items()}
    return made


def test_what_was_not_asked_for_gets_its_default() -> None:
    found = prepared(ScriptedBoard(), Plan())
    plan = found.plan
    assert (plan.interval_ns, plan.duration_ns, plan.count) == (997_000, 60 * S, None)
    assert (plan.policy, plan.priority, plan.mlock, plan.aligned) == ("fifo", 90, True, False)
    assert (plan.cpus, plan.load_cpus, plan.load, plan.loads) == ((0, 1, 2, 3), (0, 1, 2, 3), "none", ())
    assert found.cpus == (0, 1, 2, 3) and found.planned_ns == 60 * S and found.asked == Plan()
    assert found.loads == () and found.tool_versions == {} and found.rtprobe == RTPROBE
    # It may fall back only where no policy was asked for: the plan has one, the command must not.
    assert "--fallback" in plan.command and plan.command[:4] == (RTPROBE, "cyclic", "--cpus", "0-3")
    assert plan.cyclictest_equivalent is not None and plan.cyclictest_equivalent.startswith("cyclictest")


@pytest.mark.parametrize(("probe", "has"), [("rtprobe", True), ("response", False), ("exec", False), ("noise", False)])
def test_only_timed_wake_ups_have_a_line_of_cyclictest(probe: str, has: bool) -> None:
    board = ScriptedBoard()
    methods = [{"name": probe, "summary": "s", "measure": "m", "settings": []}]
    board.answers["describe"] = Part([json.dumps({"schema": "rtprobe/describe/2", "methods": methods}).encode()])
    assert (prepared(board, Plan(probe=probe)).plan.cyclictest_equivalent is not None) is has


def test_what_was_asked_for_is_kept() -> None:
    asked = Plan(
        interval_ns=MS,
        duration_ns=None,
        count=500,
        policy="rr",
        priority=7,
        mlock=False,
        aligned=True,
        cpus=(3, 1),
        load_cpus=(0,),
    )
    plan = prepared(ScriptedBoard(), asked).plan
    assert (plan.interval_ns, plan.duration_ns, plan.count) == (MS, None, 500)
    assert (plan.policy, plan.priority, plan.mlock, plan.aligned) == ("rr", 7, False, True)
    assert (plan.cpus, plan.load_cpus) == ((1, 3), (0,))
    assert "--fallback" not in plan.command


def test_an_ordinary_policy_has_no_priority() -> None:
    assert prepared(ScriptedBoard(), Plan(policy="other")).plan.priority == 0
    assert "--priority" not in prepared(ScriptedBoard(), Plan(policy="other")).plan.command


@pytest.mark.parametrize(
    ("duration_ns", "count", "length_ns"),
    [(5 * S, None, 5 * S), (None, 499, 500 * MS), (5 * S, 499, 500 * MS), (S // 10, 499, S // 10)],
)
def test_the_shorter_of_duration_and_count_is_the_length(
    duration_ns: int | None, count: int | None, length_ns: int
) -> None:
    assert planned_ns(Plan(interval_ns=MS, duration_ns=duration_ns, count=count)) == length_ns


def test_a_load_ends_later_than_anything_the_run_may_take() -> None:
    assert load_seconds(Plan(interval_ns=MS, duration_ns=10 * S, warm_up_ns=2 * S)) == 300 + 10 + 2 + 1 + 90
    assert load_seconds(Plan(interval_ns=MS, duration_ns=10 * S + 1, warm_up_ns=2 * S)) == 300 + 10 + 2 + 1 + 90 + 1


@pytest.mark.parametrize(
    ("options", "cpus"),
    [
        ({"isolated": True}, (2, 3)),
        ({"isolated": True, "lanes": 1}, (2,)),
        ({"lanes": 4}, (0, 1, 2, 3)),
        ({"lanes": 1}, (0,)),
    ],
)
def test_cpus_that_are_measured(options: dict[str, Any], cpus: tuple[int, ...]) -> None:
    assert prepared(ScriptedBoard(), Plan(), **options).cpus == cpus


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (Plan(load_cpus=(0, 2)), "--load-cpus 0,2: no CPU 2 to be had: CPU 2 is isolated; this board allows 0-1"),
        (Plan(load="builtin:cpu@3"), "--load builtin:cpu@3 3: no CPU 3 to be had: this board allows 0-1"),
    ],
)
def test_a_load_on_an_isolated_cpu_is_refused_with_the_reason(plan: Plan, said: str) -> None:
    files = {**FILES, "/proc/self/status": b"Cpus_allowed_list:\t0-1\n", "/sys/devices/system/cpu/isolated": b"2\n"}
    with pytest.raises(UsageError) as caught:
        prepared(ScriptedBoard(files=files), plan, isolated=True)
    assert str(caught.value) == said


def test_an_isolated_cpu_that_is_offline_is_not_measured() -> None:
    files = {**FILES, "/sys/devices/system/cpu/online": b"0-2\n"}
    assert prepared(ScriptedBoard(files=files), Plan(), isolated=True).cpus == (2,)


@pytest.mark.parametrize(
    ("plan", "options", "said", "hint"),
    [
        (Plan(), {"lanes": 5}, "5 lanes need 5 CPUs, there are 4: 0-3", None),
        (Plan(cpus=(1, 7)), {}, "--cpus 1,7: no CPU 7 to be had: this board allows 0-3", None),
        (Plan(cpus=()), {}, "--cpus names no CPU", None),
        (Plan(load_cpus=(9,)), {}, "--load-cpus 9: no CPU 9", None),
        (Plan(load="builtin:cpu@8"), {}, "--load builtin:cpu@8 8: no CPU 8", None),
        (Plan(loads=("none", "builtin")), {}, "--load none excludes other loads", "leave it out"),
        (Plan(load="builtin:nonsense"), {}, "no built-in load 'nonsense'", None),
        (Plan(load="none:x"), {}, "takes no argument", "write --load none"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(plan: Plan, options: dict[str, Any], said: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        prepared(ScriptedBoard(), plan, **options)
    assert said in str(caught.value)
    assert hint is None or caught.value.hint == hint


@pytest.mark.parametrize("isolated", [b"\n", None])
def test_a_board_without_isolated_cpus(isolated: bytes | None) -> None:
    files = {path: content for path, content in FILES.items() if not path.endswith("isolated")}
    files |= {} if isolated is None else {"/sys/devices/system/cpu/isolated": isolated}
    with pytest.raises(UsageError, match="no isolated CPUs") as caught:
        prepared(ScriptedBoard(files=files), Plan(), isolated=True)
    assert "isolcpus=" in (caught.value.hint or "")


def test_isolated_cpus_of_a_board_that_does_not_tell_which_are_online() -> None:
    files = {path: content for path, content in FILES.items() if not path.endswith("online")}
    with pytest.raises(UsageError, match="no isolated CPUs"):
        prepared(ScriptedBoard(files=files), Plan(), isolated=True)


def test_a_board_that_tells_of_no_cpu() -> None:
    with pytest.raises(BoardError, match="does not tell which CPUs"):
        prepared(ScriptedBoard(files={}), Plan())


def test_loads_share_the_memory_and_have_their_own_cpus_and_number() -> None:
    made = with_programs(stress="stress 1.0.7\n", iperf3="iperf 3.12 (cJSON 1.7.15)\n")
    found = prepared(made, Plan(duration_ns=10 * S, loads=("stress@1", "iperf3@2-3", "builtin:cpu"), load_cpus=(0, 1)))
    stress, server, client, builtin = found.loads
    assert [load.spec for load in found.loads] == ["stress@1", "iperf3@2-3", "iperf3@2-3", "builtin:cpu"]
    assert [load.cpus for load in found.loads] == [(1,), (2, 3), (2, 3), (0, 1)]
    assert [load.tool_version for load in found.loads] == ["1.0.7", "3.12", "3.12", None]
    assert found.tool_versions == {"stress": "1.0.7", "iperf3": "3.12"}
    assert (server.command.ready is not None, client.command.ready) == (True, None)
    argv = list(stress.command.argv)
    # A third of 4000000 kB, of which it takes an eighth: 162 MiB, so 128.
    assert argv[argv.index("--vm-bytes") + 1] == "128M"
    assert argv[argv.index("--timeout") + 1] == f"{300 + 10 + 1 + 90}s"
    assert "/bin/stress" in argv
    assert server.command.argv[server.command.argv.index("-p") + 1] == "5202"  # the second load
    assert made.words.count("version iperf3") == 1
    assert found.plan.load == "stress@1 + iperf3@2-3 + builtin:cpu"
    assert found.plan.loads == ("stress@1", "iperf3@2-3", "builtin:cpu")
    assert "1" in builtin.entry().argv[-3] and builtin.entry().spec == "builtin:cpu"


def test_loads_of_a_board_that_does_not_tell_its_memory() -> None:
    files = {path: content for path, content in FILES.items() if not path.endswith("meminfo")}
    made = with_programs(stress="no version here\n")
    made.files = files
    found = prepared(made, Plan(load="stress"))
    argv = list(found.loads[0].command.argv)
    assert argv[argv.index("--vm-bytes") + 1] == "16M"  # 512 MiB, an eighth of it, four CPUs
    assert found.tool_versions == {} and found.loads[0].tool_version is None


@pytest.mark.parametrize(
    ("programs", "name"), [({"stress_ng": "stress-ng, version 0.15.06\n"}, "stress-ng"), ({}, "builtin")]
)
def test_auto_is_what_the_board_has(programs: dict[str, str], name: str) -> None:
    plan = prepared(with_programs(**programs), Plan(load="auto@1")).plan
    assert (plan.load, plan.loads) == (f"{name}@1", (f"{name}@1",))


def test_a_command_of_a_person_is_not_asked_for_its_version() -> None:
    made = with_programs(make="GNU Make 4.3\n")
    found = prepared(made, Plan(load="command:make -j4"))
    assert "version make" not in made.words and found.tool_versions == {}
    assert found.loads[0].command.argv[-2:] == ("/bin/make", "-j4")


@pytest.mark.parametrize(("load", "package"), [("hackbench", "rt-tests"), ("stress", "stress")])
def test_a_program_that_the_board_lacks(load: str, package: str) -> None:
    with pytest.raises(BoardError, match=f"has no {load}: not on its PATH") as caught:
        prepared(ScriptedBoard(), Plan(load=load))
    assert caught.value.hint == f"apt-get install {package}"


def test_a_version_may_be_said_on_stderr_with_an_error() -> None:
    made = with_programs()
    made.programs["cyclictest"] = Part([b"usage:\n"], 1, b"cyclictest V 2.50\n")
    found = prepared(made, Plan(probe="cyclictest", duration_ns=10 * S))
    assert found.tool_versions == {"cyclictest": "2.50"}
    assert found.plan.command[0] == "/bin/cyclictest" and found.probe.stream_file == "stream.txt"
    assert "describe" not in made.words


def test_a_probe_without_a_version_is_measured_with_all_the_same() -> None:
    assert prepared(with_programs(cyclictest="?\n"), Plan(probe="cyclictest")).tool_versions == {}


def test_a_setting_of_the_probe_is_checked_by_what_it_describes() -> None:
    made = ScriptedBoard()
    with pytest.raises(UsageError, match="no probe 'nonsense'"):
        prepared(made, Plan(probe="nonsense"))
    assert made.words[:2] == ["describe", "close describe"]


def test_loads_that_exist() -> None:
    assert [load.name for load in asked_loads(Plan(load="auto"))] == ["auto"]
    assert [load.name for load in asked_loads(Plan(load="none"))] == ["none"]
    assert [load.name for load in asked_loads(Plan(load="stress", loads=("builtin", "auto")))] == ["builtin", "auto"]
    with pytest.raises(UsageError):
        asked_loads(Plan(load="nonsense"))


CONFIG = b"CONFIG_PREEMPT_RT=y\nCONFIG_HZ=250\n"


@pytest.mark.parametrize(
    ("files", "hz", "times"),
    [
        ({"/proc/config.gz": gzip.compress(CONFIG)}, 250, 1),
        ({"/boot/config-6.12.0": CONFIG}, 250, 2),
        (
            {"/usr/lib/modules/6.12.0/config": CONFIG, "/lib/modules/6.12.0/config": CONFIG.replace(b"250", b"1000")},
            1000,
            2,
        ),
        ({}, None, 2),
        ({"/proc/sys/kernel/osrelease": b"\n", "/boot/config-": CONFIG}, None, 1),
    ],
)
def test_the_configuration_of_the_kernel_is_looked_for_where_distributions_keep_it(
    files: dict[str, bytes], hz: int | None, times: int
) -> None:
    made = ScriptedBoard(files={**FILES, **files})
    found = run_skipping(read_inventory(made, RTPROBE))
    assert found["kernel"]["config_hz"] == hz and found["hostname"] is None
    assert made.words.count("watch") == times


def test_a_release_gives_three_places() -> None:
    assert inventory.config_paths("6.1") == (
        "/boot/config-6.1",
        "/lib/modules/6.1/config",
        "/usr/lib/modules/6.1/config",
    )


def reading(made: ScriptedBoard, *paths: str) -> dict[str, bytes]:
    return run_skipping(read_files(made, RTPROBE, paths))


def test_files_are_read_at_once_and_bounded() -> None:
    made = ScriptedBoard()
    online = "/sys/devices/system/cpu/online"
    assert reading(made, online, "/nothing") == {online: b"0-3\n"}
    assert made.started == [[RTPROBE, "watch", "--count", "1", "--max-bytes", "1000000", online, "/nothing"]]


@pytest.mark.parametrize("size", [1, 100])
def test_files_that_come_in_pieces_are_whole(size: int) -> None:
    made = ScriptedBoard()
    data = watched(FILES, list(FILES))
    made.answers["watch"] = Part([data[at : at + size] for at in range(0, len(data), size)])
    assert reading(made, *FILES) == FILES


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (
            Part([watched(FILES, [])], 3, b"x\nrtprobe: no memory\n\n"),
            "cannot read the files of board 'scripted': no memory",
        ),
        (Part([watched(FILES, [])], 3), "exit code 3"),
        (Part([watched(FILES, [], whole=False)]), "exit code 0"),
        (Part([Step.NEVER]), "does not answer: reading its files took more than 60 s"),
        (Part([watched(FILES, []), Step.NEVER]), "does not answer"),
    ],
)
def test_files_that_cannot_be_read(part: Part, message: str) -> None:
    made = ScriptedBoard()
    made.answers["watch"] = part
    with pytest.raises(BoardError) as caught:
        reading(made, "/proc/version")
    assert message in str(caught.value)
    assert ("close watch" in made.words) == ("does not answer" in message)
    assert made.told[-1][0] in (0, 60)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Part([b"x"], 1, b"cat: no\n"), "cannot read /t of board 'scripted': cat: no"),
        (Part([b"x"], 1), "exit code 1"),
        (Part([Step.NEVER]), "does not answer: reading /t"),
        (Part([b"x", 61.0]), "does not answer"),
    ],
)
def test_a_file_that_cannot_be_taken(part: Part, message: str) -> None:
    made = ScriptedBoard()
    made.answers["cat"] = part
    with pytest.raises(BoardError) as caught:
        run_skipping(take_file(made, "/t", lambda data: None))
    assert message in str(caught.value)
    assert not any(argv[0] == "rm" for argv in made.started), "what was not read stays on the board"


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        (b"", None),
        (b" \n\n", None),
        (b"rtprobe: a\n", "a"),
        (b"one\n  rtprobe: two \n \n", "two"),
        (b"\xff", "\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_the_last_words_of_a_program(errors: bytes, words: str | None) -> None:
    assert said(errors) == words


def compared(made: ScriptedBoard, monkeypatch: pytest.MonkeyPatch, since: Any = None) -> dict[str, Any]:
    skip_time(monkeypatch, host_clock)
    return run_skipping(host_clock.compare(made, RTPROBE, since))


def test_the_clock_of_a_board_is_read_between_request_and_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ScriptedBoard()
    whole = facts(mono_ns=7 * S, wall_ns=1_000_107 * S)
    made.answers["clock"] = Part([2.0, whole[:10], 2.0, whole[10:], 50.0, end()], ends_when_told=True)
    found = compared(made, monkeypatch)
    assert found == {
        "offset_ns": (1_000_107 - 1_001_002) * S,
        "round_trip_ns": 4 * S,
        "board_mono_ns": 7 * S,
        "host_mono_ns": 1002 * S,
    }
    assert made.words == ["clock", "close clock"]
    assert made.started == [[RTPROBE, "watch", "--count", "1", "/proc/uptime"]]


@pytest.mark.parametrize(
    ("since", "drift"),
    [
        ({"board_mono_ns": 6 * S, "host_mono_ns": 999 * S}, 0.0),
        ({"board_mono_ns": 5 * S, "host_mono_ns": 999 * S}, 1e6),
        ({"board_mono_ns": 0, "host_mono_ns": 900 * S}, -930_000.0),
        ({"board_mono_ns": 7 * S - 3_000_000_100, "host_mono_ns": 997 * S}, 0.033),
        ({"board_mono_ns": 5 * S, "host_mono_ns": 1000 * S}, None),
        ({"board_mono_ns": None, "host_mono_ns": None}, -993_000.0),
    ],
)
def test_how_much_faster_the_clock_of_the_board_ran(
    monkeypatch: pytest.MonkeyPatch, since: dict[str, int | None], drift: float | None
) -> None:
    assert compared(ScriptedBoard(), monkeypatch, since)["drift_ppm"] == drift


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Part([Step.NEVER]), "does not answer: while its clock was read"),
        (Part([facts(mono_ns=1, wall_ns=2), Step.NEVER]), "does not answer"),
        (Part([b"nonsense"]), "does not tell its clock"),
    ],
)
def test_a_board_that_does_not_tell_its_clock(monkeypatch: pytest.MonkeyPatch, part: Part, message: str) -> None:
    made = ScriptedBoard()
    made.answers["clock"] = part
    with pytest.raises(BoardError, match=message):
        compared(made, monkeypatch)
    assert made.told[-1][0] in (0, 20)
