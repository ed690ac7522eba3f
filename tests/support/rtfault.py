"""rtfault, the kernel module of known faults, built for Debian's kernels from their headers (some 5 to 15 s a kernel)."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from rtassay.lab.arches import arch_named
from rtassay.lab.packages import Packages

SOURCE = Path(__file__).parents[1] / "lab" / "rtfault" / "rtfault.c"
METAPACKAGES = {"stock": "linux-image-amd64", "rt": "linux-image-rt-amd64"}


def build(kernel: str, scratch: Path, name: str = "rtfault") -> bytes:
    """The module for Debian's newest kernel of that kind, and its file /proc/`name`. `scratch`: an empty directory; 80 MB are unpacked there."""
    packages = Packages(arch_named("amd64").name)
    image = packages.newest(METAPACKAGES)[kernel]
    release = image.removeprefix("linux-image-")
    version, abi = re.match(r"((\d+\.\d+)\.\d+-\d+)", release).group(2, 1)
    common = f"linux-headers-{abi}-common{'-rt' if kernel == 'rt' else ''}"
    headers = f"linux-headers-{release}"
    everything = ("usr/src/**", f"usr/lib/linux-kbuild-{version}/**", f"lib/linux-kbuild-{version}/**")
    homes = packages.unpacked(dict.fromkeys((headers, common, f"linux-kbuild-{version}"), everything), print)
    tree = scratch / "headers"
    for home in homes.values():
        shutil.copytree(home, tree, symlinks=True, dirs_exist_ok=True)
    makefile = tree / "usr/src" / headers / "Makefile"
    makefile.write_text(makefile.read_text().replace("/usr/src/", f"{tree}/usr/src/"))
    module = scratch / name
    module.mkdir()
    shutil.copy(SOURCE, module / f"{name}.c")
    (module / "Makefile").write_text(f"obj-m := {name}.o\n")
    argv = ["make", "--silent", "-C", str(makefile.parent), f"M={module}", "modules"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    subprocess.run(["strip", "--strip-debug", str(module / f"{name}.ko")], check=True)
    return (module / f"{name}.ko").read_bytes()
