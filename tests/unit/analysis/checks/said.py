"""What each check says of each case of test_checks.py, word for word: said.txt, which update_said.py writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).parent / "said.txt"
Row = tuple[str, Any, str, str | None, str]


def numbered(cases: Sequence[Row]) -> dict[str, int]:
    """`CHECK 3`, the third case of that check -> its place among the cases."""
    seen: dict[str, int] = {}
    places = {}
    for place, (name, *_) in enumerate(cases):
        seen[name] = seen.get(name, 0) + 1
        places[f"{name} {seen[name]}"] = place
    return places


def _said() -> dict[str, tuple[str, Any]]:
    rows = (line.split(" | ", 2) for line in FILE.read_text(encoding="utf-8").splitlines())
    return {name: (message, json.loads(facts)) for name, message, facts in rows}


SAID = _said()
"""The message and the facts of each case."""


def alike(found: Any, told: Any) -> bool:
    """Whether these facts say the same as JSON: numbers to a millionth."""
    return _alike(json.loads(json.dumps(found)), told)


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_alike(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_alike, a, b))
    return bool(a == pytest.approx(b, rel=1e-6)) if isinstance(a, float) else bool(a == b)
