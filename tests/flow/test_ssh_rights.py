"""Logins without root: what they may is what is measured, and what they may not is said. A real sshd, a real user, real capabilities.

Limits on real-time priorities (limits.conf) are for tests/lab: this machine's root may not have them to give.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))  # pytest's importlib mode has no sibling imports

from sshd import Server, serving

from rtassay import store
from rtassay.boards.binaries import probe_path
from rtassay.model.recording import Recording

pytestmark = pytest.mark.root
RTASSAY = str(Path(sys.executable).with_name("rtassay"))
WORLD = """
sed '$a plain:x:4245:4245::/tmp:/bin/sh' /etc/passwd >{home}/passwd; mount --bind {home}/passwd /etc/passwd
sed '$a plain:*:1::::::' /etc/shadow >{home}/shadow; chmod 600 {home}/shadow; mount --bind {home}/shadow /etc/shadow
mount -t tmpfs -o mode=755 run /run; mkdir -p -m 755 /run/sshd; mkdir -m 1777 /run/lock
for d in /tmp /var/tmp /dev/shm; do mount -t tmpfs -o mode=1777 x $d; done
"""
SUDO = """
echo 'plain ALL=(root) NOPASSWD: ALL' >{home}/sudoers; chmod 440 {home}/sudoers; mount --bind {home}/sudoers /etc/sudoers
"""
# As the administrator of a board would do it: the program that rtassay brings, installed there with the two capabilities it needs. Before /tmp is covered.
INSTALLED = f"""
mkdir {{home}}/bin; cp {probe_path()} {{home}}/bin/rtprobe; chmod 755 {{home}}/bin/rtprobe
setcap cap_sys_nice,cap_ipc_lock+ep {{home}}/bin/rtprobe; mount --bind {{home}}/bin /usr/local/bin
"""


def run(server: Server, home: Path, *words: str, sudo: str = "auto") -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "RTASSAY_HOME": str(home), "RTASSAY_SSH": f"ssh -F {server.config}"}
    add = [RTASSAY, "board", "add", "far", server.destination, "--sudo", sudo]
    subprocess.run(add, env=environ, check=True, capture_output=True)
    line = [RTASSAY, "run", "far", "--duration", "2s", "--load", "none", "--interval", "1ms", *words]
    return subprocess.run(line, env=environ, text=True, capture_output=True, timeout=300, check=False)


def only(home: Path) -> Recording:
    (path,) = (home / "recordings").glob("*.rta")
    return store.open_recording(path)


def policies(home: Path) -> set[tuple[str, int | None]]:
    """What the lanes had, read back from the kernel."""
    lanes = only(home).manifest.lanes
    assert all(lane.obtained_start is not None for lane in lanes)
    return {(str(lane.obtained_start.policy), lane.obtained_start.priority) for lane in lanes if lane.obtained_start}


def nothing_left(server: Server) -> bool:
    look = "ls -d /run/rtassay-* /run/lock/* /tmp/* /var/tmp/* /dev/shm/* 2>/dev/null; true"
    return "rtassay" not in server.run("sh", "-c", look)


def test_a_login_without_rights_is_told_what_was_asked_and_what_it_got(tmp_path: Path) -> None:
    with serving(user="plain", world=WORLD) as server:
        done = run(server, tmp_path, "--json", sudo="never")
        assert done.returncode == 5, done.stderr
        failed = {c["id"]: c["message"] for c in json.loads(done.stdout)["checks"] if c["severity"] == "invalid"}
        assert "fifo 90 was refused" in failed["NOT-RT-POLICY"] and "other 0" in failed["NOT-RT-POLICY"]
        assert policies(tmp_path) == {("other", 0)}
        assert nothing_left(server)


def test_who_insists_on_a_policy_that_is_refused_gets_no_other(tmp_path: Path) -> None:
    with serving(user="plain", world=WORLD) as server:
        done = run(server, tmp_path, "--policy", "fifo", sudo="never")
        assert done.returncode == 3
        assert "SCHED_FIFO 90 was refused" in done.stderr and "limits.conf" in done.stderr
        assert list((tmp_path / "recordings").glob("*.rta")) == []
        assert nothing_left(server)


def test_sudo_without_a_password_measures_in_real_time(tmp_path: Path) -> None:
    with serving(user="plain", world=WORLD + SUDO) as server:
        done = run(server, tmp_path, "--policy", "fifo", "--priority", "40")
        assert done.returncode in (0, 5), done.stderr
        assert policies(tmp_path) == {("fifo", 40)}
        assert nothing_left(server)


def test_a_probe_installed_with_capabilities_measures_in_real_time_without_root(tmp_path: Path) -> None:
    with serving(user="plain", world=INSTALLED + WORLD) as server:
        # sudo asks for a password here: nobody needs it.
        done = run(server, tmp_path, "--policy", "fifo", "--priority", "40")
        assert done.returncode in (0, 5), done.stderr
        assert policies(tmp_path) == {("fifo", 40)}
        assert only(tmp_path).manifest.plan.command[0] == "/usr/local/bin/rtprobe"
        assert nothing_left(server)


def test_another_probe_that_lies_there_is_not_run(tmp_path: Path) -> None:
    """A program named rtprobe on the PATH counts only if it is the very same file."""
    other = "mkdir {home}/bin; printf '#!/bin/sh\\ntouch /tmp/was-run\\n' >{home}/bin/rtprobe; chmod 755 {home}/bin/rtprobe; mount --bind {home}/bin /usr/local/bin\n"
    with serving(user="plain", world=other + WORLD) as server:
        assert run(server, tmp_path, sudo="never").returncode == 5
        assert "was-run" not in server.run("ls", "/tmp")
