"""The shell that runs a program of the kernel's tracers: it looks first, and puts back what was changed. Here on files, as a kernel has them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rtassay.model.foreign import command_words
from rtassay.probes.kernel_tracer import script

SETTINGS = {
    "available_tracers": "timerlat osnoise hwlat nop\n",
    "current_tracer": "nop\n",
    "tracing_on": "1\n",
    "tracing_thresh": "0\n",
    "tracing_cpumask": "3\n",
    "osnoise/period_us": "1000000\n",
    "osnoise/timerlat_period_us": "1000\n",
    "osnoise/options": "DEFAULTS OSNOISE_WORKLOAD\n",
    "hwlat_detector/mode": "none [round-robin] per-cpu\n",
    "hwlat_detector/width": "500000\n",
}


@pytest.fixture
def tracefs(tmp_path: Path) -> Path:
    for name, text in SETTINGS.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "instances").mkdir()
    return tmp_path


def run(tracefs: Path, tracer: str, command: str) -> subprocess.CompletedProcess[str]:
    argv = script(tracer, f"{tracer}_hist", ["sh", "-c", command])
    argv[2] = argv[2].replace("/sys/kernel/tracing", str(tracefs))
    return subprocess.run(argv, capture_output=True, text=True, cwd=tracefs, timeout=60)


def settings(tracefs: Path) -> dict[str, str]:
    return {name: (tracefs / name).read_text() for name in SETTINGS}


@pytest.mark.parametrize("end", ["exit 7", "kill -KILL $$"], ids=["ends", "killed"])
def test_what_the_program_set_is_put_back_however_it_ends(tracefs: Path, end: str) -> None:
    changed = "echo 5000 > osnoise/timerlat_period_us; echo 2 > tracing_cpumask; echo 0 > tracing_on; echo hwlat > current_tracer"
    done = run(tracefs, "timerlat", f"mkdir instances/timerlat_hist; {changed}; echo result; {end}")
    assert done.stdout == "result\n" and done.returncode == (7 if end == "exit 7" else 137)
    assert settings(tracefs) == SETTINGS and not any((tracefs / "instances").iterdir())


def test_a_kernel_without_the_tracer_and_a_second_program_are_refused_before_anything_runs(tracefs: Path) -> None:
    absent = run(tracefs, "wakeup", "echo result")
    assert absent.returncode == 2 and absent.stdout == "" and "this kernel has no tracer wakeup" in absent.stderr
    (tracefs / "instances" / "timerlat_hist").mkdir()
    second = run(tracefs, "timerlat", "echo result")
    assert second.returncode == 3 and second.stdout == "" and "another timerlat runs on this board" in second.stderr
    assert (tracefs / "instances" / "timerlat_hist").is_dir() and settings(tracefs) == SETTINGS


def test_the_end_of_the_program_is_waited_for_when_the_shell_is_asked_to_end(tracefs: Path) -> None:
    done = run(tracefs, "osnoise", "echo 9 > osnoise/period_us; kill -TERM $PPID; sleep 0.2; echo result")
    assert done.returncode == 0 and done.stdout == "result\n" and settings(tracefs) == SETTINGS


def test_people_are_shown_the_program_and_not_the_script() -> None:
    assert (
        command_words(script("timerlat", "timerlat_hist", ["rtla", "timerlat", "-c", "0 1"]))
        == "sh -c '…' sh timerlat timerlat_hist rtla timerlat -c '0 1'"
    )
