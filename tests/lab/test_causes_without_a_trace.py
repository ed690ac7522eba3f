"""What is left of causes where the kernel keeps its trace to itself: which reason is told, and the one thing to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import in_process
from vboard import Board, Setup

pytestmark = pytest.mark.full
# The setting of Secure Boot, which keeps tracefs as it is, and the one above it, which empties tracefs.
CONFIDENTIAL = Setup("confidentiality", "stock", append="lockdown=confidentiality")
INTEGRITY = Setup("integrity", "stock", append="lockdown=integrity")
RUN = ("--interval", "10ms", "--duration", "6s", "--load", "none", "--trace-above", "1ms", "--json")
NO_OWNER = 4


@pytest.mark.parametrize("setup", [CONFIDENTIAL], ids=lambda setup: setup.name)
def test_a_locked_down_kernel_is_named_and_what_is_left_is_told(board: Board, tmp_path: Path) -> None:
    done = in_process("run", board.name, *RUN, home=tmp_path)
    id = json.loads(done.stdout)["id"]
    causes = in_process("causes", id, home=tmp_path)
    assert causes.returncode == NO_OWNER
    for words in ("locked down (confidentiality)", "tracefs is empty", "lockdown=integrity", "coincidences"):
        assert words in causes.stdout, causes.stdout
    (run,) = json.loads(in_process("causes", id, "--json", home=tmp_path).stdout)["runs"]
    assert (run["state"], run["refused"]) == ("not-possible", "locked-down")
    zoomed = in_process("zoom", id, home=tmp_path)
    assert zoomed.returncode != 0 and "Traceback" not in zoomed.stderr
    followed = in_process("explain", board.name, "--pid", "1", "--duration", "2s", home=tmp_path)
    assert followed.returncode == NO_OWNER and "locked down (confidentiality)" in followed.stderr + followed.stdout


@pytest.mark.parametrize("setup", [INTEGRITY], ids=lambda setup: setup.name)
def test_the_lockdown_of_secure_boot_leaves_the_trace(board: Board, tmp_path: Path) -> None:
    done = in_process("run", board.name, *RUN, home=tmp_path)
    id = json.loads(done.stdout)["id"]
    (run,) = json.loads(in_process("causes", id, "--json", home=tmp_path).stdout)["runs"]
    assert run["state"] in ("traced", "nothing-late") and run["refused"] is None
