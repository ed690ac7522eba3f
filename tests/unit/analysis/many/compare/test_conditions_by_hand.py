"""Every condition of a recording by name: what it is where all is known, and where nothing is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rtassay.analysis.many.compare import conditions
from rtassay.analysis.many.compare.conditions import (
    CONDITIONS,
    core_unknown,
    describe,
    look,
    mean_power,
    mean_temperature,
    title,
)
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
    bounded = LoadEntry("stress-ng", ("stress-ng", "--timeout", "406s", "--cpu", "2"))
    assert value("load.command", made(loads=(bounded,))) == "stress-ng --cpu 2"
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


@pytest.mark.parametrize(
    ("values", "watt"),
    [
        ({}, None),
        ({"hwmon.ina226.board": (4.0, 5.0), "hwmon.ina226.core": (1.0, 1.0)}, 4.5),
        ({"rapl.package-0": (10.0, 12.0), "rapl.package-1": (3.0, float("nan")), "rapl.package-0.core": (8.0, 8.0), "hwmon.a.b": (50.0, 50.0)}, 14.0),
        ({"hwmon.a.b": (float("nan"), float("nan"))}, None),
    ],
)  # fmt: skip
def test_the_mean_power_is_that_of_the_packages_else_of_the_largest_sensor(
    values: dict[str, tuple[float, float]], watt: float | None
) -> None:
    telemetry = tuple(Series("power", name, "W", np.array([1, 2]), np.array(some)) for name, some in values.items())
    assert mean_power(made(telemetry=telemetry)) == watt


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


def test_values_that_a_recording_does_not_tell() -> None:
    assert describe(conditions._settings({})) is None
    lane = block_lane({5: 9})
    unplaced = replace(lane, entry=replace(lane.entry, index=1, cpu=None))
    assert value("cpus", made(lane, unplaced)) is None and value("cpus", made(unplaced)) is None
    assert value("cpus", replace(made(), lanes=())) is None
    slow = replace(lane, entry=replace(lane.entry, interval_ns=None))
    assert value("interval", made(slow)) == "1ms", "the planned one"
    assert value("interval", made(slow, plan=replace(PLAN, interval_ns=None))) is None
    loads = tuple(LoadEntry(name, ("x",), tool_version=name) for name in ("4", "2", "3", "1", "5"))
    assert value("load.tool", made(loads=loads)) == "1, 2, 3, 4, 5"


def test_only_what_sleeps_has_a_way_of_sleeping() -> None:
    noise = replace(block_lane({5: 9}), entry=replace(block_lane({5: 9}).entry, measure="noise"))
    assert value("sleep", made(noise)) is None
    other = made(source=Source("timerlat", "1", "stream", "counted"))
    assert value("sleep", other) is None and value("clock", other) is None


@pytest.mark.parametrize(
    ("clock", "words"),
    [
        ({"sleep": "tick", "tick_hz": 1000}, "tick of 1000 Hz"),
        ({"sleep": "tick"}, "tick"),
        ({"sleep": "timer", "tick_hz": 1000}, "timer"),
        ({}, None),
    ],
)
def test_what_ends_a_sleep(clock: dict[str, Any], words: str | None) -> None:
    assert value("sleep_end", made(facts=facts(clock=clock))) == words


def test_what_tune_had_changed() -> None:
    def tuned(*changes: tuple[str | None, str, str]) -> Recording:
        rows = [{"target": target, "value": to, "state": state} for target, to, state in changes]
        return made(inventory=BOARD | {"tuned": {"owner": "x", "changes": rows}})

    assert value("tuned", made()) is None and value("tuned", tuned()) == "none"
    swap, stat = "/proc/sys/vm/swappiness", "/proc/sys/vm/stat_interval"
    assert value("tuned", tuned((swap, "1", "took"), (stat, "10", "differs"))) == "vm/stat_interval=10, vm/swappiness=1"
    assert value("tuned", tuned((stat, "10", "refused"), (None, "7", "took"))) == "=7"


def test_conditions_without_which_a_comparison_is_blind() -> None:
    core = {"kernel.release", "kernel.config_sha256", "cmdline", "load", "tool", "interval"}
    assert {condition.key for condition in CONDITIONS if condition.core} == core


def of_board(*, labels: dict[str, str] | None = None, kernel: dict[str, Any] | None = None, **board: Any) -> Recording:
    return made(inventory=BOARD | board | {"kernel": KERNEL | (kernel or {})}, labels=labels or {})


def kinds(a: list[Recording], b: list[Recording], *asked: str) -> dict[str, str]:
    return {row.key: row.kind for row in look(a, b, asked)[1]}


def factor(a: list[Recording], b: list[Recording]) -> tuple[str, ...]:
    return look(a, b, ())[0]


def test_the_factor_is_the_only_thing_that_differs() -> None:
    one, os = of_board(), of_board(os="Debian 13")
    both = of_board(os="Debian 13", hostname="other", microcode="0x2")
    assert factor([one], [one]) == () and factor([one], [os]) == ("os",) and factor([one], [both]) == ()
    assert factor([one, os], [of_board(os="Debian 14")]) == (), "one group has two values"
    assert factor([of_board(os="Debian 14")], [one, os]) == ()
    assert factor([one], [of_board(os="Debian 13", kernel={"release": "6.1.0-57"})]) == ("kernel",)


def test_a_label_is_the_factor_before_anything_that_was_seen() -> None:
    plain = of_board(labels={"supply": "usb"})
    assert factor([plain], [of_board(labels={"supply": "bench"}, os="Debian 13")]) == ("supply",)
    assert factor([plain], [of_board(labels={"supply": "bench"}, kernel={"release": "6.1.0-57"})]) == ("supply",)
    two = of_board(labels={"supply": "usb", "desk": "1"}), of_board(labels={"supply": "bench", "desk": "2"})
    assert factor([two[0]], [two[1]]) == ("supply",)
    named = of_board(labels={"supply": "usb", "load": "a"}), of_board(labels={"supply": "bench", "load": "b"})
    assert factor([named[0]], [named[1]]) == ("load",)


def test_labels_that_number_the_runs_are_no_condition() -> None:
    rows = kinds([of_board(labels={"cell": "1", "supply": "usb"})], [of_board(labels={"cell": "2", "supply": "usb"})])
    assert "label.cell" not in rows and rows["label.supply"] == "same"
    days = [of_board(labels={"day": day}) for day in "12"]
    assert "label.day" not in kinds(days, [of_board(labels={"day": "3"})])
    assert "label.day" not in kinds([of_board(labels={"day": "3"})], days) and "label.day" not in kinds(days, days)


def test_kinds_of_differences() -> None:
    one, two, three, silent = (of_board(os=os) for os in ("a", "b", "c", None))
    assert kinds([one], [silent])["os"] == kinds([silent], [one])["os"] == "unknown"
    assert kinds([one], [one])["os"] == "same"
    assert kinds([one, two], [one, two])["os"] == kinds([one, two], [two])["os"] == "varies"
    assert kinds([one, two], [three], "load")["os"] == kinds([one], [two], "load")["os"] == "confound"
    assert kinds([one], [two], "os")["os"] == "factor"
    details = {row.key: (row.kind, row.detail) for row in look([one, two], [three], ("os",))[1]}
    assert details["os"] == ("varies", "the factor itself varies inside a group")
    assert [row.detail for row in look([one], [two], ("os",))[1] if row.key == "os"] == [""]


def test_a_word_that_only_one_command_line_has() -> None:
    a, b = (made(inventory=BOARD | {"cmdline": line}) for line in ("quiet", "quiet splash"))
    details = {row.key: row.detail for row in look([a], [b], ("cmdline",))[1]}
    assert details["cmdline"] == "only B: splash"


def bases(a: Recording, b: Recording, *asked: str) -> str | None:
    return kinds([a], [b], *asked).get("kernel.base")


def test_another_base_version_is_a_confound_of_preemption_only() -> None:
    def kernel(release: str, model: str, label: str | None = None) -> Recording:
        labels = {} if label is None else {"kernel": label}
        return of_board(kernel={"release": release, "preempt_model": model}, labels=labels)

    old, rt = kernel("6.1.1", "PREEMPT_DYNAMIC"), kernel("6.2.1", "PREEMPT_RT")
    assert bases(old, rt, "kernel") == "confound"
    assert bases(old, kernel("6.2.1", "PREEMPT_VOLUNTARY"), "kernel") == "factor"
    assert bases(old, kernel("6.1.1", "PREEMPT_RT"), "kernel") == "same"
    assert bases(old, rt, "load") is None, "the release shows it in more detail"
    assert "kernel.release" in kinds([old], [rt], "load")
    by_label = kernel("6.1.1", "PREEMPT_DYNAMIC", "stock"), kernel("6.2.1", "PREEMPT_DYNAMIC", "rt")
    assert bases(*by_label, "kernel") == "confound"
    unlike = kernel("6.1.1", "PREEMPT_DYNAMIC", "a"), kernel("6.2.1", "PREEMPT_VOLUNTARY", "b")
    assert bases(*unlike, "kernel") == "factor"
    assert bases(old, rt, "kernel.release") == "factor", "that it is about preemption, nobody said"
