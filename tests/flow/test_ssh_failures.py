"""A run over a real sshd that fails while the link is up: what the board has comes here first, or stays there and is named."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))  # pytest's importlib mode has no sibling imports

from flow_support import PLAN
from sshd import Server, arrived, clear, serving

from rtassay import store
from rtassay.boards import lease
from rtassay.boards.openssh import Link, Target
from rtassay.boards.remote_process import RemoteProcess
from rtassay.boards.ssh import SshBoard
from rtassay.session.run import run
from rtassay.wire.stream import StreamParser, read_events

pytestmark = pytest.mark.root
RTASSAY = str(Path(sys.executable).with_name("rtassay"))
LONG = ("--duration", "60s", "--load", "builtin:timer", "--interval", "1ms")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


@pytest.fixture(autouse=True)
def clean_board(server: Server) -> Iterator[None]:
    yield
    clear(server)


def rtassay(server: Server, home: Path, *words: str) -> subprocess.Popen[str]:
    environ = {**os.environ, "RTASSAY_HOME": str(home), "RTASSAY_SSH": f"ssh -F {server.config}"}
    return subprocess.Popen([RTASSAY, *words], env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[str], *codes: int) -> str:
    output, errors = process.communicate(timeout=300)
    assert process.returncode in codes, (process.returncode, output, errors)
    return errors


def board_files(server: Server) -> list[str]:
    return server.run("sh", "-c", "cd /run/rtassay-0 2>/dev/null && find . -type f | sort; true").split()


def probe_of(server: Server) -> int | None:
    """The pid of the lanes' process, not of what guards it, once it has measured for a while."""
    for stat in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = stat.read_bytes().split(b"\0")
        except OSError:
            continue
        here = f"mnt:[{Path(f'/proc/{server.pid}/ns/mnt').stat().st_ino}]"
        if words[1:2] == [b"cyclic"] and words[0].startswith(b"/run/rtassay-0/"):
            try:
                if str((stat.parent / "ns/mnt").readlink()) == here:
                    return int(stat.parent.name)
            except OSError:
                continue
    return None


def measuring(server: Server, home: Path, process: subprocess.Popen[str]) -> int:
    """Waits until a second of the probe has arrived here."""
    deadline = time.monotonic() + 180
    while True:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        pid = probe_of(server)
        if pid is not None and arrived(home / "recordings"):
            return pid
        time.sleep(0.1)


def assert_whole_streams(path: Path) -> None:
    """All three streams came to their ends, so that sealing finds a load that enclosed the measurement."""
    for name in ("load-0.rtw", "telemetry.rtw"):
        parser = StreamParser()
        list(read_events(path / name, parser))
        assert parser.ended and not parser.damage.cut, name


def seal(server: Server, home: Path) -> Any:
    (path,) = (home / "recordings").glob("*.rta")
    finish(rtassay(server, home, "seal", str(path)), 0)
    return store.load_manifest(path)


def test_a_probe_that_is_killed_leaves_the_whole_of_what_it_measured(server: Server, tmp_path: Path) -> None:
    process = rtassay(server, tmp_path, "run", server.destination, *LONG)
    os.kill(measuring(server, tmp_path, process), signal.SIGKILL)
    errors = finish(process, 3)
    assert "did not come to its end" in errors and "rtassay seal" in errors
    assert board_files(server) == []
    (path,) = (tmp_path / "recordings").glob("*.rta")
    assert_whole_streams(path)
    manifest = seal(server, tmp_path)
    assert manifest.loads[0].ended_ns and manifest.loads[0].ended_ns >= manifest.ended_ns
    assert manifest.damage.lost_frames == 0


def test_twice_ctrl_c_costs_nothing_that_was_measured(server: Server, tmp_path: Path) -> None:
    process = rtassay(server, tmp_path, "run", server.destination, *LONG)
    measuring(server, tmp_path, process)
    assert process.stderr is not None
    process.send_signal(signal.SIGINT)
    # Two that are pending at once would be one.
    errors = next(line for line in process.stderr if "stopping and sealing" in line)
    process.send_signal(signal.SIGINT)
    errors += process.stderr.read()
    assert process.wait(300) == 130, errors
    assert "aborting" in errors and ("rtassay seal" in errors or "sealed" in errors)
    assert board_files(server) == []
    (path,) = (tmp_path / "recordings").glob("*.rta")
    assert_whole_streams(path)
    manifest = seal(server, tmp_path)
    assert manifest.end_reason == "signal" and not manifest.damage.cut
    for lane in manifest.lanes:
        assert lane.due == lane.n + lane.missed + lane.dropped + lane.truncated


