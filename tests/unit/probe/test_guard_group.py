"""rtprobe guard --cgroup: the command in a cgroup of its own, where the board has version 2 and lets us; the same ends everywhere else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .board import PATIENCE_S, RTPROBE, family
from .frames import decode, events, whole
from .test_guard import CHAIN, DEAF, HARD, PYTHON, finish, wait_ready
from .test_guard_standby import both


def own_group() -> Path | None:
    """The directory of this process's cgroup of version 2, if a group with `cgroup.kill` can be made there."""
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines() if " - cgroup2 " in line]
    names = [line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")]
    if not mounts or not names:
        return None
    place = Path(mounts[0][4] + names[0])
    made = place / f"rtassay-test-{os.getpid()}"
    try:
        made.mkdir()
    except OSError:
        return None
    try:
        controllers = (made / "cgroup.controllers").read_text().split()
        usable = (made / "cgroup.kill").exists() and not {"cpu", "cpuset"} & set(controllers)
        return place if usable else None
    finally:
        made.rmdir()


OWN = own_group()
needs_group = pytest.mark.skipif(
    OWN is None, reason="no cgroup can be made here: then the tests of the fallback stand alone"
)


def groups() -> set[str]:
    assert OWN is not None
    return {path.name for path in OWN.glob("rtassay-guard-*")}


def group_of(stream: Path) -> str | None:
    """The cgroup that the facts name, once the command runs."""
    path: str | None = json.loads(decode(stream.read_bytes(), cut=True)[0].payload)["cgroup"]
    return path


@needs_group
@pytest.mark.parametrize("name", [*sorted(HARD), "chain"])
def test_sigkill_reaches_all_that_is_in_the_group_and_the_group_goes(name: str, tmp_path: Path) -> None:
    stream = tmp_path / "guard.rtw"
    with family() as members:
        process = members.start("guard", "--cgroup", "-o", str(stream), "--", *PYTHON, {**HARD, "chain": CHAIN}[name])
        wait_ready(process)
        path = group_of(stream)
        assert path is not None and Path(path).parent == OWN
        if name != "chain":  # whose processes live too short to be listed for sure
            inside = {int(pid) for pid in (Path(path) / "cgroup.procs").read_text().split()}
            assert inside and inside <= set(members.alive()) and not inside & set(both(process))
        process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        finish(process)
        members.wait_gone(0.0 if name != "chain" else PATIENCE_S)
        assert not Path(path).exists()
    (killed,) = events(whole(stream.read_bytes(), "guard"), "child_killed")
    assert killed["stuck"] == 0
    if name in ("deaf", "hydra"):
        assert killed["left"] >= 1


@needs_group
def test_a_process_that_left_the_group_is_ended_too(tmp_path: Path) -> None:
    assert OWN is not None
    leaves = f"open({str(OWN / 'cgroup.procs')!r}, 'w').write('0')\n" + DEAF
    stream = tmp_path / "guard.rtw"
    with family() as members:
        process = members.start("guard", "--cgroup", "-o", str(stream), "--", *PYTHON, leaves)
        wait_ready(process)
        path = group_of(stream)
        assert path is not None and (Path(path) / "cgroup.procs").read_text() == ""
        process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        finish(process)
        assert members.alive() == [] and process.returncode == 128 + signal.SIGKILL


@needs_group
@pytest.mark.parametrize("which", ["standby", "inner"])
def test_a_killed_guard_leaves_nothing_and_no_group(which: str) -> None:
    before = groups()
    with family() as members:
        process = members.start("guard", "--cgroup", "--", *PYTHON, HARD["hydra"])
        wait_ready(process)
        standby, inner = both(process)
        os.kill(inner if which == "inner" else standby, signal.SIGKILL)
        members.wait_gone(25)
        finish(process)
        until = time.monotonic() + PATIENCE_S
        while groups() - before:  # the inner one goes on for a moment
            assert time.monotonic() < until
            time.sleep(0.02)


DEAF_DAEMON = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    print('ready', flush=True)
    time.sleep(120)
    os._exit(0)
time.sleep(120)
"""


@needs_group
def test_what_two_guards_killed_in_one_moment_left_is_ended_by_the_next_guard() -> None:
    with family() as members:
        process = members.start("guard", "--cgroup", "--", *PYTHON, DEAF_DAEMON)
        wait_ready(process)
        standby, inner = both(process)
        os.kill(standby, signal.SIGSTOP)  # so that neither can act for the other
        os.kill(inner, signal.SIGKILL)
        os.kill(standby, signal.SIGKILL)
        process.wait(PATIENCE_S)
        until = time.monotonic() + PATIENCE_S
        while len(members.alive()) > 1:  # the kernel ends the command
            assert time.monotonic() < until
        assert len(members.alive()) == 1 and f"rtassay-guard-{standby}" in groups()
        subprocess.run([RTPROBE, "guard", "--cgroup", "--", "true"], check=True, timeout=PATIENCE_S)
        members.wait_gone()
        subprocess.run([RTPROBE, "guard", "--cgroup", "--", "true"], check=True, timeout=PATIENCE_S)
        assert f"rtassay-guard-{standby}" not in groups()


@needs_group
def test_a_guard_does_not_end_what_another_one_guards() -> None:
    with family() as members:
        first = members.start("guard", "--cgroup", "--", *PYTHON, HARD["sleep"])
        wait_ready(first)
        count = len(members.alive())
        subprocess.run([RTPROBE, "guard", "--cgroup", "--", "true"], check=True, timeout=PATIENCE_S)
        assert len(members.alive()) == count
        first.terminate()
        finish(first)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: hides the cgroups in a mount namespace")
@pytest.mark.parametrize(
    "how", ["umount -a -t cgroup2", "mount -t cgroup2 none /sys/fs/cgroup -o ro", "setpriv --reuid 65534"]
)
def test_without_a_cgroup_the_family_is_ended(how: str, tmp_path: Path) -> None:
    """No version 2, one that is read only, no right to make one."""
    prefix = ["unshare", "-m", "sh", "-c", f'{how}; exec "$@"', "sh"]
    if how.startswith("setpriv"):
        prefix = [*how.split(), "--clear-groups"]
        for place in (tmp_path, *tmp_path.parents[:3]):  # three with pytest-xdist
            place.chmod(0o777 if place == tmp_path else 0o755)
    stream = tmp_path / "guard.rtw"
    with family() as members:
        process = subprocess.Popen(
            [
                *prefix,
                RTPROBE,
                "guard",
                "--cgroup",
                "--max",
                "1s",
                "-o",
                str(stream),
                "--",
                "sh",
                "-c",
                "setsid sleep 41 & (setsid setsid sleep 42 &); sleep 40",
            ],
            env=members.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        _, errors = finish(process)
        assert members.alive() == []
    frames = whole(stream.read_bytes(), "guard")
    assert frames[0].json["cgroup"] is None, errors
    assert events(frames, "child_killed")[0]["why"] == "max"
