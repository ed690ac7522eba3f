"""Writes anew what each check says of each case: `.venv/bin/python -m tests.unit.analysis.checks.update_said`, then read `git diff`.

A line of said.txt is a case of test_checks.py: its check and number, the whole message, and the facts as JSON. Hold each new line
against the numbers of its case before you keep it. A change of a line is a change of what users read.
"""

from __future__ import annotations

import json

from .said import FILE, numbered
from .test_checks import CASES, alone


def said(place: int) -> str:
    """The message and the facts of one case."""
    name, made, *_ = CASES[place]
    found = alone(made(), name)
    return f"{found.message} | {json.dumps(found.facts, sort_keys=True)}"


if __name__ == "__main__":
    FILE.write_text("".join(f"{key} | {said(place)}\n" for key, place in numbered(CASES).items()), encoding="utf-8")
