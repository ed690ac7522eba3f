"""rtassay throughput on this machine: measured, recorded, shown, compared; nothing is left of a work that was stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from command_line import RTASSAY, as_process, in_process


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def measured(home):
    done = as_process(
        *("throughput", "--work", "builtin:fork,switch,1%", "--repeats", "3", "--rounds", "3", "--duration", "60s"),
        *("--label", "arm=one", "--json"),
        home=home,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_run_is_a_recording_of_whole_rounds(home, measured):
    assert measured["schema"] == "rtassay/throughput/1" and len(measured["recordings"]) == 3
    assert [(row["part"], row["amount"], row["a"]["rounds"]) for row in measured["parts"]] == [
        ("switch", 20, 9),
        ("fork", 1, 9),
    ]
    for path in measured["recordings"]:
        done = in_process("show", path, "--json", home=home)
        shown = json.loads(done.stdout)
        assert done.returncode == 0 and shown["source"]["tool"] == "work:builtin" and shown["verdict"] is None
        assert {lane["measure"] for lane in shown["lanes"]} == {
            *("work:builtin-switch", "work-cpu:builtin-switch", "work:builtin-fork", "work-cpu:builtin-fork")
        }
        assert all(lane["n"] == 3 for lane in shown["lanes"])


def test_two_groups_make_one_page(home, measured, tmp_path):
    a, *b = measured["recordings"]
    page = tmp_path / "cost.html"
    done = in_process("throughput", "--of", a, "--with", *b, "-o", page, home=home)
    assert done.returncode == 0 and "all works together" in done.stdout
    assert "<svg" in page.read_text() and "Throughput B / A" in page.read_text()


def test_the_command_of_a_recording_measures_it_again(home, measured):
    manifest = json.loads((Path(measured["recordings"][0]) / "manifest.json").read_text())
    done = in_process(*manifest["plan"]["argv"][1:], "--quiet", "--json", home=home)
    assert done.returncode == 0 and json.loads(done.stdout)["parts"][0]["a"]["rounds"] == 3


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--work", "swim"], 2, "there is no work 'swim'"),
        (["--work", "builtin:swim"], 2, "there is no built-in work 'swim'"),
        (["--work", "builtin:"], 2, "names no arguments"),
        (["--with", "kernel=rt"], 2, "--with needs --of"),
        (["--of", "nothing-of-that-name"], 2, "nothing-of-that-name"),
        (["-o", "page.pdf"], 2, "page.pdf"),
    ],
)
def test_bad_input_says_what(home, words, code, said):
    done = in_process("throughput", *words, home=home)
    assert done.returncode == code and said in done.stderr and "Traceback" not in done.stderr
    assert "run 1 of 1" not in done.stderr or words[1].startswith("builtin:"), (
        "the board was asked before the words were read"
    )


def test_a_program_that_is_missing_is_named(home, tmp_path, monkeypatch):
    (tmp_path / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path))
    done = as_process("throughput", "--work", "hackbench", home=home)
    assert done.returncode == 3 and "has no hackbench" in done.stderr and "rt-tests" in done.stderr


def test_ctrl_c_leaves_no_work_behind(home, marked):
    process = subprocess.Popen(
        [RTASSAY, "throughput", "--work", "builtin", "--duration", "5min", "--quiet"],
        env={**os.environ, "RTASSAY_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    marked.wait_for("rtprobe", "work", "switch", without=("guard", "repeat"))
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=300)
    assert process.returncode == 130, told
    marked.wait_gone()
