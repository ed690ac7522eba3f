"""The script board with a real kernel: one boot in virtual time becomes a recording, and the same inputs give the same bytes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rtassay.boards.binaries import probe_path
from rtassay.lab.measured import measure

WORDS = ("cyclic", "--interval", "1ms", "--count", "300")


def test_a_run_in_virtual_time_is_a_recording_that_can_never_hold(tmp_path: Path) -> None:
    argv = [
        sys.executable,
        "-m",
        "rtassay",
        "lab",
        "start",
        "--deterministic",
        "--json",
        "-o",
        str(tmp_path),
        "--",
        *WORDS,
    ]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=590, check=False)
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    manifest = json.loads((Path(made["path"]) / "manifest.json").read_text())
    told = manifest["inventory"]["virtual_time"]
    assert (told["ns_per_instruction"], told["seed"], told["qemu"]) == (8, 1, made["qemu"])
    assert set(told["inputs"]) == {"kernel", "initrd"}
    show = [sys.executable, "-m", "rtassay", "show", made["path"], "--deadline", "1s", "--p", "0.5", "--json"]
    shown = json.loads(subprocess.run(show, capture_output=True, text=True, timeout=300, check=False).stdout)
    assert shown["lanes"][0]["n"] + shown["lanes"][0]["missed"] == 300
    assert shown["verdict"]["state"] == "NOT DEMONSTRATED"
    (check,) = [check for check in shown["checks"] if check["id"] == "VM-STEAL"]
    assert check["facts"]["virtual_time"] == {"ns_per_instruction": 8, "seed": 1}


@pytest.mark.full
@pytest.mark.parametrize(("kernel", "load"), [("stock", "none"), ("rt", "hackbench")])
def test_the_same_inputs_give_the_same_bytes_and_another_seed_gives_others(kernel: str, load: str) -> None:
    def stream(seed: int) -> bytes:
        return measure(probe_path("x86_64"), WORDS, lambda _: None, kernel=kernel, seed=seed, load=load).stream

    first = stream(1)
    assert stream(1) == first
    assert stream(2) != first
