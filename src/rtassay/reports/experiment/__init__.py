"""Reports of an experiment: one `model.experiment.ExperimentReport` to bytes."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Final, Protocol

from rtassay.model.errors import UsageError
from rtassay.model.experiment import ExperimentReport

MEMBERS: Final = {
    "html": "rtassay.reports.experiment.html:HtmlExperiment",
    "markdown": "rtassay.reports.experiment.markdown:MarkdownExperiment",
    "json": "rtassay.reports.experiment.json:JsonExperiment",
}


class Report(Protocol):
    """An experiment to bytes: no file is written, no clock read, nothing printed; same input, same bytes."""

    name: str
    suffix: str
    summary: str

    def render(self, report: ExperimentReport) -> bytes: ...


def load(name: str) -> type[Report]:
    """The class of one format, imported now. Raises UsageError with the known names for an unknown one."""
    if name not in MEMBERS:
        close = difflib.get_close_matches(name, MEMBERS, n=1)
        hint = (f"did you mean '{close[0]}'? " if close else "") + f"known: {', '.join(MEMBERS)}"
        raise UsageError(f"there is no report of an experiment '{name}'", hint=hint)
    module, _, attribute = MEMBERS[name].partition(":")
    found: type[Report] = getattr(import_module(module), attribute)
    return found
