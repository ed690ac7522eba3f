"""What the kernel says of threads, firmware, clocks and in its log."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from monitors_support import S, recorded, texts, values

from rtassay.monitors.base import Reading
from rtassay.monitors.clock import ClockMonitor
from rtassay.monitors.cost import CostMonitor
from rtassay.monitors.firmware import FirmwareMonitor
from rtassay.monitors.kernel_log import KernelLogMonitor
from rtassay.monitors.threads import ThreadsMonitor


def test_an_interrupt_thread_that_takes_a_third_of_a_cpu_is_named() -> None:
    monitor, then = ThreadsMonitor(), recorded("rt-threads.pi")
    first = values(monitor, then, 0)
    assert first["irq/39-dwc_otg[85].priority"] == 50.0
    assert first["my (odd) app 2[301].cpu"] == 3.0
    assert not any(name.endswith((".busy", ".faults")) for name in first)
    now = then.replace(b" 25000000000 ", b" 25340000000 ")
    assert values(monitor, now, S) == {"irq/39-dwc_otg[85].busy": pytest.approx(0.34)}
    assert values(monitor, now, 2 * S) == {"irq/39-dwc_otg[85].busy": 0.0}


def test_what_changes_of_a_thread_is_said_once() -> None:
    monitor, then = ThreadsMonitor(), recorded("rt-threads.pi")
    values(monitor, then, 0)
    now = then.replace(b"301 300 rr 20 3 4000 12 1", b"301 300 fifo 90 2 4000 15 2")
    label = "my (odd) app 2[301]"
    assert values(monitor, now, S) == {f"{label}.priority": 90.0, f"{label}.cpu": 2.0, f"{label}.faults": 4.0}
    assert values(monitor, now, 2 * S) == {}


def test_a_thread_that_takes_a_name_goes_on_and_one_that_comes_again_starts_anew() -> None:
    monitor = ThreadsMonitor()
    values(monitor, b"9 9 fifo 1 0 1000 0 0 sh\n", 0)
    found = values(monitor, b"9 9 fifo 1 0 500001000 0 0 plc main\n", S)
    assert found["plc main[9].busy"] == 0.5
    values(monitor, b"", 2 * S)
    assert "plc main[9].busy" not in values(monitor, b"9 9 fifo 1 0 900001000 0 0 plc main\n", 3 * S)


def test_threads_without_number_are_counted_not_named() -> None:
    monitor = ThreadsMonitor()
    lines = b"".join(b"%d 1 fifo 1 0 5 0 0 storm\n" % tid for tid in range(1, 1502))
    found = values(monitor, lines, 0)
    assert found["left_out"] == 501.0
    assert sum(name.endswith(".priority") for name in found) == 1000


def test_system_management_interrupts_since_the_last_reading() -> None:
    monitor = FirmwareMonitor()
    assert values(monitor, b"0 41\n1 0x29\n", 0) == {}
    assert values(monitor, b"0 44\n1 0x29\n", S) == {"cpu0.smi": 3.0, "cpu1.smi": 0.0}


def clock(monitor: ClockMonitor, mono_ns: int, realtime_ns: int, boottime_ns: int = 0) -> dict[str, float]:
    return values(monitor, b"%d %d 64 -123\n" % (realtime_ns, boottime_ns), mono_ns)


def test_a_clock_that_is_slewed_makes_no_step_and_one_that_is_set_does() -> None:
    monitor, wall = ClockMonitor(), 1_795_000_000_000_000_000
    assert clock(monitor, 0, wall) == {"realtime.offset": 0.0, "boottime.offset": 0.0}
    assert clock(monitor, S, wall + 400_000) == {"realtime.offset": 400_000.0, "boottime.offset": 0.0}
    stepped = clock(monitor, 2 * S, wall - 2_600_000)
    assert stepped == {"realtime.offset": -2_600_000.0, "boottime.offset": 0.0, "realtime.step": -3_000_000.0}
    assert "realtime.step" not in clock(monitor, 3 * S, wall - 2_600_000)
    assert clock(monitor, 4 * S, wall - 2_600_000, 60 * S)["boottime.offset"] == 60.0 * S


def test_a_board_without_adjtimex_still_has_its_clocks() -> None:
    assert values(ClockMonitor(), b"5 0 - -\n", 0) == {"realtime.offset": 0.0, "boottime.offset": 0.0}


def test_lines_of_the_log_that_matter_keep_their_own_time() -> None:
    found = texts(KernelLogMonitor(), recorded("kmsg.pi"), 90 * S)
    assert [(at / S, text.split(":")[0][:24]) for at, text in found] == [
        (60.25, "Under-voltage detected! "),
        (62.33, "Voltage normalised (0x00"),
        (70.000001, "sched"),
        (75.0, "mmc0"),
        (80.0, "stress-ng-vm invoked oom"),
    ]


def test_a_line_is_said_once_and_its_time_lies_between_the_readings() -> None:
    monitor = KernelLogMonitor()
    texts(monitor, recorded("kmsg.pi"), 90 * S)
    assert texts(monitor, recorded("kmsg.pi"), 91 * S) == []
    # The log's clock is 3 s behind, then 5 s ahead of the probe's.
    new = b"4,400,88000000,-;clocksource: Marking clocksource tsc as unstable\n"
    assert texts(monitor, new, 92 * S) == [(91 * S, "clocksource: Marking clocksource tsc as unstable")]
    assert texts(monitor, b"3,401,98000000,-;x\n", 93 * S) == [(93 * S, "x")]
    assert texts(monitor, b"3,402,93500000,-;y\n", 94 * S) == [(93_500_000_000, "y")]


def test_a_log_that_comes_in_pieces_is_past_all_the_same() -> None:
    monitor = KernelLogMonitor()
    texts(monitor, b"4,1,1000000,-;first\n", 90 * S)
    assert texts(monitor, b"4,2,2000000,-;second\n", 90 * S + 1_000_000) == [(2 * S, "second")]


def test_a_flood_is_counted_not_kept() -> None:
    monitor = KernelLogMonitor()
    past = b"".join(b"4,%d,%d,-;old\n" % (n, n) for n in range(500))
    said = monitor.parse(S, "@kmsg", past)
    assert len(said) == 101 and said[-1] == Reading("left_out", 400.0, "1")
    assert getattr(said[0], "mono_ns", None) == 400_000
    kept = left = 0
    for second in range(2, 40):
        flood = b"".join(b"4,%d,%d,-;new\n" % (second * 1000 + n, second * 1_000_000) for n in range(200))
        *messages, last = monitor.parse(second * S, "@kmsg", flood)
        kept += len(messages)
        left += int(getattr(last, "value", 0))
    assert kept == monitor.in_all - 100
    assert kept + left == 38 * 200


def test_the_watch_says_what_it_costs() -> None:
    monitor = CostMonitor()
    stat = b"77 (rt probe) x) S " + b" ".join(b"%d" % n for n in range(12)) + b" %d %d 20 0\n"
    assert values(monitor, b"1000000 5 7\n", 0, "/proc/self/schedstat") == {}
    assert values(monitor, b"4000000 5 9\n", S, "/proc/self/schedstat") == {"watch.busy": 0.003}
    values(monitor, stat % (0, 0), 0, "/proc/self/stat")
    assert values(monitor, stat % (0, 0), S, "/proc/self/stat") == {}
    assert values(monitor, stat % (1, 2), 2 * S, "/proc/self/stat") == {"programs.busy": 0.03}
