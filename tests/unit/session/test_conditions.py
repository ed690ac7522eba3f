"""How a kernel is set: idle states, interrupts, tracing, servers, its log, its debugging; and real-time threads of an inventory."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtassay.session import conditions, inventory, kernel_config

CPU = "/sys/devices/system/cpu"
FILES = {
    f"{CPU}/cpuidle/current_driver": b"intel_idle\n",
    f"{CPU}/cpuidle/current_governor_ro": b"menu\n",
    f"{CPU}/cpu0/cpuidle/state0/name": b"POLL\n",
    f"{CPU}/cpu0/cpuidle/state0/latency": b"0\n",
    f"{CPU}/cpu0/cpuidle/state0/disable": b"0\n",
    f"{CPU}/cpu0/cpuidle/state2/name": b"C6\n",
    f"{CPU}/cpu0/cpuidle/state2/latency": b"133\n",
    f"{CPU}/cpu0/cpuidle/state2/residency": b"400\n",
    f"{CPU}/cpu0/cpuidle/state2/disable": b"1\n",
    f"{CPU}/cpu10/cpuidle/state0/name": b"WFI\n",
    "/dev/cpu_dma_latency": b"\x00\x94\x35\x77",
    "/proc/irq/39/smp_affinity_list": b"0-3\n",
    "/proc/irq/39/effective_affinity_list": b"0\n",
    "/sys/kernel/irq/39/actions": b"dwc_otg,dwc_otg_pcd\n",
    "/proc/irq/4/smp_affinity_list": b"\n",
    "/sys/kernel/irq/5/actions": b"nobody\n",
    "/sys/kernel/tracing/current_tracer": b"function\n",
    "/sys/kernel/tracing/tracing_on": b"1\n",
    "/sys/kernel/tracing/set_event": b"sched:sched_switch\nirq:irq_handler_entry\n",
    "/sys/kernel/debug/sched/fair_server/cpu0/runtime": b"50000000\n",
    "/sys/kernel/debug/sched/fair_server/cpu0/period": b"1000000000\n",
    "@kmsg": b"6,1,5,-;Booting Linux\n4,2,70250000,-;sched: RT throttling activated\n KEY=RT throttling\n",
}


def test_a_board_that_tells_everything() -> None:
    found = inventory.describe(FILES)
    assert found["idle"] == {"driver": "intel_idle", "governor": "menu"}
    assert found["idle_states"] == {
        "cpu0": [
            {"name": "POLL", "latency_us": 0, "residency_us": None, "disabled": False},
            {"name": "C6", "latency_us": 133, "residency_us": 400, "disabled": True},
        ],
        "cpu10": [{"name": "WFI", "latency_us": None, "residency_us": None, "disabled": None}],
    }
    assert found["cpu_dma_latency_us"] == 2_000_000_000
    assert found["irq_affinity"] == {
        "4": {"name": None, "cpus": [], "effective": None},
        "39": {"name": "dwc_otg,dwc_otg_pcd", "cpus": [0, 1, 2, 3], "effective": [0]},
    }
    assert found["tracing"] == {"current_tracer": "function", "tracing_on": True, "events_enabled": 2}
    assert found["fair_servers"] == {"cpu0": {"runtime_ns": 50_000_000, "period_ns": 1_000_000_000}}
    assert found["throttle_messages"] == ["[70.250000] sched: RT throttling activated"]


def test_a_kernel_without_a_driver_of_idle_states() -> None:
    files = {f"{CPU}/cpuidle/current_driver": b"none\n", f"{CPU}/cpuidle/current_governor": b"menu\n"}
    assert conditions.idle_driver(files) == {"driver": None, "governor": "menu"}
    assert conditions.idle_states(files) is None


def test_a_log_without_throttling_is_not_a_log_that_cannot_be_read() -> None:
    assert conditions.throttle_messages({"@kmsg": b"6,1,5,-;Booting Linux\n"}) == []
    assert conditions.throttle_messages({}) is None


def test_a_tracer_that_is_there_and_traces_nothing() -> None:
    files = {"/sys/kernel/debug/tracing/current_tracer": b"nop\n", "/sys/kernel/debug/tracing/tracing_on": b"0\n"}
    assert conditions.tracing(files) == {"current_tracer": "nop", "tracing_on": False, "events_enabled": None}


@pytest.mark.parametrize(
    ("content", "latency_us"), [(b"\0\0\0\0", 0), (b"\x64\0\0\0", 100), (b"\xff\xff\xff\xff", None), (b"", None)]
)
def test_cpu_dma_latency(content: bytes, latency_us: int | None) -> None:
    assert conditions.dma_latency_us({"/dev/cpu_dma_latency": content}) == latency_us


def test_every_real_time_thread_is_known_not_only_the_first_of_its_process() -> None:
    threads = (Path(__file__).parents[2] / "data" / "monitors" / "rt-threads.pi").read_bytes()
    leader = b"300 (my app) S 1 300 300 0 -1 4194304 0 0 0 0 0 9 0 0 20 0 2 0 60 0 0 3 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0\n"
    found = inventory.describe({"/proc/300/stat": leader, "@rt-threads": threads + b"nonsense\n"})["rt_tasks"]
    assert [(task["tid"], task["priority"]) for task in found] == [(13, 99), (85, 50), (301, 20), (27, 1)]
    assert found[2] == {"tid": 301, "pid": 300, "comm": "my (odd) app 2", "policy": "rr", "priority": 20, "cpu": 3}
    assert inventory.describe({"/proc/300/stat": leader})["rt_tasks"] == []


@pytest.mark.parametrize(
    ("config", "cmdline", "debug"),
    [
        ("CONFIG_PROVE_LOCKING=y\nCONFIG_KASAN=y\n# CONFIG_LOCKDEP is not set\n", "quiet", ["PROVE_LOCKING", "KASAN"]),
        ("CONFIG_HZ=250\n", "quiet slub_debug=FZPU x", ["slub_debug=FZPU"]),
        ("CONFIG_HZ=250\n", "kmemleak=off slub_debug=-", []),
        ("CONFIG_HZ=250\n", None, []),
        (None, "quiet", None),
        (None, "debug_pagealloc=on", ["debug_pagealloc=on"]),
    ],
)
def test_debugging_built_in_or_asked_for(config: str | None, cmdline: str | None, debug: list[str] | None) -> None:
    assert kernel_config.debug_options(None if config is None else kernel_config.symbols(config), cmdline) == debug


@given(st.dictionaries(st.sampled_from([*FILES, "/proc/irq/7/smp_affinity_list"]), st.binary(max_size=80)))
def test_nothing_in_the_files_makes_it_raise(files: dict[str, bytes]) -> None:
    assert inventory.describe(files).keys() == inventory.describe({}).keys()


def test_idle_states_are_in_the_order_of_their_numbers() -> None:
    files = {
        f"{CPU}/cpu{cpu}/cpuidle/state{state}/name": f"{cpu}-{state}".encode() for cpu in (10, 2) for state in (10, 2)
    }
    found = conditions.idle_states(files)
    assert found is not None and list(found) == ["cpu2", "cpu10"]
    assert [state["name"] for state in found["cpu10"]] == ["10-2", "10-10"]


@pytest.mark.parametrize(
    ("text", "disabled"), [(b"0", False), (b"1", True), (b"2", True), (b"x", None), (b"1 1", None)]
)
def test_an_idle_state_that_is_disabled(text: bytes, disabled: bool | None) -> None:
    found = conditions.idle_states({f"{CPU}/cpu0/cpuidle/state0/disable": text})
    assert found == {"cpu0": [{"name": None, "latency_us": None, "residency_us": None, "disabled": disabled}]}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, {"driver": None, "governor": None}),
        ({"current_driver": b"\n"}, {"driver": None, "governor": None}),
        ({"current_driver": b"psci\n", "current_governor_ro": b"teo\n"}, {"driver": "psci", "governor": "teo"}),
        ({"current_governor": b"menu\n", "current_governor_ro": b"teo\n"}, {"driver": None, "governor": "menu"}),
    ],
)
def test_driver_and_governor_of_idle_states(files: dict[str, bytes], expected: dict[str, str | None]) -> None:
    assert conditions.idle_driver({f"{CPU}/cpuidle/{name}": text for name, text in files.items()}) == expected


def test_interrupts_are_in_the_order_of_their_numbers_and_only_those_with_an_affinity() -> None:
    files = {f"/proc/irq/{irq}/smp_affinity_list": b"0\n" for irq in (100, 9)}
    files |= {
        "/proc/irq/9/effective_affinity_list": b"x\n",
        "/sys/kernel/irq/9/actions": b"\n",
        "/sys/kernel/irq/8/actions": b"a\n",
    }
    found = conditions.irq_affinity(files)
    assert found is not None and list(found) == ["9", "100"]
    assert found["9"] == {"name": None, "cpus": [0], "effective": None}
    assert conditions.irq_affinity({"/sys/kernel/irq/8/actions": b"a\n"}) is None


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"current_tracer": b"nop\n"}, {"current_tracer": "nop", "tracing_on": None, "events_enabled": None}),
        ({"tracing_on": b"1\n"}, {"current_tracer": None, "tracing_on": True, "events_enabled": None}),
        ({"tracing_on": b"1\n", "set_event": b""}, {"current_tracer": None, "tracing_on": True, "events_enabled": 0}),
        ({"set_event": b"a:b\n"}, None),
    ],
)
@pytest.mark.parametrize("place", ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"])
def test_tracing(place: str, files: dict[str, bytes], expected: object) -> None:
    assert conditions.tracing({f"{place}/{name}": text for name, text in files.items()}) == expected


def test_the_newer_place_of_tracing_goes_first() -> None:
    files = {"/sys/kernel/tracing/tracing_on": b"1", "/sys/kernel/debug/tracing/tracing_on": b"0"}
    found = conditions.tracing(files)
    assert found is not None and found["tracing_on"] is True


def test_servers_are_in_the_order_of_their_cpus() -> None:
    server = "/sys/kernel/debug/sched/fair_server"
    files = {f"{server}/cpu10/runtime": b"5\n", f"{server}/cpu2/period": b"7\n", f"{server}/cpu2/runtime": b"x\n"}
    found = conditions.fair_servers(files)
    assert found == {"cpu2": {"runtime_ns": None, "period_ns": 7}, "cpu10": {"runtime_ns": 5, "period_ns": None}}
    assert list(found) == ["cpu2", "cpu10"] and conditions.fair_servers({}) is None


def test_a_length_that_is_no_latency() -> None:
    for content in (b"\0" * 3, b"\0" * 5):
        assert conditions.dma_latency_us({"/dev/cpu_dma_latency": content}) is None
    assert conditions.dma_latency_us({}) is None


FIRST = b"5,0,0,-;Linux version 6.12.48\n"


@pytest.mark.parametrize(
    ("log", "found"),
    [
        (FIRST, {"words": [], "nohz_unsupported": False}),
        (
            FIRST
            + b'5,77,0,-;Unknown kernel command line parameters "isolcpu=3 splash", will be passed to user space.\n',
            {"words": ["isolcpu=3", "splash"], "nohz_unsupported": False},
        ),
        (
            b"4,50,0,-;Housekeeping: nohz unsupported. Build with CONFIG_NO_HZ_FULL\n",
            {"words": [], "nohz_unsupported": True},
        ),
        (b"6,5120,90000000,-;a later line: the first ones are overwritten\n", None),
        (b"", None),
    ],
)
def test_what_the_kernel_ignored_of_its_command_line(log: bytes, found: dict[str, object] | None) -> None:
    assert conditions.cmdline_ignored({conditions.KERNEL_LOG: log}) == found
    assert conditions.cmdline_ignored({}) is None
