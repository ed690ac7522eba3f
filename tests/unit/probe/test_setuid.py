"""A setuid rtprobe would write any file as root: it refuses to run."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from rtassay.boards.binaries import probe_path
from rtassay.model.errors import EXIT_BOARD

NOBODY = 65534


@pytest.mark.root
@pytest.mark.parametrize("mode", [0o4755, 0o2755])
def test_a_setuid_probe_refuses_to_run(mode: int) -> None:
    with tempfile.TemporaryDirectory(dir="/srv") as place:
        Path(place).chmod(0o777)
        program, target = Path(place) / "rtprobe", Path(place) / "file"
        shutil.copy(probe_path(), program)
        program.chmod(mode)
        done = subprocess.run(
            [program, "watch", "--count", "1", "-o", str(target), "/proc/uptime"],
            user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == EXIT_BOARD and "refuses to run setuid" in done.stderr
        assert not target.exists()
