"""Every condition of a recording by name: what it is where all is known, and where nothing is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rtassay.analysis.many.compare import conditions
from rtassay.analysis.many.compare.conditions import CONDITIONS, core_unknown, describe, look, mean_temperature, title
from rtassay.model.comparison import Difference
from rtassay.model.manifest import LoadEntry, Obtained, Plan, Source
from rtassay.model.recording import Recording, Series

from ...build import MS, block_lane, cyclictest, facts, inventory, recording, skip_lane

KERNEL = {"release": "6.1.0-56-rt", "version": "#1 SMP", "config_sha256": "aa", "preempt_model": "PREEMPT_DYNAMIC", "preempt_dynamic": "full"}  # fmt: skip
BOARD = inventory(
    kernel=KERNEL,
    cmdline="BOOT_IMAGE=/vmlinuz quiet  isolcpus=3 initrd=/x",
    model="Pi",
    cpu_model="A76",
    hostname="pi",
    microcode="0x1",
    os="Debian 12",
    memory={"total_bytes": 7 * 2**30 + 5},
    cpus={"online": [0, 1, 2, 3], "isolated": [3], "nohz_full": [], "smt_active": False},
    governors={"cpu0": "performance", "cpu1": "ondemand", "cpu2": "performance"},
    desktop=["gnome-shell"],
)
PLAN = Plan(
    interval_ns=MS, policy="rr", priority=7, load_cpus=(0, 1), dma_latency_us=5, mlock=False, aligned=True,
    settings={"b": "2", "a": "1"}, warm_up_ns=3 * MS,
)  # fmt: skip


def made(*lanes: Any, **changes: Any) -> Recording:
    loads = (
        LoadEntry("stress-ng", ("/usr/bin/stress-ng", "--cpu", "2"), tool_version="0.15"),
        LoadEntry("hackbench", ("hackbench",), tool_version="2.4"),
        LoadEntry("x", ()),
    )
    told = facts(timer_slack_ns=1, dma_latency_us=0)
    rest = {"inventory": BOARD, "plan": PLAN, "loads": loads, "facts": told, "board": "pi5", "labels": {}} | changes
    return recording(*(lanes or (block_lane({5: 9}), block_lane({5: 9}, index=1))), **rest)


def value(key: str, one: Recording) -> str | None:
    return describe(next(row for row in CONDITIONS if row.key == key).get(one))


KNOWN = {
    "kernel.release": "6.1.0-56-rt",
    "kernel.version": "#1 SMP",
    "kernel.config_sha256": "aa",
    "kernel.preempt_model": "PREEMPT_DYNAMIC",
    "kernel.preempt_dynamic": "full",
    "kernel.base": "6.1.0",
    "cmdline": "quiet isolcpus=3",
    "board": "pi5",
    "model": "Pi",
    "cpu_model": "A76",
    "hostname": "pi",
    "microcode": "0x1",
    "os": "Debian 12",
    "memory": "8192 MiB",
    "cpus.online": "0-3",
    "cpus.isolated": "3",
    "cpus.nohz_full": "none",
    "cpus.smt": "no",
    "governor": "ondemand, performance",
    "clocksource": "tsc",
    "rt_runtime_us": "-1",
    "virtualisation": "none",
    "desktop": "gnome-shell",
    "load.command": "stress-ng --cpu 2; hackbench",
    "load.cpus": "0-1",
    "load.tool": "0.15, 2.4",
    "tool": "rtprobe 0.1.0",
    "late_policy": "counted",
    "interval": "1ms",
    "lanes": "2",
    "cpus": "0-1",
    "dma_latency": "0 us",
    "mlock": "yes",
    "aligned": "yes",
    "settings": "a=1, b=2",
    "timer_slack_ns": "1",
    "warm_up": "3ms",
}


@pytest.mark.parametrize("key", KNOWN)
def test_a_known_condition(key: str) -> None:
    assert value(key, made()) == KNOWN[key]


def test_what_a_file_does_not_tell_is_not_known() -> None:
    file = cyclictest(skip_lane({5: 9}, interval=None), board="imported", source=Source("cyclictest", None, "x"))
    unknown = {row.key for row in CONDITIONS if describe(row.get(file)) is None}
    assert {row.key for row in CONDITIONS} - unknown <= {"tool", "late_policy", "lanes"} and "board" in unknown
    assert value("tool", file) == "cyclictest" and value("lanes", file) == "1"


def test_what_the_lanes_agree_on_goes_before_the_plan() -> None:
    def lane(index: int, policy: str | None, priority: int, interval: int = MS) -> Any:
        seen = None if policy is None else Obtained(policy, priority, (0,), False)
        return block_lane({5: 9}, interval, index=index, obtained_start=seen)

    same = made(lane(0, "fifo", 90), lane(1, "fifo", 90))
    assert (value("policy", same), value("priority", same)) == ("fifo", "90")
    unlike = made(lane(0, "fifo", 90, 2 * MS), lane(1, "rr", 80))
    assert [value(key, unlike) for key in ("policy", "priority", "interval")] == ["fifo, rr", "80, 90", "1ms, 2ms"]
    part = made(lane(0, "fifo", 90), lane(1, None, 0))
    assert (value("policy", part), value("priority", part)) == ("rr", "7")


def test_each_condition_has_a_key_and_a_name_of_its_own() -> None:
    assert len({condition.key for condition in CONDITIONS}) == len(CONDITIONS)
    assert len({condition.name for condition in CONDITIONS}) == len(CONDITIONS)


def test_how_the_lanes_slept() -> None:
    assert (value("sleep", made()), value("clock", made())) == ("clock_nanosleep", "monotonic")
    asked = made(plan=replace(PLAN, sleep="poll", clock="tai"))
    assert (value("sleep", asked), value("clock", asked)) == ("poll", "tai")


def test_values_where_a_board_has_little() -> None:
    assert value("governor", made(inventory=BOARD | {"governors": {}})) == "no frequency scaling"
    assert value("governor", made(inventory=BOARD | {"governors": None})) is None
    assert value("settings", made(plan=replace(PLAN, settings={}))) is None
    assert value("load.command", made(loads=())) is None and value("load.tool", made(loads=())) is None
    assert value("memory", made(inventory=BOARD | {"memory": {"total_bytes": 0}})) is None
    for total, words in ((8 * 2**30, "8192 MiB"), (8 * 2**30 + 1, "10240 MiB"), (4 * 2**30 + 1, "5120 MiB")):
        assert value("memory", made(inventory=BOARD | {"memory": {"total_bytes": total}})) == words
    assert value("dma_latency", made(facts=facts(dma_latency_us=None))) == "not held"
    assert value("dma_latency", made(facts=facts())) == "5 us"
    assert value("dma_latency", made(facts=facts(), plan=replace(PLAN, dma_latency_us=None))) is None
    silent = {name: told for name, told in facts().items() if name != "mlocked"}
    assert value("mlock", made(facts=silent)) == "no" and value("mlock", made(facts=facts(mlocked=False))) == "no"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (None, None),
        ("", None),
        (0, "0"),
        (True, "yes"),
        (False, "no"),
        ([3, 1, 2], "1-3"),
        ((), "none"),
        (["b", 1], "b, 1"),
        ({}, "none"),
        ({"a": 1, "b": 2}, "a=1, b=2"),
        (" two\n words ", "two words"),
    ],
)
def test_values_in_one_line(given: Any, text: str | None) -> None:
    assert describe(given) == text


def row(key: str, a: tuple[str, ...], b: tuple[str, ...], kind: str = "factor") -> Difference:
    return Difference(key, key, a, b, kind)


def test_a_group_is_called_by_its_label_then_by_the_factor() -> None:
    rows = [
        row("kernel", ("6.1",), ("6.12",)),
        row("label.x", ("old",), ("new",)),
        row("load", ("a",), ("b",), "confound"),
    ]
    assert (title("A", (), rows, "told"), title("B", (), rows, "told")) == ("old", "new")
    long = [row("label.x", ("x" * 41,), ("x" * 40,)), row("kernel", ("6.1",), ("6.12",))]
    assert (title("A", (), long, None), title("B", (), long, None)) == ("6.1", "x" * 40)
    several = [row("kernel", ("6.1", "6.2"), ("6.12",))]
    assert (title("A", (), several, "told"), title("A", (), several, None), title("B", (), [], None)) == (
        "told",
        "A",
        "B",
    )


def test_only_core_conditions_that_are_not_known_make_it_blind() -> None:
    rows = [
        row(key, (), (), kind)
        for key, kind in (("load", "unknown"), ("os", "unknown"), ("tool", "same"), ("interval", "unknown"))
    ]
    assert core_unknown(rows) == ["load", "interval"]


def test_words_of_one_command_line_only() -> None:
    a, b = (made(inventory=BOARD | {"cmdline": line}) for line in ("quiet isolcpus=3 nohz=off", "quiet splash"))
    _, rows = look([a], [b], ("cmdline",))
    found = {row.key: (row.kind, row.detail) for row in rows}
    assert found["cmdline"] == ("factor", "only A: isolcpus=3 nohz=off; only B: splash")
    assert found["load"][0] == "same" and found["kernel.release"] == ("same", "")


def test_the_mean_temperature_leaves_out_what_is_no_number() -> None:
    def series(monitor: str, name: str, unit: str, *values: float) -> Series:
        return Series(monitor, name, unit, np.arange(len(values)), np.array(values))

    telemetry = (
        series("temperature", "cpu", "degC", 40.0, np.nan, 50.0),
        series("temperature", "gone", "degC", np.nan),
        series("temperature", "raw", "1", 7.0),
        series("fan", "cpu2", "degC", 9.0),
    )
    assert mean_temperature(made(telemetry=telemetry)) == {"cpu": 45.0}
    assert conditions.boot_of(made(inventory=BOARD | {"boot_id": "b"}).manifest) == "b"
    assert conditions.boot_of(made(facts=facts(boot_id="f")).manifest) == "f"
    assert conditions.boot_of(made().manifest) is None
