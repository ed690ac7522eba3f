"""Runs over a real sshd: whole, with every connection killed on the way, with the host killed, and with two at once.

The link cut without a word (no RST) and other kernels are for tests/lab.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))  # pytest's importlib mode has no sibling imports

from flow_support import Marked, assert_account_is_exact
from sshd import Server, arrived, clear, serving

from rtassay import store
from rtassay.boards.binaries import probe_path

pytestmark = pytest.mark.root
RTASSAY = str(Path(sys.executable).with_name("rtassay"))
SHORT = ("--interval", "1ms", "--dma-latency", "0")
LIGHT = "builtin:timer"  # for what asks how a load is started and ended, not how hard it works


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Its own /run, /tmp and /var/tmp, so that what is left on the board is seen, and nobody else's is."""
    with serving() as made:
        yield made


@pytest.fixture(autouse=True)
def clean_board(server: Server) -> Iterator[None]:
    """One that failed is not to fail the next."""
    yield
    clear(server)


@pytest.fixture
def host(server: Server, tmp_path: Path, marked: Marked) -> Callable[..., subprocess.Popen[str]]:
    """Starts `rtassay WORDS...` with a home of its own; the board is called `far`. `home`: that of another host."""
    environ = {**os.environ, "RTASSAY_SSH": f"ssh -F {server.config}"}

    def start(*words: str, home: Path = tmp_path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [RTASSAY, *words],
            env={**environ, "RTASSAY_HOME": str(home)},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    finish(start("board", "add", "far", server.destination))
    return start


def finish(process: subprocess.Popen[str], codes: Sequence[int] = (0, 5), timeout_s: float = 300) -> tuple[str, str]:
    """Its output and errors. 5: this machine broke the measurement, as when a stall makes the kernel change its clock."""
    output, errors = process.communicate(timeout=timeout_s)
    assert process.returncode in codes, (process.returncode, output, errors)
    return output, errors


def left_on_board(server: Server) -> list[str]:
    return [
        line
        for line in server.run("sh", "-c", "ls -d /run/rtassay-* /dev/shm/rtassay-* 2>/dev/null; true").split()
        if line
    ]


def spooled(server: Server) -> bool:
    """Whether the probe runs on the board."""
    return "pid" in server.run("sh", "-c", "ls /run/rtassay-0/run-*/probe/ 2>/dev/null; true").split()


def until(condition: Callable[[], bool], timeout_s: float = 180) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def only_recording(home: Path) -> Path:
    (path,) = (home / "recordings").glob("*.rta")
    return path


def assert_whole(path: Path, seconds: float) -> Any:
    """Nothing lost, nothing cut: k runs from 0 to the planned end without a gap."""
    recording = assert_account_is_exact(path)
    manifest = recording.manifest
    damage = manifest.damage
    assert (damage.lost_frames, damage.bad_frames, damage.skipped_bytes, damage.cut) == (0, 0, 0, False)
    for lane in recording.lanes:
        assert lane.entry.due == round(seconds * 1000)
        rows = sum(
            len(block[0]) + int(block[1].sum() + block[2].sum()) for block in store.iter_samples(path, lane.entry.index)
        )
        assert lane.entry.first_k + rows == lane.entry.due - lane.entry.truncated
    return recording


def test_a_run_with_a_load_over_ssh(host: Any, server: Server, tmp_path: Path) -> None:
    _, errors = finish(host("run", "far", "--duration", "3s", "--load", "builtin", *SHORT))
    recording = assert_whole(only_recording(tmp_path), 3)
    manifest = recording.manifest
    assert manifest.board == "far"
    assert manifest.loads and all(load.started_ns and load.ended_ns for load in manifest.loads)
    assert all(load.started_ns < manifest.started_ns and manifest.ended_ns <= load.ended_ns for load in manifest.loads)
    begin, end = manifest.inventory["host_clock"], manifest.inventory_end["host_clock"]
    assert abs(begin["offset_ns"]) <= begin["round_trip_ns"]  # it is this machine's own clock
    assert end["board_mono_ns"] > begin["board_mono_ns"] and "drift_ppm" in end
    assert not (only_recording(tmp_path) / "attach.json").exists()
    assert left_on_board(server) == []
    assert "lost" not in errors


def test_every_connection_killed_three_times_leaves_no_gap(host: Any, server: Server, tmp_path: Path) -> None:
    process = host("run", "far", "--duration", "15s", "--load", "none", *SHORT)
    until(lambda: arrived(tmp_path / "recordings"))
    for _ in range(3):
        time.sleep(1.5)
        server.cut()
    _, errors = finish(process)
    assert "the board goes on measuring" in errors and "is back" in errors
    assert_whole(only_recording(tmp_path), 15)
    assert left_on_board(server) == []


def test_control_c_reaches_the_board_and_seals(host: Any, server: Server, tmp_path: Path) -> None:
    process = host("run", "far", "--duration", "60s", "--load", LIGHT, *SHORT)
    until(lambda: arrived(tmp_path / "recordings"))
    process.send_signal(signal.SIGINT)
    finish(process, codes=(130,))
    recording = assert_account_is_exact(only_recording(tmp_path))
    assert recording.manifest.end_reason == "signal"
    assert left_on_board(server) == []


def test_a_killed_host_costs_nothing(host: Any, server: Server, tmp_path: Path) -> None:
    process = host("run", "far", "--duration", "12s", "--load", LIGHT, *SHORT)
    until(lambda: arrived(tmp_path / "recordings"))
    process.kill()
    process.communicate()
    path = only_recording(tmp_path)
    assert (path / "attach.json").is_file()
    assert not store.load_manifest(path).sealed

    _, errors = finish(host("run", "far", "--duration", "1s"), codes=(3,))
    assert "is in use" in errors and "run --attach" in errors
    finish(host("board", "clean", "far"), codes=(3,))

    # The board ends by itself what the host can no longer end.
    running = "for s in /run/rtassay-0/run-*/load-* /run/rtassay-0/run-*/probe; do [ -f $s/exit ] || echo $s; done"
    until(lambda: server.run("sh", "-c", running) == "")
    output, _ = finish(host("run", "--attach", "--json"))
    assert json.loads(output)["sealed"]
    recording = assert_whole(path, 12)
    manifest = recording.manifest
    assert all(load.ended_ns and load.ended_ns >= manifest.ended_ns for load in manifest.loads)
    assert manifest.inventory_end["boot_id"] == manifest.inventory["boot_id"]
    assert recording.telemetry
    assert left_on_board(server) == []
    finish(host("run", "--attach"), codes=(2,))


def test_a_host_killed_before_the_probe_began_says_so_and_leaves_nothing(
    host: Any, server: Server, tmp_path: Path
) -> None:
    process = host("run", "far", "--duration", "5s", "--load", LIGHT, "--warm-up", "60s", *SHORT)
    until(lambda: "load-0" in server.run("sh", "-c", "ls /run/rtassay-0/run-*/ 2>/dev/null; true").split())
    process.kill()
    process.communicate()
    _, errors = finish(host("run", "--attach"), codes=(3,))
    assert "nothing was measured" in errors
    assert left_on_board(server) == []
    loads = "grep -ls '^/run/rtassay-0/rtprobe.*load' /proc/[0-9]*/cmdline | while read f; do readlink ${f%cmdline}ns/mnt; done; readlink /proc/self/ns/mnt"
    *running, here = server.run("sh", "-c", loads).split()
    assert here not in running, "the load outlived what it was for"


def test_clean_by_force_ends_what_runs_and_says_what_there_was(host: Any, server: Server, tmp_path: Path) -> None:
    process = host("run", "far", "--duration", "60s", "--load", LIGHT, *SHORT)
    until(lambda: spooled(server))
    process.kill()
    process.communicate()
    output, _ = finish(host("board", "clean", "far", "--force"))
    assert "removed /run/rtassay-0" in output
    assert "started" in output and "took the board" in output
    assert left_on_board(server) == []
    output, _ = finish(host("board", "clean", "far"))
    assert "nothing of rtassay" in output


def test_two_at_once_the_second_is_told_who_has_it_and_a_third_host_watches(
    host: Any, server: Server, tmp_path: Path
) -> None:
    process = host("run", "far", "--duration", "60s", "--load", "none", *SHORT)
    until(lambda: arrived(tmp_path / "recordings"))
    watch = host("watch", server.destination, "--json", home=tmp_path / "third")
    _, errors = finish(host("run", "far", "--duration", "1s", "--load", "none"), codes=(3,))
    assert f"(process {process.pid})" in errors
    seen = [json.loads(watch.stdout.readline()) for _ in range(2)]
    process.send_signal(signal.SIGINT)
    finish(process, codes=(130,))
    output, _ = finish(watch)
    lanes = assert_account_is_exact(only_recording(tmp_path)).lanes
    seen += map(json.loads, output.splitlines())
    assert [one["state"] for one in seen] == ["running"] * (len(seen) - 1) + ["ended"]
    assert seen[1]["planned_s"] == 60 and seen[1]["elapsed_s"] > 0
    for one in seen[1:-1]:
        assert all(0 < told["n"] <= lane.entry.n for told, lane in zip(one["lanes"], lanes, strict=True))
        assert [(told["lane"], told["cpu"]) for told in one["lanes"]] == [(e.entry.index, e.entry.cpu) for e in lanes]
    assert left_on_board(server) == []


def test_a_lease_of_another_boot_is_nobodys(host: Any, server: Server, tmp_path: Path) -> None:
    lease = {
        "holder": "someone@elsewhere", "pid": 1, "since": "2020-01-01T00:00:00Z", "boot_id": "another", "token": "x", "run": "run-x",
    }  # fmt: skip
    server.run(
        "sh",
        "-c",
        f"mkdir -p /run/rtassay-0/run-x; echo '{json.dumps(lease)}' >/run/rtassay-0/lease; cat /proc/uptime >/run/rtassay-0/heartbeat",
    )
    finish(host("board", "inventory", "far"))
    assert left_on_board(server) == []


def test_a_measurement_that_nobody_fetched_is_kept_and_named(host: Any, server: Server, tmp_path: Path) -> None:
    shutil.copy(probe_path(), server.home / "rtprobe")
    spool = "/run/rtassay-0/run-old/probe"
    server.run("sh", "-c", f"mkdir -p -m 700 /run/rtassay-0/run-old; {server.home}/rtprobe spool {spool} -- echo hello")
    until(lambda: "exit" in server.run("ls", spool).split())
    _, errors = finish(host("board", "inventory", "far"))
    assert "nobody fetched" in errors and "run-old" in errors
    assert server.run("cat", f"{spool}/00000000000000000000") == "hello\n"
    finish(host("board", "clean", "far"))
    assert left_on_board(server) == []


def test_cyclictest_over_ssh(host: Any, server: Server, tmp_path: Path) -> None:
    finish(host("run", "far", "--probe", "cyclictest", "--duration", "2s", "--load", "none", "--interval", "1ms"))
    recording = store.open_recording(only_recording(tmp_path))
    assert recording.manifest.sealed and recording.manifest.source.tool == "cyclictest"
    assert all(0 < lane.entry.n == lane.histogram.total for lane in recording.lanes)
    assert left_on_board(server) == []


def test_inventory_and_its_difference(host: Any, server: Server) -> None:
    output, _ = finish(host("board", "inventory", "far", "--json"))
    here, _ = finish(host("board", "inventory", "--json"))
    assert json.loads(output)["inventory"]["boot_id"] == json.loads(here)["inventory"]["boot_id"]
    differs, _ = finish(host("board", "inventory", "far", "local", "--diff", "--json"))
    assert "boot_id" not in json.loads(differs)["differs"]
