"""Kernels that rtassay builds and brings to a board: both kinds of one source boot, and one stands beside a board's own (make test-all)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from behind import behind

from rtassay.boards.binaries import probe_path
from rtassay.kernels import builds, image
from rtassay.kernels.building import Built, Request, build
from rtassay.lab import disk, machine, measured, quick
from rtassay.lab.arches import arch_named
from rtassay.lab.packages import Packages
from rtassay.lab.script import ScriptBoard

EXIT_USAGE = 2


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> tuple[Built, Built]:
    """A stock and a PREEMPT_RT kernel of Debian's 6.12, tiny: some minutes on an idle machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RTASSAY_HOME", str(tmp_path_factory.mktemp("home")))
        stock, rt = behind(build, Request("linux-source-6.12", "amd64", (False, True), "tinyconfig", ("lab",)))
    return stock, rt


@pytest.mark.full
def test_the_twins_differ_in_preempt_rt_and_what_follows(twins: tuple[Built, Built]) -> None:
    stock, rt = twins
    differ = {row.option: (row.stock, row.rt) for row in rt.manifest.difference}
    assert differ["PREEMPT_RT"] == ("n", "y") and len(differ) < 40 and not stock.manifest.difference
    assert stock.manifest.source_sha256 == rt.manifest.source_sha256
    assert {file.path for file in rt.manifest.files} > {f"boot/vmlinuz-{rt.manifest.release}"}


@pytest.mark.full
@pytest.mark.parametrize("kind", [0, 1], ids=["stock", "rt"])
def test_a_kernel_built_here_boots_with_its_modules_and_is_measured(twins: tuple[Built, Built], kind: int) -> None:
    built = twins[kind]
    release = built.manifest.release
    (module,) = (built.path / f"lib/modules/{release}").rglob("dummy.ko")
    image = quick.cached(arch_named("amd64")) or quick.build(arch_named("amd64"), lambda words: None)
    board = ScriptBoard(
        kernel=built.path / f"boot/vmlinuz-{release}",
        userland=image.initramfs.read_bytes(),
        files={"bin/rtprobe": probe_path("x86_64").read_bytes(), "dummy.ko": module.read_bytes()},
        script="uname -rv > /out/uname; insmod /dummy.ko && cat /proc/modules > /out/modules; ls /sys/kernel/tracing > /out/tracing\n"
        + measured.script_of(("cyclic", "--interval", "1ms", "--count", "300"), "none"),
    )
    result = measured.checked(board.run())
    said = result.files["uname"].decode()
    assert said.startswith(f"{release} #1 ") and ("PREEMPT_RT" in said) == built.manifest.rt
    assert result.files["modules"].startswith(b"dummy ") and b"trace_marker" in result.files["tracing"]
    assert result.stream


# --- a board with a disk, behind GRUB ---


@pytest.fixture(scope="module")
def grub_board() -> Iterator[str]:
    image = disk.build(lambda words: None)
    started = machine.start(image, lambda words: None, name=f"test-{os.getpid()}-kernels", with_parent=True)
    try:
        yield f"lab:{started.name}"
    finally:
        machine.stop(started)


def rtassay(*argv: str, timeout_s: float = 1800.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rtassay", *argv], capture_output=True, text=True, timeout=timeout_s, check=False
    )


def listed(board: str) -> tuple[dict[str, bool], str]:
    """(release -> whether it is the default, the running release)."""
    done = rtassay("kernel", "list", board, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    return {kernel["release"]: kernel["default"] for kernel in told["kernels"]}, told["running"]["release"]


@pytest.mark.full
def test_a_package_is_deployed_booted_and_removed_and_nothing_else_changes(grub_board: str, tmp_path: Path) -> None:
    before, stock = listed(grub_board)
    (package,) = Packages("amd64").newest({"cloud": "linux-image-cloud-amd64"}).values()
    subprocess.run(["apt-get", "download", package], cwd=tmp_path, check=True, capture_output=True)
    (deb,) = tmp_path.glob("*.deb")
    release = package.removeprefix("linux-image-")
    done = rtassay("kernel", "deploy", str(deb), grub_board, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["running"]["release"] == release
    assert listed(grub_board) == ({**before, release: False}, release)
    refused = rtassay("kernel", "remove", release, grub_board)
    assert refused.returncode == EXIT_USAGE and "runs" in refused.stderr
    refused = rtassay("kernel", "use", "amd64", grub_board)
    assert refused.returncode == EXIT_USAGE and "kernels" in refused.stderr
    assert rtassay("kernel", "use", stock, grub_board).returncode == 0
    refused = rtassay("kernel", "remove", "rt", grub_board)
    assert refused.returncode == EXIT_USAGE and "did not put" in refused.stderr
    gone = rtassay("kernel", "remove", release, grub_board)
    assert gone.returncode == 0, gone.stderr
    assert listed(grub_board) == (before, stock)
    files = rtassay(
        "lab", "ssh", grub_board, f"ls -d /boot/*{release}* /lib/modules/{release} /boot/*rtassay* 2>/dev/null"
    )
    assert not files.stdout.strip()


@pytest.mark.full
def test_a_kernel_of_another_machine_is_refused_before_anything_is_copied(
    grub_board: str, twins: tuple[Built, Built], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "arm"
    place.mkdir()
    text = (twins[0].path / builds.MANIFEST).read_text().replace('"arch": "amd64"', '"arch": "arm64"')
    (place / builds.MANIFEST).write_text(text)
    refused = rtassay("kernel", "deploy", str(place), grub_board)
    assert refused.returncode == EXIT_USAGE and "aarch64" in refused.stderr and "x86_64" in refused.stderr


# --- in a container ---


@pytest.mark.full
def test_both_kernels_are_built_in_a_container_and_name_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Debian of its own: its compiler compiles, and the host's tools are not seen."""
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path))
    stock, rt = behind(build, Request("linux-source-6.12", "amd64", (False, True), "tinyconfig", container=True))
    for one, kind in ((stock, False), (rt, True)):
        assert one.manifest.rt is kind and " in Debian " in one.manifest.made_by and "Debian" in one.manifest.compiler
        content = (one.path / f"boot/vmlinuz-{one.manifest.release}").read_bytes()
        assert image.read(content).arch in ("amd64", "i386") and image.read(content).release == one.manifest.release
    assert ("PREEMPT_RT", "n", "y") in {(row.option, row.stock, row.rt) for row in rt.manifest.difference}
    again = build(Request("linux-source-6.12", "amd64", (False, True), "tinyconfig", container=True))
    assert all(one.cached for one in again)
