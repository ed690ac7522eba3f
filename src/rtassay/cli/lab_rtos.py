"""A run of rtprobe-lite on FreeRTOS in virtual time as a recording: `rtassay lab start freertos --deterministic`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rtassay.cli.options import print_json
from rtassay.cli.terminal import echo
from rtassay.lab import rtos
from rtassay.model.errors import UsageError
from rtassay.model.findings import VIRTUAL_BOARD

BOARD = "lab:freertos-script"
_DEFAULT_WORDS = ("run", "count=5000")


def record(words: tuple[str, ...], output: str | None, limit_s: float, as_json: bool) -> int:
    """Run once and make the recording. Raises what `rtos.script` and the import raise."""
    from rtassay import store
    from rtassay.importers.console import ConsoleImporter

    if output is not None and Path(output).exists() and not Path(output).is_dir():
        raise UsageError(f"-o {output} is not a directory")
    words = words or _DEFAULT_WORDS
    if words[0] != "run" or any("\n" in word for word in words):
        raise UsageError(
            f"'{' '.join(words)}' is no command of rtprobe-lite that measures",
            hint="as: run count=5000 interval_ns=1000000",
        )
    result = rtos.script([" ".join(words)], limit_s)
    clock = {"ns_per_instruction": 1 << rtos.SHIFT, "qemu": result.qemu, "inputs": {"image": result.image}}
    load = next((word.partition("=")[2] for word in words if word.startswith("load=")), "none")
    with tempfile.TemporaryDirectory(prefix="rtassay-freertos-") as scratch:
        path = Path(scratch) / f"freertos-{load if load.isalnum() else 'run'}.log"
        path.write_bytes(result.console)
        importer = ConsoleImporter()
        made = store.import_events(
            Path(output) if output is not None else store.home(),
            path,
            importer.source(path),
            importer.read(path),
            board=BOARD,
            damage=lambda: importer.damage,
            inventory={"virtualisation": "tcg", "virtual_time": clock},
        )
    if as_json:
        print_json(
            {
                "schema": "rtassay/lab-script/1",
                "id": made.stem,
                "path": str(made),
                "kernel": rtos.KIND,
                "load": load,
                "words": list(words),
                "wall_ns": result.wall_ns,
                **clock,
                "label": VIRTUAL_BOARD,
            }
        )
        return 0
    echo(f"{made.stem}: {result.wall_ns / 1e9:.1f} s; {VIRTUAL_BOARD}")
    echo(f"  rtassay show {made.stem}", err=True)
    return 0
