"""Every load: its commands are bounded lists, start on this machine, end by themselves and when asked, and say what they did."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from xvfb import xvfb

from rtassay.boards.binaries import probe_path
from rtassay.loads.base import CLASSES, LoadCommand, LoadResult, LoadSpec, Meter
from rtassay.model import rooms
from rtassay.model.errors import UsageError
from rtassay.model.events import Output

NAMES = list(rooms.table("loads"))
# glmark2 draws on an X server without a screen (tools/setup --all); kmscube needs a display: tests/lab/test_graphics_on_a_board.py.
RUN_HERE = [
    pytest.param(name, marks=pytest.mark.full) if name == "glmark2" else name for name in NAMES if name != "kmscube"
]
# What a load is asked for here where nothing is not enough.
ARGUMENTS = {
    "command": "sh -c 'sleep 0.2; echo done'",
    "hackbench": "-g 1 -l 20",  # only whole rounds count: these are short on a slow machine, too
}
# The server of iperf3 is ended 2 s after the client's time: a machine that stands still for longer cuts the client off.
ATTEMPTS = {"iperf3": 3}
# Until its first scene ends, glmark2 tells no work.
SECONDS = {"glmark2": 12}
PATIENCE_S = 300.0
# Nothing of their own output says how much they did: their CPU time stands for it (session.guarded).
COUNT_NOTHING = {"stress"}


def free_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return int(chosen.getsockname()[1])


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    with xvfb() as name:
        yield name


@pytest.fixture(autouse=True)
def drawn_somewhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what runs glmark2 starts an X server."""
    if any(mark.name == "full" for mark in request.node.iter_markers()):
        monkeypatch.setenv("DISPLAY", request.getfixturevalue("display"))


def commands(name: str, seconds: int, *, installed: bool = True) -> tuple[Any, list[LoadCommand]]:
    load = rooms.load("loads", name)()
    argument = f"port={free_port()}" if name in ("iperf3", "iperf") else ARGUMENTS.get(name)
    needed = load.needs(argument)
    program = shutil.which(needed) if needed is not None and installed else needed
    assert needed is None or program, f"{needed} is not installed: tools/setup --test"
    return load, load.commands(LoadSpec(argument, (0,), seconds, 1 << 30, str(probe_path()), program))


def wait_listening(port: int) -> None:
    until = time.monotonic() + PATIENCE_S
    while not listening(port):
        assert time.monotonic() < until, port
        time.sleep(0.02)


def listening(port: int) -> bool:
    """Whether somebody does, on any address; told by the kernel, as a connection would be taken for a client."""
    rows = [row.split() for name in ("tcp", "tcp6") for row in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return any(row[1].endswith(f":{port:04X}") and row[3] == "0A" for row in rows)


@dataclass
class Running:
    """The processes of one load, started as the session starts them: in order, each when the one before is ready."""

    load: Any
    commands: list[LoadCommand]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __enter__(self) -> Running:
        for command in self.commands:
            process = subprocess.Popen(command.argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0)
            self.processes.append(process)
            if command.ready:
                wait_listening(int(command.argv[command.argv.index("-p") + 1]))
        return self

    def __exit__(self, *_: object) -> None:
        """Asked first: a `rtprobe repeat` that is killed cannot end what its command started, which would hold the pipes for ever."""
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                for pid in family(process.pid):
                    os.kill(pid, signal.SIGKILL)
                process.communicate(timeout=PATIENCE_S)
                raise

    def results(self, timeout: float) -> list[LoadResult]:
        return [self.result(i, *process.communicate(timeout=timeout)) for i, process in enumerate(self.processes)]

    def result(self, index: int, out: bytes, err: bytes) -> LoadResult:
        return fed(self.load.meter(self.commands[index].argv), out, err)


def fed(meter: Meter, out: bytes, err: bytes, size: int = 1000) -> LoadResult:
    """What a meter says of output that comes in pieces."""
    for fd, data in ((2, err), (1, out)):
        for at in range(0, len(data), size):
            meter.take(Output(at, fd, data[at : at + size]))
    return meter.result()


@pytest.mark.parametrize("name", NAMES)
def test_load_introduces_itself(name: str) -> None:
    load = rooms.load("loads", name)()
    assert load.name == name
    assert load.summary and "\n" not in load.summary


@pytest.mark.parametrize("name", NAMES)
def test_commands_are_words_with_known_classes(name: str) -> None:
    _, made = commands(name, 5, installed=False)
    for command in made:
        assert command.argv and all(isinstance(word, str) for word in command.argv)
        assert set(command.classes) <= set(CLASSES)


@pytest.mark.parametrize("name", NAMES)
def test_arguments_no_shell_could_read_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        rooms.load("loads", name)().needs("'--unbalanced")


@pytest.mark.parametrize("name", RUN_HERE)
def test_every_command_ends_by_itself_and_reports_its_work(name: str) -> None:
    for _ in range(ATTEMPTS.get(name, 1)):
        results, codes = to_the_end(name)
        if all(result.error is None for result in results):
            break
    for result in results:
        assert result.error is None
        if name not in COUNT_NOTHING:
            assert result.operations is not None and result.operations > 0 and result.unit
    assert codes <= {0}


def to_the_end(name: str) -> tuple[list[LoadResult], set[int]]:
    """What the commands of a short load said when they had ended by themselves, and their exit codes."""
    load, made = commands(name, SECONDS.get(name, 2))
    with Running(load, made) as running:
        return running.results(PATIENCE_S), {process.returncode for process in running.processes}


@pytest.mark.parametrize("name", RUN_HERE)
def test_every_command_ends_when_asked_and_still_reports(name: str) -> None:
    load, made = commands(name, 60)
    with Running(load, made) as running:
        time.sleep(SECONDS.get(name, 2.5))
        assert all(process.poll() is None for process in running.processes)
        for process in reversed(running.processes):  # clients before their servers
            process.send_signal(signal.SIGTERM)
        for result in running.results(PATIENCE_S):
            assert name in COUNT_NOTHING or result.operations is not None


@pytest.mark.parametrize("name", RUN_HERE)
def test_everything_stays_on_the_cpus_of_the_load(name: str) -> None:
    load, made = commands(name, 60)
    with Running(load, made) as running:
        time.sleep(1.0)
        until = time.monotonic() + PATIENCE_S
        while astray := elsewhere(running.processes):  # each worker goes there by itself
            assert time.monotonic() < until, astray
            time.sleep(0.1)


def elsewhere(processes: list[subprocess.Popen[bytes]]) -> list[str]:
    """Status of those that may run on another CPU than 0."""
    found = []
    for process in processes:
        for pid in family(process.pid):
            try:
                status = Path(f"/proc/{pid}/status").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            # A parent that only waits for its workers may be anywhere (stress-ng, rtprobe load).
            if pid != process.pid and status.partition("Cpus_allowed_list:\t")[2].splitlines()[0] != "0":
                found.append(status)
    return found


def family(pid: int) -> list[int]:
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split()
    return [pid, *(member for child in children for member in family(int(child)))]


@pytest.mark.parametrize("name", NAMES)
def test_garbage_is_an_error_not_a_number(name: str) -> None:
    load, made = commands(name, 1, installed=False)
    for command in made:
        for garbage in (
            b"",
            b"\xff\x00 nonsense",
            b"stress-ng: metrc: [1] cpu many\n",
            b"Time: 1.0\n",
            b"[  5] x sec\n",
        ):
            result = fed(load.meter(command.argv), garbage, garbage)
            assert result.operations is None
            assert result.error
