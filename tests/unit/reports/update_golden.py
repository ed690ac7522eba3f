"""Writes the golden files anew: `.venv/bin/python tests/unit/reports/update_golden.py`, then read the difference with `git diff`.

A change here is a change of what users see or parse; cyclictest, csv and json are formats that scripts depend on.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
FORMATS = ("markdown", "csv", "cyclictest", "json", "terminal")


def render_all() -> dict[str, bytes]:
    """File name -> bytes for every example and format."""
    sys.path.insert(0, str(HERE))
    try:
        import examples
    finally:
        sys.path.remove(str(HERE))
    from rtassay import reports
    from rtassay.reports.base import JudgedRecording

    files = {}
    for name, (findings, recording) in examples.all_examples().items():
        for kind in FORMATS:
            report = reports.load(JudgedRecording, kind)
            files[f"{name}{report.suffix}"] = report.render(JudgedRecording(findings, recording))
    return files


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for old in GOLDEN.iterdir():
        old.unlink()
    for file, content in render_all().items():
        (GOLDEN / file).write_bytes(content)
