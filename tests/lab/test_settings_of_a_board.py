"""rtassay doctor over SSH on Debian's kernels: what it says of a board as booted, and of one with faults planted in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import plain_env
from vboard import Board, Setup

STOCK, RT = Setup("stock", "stock"), Setup("rt", "rt")
# An emulated RT board did not answer while the hog ran; the thread of its network interrupt may have starved.
PLANTED = [Setup("planted-stock", "stock")]
LOOKS = 10
NAMES = ("printk", "foreign-rt-threads", "rt-throttling", "irq-affinity")
# A hog that is throttled, then one that leaves time for others; messages on the serial console; a network card's interrupt moved; a timer
# every 4 ms; programs that run into the memory limit of their group: by little, then the kernel holds them up for two seconds each time.
FAULTS = """
echo 8 > /proc/sys/kernel/printk
stress-ng --cpu 1 --sched fifo --sched-prio 95 --taskset 1 --timeout 4 >/dev/null 2>&1 </dev/null
(for i in $(seq 3000); do echo '<4>planted' > /dev/kmsg; usleep 200000; done) >/dev/null 2>&1 </dev/null &
stress-ng --cpu 1 --cpu-load 20 --sched fifo --sched-prio 95 --taskset 1 --timeout 600 >/dev/null 2>&1 </dev/null &
stress-ng --timer 1 --timer-freq 250 --taskset 1 --timeout 600 >/dev/null 2>&1 </dev/null &
grep -q cgroup2 /proc/mounts || mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo +memory > /sys/fs/cgroup/cgroup.subtree_control; mkdir /sys/fs/cgroup/app; echo 24M > /sys/fs/cgroup/app/memory.high
(echo 0 > /sys/fs/cgroup/app/cgroup.procs; for i in $(seq 6000); do dd if=/dev/zero of=/dev/null bs=25M count=1; done) >/dev/null 2>&1 </dev/null &
for i in $(grep virtio0-input /proc/interrupts | cut -d: -f1); do echo 1 > /proc/irq/$i/smp_affinity_list; done
until dmesg | grep -q planted; do sleep 1; done
"""


def doctor(board: Board, home: Path, *words: str) -> tuple[int, dict[str, dict[str, Any]]]:
    done = subprocess.run(
        [sys.executable, "-m", "rtassay", "doctor", board.name, *words, "--json"],
        capture_output=True,
        text=True,
        timeout=240,
        env=plain_env(home),
        check=False,
    )
    assert done.stdout, done.stderr
    return done.returncode, {one["id"]: one for one in json.loads(done.stdout)["settings"]}


@pytest.mark.parametrize("setup", [pytest.param(STOCK, marks=pytest.mark.full, id="stock"), pytest.param(RT, id="rt")])
def test_a_board_as_booted_is_looked_at_and_left_as_it_was(setup: Setup, board: Board, tmp_path: Path) -> None:
    before = board.text("cat /proc/sys/kernel/printk /proc/sys/vm/stat_interval; ls /tmp /run; uname -r")
    code, found = doctor(board, tmp_path)
    assert code == 1
    assert found["preempt-rt"]["state"] == ("ok" if setup == RT else "wrong")
    assert found["lockup-detector"]["state"] == "wrong" and found["isolcpus"]["state"] == "unknown"
    assert found["kernel-configuration"]["details"], "the configuration was found on the board"
    assert board.text("cat /proc/sys/kernel/printk /proc/sys/vm/stat_interval; ls /tmp /run; uname -r") == before


def unnamed(found: dict[str, dict[str, Any]]) -> list[str]:
    """The settings that do not tell their planted fault."""
    told = {
        "foreign-rt-threads": "stress-ng" in found["foreign-rt-threads"]["now"]
        and "fifo 95" in found["foreign-rt-threads"]["now"],
        "rt-throttling": "throttled real-time threads in this boot" in found["rt-throttling"]["now"],
        "irq-affinity": any("virtio0-input" in detail["name"] for detail in found["irq-affinity"]["details"]),
        "cpu-timers": any(detail["name"].startswith("posix_timer_fn") for detail in found["cpu-timers"]["details"]),
        "memory-limit": found["memory-limit"]["now"].startswith("/sys/fs/cgroup/app: memory.high"),
    }
    wrong = {name for name in NAMES if found[name]["state"] == "wrong"}
    return sorted(({*NAMES} - wrong) | {name for name, so in told.items() if not so})


@pytest.mark.full
@pytest.mark.parametrize("setup", PLANTED, ids=lambda setup: setup.name)
def test_faults_planted_on_a_board_are_each_named(setup: Setup, board: Board, tmp_path: Path) -> None:
    clean = doctor(board, tmp_path, "--for", "isolated=1,priority=80")[1]
    assert clean["foreign-rt-threads"]["state"] == "ok", clean["foreign-rt-threads"]
    # On a busy machine the kernel of the board itself prints errors ("stall", "soft lockup"), so its state may be `wrong` here already.
    assert clean["printk"]["now"].startswith("level 4 on ttyS0"), clean["printk"]
    assert "throttled" not in clean["rt-throttling"]["now"]
    board.text(FAULTS)
    # In one second of an emulated board on a busy host, not every timer fires and not every limit is reached.
    for _ in range(LOOKS):
        found = doctor(board, tmp_path, "--for", "isolated=1,priority=80")[1]
        if not (missing := unnamed(found)):
            break
    assert not missing, {name: found[name] for name in missing}
    assert found["printk"]["now"].startswith("level 8 on ttyS0") and found["printk"]["severity"] == "high"
