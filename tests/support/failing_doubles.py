"""What stands for QEMU, a board's settings and the runs of a campaign when their verbs meet faults by plan. Everything lies below the home of the case."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import gated
import pytest
from scripted_proving import scripted

from rtassay.lab import script, userland
from rtassay.lab.arches import arch_named
from rtassay.model import tuning as model
from rtassay.model.knobs import WRITE, Action
from rtassay.model.tuning import Setting, TuningPlan
from rtassay.session import tuning

US = 1_000
KERNELS = {"fine": 30 * US, "late": 140 * US}
SETTINGS = ("one", "two")
# Each kernel has its results beside it: a boot is a copy of them.
_QEMU = """\
#!/bin/sh
case "$*" in *--version*) echo "QEMU emulator version 7.2"; exit;; esac
while [ $# -gt 1 ]; do
	case "$1 $2" in
	"-serial file:"*/results) results=${2#file:};;
	"-serial file:"*/console) echo booted >"${2#file:}";;
	"-kernel "*) kernel=$2;;
	esac
	shift
done
for one in fine late; do if grep -qa "it is $one" "$kernel"; then cat "${0%/*}/$one.tar" >"$results"; fi; done
"""


def prepare(home: Path) -> None:
    """Programs, kernels, a tree under git, and settings."""
    for name in ("bin", "tmp", "settings", "linux"):
        (home / name).mkdir()
    qemu = home / "bin" / arch_named("amd64").qemu
    qemu.write_text(_QEMU)
    qemu.chmod(0o755)
    for name, largest_ns in KERNELS.items():
        (home / name).write_bytes(_kernel(name))
        _results(home / "bin" / f"{name}.tar", largest_ns)
    for name in SETTINGS:
        (home / "settings" / name).write_text("old")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        userland._keep(arch_named("amd64"), b"userland")
    _history(home / "linux")


def begin(verb: str, home: Path) -> None:
    """In the process of one case, for good."""
    os.environ["PATH"] = f"{home / 'bin'}:{os.environ['PATH']}"
    os.environ["TMPDIR"] = tempfile.tempdir = str(home / "tmp")
    patch = pytest.MonkeyPatch()
    if verb == "tune":
        _own_settings(patch, home)
    if verb == "prove":
        scripted(patch)


def _own_settings(patch: pytest.MonkeyPatch, home: Path) -> None:
    place = home / "run" / "tuned"
    patch.setattr(model, "PLACE", str(place))
    for name in ("about", "journal", "result"):
        patch.setattr(model, name.upper(), f"{place}/{name}")
    files = [str(home / "settings" / name) for name in SETTINGS]
    plan = TuningPlan(tuple(Setting(Path(file).name, file, (Action(WRITE, file, "new"),)) for file in files))

    async def planned(*_: Any) -> tuple[TuningPlan, tuple[str, ...]]:
        return plan, ()

    patch.setattr(tuning, "planned", planned)


def _kernel(word: str, number: int = 0) -> bytes:
    said = f"it is {word}, {number}".encode()
    return gated.bzimage(gated.elf(notes=gated.PVH, rest=gated.BANNER + said + gated.carried(gated.FULL)))


def _results(file: Path, largest_ns: int) -> None:
    stream = gated.stream([20 * US, largest_ns, 30 * US], traced_from=1)
    with tarfile.open(file, "w") as tar:
        for name, content in {"exit": b"0\n", "uptime": b"20.00\n", script.STREAM: stream}.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


def _history(tree: Path) -> None:
    """On `main`: two commits that are fine, two that are late."""

    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=tree, check=True)

    git("init", "--quiet", "--initial-branch=main")
    for number, word in enumerate(("fine", "fine", "late", "late")):
        (tree / "bzImage").write_bytes(_kernel(word, number))
        git("add", ".")
        git("commit", "--quiet", "-m", f"{number}: {word}")
