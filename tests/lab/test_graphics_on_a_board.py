"""Loads for graphics on a board with a virtual GPU (virtio-gpu): Debian's kmscube, Mesa and stress-ng, rendered by the CPU, shown by the GPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rtassay.lab import machine, quick
from rtassay.lab.arches import arch_named
from rtassay.lab.packages import Packages

pytestmark = pytest.mark.full

MODULES = ("virtio_dma_buf", "drm", "drm_kms_helper", "drm_shmem_helper", "virtio-gpu")
FOLDERS = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu")
DRIVERS = "usr/lib/x86_64-linux-gnu/dri"
LOADED_BY_NAME = re.compile(r"\.so\.\d+$")
PATIENCE_S = 900


def graphics() -> dict[str, Path]:
    """Modules, Mesa and kmscube by their path on the board, out of Debian's packages."""
    packages = Packages("amd64")
    (kernel,) = packages.newest({"stock": "linux-image-amd64"}).values()
    libraries = set(packages.libraries_of("kmscube", "libegl-mesa0", "libgl1-mesa-dri")) - {"libgl1-mesa-dri"}
    wanted: dict[str, tuple[str, ...]] = {name: tuple(f"{at}/*.so*" for at in FOLDERS) for name in libraries}
    wanted["libegl-mesa0"] = (*(f"{at}/*.so*" for at in FOLDERS), "usr/share/glvnd/egl_vendor.d/*")
    # All of Mesa's drivers are one file under many names; the archive holds it under the first.
    wanted["libgl1-mesa-dri"] = (f"{DRIVERS}/crocus_dri.so",)
    wanted["kmscube"] = ("usr/bin/kmscube",)
    wanted[kernel] = tuple(f"lib/modules/*/kernel/{at}.ko" for at in ("drivers/virtio/virtio_dma_buf", *_drm()))
    found: dict[str, Path] = {}
    for home in packages.unpacked(wanted, lambda words: None).values():
        for file in home.rglob("*"):
            if not file.is_dir():
                found |= _placed(str(file.relative_to(home)), file)
    return found


def _drm() -> tuple[str, ...]:
    drm = "drivers/gpu/drm"
    return f"{drm}/drm", f"{drm}/drm_kms_helper", f"{drm}/drm_shmem_helper", f"{drm}/virtio/virtio-gpu"


def _placed(path: str, file: Path) -> dict[str, Path]:
    """The board is memory: of the names of a library only the one that programs ask for."""
    if path.endswith(".ko"):
        return {f"gpu/{file.name}": file}
    if path.startswith(DRIVERS):
        return {f"{DRIVERS}/{name}_dri.so": file for name in ("kms_swrast", "swrast")}
    if ".so" in file.name:
        linked = file.readlink().name if file.is_symlink() else None
        asked_for = LOADED_BY_NAME.search(file.name) if linked is None else not LOADED_BY_NAME.search(linked)
        return {f"lib/{file.name}": file} if asked_for else {}
    return {path.replace("usr/bin", "bin"): file}


@pytest.fixture(scope="module")
def gpu_board() -> Iterator[machine.Machine]:
    image = quick.build(arch_named("amd64"), lambda words: None, graphics())
    started = machine.start(
        image,
        lambda words: None,
        name=f"test-{os.getpid()}-gpu",
        memory_mib=2048,
        with_parent=True,
        devices=("virtio-gpu-pci",),
    )
    try:
        lines = "; ".join(f"insmod /gpu/{module}.ko || exit 1" for module in MODULES)
        done = started.ssh(f"{lines}; test -e /dev/dri/card0", timeout_s=PATIENCE_S)
        assert done.returncode == 0, done.stderr
        yield started
    finally:
        machine.stop(started)


def measured(board: machine.Machine, load: str, tmp_path: Path) -> dict[str, Any]:
    """The manifest's load and the check LOAD-UNKNOWN of a run under a load. A host without time for the board draws no frame in 40 s."""
    run = measured_for("40s", board, load, tmp_path / "40s")
    drawn = run["entry"]["operations"] > 0 and run["entry"]["operations_unit"] != "CPU seconds"
    return run if drawn else measured_for("300s", board, load, tmp_path / "300s")


def measured_for(duration: str, board: machine.Machine, load: str, tmp_path: Path) -> dict[str, Any]:
    argv = [
        sys.executable, "-m", "rtassay", "run", f"lab:{board.name}", "--duration", duration, "--load", load, "--json",
    ]  # fmt: skip
    done = subprocess.run(
        argv,
        env={**os.environ, "RTASSAY_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode in (0, 5), done.stderr
    shown = json.loads(done.stdout)
    (manifest,) = tmp_path.rglob("manifest.json")
    (entry,) = json.loads(manifest.read_text())["loads"]
    (check,) = (check for check in shown["checks"] if check["id"] == "LOAD-UNKNOWN")
    return {"entry": entry, "check": check}


def test_kmscube_is_proven_by_the_interrupts_of_the_device(gpu_board: machine.Machine, tmp_path: Path) -> None:
    run = measured(gpu_board, "kmscube:--count 5", tmp_path)
    assert run["entry"]["operations_unit"] == "frames" and run["entry"]["operations"] > 0
    assert run["entry"]["gpu_interrupts"] > 0 and run["entry"]["gpu_ns"] is None
    assert run["entry"]["software"] is True
    assert run["check"]["severity"] == "pass"


def test_stress_ng_of_debian_has_a_gpu_stressor_and_says_who_renders(
    gpu_board: machine.Machine, tmp_path: Path
) -> None:
    run = measured(gpu_board, "stress-ng:gpu", tmp_path)
    (part,) = run["entry"]["parts"]
    assert (part["name"], part["skipped"]) == ("gpu", False) and part["operations"] > 0
    assert run["entry"]["software"] is True and run["check"]["severity"] == "pass"
