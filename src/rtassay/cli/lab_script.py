"""A run on the script board as a recording: `rtassay lab start --deterministic`."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtassay.cli.options import print_json
from rtassay.cli.terminal import echo
from rtassay.lab.arches import Arch
from rtassay.lab.places import Say
from rtassay.model.errors import UsageError
from rtassay.model.findings import VIRTUAL_BOARD

BOARD = "lab:script"
_DEFAULT_WORDS = ("cyclic", "--interval", "1ms", "--duration", "5s")


@dataclass(frozen=True, slots=True)
class Asked:
    """`words`: rtprobe's command line; empty: the default one. `output`: a directory for the recording."""

    arch: Arch
    kernel: str
    seed: int
    load: str
    words: tuple[str, ...]
    output: str | None
    limit_s: float


def record(asked: Asked, say: Say, as_json: bool) -> int:
    """Run once and make the recording. Raises what `measured.measure` and the import raise."""
    from rtassay import store
    from rtassay.boards.binaries import probe_path
    from rtassay.importers.rtw import RtwImporter
    from rtassay.lab.measured import measure
    from rtassay.lab.script import SHIFT

    if asked.output is not None and Path(asked.output).exists() and not Path(asked.output).is_dir():
        raise UsageError(f"-o {asked.output} is not a directory")
    words = asked.words or _DEFAULT_WORDS
    result = measure(
        probe_path(asked.arch.uname),
        words,
        say,
        kernel=asked.kernel,
        seed=asked.seed,
        load=asked.load,
        limit_s=asked.limit_s,
        arch=asked.arch,
    )
    clock = {"ns_per_instruction": 1 << SHIFT, "seed": result.seed, "qemu": result.qemu, "inputs": result.inputs}
    with tempfile.TemporaryDirectory(prefix="rtassay-script-") as scratch:
        path = Path(scratch) / f"{asked.kernel}-{asked.load}-seed-{asked.seed}.rtw"
        path.write_bytes(result.stream)
        importer = RtwImporter()
        made = store.import_events(
            Path(asked.output) if asked.output is not None else store.home(),
            path,
            importer.source(path),
            importer.read(path),
            labels={"load": asked.load, "kernel": asked.kernel, "seed": str(asked.seed)},
            board=BOARD,
            damage=lambda: importer.damage,
            inventory={"virtualisation": "tcg", "virtual_time": clock},
        )
    row: dict[str, Any] = {
        "schema": "rtassay/lab-script/1",
        "id": made.stem,
        "path": str(made),
        "arch": asked.arch.name,
        "kernel": asked.kernel,
        "load": asked.load,
        "words": list(words),
        "virtual_ns": result.virtual_ns,
        "wall_ns": result.wall_ns,
        **clock,
        "label": VIRTUAL_BOARD,
    }
    if as_json:
        print_json(row)
        return 0
    echo(f"{made.stem}: {result.virtual_ns / 1e9:.1f} virtual seconds in {result.wall_ns / 1e9:.1f} s; {VIRTUAL_BOARD}")
    echo(f"  rtassay show {made.stem}", err=True)
    return 0
