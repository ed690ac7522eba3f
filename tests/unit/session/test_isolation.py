"""CPUs that the scheduler leaves alone: what a board tells of them, what is made for a run, and who can measure there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))  # pytest's importlib mode has no sibling imports

from scripted_board import FILES, Part, ScriptedBoard, run_skipping

from rtassay.knobs.base import Seen
from rtassay.loads.base import LoadSpec
from rtassay.loads.stress_ng import StressNgLoad
from rtassay.model.errors import UsageError
from rtassay.model.inventory import inventory_of
from rtassay.model.knobs import DIRECTORY, GATHER, SET, WRITE, Goal
from rtassay.model.manifest import Plan
from rtassay.model.tuning import PARTITION, PARTITION_V1, REST_V1, TOOK, Change, Reverted, Tuned, TuningPlan
from rtassay.session import isolation, settings, tuning
from rtassay.session.examining import judge, members
from rtassay.session.far import FarMachines
from rtassay.session.prepare import Prepared, prepare
from rtassay.session.tuning_plans import Asked, isolation_of

V1 = "/sys/fs/cgroup/cpuset"
SCHEDSTAT = b"version 15\ncpu0 0\ndomain0 3 0\ndomain1 f 0\ncpu1 0\ndomain0 MC 3 0\ncpu2 0\ncpu3 0\n"
HELD = {f"{PARTITION}/cpuset.cpus.partition": b"isolated\n", f"{PARTITION}/cpuset.cpus.effective": b"2-3\n"}


@pytest.mark.parametrize(
    ("known", "allowed", "others"),
    [
        ({"online": [0, 1, 2, 3]}, (0, 1, 2, 3), (0, 1, 2)),  # one would be isolated
        ({"online": [0, 1, 2, 3], "cgroup_isolated": [3]}, (0, 1, 2), (0, 1, 2)),  # and here it is: the same
        ({"online": [0, 1, 2, 3], "isolated": [2, 3]}, (0, 1), (0, 1)),
        ({"online": [0]}, (0,), (0,)),
        ({}, (0, 1), (0, 1)),
    ],
)
def test_a_load_beside_isolated_cpus_has_the_same_cpus_with_and_without_isolation(
    known: dict[str, Any], allowed: tuple[int, ...], others: tuple[int, ...]
) -> None:
    assert isolation.beside(allowed, inventory_of({"cpus": known}).cpus) == others


def test_such_a_load_has_as_many_workers_with_and_without_isolation() -> None:
    def argv(isolated: bytes, allowed: bytes) -> tuple[str, ...]:
        files = {
            **FILES,
            "/sys/devices/system/cpu/isolated": isolated,
            "/proc/self/status": b"Cpus_allowed_list:\t" + allowed,
        }
        board = ScriptedBoard(files=files)
        board.programs = {"stress-ng": Part([b"stress-ng, version 0.17"])}
        plan = Plan(loads=("stress-ng:cache@others",))
        made = run_skipping(prepare(board, plan, isolated=False, lanes=None, far=FarMachines(None)))
        return made.loads[0].command.argv

    assert argv(b"\n", b"0-3\n") == argv(b"3\n", b"0-2\n")


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({}, None),
        ({"/sys/fs/cgroup/cpuset.cpus.isolated": b"\n"}, []),
        (HELD, [2, 3]),
        ({"/sys/fs/cgroup/cpuset.cpus.isolated": b"1\n", **HELD}, [1, 2, 3]),
        (
            {**HELD, f"{PARTITION}/cpuset.cpus.partition": b"isolated invalid (Cpu list in cpuset.cpus not exclusive)"},
            [],
        ),
        ({f"{V1}/cpuset.sched_load_balance": b"1"}, []),
        (
            {
                f"{V1}/cpuset.sched_load_balance": b"0",
                f"{V1}/a/cpuset.sched_load_balance": b"1",
                f"{V1}/a/cpuset.cpus": b"0-2",
                f"{V1}/b/cpuset.sched_load_balance": b"0",
                f"{V1}/b/cpuset.cpus": b"0-3",
            },
            [3],
        ),
    ],
)
def test_which_cpus_cpusets_isolate(files: dict[str, bytes], cpus: list[int] | None) -> None:
    assert isolation.by_groups(files, [0, 1, 2, 3]) == cpus


def test_cpus_in_no_scheduling_domain() -> None:
    files = {"/proc/schedstat": SCHEDSTAT}
    assert isolation.unbalanced(files, [0, 1, 2, 3]) == [2, 3]
    assert isolation.unbalanced(files, [0, 1, 2, 3, 4]) is None  # it was cut off
    assert isolation.unbalanced({}, [0]) is None


@pytest.mark.parametrize(
    ("online", "cpus"), [((0,), ()), ((0, 1), (1,)), ((0, 1, 2, 3), (3,)), (tuple(range(8)), (6, 7))]
)
def test_which_cpus_are_isolated_where_nobody_names_some(online: tuple[int, ...], cpus: tuple[int, ...]) -> None:
    assert isolation.for_a_run(online) == cpus


def seen(files: dict[str, str]) -> Seen:
    described = inventory_of({"cpus": {"online": [0, 1, 2, 3], "isolated": [], "cgroup_isolated": []}})
    return Seen(inventory=described, files={path: text.encode() for path, text in files.items()}, live=True)


def isolating(files: dict[str, str]) -> list[tuple[str, str, str]]:
    found = judge(members(), "x", "board", seen(files), Goal(isolated=(3,)))
    (one,) = isolation_of(found)
    return [(action.kind, action.target, action.value) for action in one.actions]


def test_the_steps_of_either_version_of_cgroups() -> None:
    two = isolating(
        {"/proc/mounts": "c /sys/fs/cgroup cgroup2 rw 0 0\n", "/sys/fs/cgroup/cgroup.controllers": "cpuset"}
    )
    assert two[1:] == [
        (DIRECTORY, PARTITION, ""),
        (SET, f"{PARTITION}/cgroup.type", "threaded"),
        (SET, f"{PARTITION}/cpuset.cpus", "3"),
        (SET, f"{PARTITION}/cpuset.cpus.partition", "isolated"),
    ]
    one = isolating({"/proc/mounts": f"c {V1} cgroup rw,cpuset 0 0\n", f"{V1}/cpuset.mems": "0"})
    assert (SET, f"{PARTITION_V1}/cpuset.sched_load_balance", "0") in one
    assert one[-2:] == [(GATHER, f"{REST_V1}/tasks", f"{V1}/tasks"), (WRITE, f"{V1}/cpuset.sched_load_balance", "0")]
    with pytest.raises(UsageError, match="no isolated CPUs"):
        isolating({"/proc/mounts": "tmpfs /run tmpfs rw 0 0\n"})


def changed(
    monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes], asked: Asked | None, *, isolate: bool
) -> list[Any]:
    """What a run with these files would have asked to be changed, and put back."""
    log: list[Any] = []
    made = Tuned("me", "t", "now", 1, "boot", (Change("cpuset-partition", SET, "x", "y", TOOK),))

    async def planned(board: object, asked: Asked, goal: Goal, *, isolate: bool) -> tuple[TuningPlan, tuple[str, ...]]:
        log.append((asked.ids, goal.isolated, isolate))
        return TuningPlan(
            tuple(
                isolation_of(
                    judge(
                        members(),
                        "x",
                        "board",
                        seen({"/proc/mounts": f"c {V1} cgroup rw,cpuset 0 0\n", f"{V1}/cpuset.mems": "0"}),
                        goal,
                    )
                )
            )
        ), ()

    async def apply(board: object, plan: TuningPlan, *, for_ns: int) -> Tuned:
        log.append("apply")
        return made

    async def revert(board: object) -> Reverted:
        log.append("revert")
        return Reverted(None, False, ())

    for name, double in (("planned", planned), ("apply", apply), ("revert", revert)):
        monkeypatch.setattr(tuning, name, double)

    async def run() -> None:
        held = settings.Settings(ScriptedBoard(files=FILES | files), asked)
        await held.change(1, isolate=isolate)
        await held.put_back()

    run_skipping(run())
    return log


NONE_ISOLATED = {"/sys/devices/system/cpu/isolated": b"\n"}


def test_a_run_isolates_cpus_where_the_kernel_isolates_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert changed(monkeypatch, NONE_ISOLATED, None, isolate=True) == [((), (3,), True), "apply", "revert"]
    named = Asked(("printk",), goal=Goal(isolated=(1, 2)))
    assert changed(monkeypatch, NONE_ISOLATED, named, isolate=True)[0] == (("printk",), (1, 2), True)
    assert changed(monkeypatch, {}, None, isolate=True) == []  # the board's own are taken
    assert changed(monkeypatch, NONE_ISOLATED, None, isolate=False) == []


PARTED = {
    **NONE_ISOLATED,
    **HELD,
    f"{PARTITION}/cpuset.cpus": b"2-3\n",
    "/proc/self/status": b"Cpus_allowed_list:\t0-1\n",
}


def prepared(files: dict[str, bytes], plan: Plan, *, isolated: bool = False) -> Prepared:
    return run_skipping(
        prepare(ScriptedBoard(files=FILES | files), plan, isolated=isolated, lanes=None, far=FarMachines(None))
    )


def test_lanes_join_the_partition_of_their_cpus() -> None:
    found = prepared(PARTED, Plan(), isolated=True)
    assert found.cpus == (2, 3) and found.plan.command[-2:] == ("--partition", PARTITION)
    assert found.plan.load_cpus == (0, 1)
    assert prepared(PARTED, Plan(cpus=(3,))).plan.command[-2:] == ("--partition", PARTITION)
    assert "--partition" not in prepared(PARTED, Plan()).plan.command
    with pytest.raises(UsageError, match="cyclictest cannot measure CPUs"):
        prepared(PARTED, Plan(probe="cyclictest"), isolated=True)


def test_as_much_load_runs_beside_isolated_cpus() -> None:
    def workers(count: int | None) -> str:
        spec = LoadSpec("cache", (0, 1), 1, None, "rtprobe", "stress-ng", workers=count)
        argv = list(StressNgLoad().commands(spec)[0].argv)
        return argv[argv.index("--cache") + 1]

    assert (workers(None), workers(4)) == ("2", "4")