def test_a_full_disk_here_leaves_the_rest_there_and_attach_fetches_it(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The board is put back, what it measured until then stays, and nothing is missing in the end."""
    disk = tmp_path / "recordings"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=768k", "small", str(disk)], check=True)
    try:
        errors = finish(rtassay(server, tmp_path, "run", server.destination, *LONG, "--interval", "100us"), 3)
        assert "disk is full" in errors.lower() or "no space left" in errors.lower(), errors
        assert "run --attach" in errors
        kept = board_files(server)
        assert any("/probe/0" in name for name in kept) and not any(name in ("./lease", "./heartbeat") for name in kept)
        # The board is nobody's meanwhile, and what lies there is named.
        told = finish(rtassay(server, tmp_path, "board", "inventory", server.destination), 0)
        assert "nobody fetched" in told
        subprocess.run(["mount", "-o", "remount,size=200m", str(disk)], check=True)
        finish(rtassay(server, tmp_path, "run", "--attach"), 0, 5)
        assert board_files(server) == []
        (path,) = disk.glob("*.rta")
        manifest = store.load_manifest(path)
        assert manifest.sealed and manifest.end_reason == "signal"
        damage = manifest.damage
        assert (damage.lost_frames, damage.bad_frames, damage.skipped_bytes, damage.cut) == (0, 0, 0, False)
        assert manifest.loads[0].ended_ns and manifest.loads[0].ended_ns >= manifest.ended_ns
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def attach(server: Server, home: Path) -> subprocess.Popen[str]:
    """Returns when it has fetched something."""
    (stream,) = (home / "recordings").glob("*.rta/stream.rtw")
    before = stream.stat().st_size
    attached = rtassay(server, home, "run", "--attach")
    while stream.stat().st_size <= before:
        assert attached.poll() is None, attached.communicate()
        time.sleep(0.1)
    return attached


def test_who_gives_up_attaching_leaves_it_as_it_was(server: Server, tmp_path: Path) -> None:
    process = rtassay(
        server, tmp_path, "run", server.destination, "--duration", "600s", "--load", "none", "--interval", "1ms"
    )
    measuring(server, tmp_path, process)
    process.kill()
    process.communicate()
    attached = attach(server, tmp_path)
    os.kill(attached.pid, signal.SIGSTOP)  # so that both are pending at once, and no order to end goes out between them
    attached.send_signal(signal.SIGTERM)
    attached.send_signal(signal.SIGINT)
    os.kill(attached.pid, signal.SIGCONT)
    errors = finish(attached, 130)
    assert "goes on without us" in errors
    assert "./lease" in board_files(server)
    again = attach(server, tmp_path)
    again.send_signal(signal.SIGINT)  # it has measured long enough
    finish(again, 130)
    assert board_files(server) == []
    (path,) = (tmp_path / "recordings").glob("*.rta")
    assert store.load_manifest(path).damage.lost_frames == 0


def test_few_commands_go_over_the_link_before_a_run_begins(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each costs a round trip, a client of ssh three or four: a commit that adds one fails here. No load, so that its start adds none."""
    asked: list[str] = []
    started: list[str] = []
    before: list[tuple[int, int]] = []
    ask, start, launch = Link.ask, RemoteProcess.start.__func__, SshBoard.launch  # type: ignore[attr-defined]

    async def count_ask(self: Link, script: str, *rest: Any) -> bytes:
        if "echo held" not in script:  # it looks after the claim that another test holds on this machine
            asked.append(script)
        return await ask(self, script, *rest)

    async def count_start(cls: Any, link: Link, become: Any, argv: Any) -> Any:
        started.append(argv[0])
        return await start(cls, link, become, argv)

    async def count_launch(self: SshBoard, argv: Any, name: str, **rest: Any) -> Any:
        if name == "probe":
            before.append((len(asked), len(started)))
        return await launch(self, argv, name, **rest)

    monkeypatch.setattr(lease, "HEARTBEAT_S", 3600.0)  # on a slow machine one would fall among them
    monkeypatch.setattr(Link, "ask", count_ask)
    monkeypatch.setattr(RemoteProcess, "start", classmethod(count_start))
    monkeypatch.setattr(SshBoard, "launch", count_launch)
    board = SshBoard("far", Target(server.destination, None, server.options))
    asyncio.run(run(board, PLAN, home=tmp_path, labels={}))
    ((asks, clients),) = before
    # Contact, place, lease, telemetry; the probe's file, the inventory, the clock, the telemetry's stream.
    assert asks <= 4 and clients <= 4, "\n----\n".join(asked[:asks]) + str(started[:clients])


def test_one_connection_fetches_every_stream_of_a_run(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Monitors, four loads and the probe: a client of ssh for each was most of the time before a run over a slow link began."""
    started: list[str] = []
    start = RemoteProcess.start.__func__  # type: ignore[attr-defined]

    async def count_start(cls: Any, link: Link, become: Any, argv: Any) -> Any:
        started.append(argv[1] if len(argv) > 1 else "")
        return await start(cls, link, become, argv)

    monkeypatch.setattr(RemoteProcess, "start", classmethod(count_start))
    board = SshBoard("far", Target(server.destination, None, server.options))
    result = asyncio.run(run(board, replace(PLAN, load="builtin"), home=tmp_path, labels={}))
    assert started.count("fetch") == 1
    manifest = store.load_manifest(result.path)
    assert manifest.sealed and len(manifest.loads) > 1 and manifest.monitors["cpu"].readings
    assert all(load.ended_ns and load.exit_code is not None for load in manifest.loads)
