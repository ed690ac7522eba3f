"""The gate on Debian's kernels: the same bytes twice, a regression with who holds the time, and a planted one found by git bisect."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import kernel_tree
import planted_regression
import planted_section
import pytest

from rtassay.boards.binaries import probe_path
from rtassay.gate.kernels import opened
from rtassay.lab import measured, userland
from rtassay.lab.arches import arch_named

pytestmark = pytest.mark.full


def gate(*words: str, code: int = 0) -> Any:
    """The JSON object of one gate."""
    argv = [sys.executable, "-m", "rtassay", "gate", *words, "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=7200, check=False)
    assert done.returncode == code, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("package", ["linux-image-rt-amd64", "linux-image-amd64"])
def test_every_load_gives_the_same_bytes_twice(package: str) -> None:
    found = gate("run", package, "--verify", "--seeds", "1", "--count", "500")
    assert found["same"], [cell for cell in found["cells"] if not cell["same"]]
    assert len(found["cells"]) == 9


def test_the_stock_kernel_is_later_than_preempt_rt_under_dd(tmp_path: Path) -> None:
    base = tmp_path / "base.json"
    plan = ("--load", "dd", "--load", "idle", "--seeds", "1", "--count", "1000")
    gate("linux-image-rt-amd64", *plan, "-o", str(base))
    saved = gate("linux-image-amd64", "--against", str(base), *plan, code=1)
    booted = gate("linux-image-amd64", "--against", "linux-image-rt-amd64", *plan, code=1)
    states = [{load["load"]: load["state"] for load in found["loads"]} for found in (saved, booted)]
    assert states == [{"dd": "regressed", "idle": "not-regressed"}] * 2
    (later,) = [load for load in booted["loads"] if load["load"] == "dd"]
    assert later["search"] == "named"
    assert later["functions"][0]["new_ns"] > later["functions"][0]["base_ns"]
    assert later["seeds"] == [
        {**seed, "first": found["first"], "first_beyond": found["first_beyond"]}
        for seed, found in zip(saved["loads"][0]["seeds"], later["seeds"], strict=True)
    ]


ARM = {"arm64": ("linux-image-rt-arm64", "linux-image-arm64"), "armhf": ("linux-image-rt-armmp", "linux-image-armmp")}


@pytest.mark.parametrize("arch", ARM)
def test_a_kernel_for_arm_gives_the_same_bytes_twice(arch: str) -> None:
    found = gate("run", ARM[arch][0], "--verify", "--load", "idle", "--load", "dd", "--seeds", "1", "--count", "300")
    assert found["same"], [cell for cell in found["cells"] if not cell["same"]]
    assert (found["kernel"]["arch"], len(found["cells"])) == (arch, 2)


@pytest.mark.parametrize("arch", ARM)
def test_the_stock_kernel_for_arm_is_later_than_preempt_rt_under_dd(arch: str) -> None:
    rt, stock = ARM[arch]
    (later,) = gate("run", stock, "--against", rt, "--load", "dd", "--seeds", "1", "--count", "1000", code=1)["loads"]
    assert later["state"] == "regressed"
    assert not later["functions"] and f"this one is for {arch}" in later["unfollowed"]


def test_a_section_planted_in_an_image_for_arm64_is_found(tmp_path: Path) -> None:
    rt, arch = opened(ARM["arm64"][0], print), arch_named("arm64")
    (tmp_path / "kernel").write_bytes(rt.bootable)
    programs = userland.cached(arch) or userland.build(arch, print)
    words = ("cyclic", "--cpus", "0", "--interval", "1ms", "--count", "100")
    probe = probe_path(arch.uname).read_bytes()
    board = measured.board_of(tmp_path / "kernel", programs, probe, words, load="none", seed=1, symbols=True, arch=arch)
    names = measured.checked(board.run()).files[measured.SYMBOLS]
    (tmp_path / "planted").write_bytes(planted_section.plant(rt.bootable, names))
    plan = ("--load", "mmap", "--load", "idle", "--seeds", "1", "--count", "1000")
    found = gate("run", str(tmp_path / "planted"), "--against", ARM["arm64"][0], *plan, code=1)
    assert {load["load"]: load["state"] for load in found["loads"]} == {"mmap": "regressed", "idle": "not-regressed"}
    (seed,) = found["loads"][0]["seeds"]
    assert seed["base"]["tail_ns"] < 250_000 < seed["new"]["tail_ns"]
    assert found["loads"][0]["holders"][0]["function"] == planted_section.UNUSED


def test_bisect_names_the_commit_of_a_planted_regression() -> None:
    tree = kernel_tree.prepared()
    planted = planted_regression.plant(tree)
    try:
        found = gate("bisect", planted.good, "planted", "--tree", str(tree), "--load", "timers")
        assert found["commit"] == planted.later
        assert found["subject"] == "posix-timers: settle overruns before they are told"
        outcomes = {step["commit"]: step["outcome"] for step in found["steps"]}
        assert outcomes.get(planted.broken) in (None, "not-built")
        (load,) = found["gate"]["loads"]
        assert (load["state"], load["search"]) == ("regressed", "named")
        told = [(one["function"], *one["callers"]) for one in load["functions"]]
        assert any(planted_regression.FUNCTION in names[:4] for names in told[:2]), (told, load["unfollowed"])
        assert kernel_tree.git(tree, "symbolic-ref", "--short", "HEAD") == "planted"
    finally:
        kernel_tree.git(tree, "checkout", "--quiet", "main")
