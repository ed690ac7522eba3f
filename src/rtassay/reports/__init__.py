"""Reports and export formats."""

from typing import Final

MEMBERS: Final = {
    "html": "rtassay.reports.html:HtmlReport",
    "markdown": "rtassay.reports.markdown:MarkdownReport",
    "json": "rtassay.reports.json:JsonReport",
    "csv": "rtassay.reports.csv:CsvReport",
    "cyclictest": "rtassay.reports.cyclictest:CyclictestReport",
    "terminal": "rtassay.reports.terminal:TerminalReport",
}
