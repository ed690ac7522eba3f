"""GRUB's menu: entries, submenus, ids, the default."""

from __future__ import annotations

import pytest

from rtassay.boot import grub_menu

CFG = """\
### BEGIN /etc/grub.d/00_header ###
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
else
   set default="0"
fi
menuentry_id_option="--id"
function gfxmode {
	set gfxpayload="${1}"
}
menuentry 'Debian GNU/Linux' --class gnu $menuentry_id_option 'gnulinux-simple-abc' {
	load_video
	if [ x$grub_platform = xxen ]; then insmod xzio; insmod lzopio; fi
	if [ x$feature_platform_search_hint = xy ]; then
		search --no-floppy --fs-uuid --set=root abc
	else
		search --no-floppy --fs-uuid --set=root abc
	fi
	linux	/boot/vmlinuz-6.1.0-2-amd64 root=UUID=abc ro quiet
	initrd	/boot/initrd.img-6.1.0-2-amd64
}
submenu 'Advanced options for Debian' $menuentry_id_option 'advanced-abc' {
	menuentry 'Debian, with Linux 6.1.0-2-amd64' $menuentry_id_option 'gnulinux-6.1.0-2-amd64-advanced-abc' {
		linux	/boot/vmlinuz-6.1.0-2-amd64 root=UUID=abc ro quiet
	}
	menuentry "Debian, with Linux 6.1.0-2-rt-amd64 (recovery mode)" $menuentry_id_option 'r' {
		linux	/boot/vmlinuz-6.1.0-2-rt-amd64 root=UUID=abc ro single
	}
}
menuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {
	fwsetup
}
menuentry hand { linux /vmlinuz-5.0 root=/dev/sda1
 initrd /i }
menuentry 'Last' --id=last {
  linuxefi /Image-6.2 x=1
}
"""


def test_entries_with_submenus_are_named_as_grub_reboot_takes_them() -> None:
    found = grub_menu.entries(CFG)
    assert [(e.path, e.number, e.release) for e in found] == [
        ("gnulinux-simple-abc", "0", "6.1.0-2-amd64"),
        ("advanced-abc>gnulinux-6.1.0-2-amd64-advanced-abc", "1>0", "6.1.0-2-amd64"),
        ("advanced-abc>r", "1>1", "6.1.0-2-rt-amd64"),
        ("hand", "3", "5.0"),
        ("last", "4", "6.2"),
    ]
    assert found[2].title == "Debian, with Linux 6.1.0-2-rt-amd64 (recovery mode)"


def test_without_the_variable_the_option_gives_no_id() -> None:
    (first, *_) = grub_menu.entries(CFG.replace('menuentry_id_option="--id"', ""))
    assert first.path == "Debian GNU/Linux"


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("0", "gnulinux-simple-abc"),
        ("1>1", "advanced-abc>r"),
        ("1", "advanced-abc>gnulinux-6.1.0-2-amd64-advanced-abc"),
        ("advanced-abc>r", "advanced-abc>r"),
        ("last", "last"),
        ("Debian GNU/Linux", "gnulinux-simple-abc"),
        ("nothing", None),
        (None, None),
    ],
)
def test_the_word_for_the_default_is_understood(word: str | None, meant: str | None) -> None:
    found = [entry.path for entry in grub_menu.entries(CFG) if grub_menu.is_meant(entry, word)]
    assert found == ([] if meant is None else [meant])


def test_the_default_is_that_of_a_plain_boot() -> None:
    assert grub_menu.default_of(CFG, {"next_entry": "x"}) == "0"
    saved = CFG.replace('set default="0"', 'set default="${saved_entry}"')
    assert grub_menu.default_of(saved, {"saved_entry": "last"}) == "last"
    assert grub_menu.default_of(saved, {}) == "0"
    assert grub_menu.default_of("menuentry x { }", {}) == "0"


def test_an_entry_beside_boots_the_same_root() -> None:
    model = grub_menu.entries(CFG)[0]
    made = 'menuentry_id_option="--id"\n' + grub_menu.beside(model, "9.9", initrd=True)
    (entry,) = grub_menu.entries(made)
    assert (entry.path, entry.release) == ("rtassay-9.9", "9.9")
    assert "root=UUID=abc ro quiet" in entry.body and "initrd.img-9.9" in entry.body and "6.1.0" not in entry.body
    assert "initrd" not in grub_menu.beside(model, "9.9", initrd=False)
