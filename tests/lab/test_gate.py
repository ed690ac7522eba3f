"""The gate on Debian's kernels: the same bytes twice, a regression with who holds the time, and a planted one found by git bisect."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import kernel_tree
import planted_regression
import pytest

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
