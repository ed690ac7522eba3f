"""Loads under their guards on a scripted board: started in order, proven alive and ready, ended in order, their words kept."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))  # pytest's importlib mode has no sibling imports

from scripted_board import WATCH, Part, S, ScriptedBoard, Step, load_part, measured, note, pieces, run_skipping

from rtassay.boards.base import LinkLost
from rtassay.loads.base import LoadCommand
from rtassay.loads.command import CommandLoad
from rtassay.loads.iperf3 import Iperf3Load
from rtassay.loads.stress import StressLoad
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.events import End, Event, Facts, FileContent, Output, Second
from rtassay.model.facts import facts_of
from rtassay.model.manifest import LoadEntry, Manifest, Source
from rtassay.monitors.kernel_log import KernelLogMonitor
from rtassay.monitors.raspberry import RaspberryMonitor
from rtassay.monitors.temperature import TemperatureMonitor
from rtassay.session.control import LaneProgress, LiveLanes, Progress
from rtassay.session.far import FarMachines
from rtassay.session.guarded import GuardedLoad, LoadWatch, PlannedLoad
from rtassay.session.loads import Loads, RecordedLoads
from rtassay.session.telemetry import SeriesKeeper, Telemetry

T = TypeVar("T")
FACTS = Facts({"stream": 1, "command": "guard"})


def planned(argv: str = "work", ready: str | None = None) -> PlannedLoad:
    return PlannedLoad(CommandLoad(), f"command:{argv}", (0,), LoadCommand((argv,), (), ready), "1.0")


class Running:
    """Loads on a scripted board; `kept` is what they gave for the recording."""

    def __init__(self, *loads: tuple[PlannedLoad, Part], far: Part | None = None, slow: bool = False) -> None:
        self.board = ScriptedBoard({f"load-{index}": part for index, (_, part) in enumerate(loads)})
        self.board.slow = slow
        self.planned = [one for one, _ in loads]
        self.kept: dict[str, bytes] = {}
        self.heard: list[object] = []
        self.loads = Loads(self._keep)
        self.far_board = ScriptedBoard({"far-0": load_part()} if far is None else {"far-0": far})
        self.far = FarMachines(lambda name: self.far_board)  # type: ignore[arg-type, return-value]

    def _keep(self, name: str, data: bytes) -> None:
        self.kept[name] = self.kept.get(name, b"") + data

    async def start(self) -> None:
        async def through(work: Coroutine[Any, Any, None]) -> None:
            await work

        await self.loads.start(self.board, "rtprobe", self.planned, 5 * S, 10**9, self.heard.append, through, self.far)  # type: ignore[arg-type]

    def then(self, after: Callable[[Loads], Coroutine[Any, Any, T]]) -> T:
        async def main() -> T:
            await self.start()
            try:
                return await after(self.loads)
            finally:
                for reader in self.loads.readers:
                    reader.cancel()
                await asyncio.gather(*self.loads.readers, return_exceptions=True)

        return run_skipping(main())


async def nothing(loads: Loads) -> None:
    return


async def stopped(loads: Loads) -> bool:
    return await loads.stop(30.0)


def server(*, after_s: float = 2.0, asked_ns: int | None = None, ended_ns: int = 9 * S) -> Part:
    """It listens after a while, and says so in two pieces."""
    whole = load_part(Output(3, 1, b"now list"), Output(4, 1, b"ening\n"), asked_ns=asked_ns, ended_ns=ended_ns)
    return replace(whole, steps=[*whole.steps[:3], after_s, *whole.steps[3:]])


def test_a_server_is_ready_before_its_client_starts_and_ends_after_it() -> None:
    running = Running((planned("server", "listening"), server()), (planned("client"), load_part()))
    assert running.then(stopped) is True
    assert running.board.words == ["launch load-0", "launch load-1", "close load-1", "close load-0"]
    assert running.board.at_s("launch load-1") == 2.0
    assert running.heard == running.loads.readers
    assert running.loads.ended_by_probe == ["load-1"]


def test_every_load_has_a_guard_with_a_limit() -> None:
    running = Running((planned("server", "listening"), server()), (planned(), load_part()))
    running.then(nothing)
    guard = ["rtprobe", "guard", "--attached", "--wrap", "--cgroup", "--usage", "--max", f"{5 * S}ns", "--"]
    assert running.board.argv == {"load-0": [*guard, "server"], "load-1": [*guard, "work"]}


def test_the_guard_of_a_load_for_graphics_looks_at_the_gpu() -> None:
    drawing = replace(planned(), command=LoadCommand(("draw",), ("gpu",)))
    running = Running((drawing, load_part()))
    running.then(nothing)
    guard = ["rtprobe", "guard", "--attached", "--wrap", "--cgroup", "--usage", "--max", f"{5 * S}ns", "--gpu", "--"]
    assert running.board.argv == {"load-0": [*guard, "draw"]}


@pytest.mark.parametrize(
    ("asked_ns", "ended_ns", "client_asked_ns", "expected_ns"),
    [
        (None, 9 * S, 8 * S, 8 * S),  # it ended because its client was asked to
        (None, 7 * S, 8 * S, None),  # by itself, before
        (None, 8 * S, 8 * S, None),
        (6 * S, 9 * S, 8 * S, 6 * S),  # asked itself
        (None, 9 * S, None, None),
    ],
)
def test_a_server_is_asked_to_end_through_its_clients(
    asked_ns: int | None, ended_ns: int, client_asked_ns: int | None, expected_ns: int | None
) -> None:
    running = Running(
        (planned("server", "listening"), server(asked_ns=asked_ns, ended_ns=ended_ns)),
        (planned("client"), load_part(asked_ns=None if client_asked_ns is None else client_asked_ns + S)),
        (planned("client"), load_part(asked_ns=client_asked_ns)),
    )
    running.then(stopped)
    entries = running.loads.entries()
    if client_asked_ns is None:
        assert entries[0].stop_asked_ns is None
        return
    assert entries[0].stop_asked_ns == expected_ns
    assert [entry.stop_asked_ns for entry in entries[1:]] == [client_asked_ns + S, client_asked_ns]


def test_a_server_that_still_runs_is_not_said_to_be_asked() -> None:
    deaf = Part([*pieces(FACTS, note("child_started", 1), Output(3, 1, b"listening\n")), Step.NEVER])
    running = Running((planned("server", "listening"), deaf), (planned("client"), load_part()))

    async def after(loads: Loads) -> tuple[bool, tuple[LoadEntry, ...]]:
        return await loads.stop(30.0), loads.entries()

    ended, entries = running.then(after)
    assert ended is False and running.board.told[-1][0] == 0
    assert (entries[0].stop_asked_ns, entries[1].stop_asked_ns) == (None, 8 * S)


@pytest.mark.parametrize(
    ("part", "ready", "message", "at_s"),
    [
        (Part([], 1, b"rtprobe: no such program\n"), None, "the load did not start: work: no such program", 0),
        (Part([*pieces(FACTS), 61.0]), None, "the load did not start: work", 60),
        (
            Part([*pieces(FACTS, note("child_started", 1), Output(2, 2, b"in use\n"))]),
            "listening",
            "the load does not get ready: work: in use",
            0,
        ),
        (Part([*pieces(FACTS, note("child_started", 1)), 11.0]), "listening", "the load does not get ready: work", 10),
        (Part([*pieces(FACTS), LinkLost("the cable is out")]), None, "the cable is out", 0),
    ],
)
def test_a_load_that_does_not_come_to_life(part: Part, ready: str | None, message: str, at_s: float) -> None:
    running = Running((planned(ready=ready), part))

    async def main() -> float:
        begun_s = asyncio.get_running_loop().time()
        with pytest.raises(BoardError) as caught:
            await running.start()
        took_s = asyncio.get_running_loop().time() - begun_s
        for reader in running.loads.readers:
            reader.cancel()
        await asyncio.gather(*running.loads.readers, return_exceptions=True)
        assert str(caught.value) == message
        return took_s

    assert run_skipping(main()) == at_s


def test_a_load_is_waited_for_on_a_board_too_busy_to_start_it_at_once() -> None:
    facts, started = pieces(FACTS, note("child_started", 1))
    running = Running((planned(), Part([facts, 50.0, started, Step.NEVER])))

    async def after(loads: Loads) -> float:
        return asyncio.get_running_loop().time()

    assert running.then(after) == 1000 + 50


def test_over_a_slow_line_its_start_may_be_told_minutes_later() -> None:
    facts, started, words = pieces(FACTS, note("child_started", 1), Output(3, 1, b"listening\n"))
    part = Part([facts, 290.0, started, 45.0, words, Step.NEVER])
    running = Running((planned(ready="listening"), part), slow=True)

    async def after(loads: Loads) -> float:
        return asyncio.get_running_loop().time()

    assert running.then(after) == 1000 + 290 + 45


def test_a_load_that_is_gone_is_noticed_as_soon_as_its_guard_says_so() -> None:
    """Though its stream goes on: the guard still waits for what the load left running."""
    gone = Part(
        [*pieces(FACTS, note("child_started", 1), note("child_exited", 2, exit_code=1), Output(3, 2, b"last\n")), 60.0]
    )
    running = Running((planned(), load_part()), (planned(), gone))

    async def after(loads: Loads) -> float:
        await asyncio.sleep(1.0)
        with pytest.raises(BoardError, match="the load ended at once: work: last"):
            await loads.check_alive()
        return asyncio.get_running_loop().time()

    assert running.then(after) == 1000 + 1 + 10  # it waits for the last words


def test_a_load_whose_guard_is_gone_is_gone() -> None:
    running = Running((planned(), Part(pieces(FACTS, note("child_started", 1)))))

    async def after(loads: Loads) -> None:
        await asyncio.sleep(1.0)
        with pytest.raises(BoardError, match="the load ended at once: work"):
            await loads.check_alive()

    running.then(after)


def test_loads_that_live_are_alive() -> None:
    use = note("usage", 2, processes=1, cpu_ns=1)
    running = Running((planned(), load_part(use)), (planned(), load_part(use, note("cgroup", 3))))

    async def after(loads: Loads) -> tuple[LoadEntry, ...]:
        await loads.check_alive()
        return loads.started_entries()

    entries = running.then(after)
    assert [(entry.started_ns, entry.ended_ns, entry.tool_version) for entry in entries] == [(1, None, "1.0")] * 2


def test_the_stream_and_the_text_of_a_load_are_kept() -> None:
    part = load_part(Output(3, 1, b"out\n"), Output(4, 2, b"err\n"))
    running = Running((planned(), load_part()), (planned(), part))
    running.then(stopped)
    running.loads.entries()
    assert running.kept["load-1.rtw"] == b"".join(step for step in part.steps if isinstance(step, bytes))
    assert running.kept["logs/load-1.txt"] == b"out\nerr\n"
    assert running.kept["logs/load-0.txt"] == b"3.0 CPU seconds\n"  # END: 2 s and 1 s


def test_a_stream_on_stdout_is_no_text() -> None:
    stream = pieces(Facts({"stream": 1}))[0]
    part = load_part(Output(3, 1, stream[:20]), Output(4, 1, stream[20:]), Output(5, 2, b"err\n"))
    running = Running((planned(), part))
    running.then(stopped)
    running.loads.entries()
    assert running.kept["logs/load-0.txt"] == b"err\n"
    assert running.kept["load-0.rtw"] == b"".join(step for step in part.steps if isinstance(step, bytes))


def test_the_first_4_mib_of_text_are_kept() -> None:
    part = load_part(*(Output(index, 2, bytes([65 + index]) * 1_000_000) for index in range(6)))
    running = Running((planned(), part))
    running.then(stopped)
    running.loads.entries()
    assert running.kept["logs/load-0.txt"] == b"".join(bytes([65 + index]) * 1_000_000 for index in range(6))[: 4 << 20]


def test_rows_of_every_load_have_its_number() -> None:
    use = note("usage", S, processes=1, threads=2, real_time=0, cpu_ns=S // 2)
    running = Running((planned(), load_part(use, started_ns=0)), (planned(), load_part(use, started_ns=0)))
    running.then(stopped)
    rows = list(running.loads.rows())
    assert [row[1:] for row in rows if row[1].endswith(".cpus")] == [
        ("0.command.cpus", S, 0.5, "CPUs"),
        ("1.command.cpus", S, 0.5, "CPUs"),
    ]
    assert {(row[1], row[3]) for row in rows} >= {("0.command.threads", 2.0), ("1.command.processes", 1.0)}


@pytest.mark.parametrize(("after_stop", "error"), [(True, None), (False, "worker 8 died")])
def test_trouble_after_the_request_to_end_is_none_though_the_guard_heard_no_request(
    after_stop: bool, error: str | None
) -> None:
    """As of a server whose client is ended first."""
    trouble = Output(5, 2, b"stress: FAIL: [7] (425) worker 8 died\n")
    made = pieces(FACTS, note("child_started", 1), trouble, note("child_exited", 9, exit_code=1, signal=None))
    steps = [*made[:2], Step.TOLD, *made[2:]] if after_stop else [*made[:3], Step.TOLD, made[3]]
    running = Running((replace(planned(), load=StressLoad()), Part(steps)))
    running.then(stopped)
    assert running.loads.entries()[0].error == error


def test_asked_twice_to_end_is_asked_once_more() -> None:
    async def main() -> list[str]:
        board = ScriptedBoard({"load-0": load_part()})
        load = await GuardedLoad.start(board, "rtprobe", planned(), S, lambda data: None, 10**9, "load-0")
        await load.stop(1.0)
        await load.stop(1.0)
        assert load.exited.is_set() and not load.ends_last
        return board.words

    assert run_skipping(main()) == ["launch load-0", "close load-0", "close load-0"]


ENTRY = LoadEntry("command", ("work",), cpus=(0,), spec="command:work")


def watch(*events: Event) -> LoadWatch:
    made = LoadWatch(ENTRY, CommandLoad())
    made.take(events)
    return made


def test_use_between_two_readings_of_one_moment_is_no_rate() -> None:
    first = note("usage", 2 * S, processes=1, threads=1, real_time=0, cpu_ns=S)
    rows = list(watch(note("child_started", S), first, first).rows(0))
    assert [row[3] for row in rows if row[1] == "0.command.cpus"] == [1.0]


def test_use_before_a_start_is_known_is_no_rate() -> None:
    first = note("usage", 2 * S, processes=1, cpu_ns=S)
    late = note("child_started", 3 * S)
    rows = list(watch(first, late, note("usage", 4 * S, processes=2, cpu_ns=2 * S)).rows(3))
    assert rows == [
        ("load", "3.command.processes", 2 * S, 1.0, "processes"),
        ("load", "3.command.processes", 4 * S, 2.0, "processes"),
        ("load", "3.command.cpus", 4 * S, 0.5, "CPUs"),
    ]


def test_the_first_of_every_note_counts() -> None:
    entry = watch(
        note("child_started", 1), note("child_started", 2), note("owner_gone", 3), note("owner_gone", 4)
    ).entry()
    assert (entry.started_ns, entry.stop_asked_ns, entry.ended_ns, entry.log) == (1, 3, None, None)
    assert watch().entry().started_ns is None and watch().stop_asked_ns is None
    assert watch(note("owner_gone", 3)).stop_asked_ns == 3


def test_cpu_time_of_a_load_whose_guard_did_not_come_to_its_end() -> None:
    exited = note("child_exited", 9, exit_code=None, signal=9, user_ns=S, system_ns=3 * S)
    entry = watch(note("child_started", 1), exited).entry()
    assert (entry.user_ns, entry.system_ns, entry.signal, entry.exit_code) == (S, 3 * S, 9, None)
    assert entry.policy is None


def test_a_load_that_used_no_cpu_time_did_no_known_work() -> None:
    entry = watch(note("child_started", 1), note("owner_gone", 2), End({"user_ns": 0, "system_ns": 0})).entry()
    assert (entry.operations, entry.operations_unit) == (None, None)


def test_cpu_time_that_is_known_by_half_is_not_known() -> None:
    use = note("usage", 2 * S, processes=1, cpu_ns=S)
    entry = watch(note("child_started", S), use, note("owner_gone", 3 * S), End({"user_ns": 5 * S})).entry()
    assert (entry.operations, entry.user_ns, entry.system_ns) == (1.0, 5 * S, None)


def test_loads_of_a_dead_host_are_read_from_their_streams(tmp_path: Path) -> None:
    use = note("usage", S, processes=1, threads=2, real_time=1, cpu_ns=S // 2)
    part = load_part(use, started_ns=0)
    (tmp_path / "load-2.rtw").write_bytes(b"".join(step for step in part.steps if isinstance(step, bytes)))
    foreign = replace(ENTRY, name="from-another-package")
    manifest = Manifest("x", "", Source("rtprobe", None, "rtw"), loads=(foreign, ENTRY, ENTRY))
    (tmp_path / "load-0.rtw").write_bytes(b"")
    loads = RecordedLoads(tmp_path, manifest)
    assert ("load", "2.command.cpus", S, 0.5, "CPUs") in list(loads.rows())
    assert {row[1].split(".")[0] for row in loads.rows()} == {"2"}
    filled = loads.into(manifest, tmp_path).loads
    assert filled[:2] == (foreign, ENTRY)
    assert (filled[2].ended_ns, filled[2].policy, filled[2].log) == (9 * S, "real-time", "logs/load-2.txt")


def second(lane: int, **fields: int) -> Second:
    found = next(event for event in golden_seconds() if event.lane == lane)
    return replace(found, **fields)


def golden_seconds() -> list[Second]:
    from rtassay.wire.stream import StreamParser

    return [event for event in StreamParser().feed(measured()) if isinstance(event, Second)]


def test_progress_of_lanes_adds_up_and_knows_the_last() -> None:
    lanes = LiveLanes()
    assert lanes.snapshot() == ()
    lanes.start(facts_of({"lanes": [{"lane": 0, "cpu": 3}, {"lane": 1, "cpu": None}, "no lane"]}).lanes)
    lanes.add(second(1, missed=1, dropped=2, total_n=5, max_so_far_ns=9))
    lanes.add(second(0, missed=10, dropped=20, total_n=0))
    lanes.add(second(1, missed=4, dropped=8, total_n=7, max_so_far_ns=11))
    first, other = lanes.snapshot()
    assert (first.lane, first.cpu, first.n, first.missed, first.dropped, first.worst_ns) == (0, 3, 0, 10, 20, None)
    assert (other.lane, other.cpu, other.n, other.missed, other.dropped, other.worst_ns) == (1, None, 7, 5, 10, 11)
    told = Progress("measure", lanes=(first, other))
    assert (told.worst_ns, told.missed, told.dropped) == (11, 15, 30)
    assert (told.elapsed_ns, told.planned_ns, told.path, told.connected) == (0, None, None, True)
    assert Progress("measure", lanes=(first,)).worst_ns is None


def test_the_worst_of_several_lanes() -> None:
    lane = LaneProgress(0, 0, 1, 0, 0, 5, None, None, None, None)
    assert Progress("measure", lanes=(lane, replace(lane, worst_ns=7), replace(lane, worst_ns=6))).worst_ns == 7


ZONE = "/sys/class/thermal/thermal_zone0"


async def watching(
    part: Part, cpus: tuple[int, ...] = (), wait_s: float = 0.0
) -> tuple[ScriptedBoard, list[bytes], Any]:
    board, kept = ScriptedBoard({"telemetry": part}), list[bytes]()
    telemetry = await Telemetry.start(board, "rtprobe", [TemperatureMonitor()], 7 * S, kept.append, 10**9, cpus)
    await asyncio.sleep(wait_s)
    return board, kept, await telemetry.stop(30.0)


def test_one_watch_reads_the_files_of_all_monitors_every_second() -> None:
    board, kept, _ = run_skipping(watching(Part([WATCH, Step.TOLD]), (1, 2)))
    assert board.argv["telemetry"] == [
        "rtprobe", "guard", "--attached", "--max", f"{7 * S}ns", "--",
        "rtprobe", "watch", "--every", "1s", "--max-bytes", "1000000", "--cpus", "1-2", *TemperatureMonitor.paths,
    ]  # fmt: skip
    assert kept == [WATCH] and board.words == ["launch telemetry", "close telemetry"]


@pytest.mark.parametrize(
    ("steps", "cut_short"), [([WATCH], True), ([WATCH, Step.TOLD], False), ([WATCH, Step.NEVER], False)]
)
def test_a_watch_that_ended_before_it_was_told_is_cut_short(steps: list[Any], cut_short: bool) -> None:
    _, _, keeper = run_skipping(watching(Part(steps), wait_s=1.0))
    assert (keeper.cut_short is not None) is cut_short


def test_what_a_watch_says_at_its_end_counts() -> None:
    path = f"{ZONE}/temp"
    made = pieces(
        Facts({"stream": 1, "paths": [f"{ZONE}/type", path]}),
        FileContent(1, f"{ZONE}/type", 0, b"cpu\n"),
        FileContent(2, path, 0, b"40000\n"),
    )
    _, _, keeper = run_skipping(watching(Part([*made[:2], Step.TOLD, made[2]])))
    assert [row[3] for row in keeper.rows()] == [40.0]


def test_a_watch_that_said_nothing_is_an_error() -> None:
    with pytest.raises(BoardError, match="the monitors saw nothing: no") as caught:
        run_skipping(watching(Part([Step.TOLD], errors=b"no\n")))
    assert caught.value.exit_code == 3


def test_one_refused_path_beside_one_that_is_read_is_told() -> None:
    keeper = SeriesKeeper([TemperatureMonitor(), KernelLogMonitor(), RaspberryMonitor()])
    other = ZONE.replace("0", "1")
    keeper.take([
        FileContent(1, f"{ZONE}/type", 0, b"cpu\n"), FileContent(1, f"{ZONE}/temp", 0, b"40000\n"),
        FileContent(1, f"{other}/temp", 13, None), FileContent(2, f"{other}/temp", 2, None),
    ])  # fmt: skip
    entries = keeper.entries()
    entry = entries["temperature"]
    assert (entry.state, entry.readings, entry.messages, entry.why) == (
        "watched",
        1,
        0,
        f"{other}/temp: Permission denied",
    )
    assert entries["kernel-log"].state == "not available"


def test_messages_of_one_monitor_are_no_messages_of_another() -> None:
    keeper = SeriesKeeper([TemperatureMonitor(), KernelLogMonitor()])
    keeper.take(
        [FileContent(1, "@kmsg", 0, b"4,1,5000,-;one\n4,2,6000,-;two\n"), FileContent(1, f"{ZONE}/temp", 0, b"x\n")]
    )
    entries = keeper.entries()
    assert (entries["kernel-log"].messages, entries["kernel-log"].readings) == (2, 0)
    assert (entries["temperature"].state, entries["temperature"].messages) == ("no readings", 0)
    assert [(message.monitor, message.text) for message in keeper.messages] == [
        ("kernel-log", "one"),
        ("kernel-log", "two"),
    ]


# ---- a far end on another machine

ROWS = b"[  5]   0.00-1.00   sec  1000 KBytes  8000 Kbits/sec\n[  5]   1.00-2.00   sec  2000 KBytes  16000 Kbits/sec\n"


def network() -> tuple[tuple[PlannedLoad, Part], tuple[PlannedLoad, Part]]:
    """The far server and the near client of one load."""
    far = LoadCommand(("/bin/iperf3", "-s"), ("network",), "listening", on="root@h")
    near = PlannedLoad(Iperf3Load(), "iperf3:root@h", (0,), LoadCommand(("rtprobe", "repeat", "--", "c"), ("network",)))
    return (replace(near, command=far), Part()), (near, load_part())


def far_part(*more: Event) -> Part:
    return load_part(Output(3, 1, b"Server listening on 5201\n"), *more)


def test_the_far_end_is_ready_first_and_its_work_is_a_part_of_the_near_one() -> None:
    (far, _), near = network()
    running = Running(near, far=far_part(Output(4, 1, ROWS)))
    running.planned.insert(0, far)

    async def whole(loads: Loads) -> tuple[LoadEntry, ...]:
        await loads.check_alive()
        assert await loads.stop(30.0)
        return loads.entries()

    (entry,) = running.then(whole)
    assert running.far_board.words == ["open", "launch far-0", "close far-0"]
    assert running.board.words[0] == "launch load-0" and "launch far-0" not in running.board.words
    assert running.far_board.argv["far-0"][-2:] == ["/bin/iperf3", "-s"]
    assert "--max" in running.far_board.argv["far-0"] and "--attached" in running.far_board.argv["far-0"]
    assert [(part.name, part.operations, part.seconds) for part in entry.parts] == [
        ("received by root@h", 3_000_000.0, 2.0)
    ]
    assert b"Server listening" in running.kept["logs/far-0.txt"]
    assert [row for row in running.loads.rows() if "far" in row[1]] == []  # its clock is another one


def test_a_far_end_whose_link_is_lost_is_named_and_ends_no_run() -> None:
    (far, _), near = network()
    lost = far_part()
    running = Running(near, far=replace(lost, steps=[*lost.steps[:3], 0.5, LinkLost("gone")]))
    running.planned.insert(0, far)

    async def whole(loads: Loads) -> tuple[LoadEntry, ...]:
        await asyncio.sleep(1)
        assert await loads.stop(30.0)
        return loads.entries()

    (entry,) = running.then(whole)
    assert [(part.name, part.skipped) for part in entry.parts] == [("far end on root@h", True)]
    assert running.heard == [running.loads.readers[0]], "only the near end may end the run"


def test_a_machine_is_opened_once_and_left_with_the_run() -> None:
    machine = ScriptedBoard()

    async def main() -> None:
        far = FarMachines(lambda name: machine)  # type: ignore[arg-type, return-value]
        assert await far.at("h") is await far.at("h")
        await far.close()
        await far.close()
        with pytest.raises(UsageError, match="needs the machine 'h'"):
            await FarMachines(None).at("h")

    run_skipping(main())
    assert machine.words == ["open", "end"]
