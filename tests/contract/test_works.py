"""Every work: its parts are named once, its command is a list that ends by itself, and what it writes is read whole."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from rtassay.boards.binaries import probe_path
from rtassay.model import rooms
from rtassay.model.measures import is_work, work_measure

NAMES = list(rooms.table("works"))
# So little that it is done at once, on a slow machine, too.
LITTLE = {
    "builtin": "1%",
    "hackbench": "-g 1 -l 5",
    "stress-ng": "cpu=5,fork=5",
    "compile": "1",
    "iperf3": "64M",
}  # of a megabyte the receiver of iperf3 may have read nothing when the sender ends the test


@pytest.mark.parametrize("name", NAMES)
def test_parts_and_command(name):
    work = rooms.load("works", name)()
    for argument in (None, LITTLE.get(name)):
        parts = work.parts(argument)
        assert parts and len({part.name for part in parts}) == len(parts)
        assert all(part.amount > 0 and part.unit for part in parts)
        assert all(is_work(work_measure(name, part.name, cpu=cpu)) for part in parts for cpu in (False, True))
        command = work.command(argument, "/board/rtprobe")
        assert command and all(isinstance(word, str) and "\0" not in word for word in command)
    assert work.name == name and work.summary


@pytest.mark.parametrize("name", NAMES)
def test_one_round_is_read_whole(name):
    work = rooms.load("works", name)()
    if work.program is not None and shutil.which(work.program) is None:
        pytest.skip(f"{work.program} is not installed")
    argument = LITTLE.get(name)
    done = subprocess.run(
        work.command(argument, str(probe_path(None))), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300
    )
    assert done.returncode == 0, done.stdout
    told = work.read(argument, done.stdout.decode())
    assert [one.part for one in told] == [part.name for part in work.parts(argument)]
    assert all((one.ns is None or one.ns > 0) and (one.cpu_ns is None or one.cpu_ns >= 0) for one in told)
