"""Cells that were simulated already, so that hours of simulation may be interrupted: one line of JSON each, by the code that made them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from compared import Shown
from simulate import Count

ROOT = Path(__file__).resolve().parents[2]
CODE = ("src/rtassay/analysis", "tools/coverage")
SAYS = ("grade.py", "kept.py", "page.py", "run.py")
"""What only chooses cases, grades what was counted and writes it."""
Found = dict[str, Count] | Shown


def code_hash() -> str:
    """Of all sources that decide what a cell counts."""
    found = hashlib.sha256()
    for folder in CODE:
        for file in sorted((ROOT / folder).rglob("*.py")):
            if file.parent.name != "coverage" or file.name not in SAYS:
                found.update(file.read_bytes())
    return found.hexdigest()[:16]


class Kept:
    """The cells in `path`; `key` tells one from the others. Lines of other code, and a torn last one, are left out."""

    def __init__(self, path: Path, code: str) -> None:
        self._path, self._code = path, code
        self._found: dict[str, Found] = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if row["code"] == code:
                self._found[row["key"]] = _read(row["found"])

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: str) -> Found | None:
        """None: not simulated yet."""
        return self._found.get(key)

    def add(self, key: str, found: Found) -> None:
        """Keep it, on disk too."""
        self._found[key] = found
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            # The first newline ends a line that an interruption tore.
            file.write("\n" + json.dumps({"code": self._code, "key": key, "found": _written(found)}) + "\n")


def _written(found: Found) -> dict[str, Any]:
    if isinstance(found, Shown):
        return {"shown": asdict(found)}
    return {"counts": {name: asdict(count) for name, count in found.items()}}


def _read(data: dict[str, Any]) -> Found:
    make: Callable[..., Count] = Count
    return (
        Shown(**data["shown"]) if "shown" in data else {name: make(**count) for name, count in data["counts"].items()}
    )
