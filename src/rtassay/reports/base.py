"""A report or export format. To add one: a file here, a line in `__init__.py`, a page in docs/extend."""

from __future__ import annotations

from typing import Protocol

from rtassay.model.findings import Findings
from rtassay.model.recording import Recording


class Report(Protocol):
    """Findings and a recording to bytes. No file is written, no clock read, nothing printed: same input, same bytes."""

    name: str
    suffix: str
    summary: str

    def render(self, findings: Findings, recording: Recording) -> bytes: ...
