"""What a build in a container sees: a root of its own, the named directories at their paths, and nothing else of the host."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from rtassay.kernels.container import Container

BUSYBOX = shutil.which("busybox")


def room(tmp_path: Path) -> Container:
    """A root with BusyBox in place of Debian."""
    root = tmp_path / "root"
    for folder in ("bin", "dev", "proc", "tmp", "usr/bin"):
        (root / folder).mkdir(parents=True)
    assert BUSYBOX is not None, "apt-get install busybox-static"
    shutil.copy(BUSYBOX, root / "bin/busybox")
    for name in ("sh", "env", "cat", "id", "ls", "touch"):
        (root / "bin" / name).symlink_to("busybox")
    return Container(root, "a root")


def test_it_sees_the_named_directories_and_its_own_files_only(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/source.c").write_text("int main;\n")
    inside = room(tmp_path)
    script = 'id -u; cat "$1/source.c"; touch "$1/made"; ls /; echo "$KBUILD_BUILD_USER $SECRET."; ls "$2" 2>&1; true'
    argv = ["sh", "-c", script, "sh", str(tmp_path / "tree"), str(Path(__file__).parent)]
    words = inside.words(argv, (tmp_path / "tree",), {"KBUILD_BUILD_USER": "a b"})
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env={**os.environ, "SECRET": "s"}, timeout=120
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["0", "int main;"] and "a b ." in lines and "No such file" in lines[-1]
    assert (tmp_path / "tree/made").stat().st_uid == os.getuid()
    assert set(lines[2:-2]) <= {"bin", "dev", "proc", "tmp", "usr", tmp_path.parts[1]}
    assert not Path("/proc/self/mountinfo").read_text().count(str(tmp_path)), "its mounts end with it"


def test_its_exit_code_is_the_command_s(tmp_path: Path) -> None:
    words = room(tmp_path).words(["sh", "-c", "exit 7"], (), {})
    assert subprocess.run(words, capture_output=True, check=False, timeout=120).returncode == 7
