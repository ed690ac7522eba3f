"""Every boot loader keeps the promises of boot.base, on files as a board has them and with the real tools of this machine."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from rtassay.boards.local import LocalBoard
from rtassay.boot.base import Kernel
from rtassay.model import rooms
from rtassay.model.errors import UsageError

NAMES = list(rooms.table("boot"))
GRUB_CFG = """\
if [ -s $prefix/grubenv ]; then
  load_env
fi
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   save_env next_entry
else
   set default="${saved_entry}"
fi
if [ x"${feature_menuentry_id}" = xy ]; then
  menuentry_id_option="--id"
else
  menuentry_id_option=""
fi
menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'simple' {
	linux	/boot/vmlinuz-6.1.0-1-amd64 root=/dev/vda1 ro quiet
	initrd	/boot/initrd.img-6.1.0-1-amd64
}
submenu 'Advanced options' $menuentry_id_option 'advanced' {
	menuentry 'Debian, with Linux 6.1.0-1-rt' --class debian $menuentry_id_option 'rt' {
		linux	/boot/vmlinuz-6.1.0-1-rt-amd64 root=/dev/vda1 ro quiet
		initrd	/boot/initrd.img-6.1.0-1-rt-amd64
	}
}
if [ -f ${config_directory}/custom.cfg ]; then
  source ${config_directory}/custom.cfg
