"""As few bytes as run on a board."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from rtassay.boards import slim
from rtassay.boards.binaries import probe_path


def test_a_program_runs_without_what_debuggers_read(tmp_path: Path) -> None:
    whole = probe_path().read_bytes()
    part = slim.for_loading(whole)
    assert len(part) < 0.7 * len(whole) and slim.for_loading(part) == part
    program = tmp_path / "rtprobe"
    program.write_bytes(part)
    program.chmod(0o755)
    said = [
        subprocess.run([one, "describe"], capture_output=True, check=True).stdout for one in (program, probe_path())
    ]
    assert said[0] == said[1]
    headers = subprocess.run(["readelf", "--file-header", "--segments", program], capture_output=True, check=True)
    assert not headers.stderr, "a header says what is not there"


@pytest.mark.parametrize("cut", [4, 5, 20, 63, 64, 65, 100])
def test_what_is_no_whole_program_stays_as_it_is(cut: int) -> None:
    data = probe_path().read_bytes()[:cut]
    assert slim.for_loading(data) == data
    assert slim.for_loading(b"#!/bin/sh\n" * 20) == b"#!/bin/sh\n" * 20


def test_an_object_file_keeps_all_of_it(tmp_path: Path) -> None:
    """A kernel module is one: it has sections alone."""
    (tmp_path / "x.c").write_text("int x = 1;\n")
    for options in (["-m64"], ["-m32"]):
        subprocess.run(["cc", *options, "-g", "-c", "x.c"], check=True, cwd=tmp_path)
        data = (tmp_path / "x.o").read_bytes()
        assert slim.for_loading(data) == data


@pytest.mark.parametrize("has", [[], ["gzip"], ["unxz", "gzip"]])
def test_the_board_unpacks_what_was_packed(has: list[str]) -> None:
    data = probe_path().read_bytes()[:60_000]
    there, command = slim.packed(data, has)
    busybox = shutil.which("busybox")
    assert busybox
    argv = [busybox, *command.split()]
    assert subprocess.run(argv, input=there, capture_output=True, check=True).stdout == data
    assert (len(there) < len(data)) == bool(has)
