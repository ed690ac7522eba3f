"""rtassay run --cpus isolated on this machine, where it has cpusets of cgroup v1: what is isolated, and that all is put back."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from command_line import in_process

from rtassay import store

README = Path(__file__).parents[2] / "README.md"
CPUSETS = Path("/sys/fs/cgroup/cpuset")
BALANCE = CPUSETS / "cpuset.sched_load_balance"

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(
        os.geteuid() != 0 or (os.cpu_count() or 1) < 2 or not BALANCE.exists(),
        reason="needs root, two CPUs and cpusets of cgroup v1; a board of the lab has those of v2",
    ),
]


def test_a_cpu_is_isolated_for_the_length_of_a_run(tmp_path: Path) -> None:
    groups = sorted(path.name for path in CPUSETS.iterdir() if path.is_dir())
    done = in_process(
        "run", "--cpus", "isolated", "--duration", "2s", "--load", "builtin:memory", "--json", home=tmp_path
    )
    shown = json.loads(done.stdout)
    manifest = store.load_manifest(Path(shown["path"]))
    cpus = manifest.board_start.cpus
    assert cpus.cgroup_isolated == manifest.plan.cpus and cpus.partition == f"{CPUSETS}/rtassay-isolated"
    assert manifest.plan.load_cpus == tuple(cpu for cpu in cpus.online or () if cpu not in (cpus.cgroup_isolated or ()))
    assert manifest.board_start.tuned is not None
    moved = [one for one in manifest.board_start.tuned.made if one.kind == "gather"]
    assert [one.state for one in moved] == ["took"]
    severities = {check["id"]: check["severity"] for check in shown["checks"]}
    assert severities["ISOLATED-NOT-STRESSED"] == "pass"
    assert BALANCE.read_text().strip() == "1"
    assert sorted(path.name for path in CPUSETS.iterdir() if path.is_dir()) == groups


def test_the_line_of_the_readme_isolates_a_cpu_here(tmp_path: Path) -> None:
    """For two seconds instead of an hour."""
    (line,) = re.findall(r"^rtassay (run .*--cpus isolated .*)$", README.read_text(), re.M)
    done = in_process(*shlex.split(line), "--duration", "2s", "--json", home=tmp_path)
    shown = json.loads(done.stdout)
    assert done.returncode in (0, 1, 4, 5) and shown["schema"].startswith("rtassay/show/"), done.stderr
    manifest = store.load_manifest(Path(shown["path"]))
    assert manifest.plan.cpus == manifest.board_start.cpus.cgroup_isolated and manifest.note == "heat sink off"
    assert BALANCE.read_text().strip() == "1"
