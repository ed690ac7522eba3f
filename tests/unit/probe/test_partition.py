"""rtprobe cyclic --partition: who joins the cgroup of isolated CPUs, and who stays outside. The cgroup is plain files of the test's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .board import NEEDS_PROBE, run

pytestmark = NEEDS_PROBE
CPU = max(os.sched_getaffinity(0))
CYCLIC = ("cyclic", "--fallback", "--cpus", str(CPU), "--interval", "1ms", "--count", "5", "--text")


@pytest.fixture
def group(tmp_path: Path) -> Path:
    group = tmp_path / "group"
    group.mkdir()
    for file in (tmp_path / "cgroup.procs", group / "tasks"):
        file.write_text("")
    return group


@pytest.mark.parametrize(("held", "version"), [(True, 1), (True, 2), (False, 1)])
def test_lanes_of_its_cpus_join_it_and_the_process_its_parent(group: Path, held: bool, version: int) -> None:
    (group / "cpuset.cpus").write_text(f"{CPU if held else CPU + 1}\n")
    if version == 2:
        (group / "cgroup.threads").write_text("")
    done = run(*CYCLIC, "--partition", str(group))
    assert done.returncode == 0, done.stderr
    assert (group.parent / "cgroup.procs").read_text() == "0"
    assert (group / "tasks").read_text() == ("0" if held and version == 1 else "")
    assert version == 1 or (group / "cgroup.threads").read_text() == "0"


def test_a_group_that_holds_no_cpu_or_lets_nobody_in_is_refused(group: Path) -> None:
    done = run(*CYCLIC, "--partition", str(group))
    assert done.returncode == 2 and b"holds no CPU" in done.stderr
    (group / "cpuset.cpus").write_text(f"{CPU}\n")
    (group / "tasks").unlink()
    done = run(*CYCLIC, "--partition", str(group))
    assert done.returncode == 2 and b"cannot be pinned" in done.stderr
    (group.parent / "cgroup.procs").unlink()
    done = run(*CYCLIC, "--partition", str(group))
    assert done.returncode == 3 and b"does not take this process" in done.stderr
