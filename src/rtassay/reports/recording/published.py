"""The table of published results beside a recording, for the pages that have one."""

from __future__ import annotations

from rtassay.model.published import Against

COLUMNS = ("", "Board", "Kernel", "Load", "Tool", "For", "n", "Min", "Avg", "Max", "Differs in", "Doubts", "Source")
CAVEAT = (
    "Published figures stand as their sources print them; one value per CPU where there are slashes. A maximum grows with the time measured, "
    "and loads differ: read the column of differences before the numbers."
)


def title(against: Against) -> str:
    """The heading, with what was asked for."""
    return f"Against published results ({against.asked}), latencies in us"


def rows(against: Against) -> list[tuple[str, ...]]:
    """Cells as text, this recording first."""
    found: list[tuple[str, ...]] = []
    for row in (against.own, *against.rows):
        own = row is against.own
        found.append(
            (
                "this recording" if own else row.id,
                *(
                    row.system,
                    row.kernel,
                    row.load,
                    row.tool,
                    row.duration,
                    row.samples,
                    row.min_us,
                    row.avg_us,
                    row.max_us,
                ),
                "" if own else "; ".join(row.differs) or "nothing known",
                "" if own else ", ".join(row.checks),
                "" if own else row.source,
            )
        )
    return found
