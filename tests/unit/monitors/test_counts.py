"""Counters of the kernel as rates: interrupts, softirqs, switches, memory, pressure."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from monitors_support import S, recorded, values

from rtassay.monitors.interrupts import InterruptsMonitor
from rtassay.monitors.memory import MemoryMonitor
from rtassay.monitors.parsing import Counters, whole, whole_lines, wholes
from rtassay.monitors.pressure import PressureMonitor
from rtassay.monitors.softirqs import SoftirqsMonitor
from rtassay.monitors.switches import SwitchesMonitor

STAT = b"cpu  1 2 3\ncpu0 1 2 3\nintr 99 1 2\nctxt %d\nbtime 1\nprocesses %d\nprocs_running 3\nprocs_blocked 0\n"
PSI = b"some avg10=6.52 avg60=5.08 avg300=2.18 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n"


def counted_up(content: bytes, by: int) -> bytes:
    """Every number that stands in a column of counts, `by` larger."""
    return re.sub(rb"(?<=  )\d+(?=\s)", lambda found: b"%d" % (int(found[0]) + by), content)


def test_interrupts_of_a_raspberry_pi_by_name() -> None:
    monitor, then = InterruptsMonitor(), recorded("interrupts.pi3")
    assert values(monitor, then, 0) == {}
    now = then.replace(b"  10021433 ", b"  10037433 ").replace(b" 388123 ", b" 389123 ").replace(b" 4871 ", b" 4881 ")
    assert now != then
    assert values(monitor, now, 2 * S) == {
        "cpu0.39:20980000.usb, dwc_otg, dwc_otg_pcd, dwc_otg_hcd:usb1": 8000.0,
        "cpu1.161:arch_timer": 500.0,
        "cpu2.IPI2:Rescheduling interrupts": 5.0,
    }


def test_a_series_goes_on_once_it_began() -> None:
    monitor, then = InterruptsMonitor(), recorded("interrupts.pi3")
    now = then.replace(b" 2031 ", b" 2041 ")
    for second, content in enumerate((then, then, now)):
        found = values(monitor, content, second * S)
    assert found == {"cpu0.56:mmc0": 10.0}
    assert values(monitor, now, 3 * S) == {"cpu0.56:mmc0": 0.0}
    assert values(monitor, then, 4 * S) == {}, "counting backwards is no rate"


def test_interrupts_of_x86_by_their_short_names() -> None:
    monitor, then = InterruptsMonitor(), recorded("interrupts.x86_64")
    values(monitor, then, 0)
    found = values(monitor, counted_up(then, 7), S)
    assert {"cpu0.LOC", "cpu1.RES", "cpu1.TLB", "cpu0.24:ACPI:Ged", "cpu1.36:virtio1-req.0"} <= found.keys()
    assert not any("ERR" in name or "MIS" in name for name in found)


def test_chips_with_blanks_in_their_names_and_interrupts_of_nobody() -> None:
    monitor = InterruptsMonitor()
    content = recorded("interrupts.riscv")
    values(monitor, content, 0)
    found = values(monitor, content.replace(b" 812 ", b" 822 ").replace(b" 200 ", b" 230 "), S)
    assert found == {"cpu0.10:10000000.serial": 10.0, "cpu1.12:riscv-timer": 30.0}
    nobody = b"           CPU0       \n 80:  %9d  ARMCTRL-level  32 Edge    \n  9:  %9d   IO-APIC   9-edge\n"
    values(monitor, nobody % (0, 0), 2 * S)
    assert values(monitor, nobody % (1, 1), 3 * S) == {"cpu0.80:ARMCTRL-level": 1.0, "cpu0.9:IO-APIC": 1.0}


def test_a_table_that_was_cut_gives_no_wrong_count() -> None:
    monitor, then = InterruptsMonitor(), recorded("interrupts.pi3")
    values(monitor, then, 0)
    now = counted_up(then, 1000)
    whole_table = values(InterruptsMonitor(), then, 0) or values(monitor, now, S)
    for end in range(0, len(now), 7):
        cut = InterruptsMonitor()
        values(cut, then, 0)
        found = values(cut, now[:end], S)
        assert all(whole_table[name] == value for name, value in found.items())


def test_softirqs_by_name_and_cpu() -> None:
    monitor, then = SoftirqsMonitor(), recorded("softirqs.x86_64")
    assert values(monitor, then, 0) == {}
    net_rx = next(line for line in then.splitlines() if b"NET_RX" in line)
    count = net_rx.split()[1]
    now = then.replace(net_rx, net_rx.replace(count, b"%d" % (int(count) + 120), 1))
    assert values(monitor, now, S) == {"cpu0.NET_RX": 120.0}


def test_switches_and_forks_are_rates_and_running_is_now() -> None:
    monitor = SwitchesMonitor()
    assert values(monitor, STAT % (1000, 50), 0) == {"all.running": 3.0}
    assert values(monitor, STAT % (3000, 60), S // 2) == {
        "all.context_switches": 4000.0,
        "all.forks": 20.0,
        "all.running": 3.0,
    }


def test_memory_from_two_files() -> None:
    monitor = MemoryMonitor()
    meminfo, then = recorded("meminfo"), recorded("vmstat")
    kib = int(next(line for line in meminfo.splitlines() if line.startswith(b"MemAvailable")).split()[1])
    assert values(monitor, meminfo, 0) == {"available": kib * 1024.0}
    assert values(monitor, then, 0, "/proc/vmstat") == {"oom_kills": 0.0}
    now = then.replace(b"pswpin 0\n", b"pswpin 30\n").replace(b"pswpout 0\n", b"pswpout 8\n")
    now = now.replace(b"oom_kill 0\n", b"oom_kill 2\n")
    expected = {"swap_in": 15.0, "swap_out": 4.0, "major_faults": 0.0, "oom_kills": 2.0}
    assert values(monitor, now, 2 * S, "/proc/vmstat") == expected
    assert values(monitor, now, 3 * S, "/proc/vmstat")["oom_kills"] == 2.0


def test_kills_before_the_run_do_not_count() -> None:
    monitor = MemoryMonitor()
    found = [values(monitor, b"oom_kill %d\n" % n, n * S, "/proc/vmstat") for n in (7, 7, 9)]
    assert [reading["oom_kills"] for reading in found] == [0.0, 0.0, 2.0]


def test_pressure_is_the_share_of_the_time_since() -> None:
    monitor = PressureMonitor()
    for resource in ("cpu", "memory"):
        assert values(monitor, PSI % (1_000_000, 500), 0, f"/proc/pressure/{resource}") == {}
    assert values(monitor, PSI % (1_500_000, 900), S, "/proc/pressure/cpu") == {"cpu.some": 0.5}
    found = values(monitor, PSI % (1_500_000, 250_500), S, "/proc/pressure/memory")
    assert found == {"memory.some": 0.5, "memory.full": 0.25}
    assert values(monitor, PSI % (9_500_000, 250_500), 2 * S, "/proc/pressure/memory")["memory.some"] == 1.0
    irq = b"full avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n"
    values(monitor, irq % 0, 0, "/proc/pressure/irq")
    assert values(monitor, irq % 100_000, S, "/proc/pressure/irq") == {"irq.full": 0.1}


def test_a_counter_starts_anew_when_it_runs_backwards() -> None:
    counters = Counters()
    steps = [(0, 100), (S, 150), (2 * S, 10), (3 * S, 15), (3 * S, 99)]
    assert [counters.risen("x", at, count) for at, count in steps] == [None, (50, S), None, (5, S), None]


@pytest.mark.parametrize(
    ("last", "now", "risen"),
    [
        (2**32 - 10, 5, 15),
        (2**32 - 1, 0, 1),
        (2**31, 5, None),  # set back: it would have risen by two thousand million in a second
        (2**32 + 10, 5, None),  # never was one of 32 bits
        (2**32 - 10, 2**32 + 5, 15),
    ],
)
def test_a_counter_of_32_bits_goes_past_its_end(last: int, now: int, risen: int | None) -> None:
    counters = Counters()
    counters.risen("x", 0, last)
    assert counters.risen("x", S, now) == (None if risen is None else (risen, S))


def test_an_interrupt_count_that_wraps_is_a_rate_like_any_other() -> None:
    """The kernel's own width: on every architecture it counts interrupts with 32 bits."""
    monitor, table = InterruptsMonitor(), b"           CPU0\n 26: %10d     GIC-0  27 Level     arch_timer\n"
    counts = (2**32 - 500, 2**32 - 250, 0, 250)
    found = [values(monitor, table % count, second * S) for second, count in enumerate(counts)]
    assert found == [{}, *3 * [{"cpu0.26:arch_timer": 250.0}]]


@pytest.mark.parametrize(
    ("text", "number"),
    [("12", 12), (" -3\n", -3), (b"7\n", 7), ("1_000", None), ("٣", None), ("", None), ("1.5", None), ("9" * 21, None)],
)
def test_what_is_a_number(text: str | bytes, number: int | None) -> None:
    assert whole(text) == number


def test_lines_and_words() -> None:
    assert whole_lines(b"a\nb\nc") == ["a", "b"]
    assert wholes(["1", "-2"]) == [1, -2]
    assert wholes(["1", "x"]) is None
