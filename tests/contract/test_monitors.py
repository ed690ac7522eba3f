"""Every monitor: paths to read, and a parser that takes anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtassay.model import rooms

NAMES = list(rooms.table("monitors"))
UNITS = {"ratio", "Hz", "degC", "1", "B", "W", "1/s"}


@pytest.mark.parametrize("name", NAMES)
def test_monitor_introduces_itself(name: str) -> None:
    monitor = rooms.load("monitors", name)()
    assert monitor.name == name
    assert monitor.paths and all(path.startswith("/") for path in monitor.paths)


@pytest.mark.parametrize("name", NAMES)
@given(content=st.binary(max_size=300), pick=st.integers(0, 10))
def test_anything_in_a_file_gives_readings_or_nothing(name: str, content: bytes, pick: int) -> None:
    monitor = rooms.load("monitors", name)()
    pattern = monitor.paths[pick % len(monitor.paths)]
    path = pattern.replace("[0-9]*", "0")
    for mono_ns in (0, 10**9):
        for reading in monitor.parse(mono_ns, path, content):
            assert reading.name
            assert isinstance(reading.value, float)


@pytest.mark.parametrize("name", NAMES)
def test_what_this_machine_has_is_understood(name: str) -> None:
    monitor = rooms.load("monitors", name)()
    for pattern in monitor.paths:
        for path in sorted(Path("/").glob(pattern.removeprefix("/"))):
            for reading in monitor.parse(0, str(path), path.read_bytes()):
                assert reading.unit in UNITS


@pytest.mark.parametrize("name", NAMES)
def test_two_monitors_keep_their_state_apart(name: str) -> None:
    first, second = rooms.load("monitors", name)(), rooms.load("monitors", name)()
    path = first.paths[0].replace("[0-9]*", "0")
    first.parse(0, path, b"cpu0 1 2 3 4 5 6 7 8\n")
    assert second.parse(0, path, b"cpu0 1 2 3 4 5 6 7 8\n") == rooms.load("monitors", name)().parse(
        0, path, b"cpu0 1 2 3 4 5 6 7 8\n"
    )
