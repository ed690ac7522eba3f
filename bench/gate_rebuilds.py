"""False alarms of the gate: rebuilds of a tiny kernel without a change that bears on latency, each against the first build.

    .venv/bin/python bench/gate_rebuilds.py build TREE OBJECTS IMAGES    one image for each variant; OBJECTS holds a built tree
    .venv/bin/python bench/gate_rebuilds.py gate IMAGES [--seeds 2]      every image against IMAGES/first; a Markdown table

A tiny kernel: `make O=OBJECTS tinyconfig`, docs/guides/gate.md says which options it needs. `build` may be repeated; finished images stay.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

VARIANTS: dict[str, tuple[str, ...]] = {
    "first": (),
    "date": (),
    "sysrq": ("MAGIC_SYSRQ=y",),
    "log-buffer": ("LOG_BUF_SHIFT=18",),
    "crc": ("CRC_ITU_T=y", "CRC7=y"),
    "coredump": ("COREDUMP=y",),
    "inotify": ("INOTIFY_USER=y",),
    "fhandle": ("FHANDLE=y",),
    "debugfs": ("DEBUG_FS=y",),
    "kallsyms-all": ("KALLSYMS_ALL=y",),
    "sha": ("CRYPTO=y", "CRYPTO_SHA512=y"),
    "printk-time": ("PRINTK_TIME=y",),
    "binfmt-misc": ("BINFMT_MISC=y",),
    "no-message-queues": ("POSIX_MQUEUE=n",),
    "uid16": ("UID16=y",),
    "character-sets": ("NLS=y", "NLS_ISO8859_1=y"),
    "rtc": ("RTC_CLASS=y", "RTC_DRV_CMOS=y"),
    "watchdog": ("WATCHDOG=y", "SOFT_WATCHDOG=y"),
    "size": ("CC_OPTIMIZE_FOR_SIZE=y", "CC_OPTIMIZE_FOR_PERFORMANCE=n"),
    "frame-warn": ("FRAME_WARN=1024",),
    "modules": ("MODULES=y", "CRC8=m"),
}
"""Name -> options that differ from the first build. `date`: only the time of the build."""
_TIMES = {"date": "Tue Mar  5 11:07:42 UTC 2024"}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=["build", "gate"])
    options.add_argument("paths", type=Path, nargs="+")
    options.add_argument("--seeds", type=int, default=2)
    options.add_argument("--only", action="append", choices=list(VARIANTS))
    given = options.parse_args()
    wanted = given.only or list(VARIANTS)
    if given.what == "build":
        tree, objects, images = given.paths
        _build(tree, objects, images, wanted)
        return 0
    (images,) = given.paths
    return _gate(images, wanted, given.seeds)


def _build(tree: Path, objects: Path, images: Path, wanted: list[str]) -> None:
    images.mkdir(exist_ok=True)
    plain = images / "plain.config"
    if not plain.exists():
        shutil.copy(objects / ".config", plain)
    for name in wanted:
        image = images / name / "bzImage"
        if image.exists():
            continue
        lines = plain.read_text()
        for option in VARIANTS[name]:
            key, _, value = option.partition("=")
            kept = [line for line in lines.splitlines() if not line.startswith((f"CONFIG_{key}=", f"# CONFIG_{key} "))]
            lines = "\n".join([*kept, f"CONFIG_{key}={value}", ""])
        (objects / ".config").write_text(lines)
        environment = {
            **os.environ,
            "KBUILD_BUILD_TIMESTAMP": _TIMES.get(name, "Mon Jan  1 00:00:00 UTC 2024"),
            "KBUILD_BUILD_USER": "bench",
            "KBUILD_BUILD_HOST": "bench",
            "KBUILD_BUILD_VERSION": "1",
        }
        make = ["make", "--silent", "-C", str(tree), f"O={objects}"]
        for target in (["olddefconfig"], ["-j2", "bzImage"]):
            subprocess.run([*make, *target], env=environment, stdin=subprocess.DEVNULL, check=True)
        image.parent.mkdir()
        shutil.copy(objects / ".config", image.parent / "config")
        shutil.copy(objects / "arch/x86/boot/bzImage", image)
        print(name, flush=True)


def _gate(images: Path, wanted: list[str], seeds: int) -> int:
    """One row a variant: by load the growth of each seed in us; at the end the largest growth of a load in all its seeds."""
    base = images / "first.json"
    if not base.exists():
        _run(images / "first", "--seeds", str(seeds), "--output", str(base))
    worst: dict[str, tuple[int, float]] = {}
    header = False
    for name in wanted:
        if name == "first" or not (images / name / "bzImage").exists():
            continue
        kept = images / f"{name}.json"
        if not kept.exists():
            _run(images / name, "--against", str(base), "--seeds", str(seeds), "--output", str(kept))
        found = json.loads(kept.read_text())
        if not header:
            loads = [load["load"] for load in found["loads"]]
            print("| rebuild |", " | ".join(loads), "|\n|", " | ".join(["---"] * (len(loads) + 1)), "|")
            header = True
        cells = []
        for load in found["loads"]:
            growths = [seed["growth_ns"] for seed in load["seeds"]]
            shares = [seed["growth_ns"] / seed["base"]["tail_ns"] for seed in load["seeds"]]
            cells.append(" ".join(f"{ns / 1000:+.1f}" for ns in growths))
            before = worst.get(load["load"], (-(10**12), -1e9))
            worst[load["load"]] = max(before[0], min(growths)), max(before[1], min(shares))
        print(f"| {name} |", " | ".join(cells), "|", flush=True)
    if worst:
        print(
            "| largest in all seeds |",
            " | ".join(f"{ns / 1000:+.1f} ({share:+.0%})" for ns, share in worst.values()),
            "|",
        )
    return 0


def _run(image: Path, *words: str) -> None:
    argv = [sys.executable, "-m", "rtassay", "gate", "run", str(image), *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr[-2000:])


if __name__ == "__main__":
    sys.exit(main())
