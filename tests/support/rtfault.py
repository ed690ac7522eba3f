"""Kernel modules for Debian's kernels, built from their headers (some 5 to 15 s a kernel): rtfault, the module of known faults, among them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from rtassay.lab.arches import arch_named
from rtassay.lab.packages import Packages

SOURCE = Path(__file__).parents[1] / "lab" / "rtfault" / "rtfault.c"
METAPACKAGES = {"stock": "linux-image-amd64", "rt": "linux-image-rt-amd64"}


def build(kernel: str, scratch: Path, name: str = "rtfault") -> bytes:
    """rtfault for Debian's newest kernel of that kind, and its file /proc/`name`. `scratch`: an empty directory; 80 MB are unpacked there."""
    return build_modules(kernel, scratch, {name: {f"{name}.c": SOURCE.read_text()}})[name]


def build_modules(kernel: str, scratch: Path, sources: Mapping[str, Mapping[str, str]]) -> dict[str, bytes]:
    """Modules by name for that kernel; `sources`: the files of each by name, where NAME.c is the module. They may use each other's symbols."""
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
    modules = scratch / "modules"
    modules.mkdir()
    for files in sources.values():
        for file, text in files.items():
            (modules / file).write_text(text)
    (modules / "Makefile").write_text(f"obj-m := {' '.join(f'{name}.o' for name in sources)}\n")
    argv = ["make", "--silent", "-C", str(makefile.parent), f"M={modules}", "modules"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    built = {name: modules / f"{name}.ko" for name in sources}
    subprocess.run(["strip", "--strip-debug", *map(str, built.values())], check=True)
    return {name: path.read_bytes() for name, path in built.items()}
