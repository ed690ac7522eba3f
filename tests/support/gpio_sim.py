"""Linux's own simulated GPIO chip (gpio-sim), which Debian's kernels leave out, built for them from Debian's source of Linux 6.1.

A wire is added to it: with the parameter `wired`, a line of an even number drives the next one. Nothing of the source is kept in this repository.
"""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

import rtfault

from rtassay.lab.arches import arch_named
from rtassay.lab.packages import Packages
from rtassay.lab.places import cache_dir

PACKAGE = "linux-source-6.1"
_FILES = {
    "gpio_sim.c": "drivers/gpio/gpio-sim.c",
    "gpiolib.h": "drivers/gpio/gpiolib.h",
    "irq_sim.c": "kernel/irq/irq_sim.c",
}
# Where gpio-sim sets the level of an output, and what the wire does then.
_SET = "static void gpio_sim_set(struct gpio_chip *gc, unsigned int offset, int value)\n"
_WIRE = """
static bool wired;
module_param(wired, bool, 0644);

static void drive(struct gpio_chip *gc, unsigned int offset, int value);

static void gpio_sim_set(struct gpio_chip *gc, unsigned int offset, int value)
{
	drive(gc, offset, value);
	if (wired && offset % 2 == 0 && offset + 1 < gc->ngpio)
		gpio_sim_apply_pull(gpiochip_get_data(gc), offset + 1, value);
}

static void drive(struct gpio_chip *gc, unsigned int offset, int value)
"""
# Else the kernel sets lines by this function alone.
_SET_MANY, _LEFT_OUT = "gc->set_multiple = gpio_sim_set_multiple;", "(void)gpio_sim_set_multiple;"
# The symbol is not exported to modules; this one is, and does the same.
_DESCRIPTOR, _NUMBER = "handle_simple_irq(irq_to_desc(irqnum));", "generic_handle_irq(irqnum);"


def build(kernel: str, scratch: Path) -> dict[str, bytes]:
    """configfs, irq_sim and gpio_sim, in the order in which they are loaded."""
    texts = {name: (_sources() / name).read_text() for name in _FILES}
    assert _SET in texts["gpio_sim.c"] and _SET_MANY in texts["gpio_sim.c"] and _DESCRIPTOR in texts["irq_sim.c"]
    simulated = texts["gpio_sim.c"].replace(_SET, _WIRE).replace(_SET_MANY, _LEFT_OUT)
    interrupts = texts["irq_sim.c"].replace(_DESCRIPTOR, _NUMBER)
    interrupts += '#include <linux/module.h>\nMODULE_LICENSE("GPL");\n'
    built = rtfault.build_modules(
        kernel,
        scratch,
        {"irq_sim": {"irq_sim.c": interrupts}, "gpio_sim": {"gpio_sim.c": simulated, "gpiolib.h": texts["gpiolib.h"]}},
    )
    return {"configfs": _configfs(kernel), **built}


def program(directory: Path) -> bytes:
    """wire.c, as a static binary of this machine."""
    path = directory / "wire"
    source = Path(__file__).with_name("wire.c")
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-static", "-o", str(path), str(source)], check=True)
    return path.read_bytes()


def _configfs(kernel: str) -> bytes:
    packages = Packages(arch_named("amd64").name)
    image = packages.newest(rtfault.METAPACKAGES)[kernel]
    (home,) = packages.unpacked({image: ("lib/modules/*/kernel/fs/configfs/configfs.ko",)}, print).values()
    (module,) = home.glob("lib/modules/*/kernel/fs/configfs/configfs.ko")
    return module.read_bytes()


def _sources() -> Path:
    """The three files of the package, taken out of it once."""
    packages = Packages("amd64")
    (packed,) = packages.unpacked({PACKAGE: ("usr/src/*.tar.xz",)}, print).values()
    home = cache_dir() / f"gpio-sim-of-{packed.name}"
    missing = {path: name for name, path in _FILES.items() if not (home / name).exists()}
    if not missing:
        return home
    home.mkdir(exist_ok=True)
    (archive,) = packed.glob("usr/src/*.tar.xz")
    with tarfile.open(archive) as tar:
        for member in tar:
            name = missing.pop(member.name.partition("/")[2], None)
            content = tar.extractfile(member) if name else None
            if name and content:
                (home / f".{name}").write_bytes(content.read())
                (home / f".{name}").rename(home / name)
            if not missing:
                break
    return home
