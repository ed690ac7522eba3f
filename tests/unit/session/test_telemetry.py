"""Contents of files to series: unchanged ones count again, strange ones are left out, order is the board's."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtassay.model.events import Facts, FileContent
from rtassay.monitors.frequency import FrequencyMonitor
from rtassay.monitors.temperature import TemperatureMonitor
from rtassay.session.telemetry import SeriesKeeper, recorded
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
    assert len(keeper.paths) == len(set(keeper.paths)) == 3
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
