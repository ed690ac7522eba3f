"""Experiments on this machine: carried out, killed and resumed, excluded from each other, stopped by Ctrl-C."""

from __future__ import annotations

import json
import random
import signal
import subprocess
from pathlib import Path

import pytest
from experiment_kills import SMALL, Kill, check_invariants, die, killed_and_resumed, measured, moments, rtassay, until
from flow_support import Marked

from rtassay.experiments.directory import load_plan
from rtassay.experiments.journal import read_journal, states
from rtassay.experiments.status import status_of

QUICK = """
name = "quick"
[[loads]]
name = "idle"
[settings]
interval = "1ms"
duration = "1s"
"""


@pytest.fixture
def quick(tmp_path: Path) -> Path:
    file = tmp_path / "quick.toml"
    file.write_text(QUICK)
    return file


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


@pytest.mark.parametrize(
    ("moments_of", "repeats"),
    [((1, 1, 1), 2), pytest.param((4, 3, 3), 4, marks=pytest.mark.full)],
    ids=["three moments", "ten moments"],
)
def test_killed_and_resumed_each_time_every_cell_is_measured_once(
    moments_of: tuple[int, int, int], repeats: int, tmp_path: Path, marked: Marked
) -> None:
    seed = random.SystemRandom().randrange(2**32)
    kills = moments(seed, *moments_of)
    print(f"seed {seed}: {kills}")
    file = tmp_path / "killed.toml"
    file.write_text(SMALL.format(repeats=repeats))
    path = tmp_path / "experiment"
    result, cut_off = killed_and_resumed(file, path, kills)
    check_invariants(path, result, cut_off)
    assert result["state"] == "complete"
    assert result["comparisons"][0]["factor"] == "load"


def test_a_result_is_written_and_shown_the_same(quick: Path, tmp_path: Path, marked: Marked) -> None:
    path = tmp_path / "out"
    code, out, err = finish(rtassay("run", str(quick), "-o", str(path), "--json"))
    assert code in (0, 5), err
    result = json.loads(out)
    assert result["schema"] == "rtassay/experiment/1"
    assert json.loads((path / "experiment.json").read_text()) == result
    code, shown, _ = finish(rtassay("show", str(path), "--json"))
    assert json.loads(shown) == result
    (cell,) = result["cells"]
    assert cell["state"] == "sealed" and cell["n"] > 0
    code, _, err = finish(rtassay("run", str(quick), "-o", str(path)))
    assert code == 2 and "resume" in err
    before = read_journal(path)
    code, _, _ = finish(rtassay("resume", str(path), "--quiet"))
    again = read_journal(path)[len(before) :]
    assert [entry.event for entry in again] == ["opened", "closed"]


def test_two_processes_exclude_each_other_and_ctrl_c_leaves_a_resumable_experiment(
    tmp_path: Path, marked: Marked
) -> None:
    file, path = tmp_path / "long.toml", tmp_path / "out"
    file.write_text(QUICK.replace('"1s"', '"60s"'))
    process = rtassay("run", str(file), "-o", str(path))
    try:
        marked.wait_for("rtprobe", "cyclic")
        code, _, err = finish(rtassay("resume", str(path)))
        assert code == 2 and "carried out already" in err
        status = status_of(path)
        assert status.state == "running" and status.running is not None
        until(lambda: measured(path, set()))
        process.send_signal(signal.SIGINT)
        code, _, err = finish(process)
    finally:
        process.kill()
        process.communicate()
    assert code == 130, err
    assert "resume" in err
    status = status_of(path)
    assert status.state == "interrupted"
    assert status.counts == {"sealed": 0, "running": 0, "failed": 0, "planned": 1, "skipped": 0}
    assert len(status.superseded) == 1


def test_one_failing_cell_does_not_cost_the_others(tmp_path: Path, marked: Marked) -> None:
    file, path = tmp_path / "one-fails.toml", tmp_path / "out"
    file.write_text(QUICK + '[[scenarios]]\nname = "no-such-cpu"\ncpus = "4000"\n[[scenarios]]\nname = "all"\n')
    code, out, err = finish(rtassay("run", str(file), "-o", str(path), "--json"))
    assert code == 4, err
    result = json.loads(out)
    assert [cell["state"] for cell in result["cells"]] == ["failed", "sealed"]
    assert "4000" in result["cells"][0]["why"]
    assert result["state"] == "incomplete"
    fast = tmp_path / "fast"
    code, _, _ = finish(rtassay("run", str(file), "-o", str(fast), "--fail-fast"))
    assert code == 4
    known = states(read_journal(fast), [cell.id for cell in load_plan(fast).cells])
    assert [state.state for state in known.values()] == ["failed", "planned"]


def test_a_kernel_that_does_not_run_cannot_be_measured_without_a_way_to_boot_it(tmp_path: Path, marked: Marked) -> None:
    file, path = tmp_path / "kernels.toml", tmp_path / "out"
    file.write_text('kernels = ["6.1.0-stock", "6.1.0-rt"]\n' + QUICK)
    code, _, err = finish(rtassay("run", str(file), "-o", str(path)))
    assert code == 2
    assert "6.1.0-rt" in err and "runs kernel" in err


def test_a_crash_between_sealing_and_the_journal_adopts_the_recording(
    quick: Path, tmp_path: Path, marked: Marked
) -> None:
    path = tmp_path / "out"
    kill = Kill("journal before sealed:1")
    die(rtassay("run", str(quick), "-o", str(path), failpoint=kill.name), kill, path, set())
    code, _, err = finish(rtassay("resume", str(path)))
    assert code in (0, 5), err
    sealed = [entry for entry in read_journal(path) if entry.event == "sealed"]
    assert [entry.facts.get("adopted") for entry in sealed] == [True]
    assert sum(entry.event == "started" for entry in read_journal(path)) == 1
