"""Every load: its commands are bounded lists, start on this machine, end by themselves and when asked, and say what they did."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time

import pytest

from rtassay.boards.binaries import probe_path
from rtassay.loads.base import LoadSpec
from rtassay.model import rooms

NAMES = list(rooms.table("loads"))


def commands(name: str, seconds: int) -> tuple[object, list[list[str]]]:
    load = rooms.load("loads", name)()
    program = None if load.program is None else shutil.which(load.program)
    if load.program is not None:
        assert program, f"{load.program} is not installed: apt-get install {load.program}"
    return load, load.commands(LoadSpec(None, (0,), seconds, 1 << 30, str(probe_path()), program))


@pytest.mark.parametrize("name", NAMES)
def test_load_introduces_itself(name: str) -> None:
    load = rooms.load("loads", name)()
    assert load.name == name
    assert load.summary and "\n" not in load.summary


@pytest.mark.parametrize("name", NAMES)
def test_commands_are_lists_of_words(name: str) -> None:
    _, argvs = commands(name, 5)
    assert all(argv and all(isinstance(word, str) for word in argv) for argv in argvs)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_ends_by_itself_and_reports_its_work(name: str) -> None:
    load, argvs = commands(name, 1)
    started = [subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for argv in argvs]
    for process in started:
        output, _ = process.communicate(timeout=60)
        result = load.result(output)
        assert process.returncode == 0
        assert result.error is None
        assert result.operations is not None and result.operations > 0
        assert result.unit


@pytest.mark.parametrize("name", NAMES)
def test_every_command_ends_when_asked_and_still_reports(name: str) -> None:
    load, argvs = commands(name, 60)
    for argv in argvs:
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        time.sleep(1.5)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=20)
        assert load.result(output).operations is not None


@pytest.mark.parametrize("name", NAMES)
def test_garbage_is_an_error_not_a_number(name: str) -> None:
    load, argvs = commands(name, 1)
    for garbage in (b"", b"\xff\x00 nonsense", b"stress-ng: metrc: [1] cpu many\n"):
        result = load.result(garbage)
        assert result.operations is None
        assert result.error or not argvs
