"""Reports of a comparison: the same formats as of a recording, of one `model.comparison.Comparison`."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Final, Protocol

from rtassay.model.comparison import Comparison
from rtassay.model.errors import UsageError

MEMBERS: Final = {
    "html": "rtassay.reports.comparison.html:HtmlComparison",
    "markdown": "rtassay.reports.comparison.markdown:MarkdownComparison",
    "json": "rtassay.reports.comparison.json:JsonComparison",
    "terminal": "rtassay.reports.comparison.terminal:TerminalComparison",
}


class ComparisonReport(Protocol):
    """A comparison to bytes: no file is written, no clock read, nothing printed; same input, same bytes."""

    name: str
    suffix: str
    summary: str

    def render(self, comparison: Comparison) -> bytes: ...


def load(name: str) -> type[ComparisonReport]:
    """The class of one format, imported now. Raises UsageError with the known names for an unknown one."""
    if name not in MEMBERS:
        close = difflib.get_close_matches(name, MEMBERS, n=1)
        hint = (f"did you mean '{close[0]}'? " if close else "") + f"known: {', '.join(MEMBERS)}"
        raise UsageError(f"there is no report of a comparison '{name}'", hint=hint)
    module, _, attribute = MEMBERS[name].partition(":")
    found: type[ComparisonReport] = getattr(import_module(module), attribute)
    return found
