"""What the guard's stream tells of a load: from its events to an entry and telemetry."""

from __future__ import annotations

from typing import Any

import pytest

from rtassay.loads.builtin import BuiltinLoad
from rtassay.loads.stress import StressLoad
from rtassay.model.events import End, Event, Note, Output
from rtassay.model.manifest import LoadEntry
from rtassay.session.guarded import LoadWatch

S = 10**9
PLANNED = LoadEntry(
    "stress", ("rtprobe", "repeat", "--", "stress", "--cpu", "2"), cpus=(0, 1), spec="stress", classes=("cpu",)
)


def note(name: str, at_ns: int, **fields: Any) -> Note:
    return Note(name, None, {"event": name, "mono_ns": at_ns, **fields})


def usage(at_ns: int, cpu_ns: int, processes: int = 3, real_time: int = 0) -> Note:
    return note("usage", at_ns, processes=processes, threads=processes, real_time=real_time, cpu_ns=cpu_ns)


COURSE: list[Event] = [
    note("child_started", 10 * S, pid=1),
    usage(11 * S, S),
    usage(12 * S, 3 * S, processes=5),
    usage(14 * S, 4 * S),
    note("owner_gone", 15 * S),
    note("child_exited", 16 * S, pid=1, exit_code=0, signal=None, user_ns=7, system_ns=8),
    End({"user_ns": 3 * S, "system_ns": 2 * S, "reason": "owner", "exit": 0}),
]


def watched(events: list[Event], planned: LoadEntry = PLANNED, load: Any = None) -> LoadWatch:
    watch = LoadWatch(planned, load or StressLoad())
    watch.take(events)
    return watch


def test_use_of_cpu_time_is_a_series_from_the_start_of_the_load() -> None:
    rows = list(watched(COURSE).rows(4))
    assert {row[0] for row in rows} == {"load"}
    cpus = [(row[2], row[3], row[4]) for row in rows if row[1] == "4.stress.cpus"]
    assert cpus == [(11 * S, 1.0, "CPUs"), (12 * S, 2.0, "CPUs"), (14 * S, 0.5, "CPUs")]
    assert [row[3] for row in rows if row[1] == "4.stress.processes"] == [3.0, 5.0, 3.0]
    assert [row[3] for row in rows if row[1] == "4.stress.real_time"] == [0.0, 0.0, 0.0]


def test_the_entry_has_begin_end_and_cpu_time_as_work_where_nothing_else_counts() -> None:
    entry = watched(COURSE).entry("logs/load-4.txt")
    assert (entry.started_ns, entry.ended_ns, entry.stop_asked_ns, entry.exit_code) == (10 * S, 16 * S, 15 * S, 0)
    # Of all descendants (END), not of those the command waited for.
    assert (entry.user_ns, entry.system_ns) == (3 * S, 2 * S)
    assert (entry.operations, entry.operations_unit, entry.error) == (5.0, "CPU seconds", None)
    assert (entry.spec, entry.classes, entry.cpus, entry.log) == ("stress", ("cpu",), (0, 1), "logs/load-4.txt")
    assert entry.policy is None


def test_without_an_end_the_last_reading_counts() -> None:
    entry = watched([*COURSE[:4], note("owner_gone", 15 * S)]).entry()
    assert (entry.operations, entry.ended_ns, entry.user_ns) == (4.0, None, None)


def test_a_load_that_failed_gets_no_work_from_its_cpu_time() -> None:
    failed = Output(11 * S, 2, b"stress: FAIL: [7] (425) <-- worker 8 got signal 9\n")
    entry = watched([*COURSE[:2], failed, *COURSE[5:]]).entry()
    assert (entry.operations, entry.error) == (None, "<-- worker 8 got signal 9")


def test_a_real_time_thread_is_noted_even_if_it_was_seen_once() -> None:
    assert watched([*COURSE[:2], usage(12 * S, 2 * S, real_time=1), usage(13 * S, 3 * S)]).entry().policy == "real-time"


def test_an_entry_can_be_asked_for_twice() -> None:
    watch = watched(COURSE)
    assert watch.entry() == watch.entry()


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_work_per_second_comes_from_the_output(size: int) -> None:
    from rtassay.model.events import Facts
    from rtassay.wire.encode import StreamEncoder

    encoder = StreamEncoder()
    work = [note("work", (10 + i) * S, kind="cpu", operations=100 * i, unit="rounds") for i in range(4)]
    data = b"".join(encoder.encode(event) for event in (Facts({"stream": 1}), *work))
    pieces = [Output(at, 1, data[at : at + size]) for at in range(0, len(data), size)]
    planned = LoadEntry("builtin", ("rtprobe", "load", "cpu"))
    watch = watched([COURSE[0], *pieces], planned, BuiltinLoad())
    rows = [row for row in watch.rows(0) if row[1] == "0.builtin.work"]
    assert [(row[2], row[3], row[4]) for row in rows] == [((10 + i) * S, 100.0, "rounds/s") for i in (1, 2, 3)]
    assert (watch.entry().operations, watch.entry().operations_unit) == (300.0, "rounds")


def gpu(at_ns: int, gpu_ns: int | None, interrupts: int | None) -> Note:
    plain = {"processes": 1, "threads": 1, "real_time": 0, "cpu_ns": at_ns // 100}
    return note("usage", at_ns, **plain, gpu_ns=gpu_ns, gpu_interrupts=interrupts)


def test_time_on_the_gpu_and_its_interrupts_are_kept() -> None:
    watch = watched([*COURSE[:2], gpu(12 * S, S // 2, 60), gpu(14 * S, 2 * S, 180)])
    entry = watch.entry()
    assert (entry.gpu_ns, entry.gpu_interrupts) == (2 * S, 180)
    rows = [row for row in watch.rows(0) if row[1].endswith(".gpu")]
    assert [(row[2], row[3], row[4]) for row in rows] == [(12 * S, 0.5, "GPUs"), (14 * S, 0.75, "GPUs")]


def test_what_no_driver_tells_of_a_gpu_is_unknown() -> None:
    watch = watched([*COURSE[:2], gpu(12 * S, None, None)])
    assert (watch.entry().gpu_ns, watch.entry().gpu_interrupts) == (None, None)
    assert not [row for row in watch.rows(0) if row[1].endswith(".gpu")]