fi
"""


def grub(root: Path) -> None:
    (root / "boot/grub").mkdir(parents=True)
    (root / "boot/grub/grub.cfg").write_text(GRUB_CFG)
    environment = root / "boot/grub/grubenv"
    subprocess.run(["grub-editenv", environment, "create"], check=True)
    subprocess.run(["grub-editenv", environment, "set", "saved_entry=simple"], check=True)
    for release, flag in (
        ("6.1.0-1-amd64", "# CONFIG_PREEMPT_RT is not set"),
        ("6.1.0-1-rt-amd64", "CONFIG_PREEMPT_RT=y"),
    ):
        (root / f"boot/vmlinuz-{release}").write_bytes(b"kernel")
        (root / f"boot/config-{release}").write_text(f"CONFIG_SMP=y\n{flag}\n")


def raspberry(root: Path) -> None:
    (root / "boot/firmware").mkdir(parents=True)
    (root / "etc/systemd/system").mkdir(parents=True)
    (root / "boot/firmware/config.txt").write_text("dtparam=audio=on\nkernel=kernel8.img\n[pi4]\narm_boost=1\n")
    (root / "boot/firmware/cmdline.txt").write_text("root=/dev/mmcblk0p2 rootwait\n")
    for name in ("kernel8.img", "kernel-rt.img"):
        (root / "boot/firmware" / name).write_bytes(b"kernel")


# Members that can be tried on files; kexec needs a kernel that may be replaced, so the lab has its tests. extlinux tries a kernel by kexec;
# what it does on files is in tests/unit/boot/test_extlinux.py.
ON_FILES: dict[str, Callable[[Path], None]] = {"grub": grub, "raspberry": raspberry}
SECOND = {"grub": "advanced>rt", "raspberry": "kernel-rt.img"}


@pytest.fixture(autouse=True)
def _tools() -> None:
    assert shutil.which("grub-editenv"), "apt-get install grub-common"


def on_files(name: str, root: Path, work: Callable[[Any, Any], Awaitable[None]]) -> None:
    async def main() -> None:
        board = LocalBoard()
        await board.open()
        try:
            await work(rooms.load("boot", name)(str(root)), board)
        finally:
            await board.close()

    ON_FILES[name](root)
    asyncio.run(main())


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def of(kernels: list[Kernel], identifier: str) -> Kernel:
    (found,) = (kernel for kernel in kernels if kernel.id == identifier)
    return found


def test_every_member_is_tried_here_or_in_the_lab() -> None:
    assert set(NAMES) == {*ON_FILES, "kexec", "extlinux"}


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_board_fits_none(name: str, tmp_path: Path) -> None:
    async def main() -> bool:
        fits: bool = await rooms.load("boot", name)(str(tmp_path)).fits(LocalBoard())
        return fits

    assert asyncio.run(main()) is False


@pytest.mark.parametrize("name", ON_FILES)
def test_looking_changes_nothing(name: str, tmp_path: Path) -> None:
    async def work(loader: Any, board: Any) -> None:
        before = tree(tmp_path)
        assert await loader.fits(board)
        kernels = await loader.kernels(board)
        assert len(kernels) == 2
        assert [kernel.id for kernel in kernels if kernel.default] != [SECOND[name]]
        assert sum(kernel.default for kernel in kernels) == 1
        assert tree(tmp_path) == before

    on_files(name, tmp_path, work)


@pytest.mark.parametrize("name", ON_FILES)
def test_what_is_armed_for_once_can_be_taken_back_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    async def work(loader: Any, board: Any) -> None:
        before = tree(tmp_path)
        await loader.take_back(board)
        assert tree(tmp_path) == before
        await loader.use_once(board, of(await loader.kernels(board), SECOND[name]))
        assert tree(tmp_path) != before
        await loader.use_once(board, of(await loader.kernels(board), SECOND[name]))
        await loader.take_back(board)
        assert tree(tmp_path) == before

    on_files(name, tmp_path, work)


@pytest.mark.parametrize("name", ON_FILES)
def test_a_default_is_kept_or_refused(name: str, tmp_path: Path) -> None:
    async def work(loader: Any, board: Any) -> None:
        wanted = of(await loader.kernels(board), SECOND[name])
        if not loader.keeps_default:
            with pytest.raises(UsageError):
                await loader.use_by_default(board, wanted)
            return
        await loader.use_by_default(board, wanted)
        assert of(await loader.kernels(board), SECOND[name]).default
        assert sum(kernel.default for kernel in await loader.kernels(board)) == 1

    on_files(name, tmp_path, work)


@pytest.mark.parametrize("name", ON_FILES)
def test_a_new_kernel_stands_beside_the_others_and_the_default_stays(name: str, tmp_path: Path) -> None:
    async def work(loader: Any, board: Any) -> None:
        before = await loader.kernels(board)
        (tmp_path / "boot/vmlinuz-9.9.9-new").write_bytes(b"new kernel")
        (tmp_path / "boot/initrd.img-9.9.9-new").write_bytes(b"initrd")
        await loader.add(board, "9.9.9-new")
        await loader.add(board, "9.9.9-new")
        after = await loader.kernels(board)
        assert [k for k in after if k in before] == before
        (new,) = (kernel for kernel in after if kernel not in before)
        assert "9.9.9-new" in new.id and not new.default and new.release == "9.9.9-new"
        assert not new.id[0].isdigit(), "GRUB would take it for a position in its menu"
        await loader.remove(board, "9.9.9-new")
        await loader.remove(board, "9.9.9-new")
        assert await loader.kernels(board) == before

    on_files(name, tmp_path, work)


@pytest.mark.parametrize("name", ON_FILES)
def test_words_for_one_boot_stand_in_an_entry_of_their_own(name: str, tmp_path: Path) -> None:
    async def work(loader: Any, board: Any) -> None:
        before = tree(tmp_path)
        kernel = of(await loader.kernels(board), SECOND[name])
        await loader.with_words(board, kernel, ("forgotten",))
        trial = await loader.with_words(board, kernel, ("isolcpus=1", "nohz_full=1"))
        assert trial.words == ("isolcpus=1", "nohz_full=1")
        if name == "grub":
            (entry,) = re.findall(r"menuentry '.*' --id '(.*)' {", (tmp_path / "boot/grub/custom.cfg").read_text())
            assert entry == trial.id
            text = (tmp_path / "boot/grub/custom.cfg").read_text()
            assert "-rt-amd64 root=/dev/vda1 ro quiet isolcpus=1 nohz_full=1\n" in text and "forgotten" not in text
        await loader.use_once(board, trial)
        await loader.take_back(board)
        await loader.without_words(board)
        await loader.without_words(board)
        custom = {f"{path}": data for path, data in tree(tmp_path).items() if data}
        assert custom == {path: data for path, data in before.items() if data}

    on_files(name, tmp_path, work)
