"""A host that stops QEMU at the worst moment changes no byte of a boot in virtual time (docs/decisions/2026-11-25-virtual-time-records.md)."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rtassay.boards.binaries import probe_path
from rtassay.lab import qmp, quick
from rtassay.lab.arches import arch_named
from rtassay.lab.script import ScriptBoard
from rtassay.model.errors import BoardError

pytestmark = pytest.mark.full
SOURCE = Path(__file__).parents[1] / "support" / "slow_jumps.c"
SCRIPT = "rtprobe cyclic --interval 1ms --count 1000 -o /out/stream.rtw\n"


def boot(kernel: str) -> bytes:
    arch = arch_named("amd64")
    image = quick.cached(arch) or quick.build(arch, print)
    files = {"bin/rtprobe": probe_path("x86_64").read_bytes()}
    return ScriptBoard(image.kernels[kernel], image.initramfs.read_bytes(), files, SCRIPT).run(900).stream


@contextlib.contextmanager
def asked_all_the_time(scratch: Path) -> Iterator[None]:
    """QEMU's main loop turns at each question. At the end of a boot nothing is asked: QEMU 7.2 may hang there."""
    over = threading.Event()

    def ask() -> None:
        while not over.wait(0.001):
            for control in scratch.glob("rtassay-script-*/qmp"):
                results = control.with_name("results")
                if results.exists() and not results.stat().st_size:
                    with contextlib.suppress(BoardError, ValueError):
                        qmp.command(control, "query-name")

    asker = threading.Thread(target=ask)
    asker.start()
    try:
        yield
    finally:
        over.set()
        asker.join()


@pytest.mark.parametrize("kernel", ["stock", "rt"])
def test_a_boot_is_the_same_where_qemu_is_stopped_between_a_halt_and_its_count(
    kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = boot(kernel)
    library = tmp_path / "slow_jumps.so"
    subprocess.run(["gcc", "-O2", "-fno-builtin", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with asked_all_the_time(tmp_path):
        assert boot(kernel) == undisturbed
