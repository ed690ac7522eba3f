"""A source that is built as Linux is, in a second: its Makefile has the targets that rtassay asks for, and writes what it was given."""

from __future__ import annotations

from pathlib import Path

MAKEFILE = r"""
O ?= .
CONFIGS = tinyconfig defconfig
$(CONFIGS):
	@mkdir -p $O && echo CONFIG_MODULES=y > $O/.config
# The last line of an option counts; PREEMPT_RT brings another option with it. Without a file `rt` this source has no PREEMPT_RT.
olddefconfig:
	@test -f rt || sed -i '/PREEMPT_RT=y/d' $O/.config
	@awk '/^(# )?CONFIG_/ {n = ($$1 == "#") ? $$2 : substr($$0, 1, index($$0, "=") - 1); line[n] = $$0} \
	END {for (n in line) print line[n]; if (line["CONFIG_PREEMPT_RT"] ~ /=y/) print "CONFIG_RCU_BOOST=y"}' $O/.config \
	| grep -v CONFIG_UNKNOWN | sort > $O/.new && mv $O/.new $O/.config
kernelversion:
	@echo 6.66.6
bzImage: source.c
	@test ! -f slow || { echo $$$$ > slow; echo "  CC      init/main.o"; exec sleep 1000; }
	@test ! -f broken || { echo "init/main.c:1: error: it is broken"; false; }
	@mkdir -p $O/arch/x86/boot $O/include/config && echo 6.66.6$(LOCALVERSION) > $O/include/config/kernel.release
	@{ cat source.c; env | grep '^KBUILD_BUILD' | sort; } > $O/arch/x86/boot/bzImage
	@echo 0 T start > $O/System.map && echo "  CC      init/main.o"
# After the image: `make -j` must not print this step before the compiler that is slow has said its number.
modules: bzImage
	@echo "  CC [M]  a.o"
modules_install:
	@mkdir -p $(INSTALL_MOD_PATH)/lib/modules/6.66.6$(LOCALVERSION) && echo m > $(INSTALL_MOD_PATH)/lib/modules/6.66.6$(LOCALVERSION)/a.ko
	@ln -s $(CURDIR) $(INSTALL_MOD_PATH)/lib/modules/6.66.6$(LOCALVERSION)/build
"""


def small_kernel(tree: Path, *, rt: bool = True) -> Path:
    tree.mkdir()
    (tree / "Makefile").write_text(MAKEFILE)
    (tree / "source.c").write_text("int main;\n")
    for name in ("Kconfig", "Kbuild", *(["rt"] if rt else [])):
        (tree / name).write_text("")
    return tree
