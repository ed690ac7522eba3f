"""Every monitor: paths to read, and a parser that takes anything."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtassay.model import rooms
from rtassay.monitors.base import Message, Reading, plain

NAMES = list(rooms.table("monitors"))
UNITS = {"ratio", "Hz", "degC", "1", "B", "V", "W", "ns", "1/s", "pages/s", "state"}
DATA = sorted((Path(__file__).parents[1] / "data" / "monitors").iterdir())
# Pieces of what boards really write, put together at random: they get further into a parser than noise does.
PIECES = [line for file in DATA for line in file.read_bytes().split(b"\n")]
WORDS = [
    b"1",
    b"-1",
    b"9" * 20,
    b"9" * 400,
    b"\xff\n",
    b"0x50005",
    b"total=",
    b"cpu",
    b"CPU0",
    b"nan",
    b"\0",
    b":",
    b")",
    b"\n",
]
CONTENTS = st.one_of(
    st.binary(max_size=300),
    st.lists(st.sampled_from(PIECES), max_size=8).map(b"\n".join),
    st.lists(st.sampled_from(WORDS + PIECES), max_size=12).map(b" ".join),
    st.sampled_from([file.read_bytes() for file in DATA]),
)


def monitor_named(name: str) -> Any:
    return rooms.load("monitors", name)()


def one_of(pattern: str) -> str:
    """A path as the board would name it."""
    return plain(pattern).replace("[0-9]*", "0").replace("*", "x")


def is_sound(said: Reading | Message, mono_ns: int) -> bool:
    if isinstance(said, Message):
        return 0 <= said.mono_ns <= mono_ns and bool(said.text) and "\n" not in said.text
    return bool(said.name) and isinstance(said.value, float) and math.isfinite(said.value) and said.unit in UNITS


@pytest.mark.parametrize("name", NAMES)
def test_monitor_introduces_itself(name: str) -> None:
    monitor = monitor_named(name)
    assert monitor.name == name
    assert monitor.paths and all(plain(path)[0] in "/@" for path in monitor.paths)
    assert len({plain(path) for path in monitor.paths}) == len(monitor.paths)
    assert set(monitor.describing) < set(monitor.paths)


@pytest.mark.parametrize("name", NAMES)
@given(contents=st.lists(CONTENTS, min_size=1, max_size=4), pick=st.integers(0, 10))
def test_anything_in_a_file_gives_sound_readings_or_nothing(name: str, contents: list[bytes], pick: int) -> None:
    monitor = monitor_named(name)
    path = one_of(monitor.paths[pick % len(monitor.paths)])
    for second, content in enumerate([*contents, contents[0]]):
        mono_ns = second * 10**9
        assert all(is_sound(said, mono_ns) for said in monitor.parse(mono_ns, path, content))


@pytest.mark.parametrize("name", NAMES)
def test_what_this_machine_has_is_understood(name: str) -> None:
    monitor = monitor_named(name)
    for pattern in map(plain, monitor.paths):
        for path in [] if pattern.startswith("@") else sorted(Path("/").glob(pattern.removeprefix("/"))):
            for mono_ns in (10**9, 2 * 10**9):
                try:
                    content = path.read_bytes()
                except OSError:
                    continue
                assert all(is_sound(said, mono_ns) for said in monitor.parse(mono_ns, str(path), content))


@pytest.mark.parametrize("name", NAMES)
def test_two_monitors_keep_their_state_apart(name: str) -> None:
    def all_of_it(monitor: Any) -> list[list[Reading | Message]]:
        files = [file.read_bytes() for file in DATA]
        return [monitor.parse(10**9, one_of(path), content) for path in monitor.paths for content in files]

    first, second = monitor_named(name), monitor_named(name)
    assert all_of_it(first) == all_of_it(second)
