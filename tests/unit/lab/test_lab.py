"""The lab without QEMU: keys, archives, what is said when something is missing, and that no stranger's process is touched."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from rtassay.cli import lab
from rtassay.lab import disk, keys, machine, places, qmp, quick
from rtassay.lab.arches import arch_named
from rtassay.lab.initramfs import Initramfs
from rtassay.lab.packages import _fits
from rtassay.lab.quick import QuickImage
from rtassay.model.errors import BoardError, UsageError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    (tmp_path / "run").mkdir()
    return tmp_path


def test_the_host_key_is_what_dropbear_reads_and_known_hosts_has_its_other_half() -> None:
    made = keys.lab_keys()
    assert keys.lab_keys() == made
    data = made.host.read_bytes()
    (length,) = struct.unpack_from(">I", data)
    assert data[4 : 4 + length] == b"ssh-ed25519"
    (both,) = struct.unpack_from(">I", data, 4 + length)
    assert both == 64 == len(data) - 8 - length
    alias, kind, public = made.known_hosts.read_text().split()
    assert (alias, kind) == (keys.HOST_ALIAS, "ssh-ed25519")
    import base64

    assert base64.b64decode(public)[-32:] == data[-32:]
    assert made.login.stat().st_mode & 0o077 == 0 and made.host.stat().st_mode & 0o077 == 0


def test_an_initramfs_is_a_cpio_archive_that_other_tools_read(tmp_path: Path) -> None:
    archive = Initramfs()
    archive.directory("a/b/c")
    archive.file("a/b/c/file", b"12345", 0o755)
    archive.link("a/link", "b/c/file")
    archive.file("a/b/c/file", b"second", 0o644)
    (tmp_path / "x.cpio").write_bytes(archive.finish())
    busybox = shutil.which("busybox") or shutil.which("cpio")
    if busybox is None:
        pytest.fail("neither busybox nor cpio is here to read the archive: apt-get install busybox-static")
    argv = [busybox, "cpio", "-idm"] if busybox.endswith("busybox") else [busybox, "-idm"]
    (tmp_path / "out").mkdir()
    with (tmp_path / "x.cpio").open("rb") as file:
        subprocess.run(argv, stdin=file, cwd=tmp_path / "out", check=True, capture_output=True)
    made = tmp_path / "out/a/link"
    assert made.is_symlink() and made.read_bytes() == b"12345" and os.access(made, os.X_OK)


@pytest.mark.parametrize(
    ("path", "fits"),
    [("lib/x/libz.so.1", True), ("usr/lib/x/libz.so.1", False), ("lib/x/gconv/A.so", False), ("lib/x/libz.a", False)],
)
def test_a_star_stays_within_one_folder(path: str, fits: bool) -> None:
    assert _fits(path, "lib/x/*.so*") is fits


def test_two_stars_at_the_end_are_all_below_a_folder() -> None:
    assert _fits("usr/src/linux/include/a.h", "usr/src/**")
    assert not _fits("usr/share/a.h", "usr/src/**")


def test_what_is_missing_is_named_with_the_line_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places.shutil, "which", lambda program, path=None: None)
    with pytest.raises(BoardError) as caught:
        places.need("qemu-system-x86_64", "mmdebstrap")
    assert caught.value.hint == "apt-get install --no-install-recommends mmdebstrap qemu-system-x86"


def test_architectures_by_either_name() -> None:
    assert arch_named("aarch64") is arch_named("arm64")
    assert arch_named("armv7l") is arch_named("armhf")
    with pytest.raises(UsageError, match="mips"):
        arch_named("mips")


def quick_image(folder: Path, qemu: str) -> QuickImage:
    """An image whose QEMU is a script."""
    folder.mkdir()
    program = folder / "qemu"
    program.write_text(f"#!/bin/sh\n{qemu}\n")
    program.chmod(0o755)
    arch = dataclasses.replace(arch_named("amd64"), qemu=str(program))
    return QuickImage(arch, {"stock": folder / "vmlinuz"}, folder / "initramfs", folder / "boot.tar")


def test_a_qemu_that_fails_at_once_is_said_in_its_words_and_nothing_stays(home: Path) -> None:
    image = quick_image(home / "image", "echo 'qemu: no such machine' >&2; exit 1")
    with pytest.raises(BoardError, match="no such machine"):
        machine.start(image, lambda words: None, name="bad")
    assert machine.running() == []
    assert list(places.runtime_dir().iterdir()) == []


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_board_that_never_answers_is_ended(home: Path) -> None:
    image = quick_image(home / "image", f"echo $$ > {home}/pid; exec sleep 300")
    with pytest.raises(BoardError, match="did not answer over SSH within"):
        machine.start(image, lambda words: None, name="mute", boot_timeout_s=4)
    pid = int((home / "pid").read_text())
    until = time.monotonic() + 300
    while runs(pid):
        assert time.monotonic() < until
        time.sleep(0.02)
    assert list(places.runtime_dir().iterdir()) == []


def test_two_homes_never_have_a_board_of_one_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is held by the processes of the board, wherever the other home keeps its files."""
    name = f"two-{os.getpid()}-{time.time_ns() % 10**9}"
    claim = machine._claim(name)
    assert claim is not None
    with claim:
        image = quick_image(home / "image", "exit 0")
        with pytest.raises(UsageError, match="of another home of yours"):
            machine.start(image, lambda words: None, name=name)
        assert machine.free_name(name) == f"{name}-2"
    assert machine.free_name(name) == name
    assert list(places.runtime_dir().iterdir()) == []


