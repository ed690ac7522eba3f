"""Writes the golden files anew: `.venv/bin/python tests/unit/reports/update_golden.py`, then read the difference with `git diff`.

A change here is a change of what users see or parse; cyclictest, csv and json are formats that scripts depend on.
"""

from __future__ import annotations

from pathlib import Path

from examples import EXAMPLES

from rtassay import reports
from rtassay.reports.base import JudgedRecording

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
FORMATS = ("markdown", "csv", "cyclictest", "json", "terminal")


def files() -> dict[str, tuple[str, str]]:
    """File name -> (example, format), nothing rendered yet."""
    return {
        f"{name}{reports.load(JudgedRecording, kind).suffix}": (name, kind) for name in EXAMPLES for kind in FORMATS
    }


def render(name: str, kind: str) -> bytes:
    """One example in one format."""
    return reports.load(JudgedRecording, kind).render(JudgedRecording(*EXAMPLES[name]))


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for old in GOLDEN.iterdir():
        old.unlink()
    for file, case in files().items():
        (GOLDEN / file).write_bytes(render(*case))
