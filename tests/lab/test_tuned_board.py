"""rtassay tune over SSH on Debian's kernels: applied, read back by other means, refused to a second host, recorded by a run, put back."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import plain_env
from vboard import Board, Setup

RT = Setup("rt", "rt")
STOCK = Setup("stock", "stock")
ARM64 = [Setup("arm64-stock", "stock", arch="arm64"), Setup("arm64-rt", "rt", arch="arm64")]
TUNED = ("--profile", "dedicated", "--goal", "isolated=1")
# An interrupt that the kernel keeps on a CPU refuses to be moved: then the exit code is 4.
DONE = (0, 4)
# Every setting of the kernel and of memory, interrupts, kernel work, power, and the CPUs of threads that live as long as the board. What the
# kernel counts or changes by itself is left out, as the CPU of an interrupt's thread, which follows its interrupt, and of rcu_gp and
# rcu_par_gp, rescuers, which follow the work that they rescue.
SNAPSHOT = r"""
cd /; for f in /proc/sys/kernel/* /proc/sys/vm/* /proc/irq/*/smp_affinity_list /proc/irq/default_smp_affinity \
  /sys/devices/virtual/workqueue/cpumask /sys/devices/virtual/workqueue/*/cpumask /sys/devices/system/machinecheck/machinecheck*/check_interval \
  /sys/module/pcie_aspm/parameters/policy /sys/devices/system/cpu/cpu*/online /sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us; do
  case $f in */ns_last_pid|*/random*|*/pty*) continue;; esac
  [ -f $f ] && echo "$f $(cat $f 2>/dev/null)"; done
for t in /proc/[0-9]*/status; do sed -n 's/^Name:.//p;s/^Cpus_allowed_list:.//p' $t 2>/dev/null | tr '\n' ' '; echo; done |
  grep -E '^(init|busybox|ksoftirqd|rcu|kthreadd|migration|khugepaged|kcompactd|watchdog)' | grep -vE '^rcu_(par_)?gp' | sort
ls /run
"""


def rtassay(board: Board, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        _argv(board, *words), capture_output=True, text=True, timeout=300, env=plain_env(home), check=False
    )


def _argv(board: Board, verb: str, *words: str) -> list[str]:
    return [sys.executable, "-m", "rtassay", verb, board.name, *words]


def told(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.stdout, done.stderr
    data: dict[str, Any] = json.loads(done.stdout)
    return data


@pytest.mark.full
@pytest.mark.parametrize("setup", [RT, STOCK, *ARM64], ids=lambda setup: setup.name)
def test_every_setting_of_a_profile_is_applied_and_put_back(setup: Setup, board: Board, tmp_path: Path) -> None:
    before = board.text(SNAPSHOT)
    done = rtassay(board, tmp_path, "tune", *TUNED, "--json")
    assert done.returncode in DONE, done.stderr
    made = told(done)
    wanted = {"lockup-detector", "vmstat-interval", "workqueue-mask", "thread-affinity"}
    # QEMU's arm64 board has all its interrupts on CPU 0 already.
    assert (wanted if setup in ARM64 else wanted | {"irq-affinity"}) <= set(made["settings"])
    during = board.text(SNAPSHOT)
    assert during != before
    for change in made["changes"]:
        if change["kind"] == "write" and change["state"] == "took":
            shown = board.text(f"cat {change['target']}")
            assert change["now"].split() == (re.findall(r"\[(\S+)\]", shown) or shown.split()), change
    assert board.text("cat /proc/sys/vm/stat_interval /proc/sys/kernel/watchdog").split() == ["10", "0"]
    other = tmp_path / "plan.toml"
    other.write_text('[[write]]\nfile = "/proc/sys/vm/swappiness"\nvalue = 7\n')
    refused = rtassay(board, tmp_path / "another", "tune", "--plan", str(other))
    assert refused.returncode == 3 and "changed already" in refused.stderr and made["owner"] in refused.stderr
    seen = rtassay(board, tmp_path, "run", "--duration", "2s", "--load", "none", "--json")
    assert "are changed by" in seen.stderr
    manifest = json.loads((Path(told(seen)["path"]) / "manifest.json").read_text())
    assert manifest["inventory"]["tuned"]["owner"] == made["owner"]
    reverted = rtassay(board, tmp_path, "tune", "--revert", "--json")
    assert reverted.returncode == 0 and told(reverted)["not_put_back"] == [], reverted.stderr
    assert board.text(SNAPSHOT) == before
    assert not list((tmp_path / "tuned").glob("*.json"))


@pytest.mark.full
@pytest.mark.parametrize("setup", [STOCK], ids=lambda setup: setup.name)
def test_a_run_isolates_a_cpu_that_nothing_else_uses_and_puts_it_back(
    setup: Setup, board: Board, tmp_path: Path
) -> None:
    before = board.text(SNAPSHOT + "cat /proc/mounts; ls /sys/fs/cgroup")
    done = rtassay(board, tmp_path, "run", "--cpus", "isolated", "--duration", "3s", "--load", "builtin", "--json")
    shown = told(done)
    manifest = json.loads((Path(shown["path"]) / "manifest.json").read_text())
    cpus = manifest["inventory"]["cpus"]
    assert manifest["plan"]["cpus"] == [1] and manifest["plan"]["load_cpus"] == [0]
    # Two CPUs, of which one is isolated: neither has another one to be balanced with.
    assert (cpus["cgroup_isolated"], cpus["unbalanced"], cpus["allowed"]) == ([1], [0, 1], [0])
    assert [lane["obtained_start"]["affinity"] for lane in manifest["lanes"]] == [[1]]
    checks = {check["id"]: check for check in shown["checks"]}
    assert checks["ISOL-NOT-EFFECTIVE"]["severity"] == "pass", checks["ISOL-NOT-EFFECTIVE"]
    assert checks["ISOLATED-NOT-STRESSED"]["severity"] == "pass"
    assert board.text(SNAPSHOT + "cat /proc/mounts; ls /sys/fs/cgroup") == before


@pytest.mark.full
@pytest.mark.parametrize("setup", [STOCK], ids=lambda setup: setup.name)
def test_words_of_the_command_line_hold_for_one_boot(setup: Setup, board: Board, tmp_path: Path) -> None:
    before = board.text("cat /proc/cmdline")
    done = rtassay(board, tmp_path, "tune", "--only", "isolcpus", "--goal", "isolated=1", "--boot")
    assert done.returncode == 0, done.stderr
    assert "isolcpus: took: CPU 1 isolated" in done.stdout
    assert board.text("cat /sys/devices/system/cpu/isolated") == "1"
    assert board.text("cat /proc/cmdline") == f"{before} rtassay.words=1 isolcpus=managed_irq,domain,1"
    again = subprocess.run(
        [sys.executable, "-m", "rtassay", "kernel", "use", "stock", board.name],
        capture_output=True,
        text=True,
        timeout=300,
        env=plain_env(tmp_path),
        check=False,
    )
    assert again.returncode == 0, again.stderr
    assert board.text("cat /proc/cmdline") == before