def test_the_image_of_the_last_build_needs_no_apt(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "Packages", lambda arch: pytest.fail("asked apt"))
    arch = arch_named("amd64")
    assert quick.cached(arch) is None
    built = places.cache_dir() / "quick-amd64-0123456789abcdef"
    built.mkdir()
    quick._current(arch).write_text(f"{quick._own_digest(arch).hexdigest()} {built.name}")
    found = quick.cached(arch)
    assert found is not None and found.initramfs == built / "initramfs" and set(found.kernels) == {"stock", "rt"}
    assert lab._image("quick", "amd64", cached=True) == found
    quick._current(arch).write_text(f"{'0' * 64} {built.name}")
    assert quick.cached(arch) is None, "another rtassay made it"
    quick._current(arch).write_text(f"{quick._own_digest(arch).hexdigest()} quick-amd64-gone")
    assert quick.cached(arch) is None


def test_the_disk_of_the_last_build_needs_no_apt(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_apt(arch: str) -> None:
        raise BoardError("asked apt")

    monkeypatch.setattr(disk, "Packages", no_apt)
    with pytest.raises(BoardError, match="asked apt"):
        lab._image("disk", "amd64", cached=True)  # nothing was built yet
    built = places.cache_dir() / "disk-amd64-0123456789abcdef.qcow2"
    built.touch()
    disk._current().write_text(f"{disk._own_digest().hexdigest()} {built.name}")
    assert lab._image("disk", "amd64", cached=True).path == built
    with pytest.raises(BoardError, match="asked apt"):
        lab._image("disk", "amd64")  # `lab build` looks for newer kernels
    disk._current().write_text(f"{'0' * 64} {built.name}")
    assert disk.cached() is None, "another rtassay made it"
    disk._current().write_text(f"{disk._own_digest().hexdigest()} {built.name}")
    built.unlink()
    assert disk.cached() is None


def test_a_built_disk_is_the_one_of_the_next_start(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lists:
        def __init__(self, arch: str) -> None:
            self.newest, self.versions = dict, "\n".join

    monkeypatch.setattr(disk, "Packages", Lists)
    monkeypatch.setattr(disk, "need", lambda *programs: None)
    monkeypatch.setattr(disk, "_GRUB", places.cache_dir())
    (places.cache_dir() / "boot.img").touch()
    monkeypatch.setattr(disk.os, "geteuid", lambda: 0)
    monkeypatch.setattr(disk, "_build", lambda scratch, *rest: (scratch / "disk.qcow2").touch())
    built = disk.build(lambda words: None)
    assert disk.cached() == built
    assert disk.build(lambda words: None) == built


def test_a_board_is_found_whatever_the_place_for_temporary_files_is(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal with another TMPDIR said that no board runs, while its name was taken."""
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    found = set()
    for name in ("one", "two"):
        monkeypatch.setenv("TMPDIR", str(home / name))
        monkeypatch.setattr(tempfile, "tempdir", None)
        (home / name).mkdir()
        found.add(places.runtime_dir())
    assert len(found) == 1 and not found.pop().is_relative_to(home)


def test_an_unknown_kernel_and_a_bad_name_are_usage(home: Path) -> None:
    image = quick_image(home / "image", "exit 0")
    with pytest.raises(UsageError, match="no kernel 'xenomai'"):
        machine.start(image, lambda words: None, name="b", kernel="xenomai")
    with pytest.raises(UsageError, match="no name"):
        machine.start(image, lambda words: None, name="../b")
    assert list(places.runtime_dir().iterdir()) == []


def test_a_process_that_got_the_number_of_an_ended_board_is_left_alone() -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as stranger:
        try:
            directory = places.runtime_dir() / "old"
            directory.mkdir()
            state = machine.Machine("old", "quick", "amd64", "stock", 2, 1, stranger.pid, 1, str(directory))
            (directory / "board.json").write_text(json.dumps(dataclasses.asdict(state)))
            assert machine.running() == []
            machine.stop(state)
            assert stranger.poll() is None
            assert not directory.exists()
            with pytest.raises(BoardError, match="no board 'old'"):
                machine.find("old")
        finally:
            stranger.kill()


def test_qmp_to_a_dead_qemu_is_a_board_error(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match="system_reset"):
        qmp.command(tmp_path / "none", "system_reset")


@pytest.mark.parametrize(
    ("ages_s", "left"), [((0, 10, 60, 1800, 3000, 4000, 90_000), 5), ((0, 4000, 5000, 6000, 7000, 8000), 4)]
)
def test_images_of_the_last_hour_stay_and_of_older_ones_four_in_all(
    tmp_path: Path, ages_s: tuple[int, ...], left: int
) -> None:
    now, cache = time.time(), tmp_path / "cache"
    for number, age_s in enumerate(ages_s):
        (cache / f"quick-amd64-{number}").mkdir(parents=True)
        os.utime(cache / f"quick-amd64-{number}", (now - age_s, now - age_s))
    quick._forget_older(cache / "quick-amd64-0", "quick-amd64-*")
    assert sorted(path.name for path in cache.iterdir()) == [f"quick-amd64-{number}" for number in range(left)]


@pytest.mark.parametrize(("arch", "threads"), [("amd64", "single"), ("arm64", "single"), ("armhf", "multi")])
def test_all_cpus_of_a_board_are_one_thread(arch: str, threads: str, tmp_path: Path) -> None:
    """With a thread each, a board stood still when its kernel changed its own code, as trace events do. armhf does not boot with one."""
    image = QuickImage(arch_named(arch), {"rt": tmp_path / "rt"}, tmp_path / "initramfs", tmp_path / "boot")
    argv = machine._qemu(image, tmp_path, "rt", 2, 512, "", 22)
    assert argv[argv.index("-accel") + 1] == f"tcg,thread={threads}" and argv[argv.index("-smp") + 1] == "2"


def test_an_image_that_is_taken_from_the_cache_is_in_use() -> None:
    """Else it is removed as an old one while a board starts from it."""
    arch = arch_named("amd64")
    folder = places.cache_dir() / "quick-amd64-0"
    folder.mkdir(parents=True)
    os.utime(folder, (0, 0))
    quick._current(arch).write_text(f"{quick._own_digest(arch).hexdigest()} {folder.name}")
    assert quick.cached(arch) is not None and folder.stat().st_mtime > time.time() - 600
