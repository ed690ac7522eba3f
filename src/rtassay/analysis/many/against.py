"""A recording beside published results: the figures, and what makes them differ in kind."""

from __future__ import annotations

from collections.abc import Sequence

from rtassay.analysis.many.published import intervals
from rtassay.model.findings import Findings
from rtassay.model.published import Against, AgainstRow, Published, PublishedCheck
from rtassay.model.units import NS_PER_S, NS_PER_US, format_time, format_us

_SAME_WITHIN = 1.1
_IDLE = ("none", "idle")


def against(findings: Findings, rows: Sequence[Published], checks: Sequence[PublishedCheck], asked: str) -> Against:
    """The recording (all lanes pooled) and the rows, each with what differs from the recording and what its own checks found.

    `checks`: those of all published rows (analysis.many.published.check). Nothing is converted: published figures stay as printed.
    """
    return Against(asked, _own(findings), tuple(_row(findings, row, checks) for row in rows))


def _own(findings: Findings) -> AgainstRow:
    pooled = findings.pooled
    tool = " ".join(str(part) for part in (findings.source.get("tool"), findings.source.get("version")) if part)
    return AgainstRow(
        id="this",
        system=findings.board,
        kernel=findings.kernel or "not known",
        load=findings.load,
        tool=tool,
        interval="not known" if findings.interval_ns is None else format_us(findings.interval_ns, 0),
        duration="not known" if findings.duration_s is None else format_time(round(findings.duration_s) * NS_PER_S),
        samples=f"{pooled.n:,}",
        min_us=format_us(pooled.min_ns),
        avg_us="-" if pooled.mean_ns is None else format_us(pooled.mean_ns),
        max_us=format_us(pooled.max_ns),
        source=findings.id,
    )


def _row(findings: Findings, row: Published, checks: Sequence[PublishedCheck]) -> AgainstRow:
    of_row = dict.fromkeys(check.id for check in checks if row.id in check.rows)
    source = f"{row.source} ({row.verification})" if row.verification else row.source
    return AgainstRow(
        id=row.id,
        system=row.system,
        kernel=f"{row.kernel} ({row.preempt})" if row.preempt else row.kernel,
        load=row.load or "not stated",
        tool=row.tool,
        interval=row.interval_us or "not stated",
        duration=row.duration or "not stated",
        samples=row.samples or "not stated",
        min_us=row.min_us or "-",
        avg_us=row.avg_us or "-",
        max_us=row.max_us or "-",
        differs=tuple(_differences(findings, row)),
        checks=tuple(of_row),
        source=source,
    )


def _differences(findings: Findings, row: Published) -> list[str]:
    """What is not the same (both values stand in the table), or cannot be compared because one side does not tell."""
    found = []
    if (load := _load(findings.load, row)) is not None:
        found.append(load)
    if row.duration_s is None or not findings.duration_s:
        found.append("duration not comparable")
    elif not 1 / _SAME_WITHIN <= findings.duration_s / row.duration_s <= _SAME_WITHIN:
        factor = row.duration_s / findings.duration_s
        longer = f"{factor:,.0f}" if factor >= 10 else f"{factor:.2g}"
        found.append(f"duration ({longer} times as long)" if factor > 1 else f"duration ({factor:.2g} of this one)")
    if row.tool.split(" ")[0].lower() not in str(findings.source.get("tool") or "").lower().split(" "):
        found.append("tool")
    if not row.intervals_us or findings.interval_ns is None:
        found.append("interval not comparable")
    elif {interval * NS_PER_US for interval in row.intervals_us} != {findings.interval_ns}:
        found.append(f"interval ({intervals(row)} us, here {format_us(findings.interval_ns, 0)} us)")
    return found


def _load(own: str, row: Published) -> str | None:
    if row.idle is None or own == "unknown":
        return "load not comparable"
    idle = own.lower() in _IDLE
    if idle and row.idle:
        return None
    if idle != row.idle:
        return "load (none there)" if row.idle else "load (none here)"
    return None if own.lower() == row.load.lower() else "load"
