"""`rtassay import DIR`: what is taken, and that nothing is passed over without a word."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from command_line import in_process

TEXT = Path(__file__).parents[2] / "data" / "cyclictest" / "q-H100-t2.txt"


def test_what_is_not_taken_is_named(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    (logs / "monday").mkdir(parents=True)
    for name in ("a.txt", "monday/b.txt", ".hidden.txt"):
        shutil.copy(TEXT, logs / name)
    (logs / "notes.doc").write_text("nothing")
    (logs / "gone.txt").symlink_to("nowhere")
    os.mkfifo(logs / "fifo.txt")
    done = in_process("import", logs, home=tmp_path)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 1 and "a.txt -> " in done.stdout
    assert f"{logs}: left out fifo.txt, gone.txt, monday/, notes.doc" in done.stderr


def test_a_directory_of_directories_says_which_to_name(tmp_path: Path) -> None:
    (tmp_path / "logs" / "monday").mkdir(parents=True)
    done = in_process("import", tmp_path / "logs", home=tmp_path)
    assert done.returncode == 2 and f"rtassay import {tmp_path}/logs/monday/" in done.stderr


def test_standard_input_is_no_file(tmp_path: Path) -> None:
    done = in_process("import", "-", home=tmp_path)
    assert done.returncode == 2 and "reads no standard input" in done.stderr and "> f.txt" in done.stderr
