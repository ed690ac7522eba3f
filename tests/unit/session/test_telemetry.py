"""Contents of files to series: unchanged ones count again, strange ones are left out, order is the board's."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtassay.model.events import Facts, FileContent
from rtassay.model.inventory import inventory_of
from rtassay.model.manifest import Manifest, MonitorEntry, Source
from rtassay.monitors.frequency import FrequencyMonitor
from rtassay.monitors.kernel_log import KernelLogMonitor
from rtassay.monitors.raspberry import RaspberryMonitor
from rtassay.monitors.temperature import TemperatureMonitor
from rtassay.session.telemetry import SeriesKeeper, all_monitors, housekeeping, recorded
from rtassay.wire.encode import StreamEncoder

FREQUENCY = "/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq"


def test_unchanged_content_is_a_reading_all_the_same() -> None:
    keeper = SeriesKeeper([FrequencyMonitor()])
    keeper.take(
        [
            FileContent(10, FREQUENCY, 0, b"600000\n"),
            FileContent(20, FREQUENCY, 0, None),
            FileContent(30, FREQUENCY, 5, None),
        ]
    )
    assert list(keeper.rows()) == [
        ("frequency", "cpu1.frequency", 10, 6e8, "Hz"),
        ("frequency", "cpu1.frequency", 20, 6e8, "Hz"),
    ]


def test_every_path_is_watched_once_and_goes_to_who_asked() -> None:
    keeper = SeriesKeeper([FrequencyMonitor(), FrequencyMonitor(), TemperatureMonitor()])
    assert len(keeper.paths) == len(set(keeper.paths))
    assert set(keeper.paths) == {*FrequencyMonitor.paths, *TemperatureMonitor.paths}
    keeper.take([FileContent(1, "/proc/stat", 0, b"600000\n"), FileContent(2, FREQUENCY, 0, b"1000\n")])
    assert {row[0] for row in keeper.rows()} == {"frequency"}


def test_telemetry_of_a_dead_host_is_read_from_its_stream(tmp_path: Path) -> None:
    assert recorded(tmp_path) is None
    encoder = StreamEncoder()
    events = [
        Facts({"stream": 1, "paths": [FREQUENCY]}),
        FileContent(10, FREQUENCY, 0, b"600000\n"),
        FileContent(20, FREQUENCY, 0, b"700000\n"),
    ]
    data = encoder.encode_all(events)
    (tmp_path / "telemetry.rtw").write_bytes(data[:-3])
    seen = recorded(tmp_path)
    assert seen is not None
    rows = seen.rows()
    assert [row[3] for row in rows] == [6e8]


@pytest.mark.parametrize("content", [b"", b"\xff", b"nan\n"])
def test_what_is_not_understood_gives_nothing(content: bytes) -> None:
    keeper = SeriesKeeper([FrequencyMonitor()])
    keeper.take([FileContent(1, FREQUENCY, 0, content)])
    assert list(keeper.rows()) == []


ZONE = "/sys/class/thermal/thermal_zone0"
THROTTLED = "@run:vcgencmd get_throttled"


def test_what_a_board_has_is_watched_and_counted() -> None:
    keeper = SeriesKeeper([TemperatureMonitor(), KernelLogMonitor()])
    keeper.take(
        [
            FileContent(1, f"{ZONE}/type", 0, b"cpu-thermal\n"),
            FileContent(2, f"{ZONE}/temp", 0, b"40000\n"),
            FileContent(3, f"{ZONE}/temp", 0, None),
            FileContent(3, "@kmsg", 0, b"4,1,0,-;a warning\n"),
            FileContent(4, "@kmsg", 32, None),
        ]
    )
    assert keeper.entries() == {
        "temperature": MonitorEntry("watched", readings=2),
        "kernel-log": MonitorEntry("watched", messages=1, why="@kmsg: Broken pipe"),
    }
    assert [message.text for message in keeper.messages] == ["a warning"]


def test_what_a_board_lacks_is_not_available_and_what_it_denies_is_refused() -> None:
    keeper = SeriesKeeper([RaspberryMonitor(), FrequencyMonitor(), KernelLogMonitor()])
    keeper.take([FileContent(1, THROTTLED, 2, None), FileContent(1, "@kmsg", 1, None)])
    assert keeper.entries() == {
        "raspberry": MonitorEntry("not available", why=f"{THROTTLED}: No such file or directory"),
        "frequency": MonitorEntry(
            "not available", why="/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq: nothing there"
        ),
        "kernel-log": MonitorEntry("refused", why="@kmsg: Operation not permitted"),
    }


def test_a_name_without_a_value_is_nothing_to_watch() -> None:
    keeper = SeriesKeeper([TemperatureMonitor()])
    keeper.take([FileContent(1, f"{ZONE}/type", 0, b"cpu-thermal\n")])
    assert keeper.entries()["temperature"].state == "not available"
    keeper.take([FileContent(2, f"{ZONE}/temp", 61, None)])
    assert keeper.entries()["temperature"] == MonitorEntry("refused", why=f"{ZONE}/temp: No data available")


def test_what_was_read_and_told_nothing_was_not_watched_but_a_silent_log_was() -> None:
    keeper = SeriesKeeper([FrequencyMonitor(), KernelLogMonitor()])
    keeper.take([FileContent(1, FREQUENCY, 0, b"<unknown>\n"), FileContent(1, "@kmsg", 0, b"")])
    assert keeper.entries() == {
        "frequency": MonitorEntry("no readings", why="what was read told nothing"),
        "kernel-log": MonitorEntry("watched"),
    }


def test_a_watch_that_ended_early_is_no_pass() -> None:
    keeper = SeriesKeeper([FrequencyMonitor(), KernelLogMonitor()])
    keeper.take([FileContent(10, FREQUENCY, 0, b"600000\n")])
    keeper.cut_short = "the watch ended before the run did"
    assert keeper.entries() == {
        "frequency": MonitorEntry("watched", readings=1, why=keeper.cut_short),
        "kernel-log": MonitorEntry("refused", why=keeper.cut_short),
    }


def test_sealing_puts_every_monitor_into_the_manifest(tmp_path: Path) -> None:
    manifest = Manifest(id="x", created="", source=Source("rtprobe", None, "rtw"))
    sealed = SeriesKeeper(all_monitors()).into(manifest, tmp_path)
    assert len(sealed.monitors) == len(all_monitors())
    assert set(sealed.monitors.values()) == {MonitorEntry("refused", why="the watch said nothing")}


@pytest.mark.parametrize(
    ("allowed", "isolated", "measured", "cpus"),
    [
        ([0, 1, 2, 3], [], (2, 3), (0, 1)),
        ([0, 1, 2, 3], [1, 2, 3], (2, 3), (0,)),
        ([0, 1, 2, 3], [2, 3], (0, 1), (2, 3)),
        ([0, 1], [], (0, 1), ()),
        ([0, 1], None, (1,), (0,)),
        (None, None, (0,), ()),
    ],
)
def test_the_watch_keeps_off_the_measured_cpus(
    allowed: list[int] | None, isolated: list[int] | None, measured: tuple[int, ...], cpus: tuple[int, ...]
) -> None:
    assert housekeeping(inventory_of({"cpus": {"allowed": allowed, "isolated": isolated}}), measured) == cpus
    assert housekeeping(inventory_of({}), measured) == ()
