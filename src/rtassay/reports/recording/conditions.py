"""The smaller tables of a report: conditions, plan against what was obtained, loads, damage, versions. Standard library only."""

from __future__ import annotations

from typing import Any

from rtassay.model import warnings
from rtassay.model.facts import SettingsFacts
from rtassay.model.findings import Findings
from rtassay.model.foreign import clean, one_line
from rtassay.model.manifest import Manifest, Obtained, Plan
from rtassay.model.recording import Recording
from rtassay.model.units import format_cpu_list, format_time
from rtassay.reports import wording
from rtassay.reports.recording import recording_text

Rows = list[tuple[str, str]]


def conditions(findings: Findings, recording: Recording) -> Rows:
    """The basis of the numbers, for the head of a report."""
    source = findings.source
    tool = " ".join(str(source[key]) for key in ("tool", "version") if source.get(key))
    rows: Rows = [
        ("Board", recording_text.board(findings, 80)),
        ("Kernel", one_line(findings.kernel, 120) if findings.kernel else "not known"),
        ("Load", one_line(findings.load, 120)),
        ("Duration", wording.span(findings.duration_s)),
        ("Interval", "not known" if findings.interval_ns is None else wording.exact_time(findings.interval_ns)),
        (
            "Measured by",
            f"{one_line(tool, 60) or 'not known'} (late policy {one_line(str(source.get('late_policy')), 20)})",
        ),
        ("Resolution", resolution(findings)),
        ("Started", one_line(recording_text.started(recording.manifest, findings.created) or "not known", 60)),
        ("Ended by", one_line(findings.end_reason or "not known", 40)),
        ("Recording", one_line(findings.id, 80) + ("" if findings.sealed else " (not sealed)")),
        *([("Name", one_line(findings.name, 80))] if findings.name else []),
        *([("Imported file", one_line(str(findings.source["file"]), 100))] if findings.source.get("file") else []),
    ]
    return rows


def resolution(findings: Findings) -> str:
    """Bin width and clock step in words."""
    width = (
        "exact ns"
        if findings.bin_width_ns <= 1
        else f"bins of {format_time(findings.bin_width_ns)} (lower edges shown)"
    )
    step = findings.clock_step_ns
    return f"{width}, clock step {'not known' if step is None else format_time(step)}"


def plan_rows(recording: Recording) -> list[tuple[str, str, str, str]]:
    """(item, asked, obtained, remark); the remark is `differs` if the obtained value is not the one asked for, `not known` if it was not recorded."""
    manifest = recording.manifest
    plan = manifest.plan
    facts = manifest.probe_facts
    starts = [lane.entry.obtained_start for lane in recording.lanes]
    ends = [lane.entry.obtained_end for lane in recording.lanes]
    policy = [_policy(o) for o in starts]
    policy_end = [_policy(o) for o in ends]
    asked_policy = (
        None if plan.policy is None else " ".join(str(x) for x in (plan.policy, plan.priority) if x is not None)
    )
    rows = [
        _row("Policy and priority, at start", asked_policy, _agree(policy)),
        _row("Policy and priority, at end", asked_policy, _agree(policy_end)),
        _row("One CPU per lane, at start", _pins(recording), _agree_pins([_cpus(o) for o in starts])),
        _row("One CPU per lane, at end", _pins(recording), _agree_pins([_cpus(o) for o in ends])),
        _row("Memory locked", _maybe(plan.mlock), _maybe(facts.mlocked)),
        _row("cpu_dma_latency (us)", _maybe(plan.dma_latency_us), _maybe(facts.dma_latency_us)),
        *_sleep_rows(plan, facts.settings),
        _row("Interval", _time(plan.interval_ns), _agree([_time(lane.entry.interval_ns) for lane in recording.lanes])),
        _row("Duration", _time(plan.duration_ns), _time(_lasted(manifest)), exact=False),
    ]
    if plan.count is not None:
        rows.append(
            _row("Samples per lane", f"{plan.count:,}", _agree([f"{lane.entry.n:,}" for lane in recording.lanes]))
        )
    migrations = [lane.entry.migrations for lane in recording.lanes]
    faults = [_sum(lane.entry.minor_faults, lane.entry.major_faults) for lane in recording.lanes]
    known = _agree([None if m is None else str(m) for m in migrations])
    rows.append(_row("Migrations", "0" if known is not None else None, known))
    known = _agree([None if f is None else str(f) for f in faults])
    rows.append(_row("Page faults while measuring", "0" if known is not None else None, known))
    rows = [row for row in rows if row[1:3] != ("not stated", "not known")]
    if facts.fallback:
        rows.append(("Fallback", "none", one_line(facts.fallback, 200), "differs"))
    return rows


def _row(item: str, asked: str | None, got: str | None, *, exact: bool = True) -> tuple[str, str, str, str]:
    if got is None:
        remark = "not known"
    elif asked is None:
        remark = ""
    else:
        remark = "as asked" if asked == got else ("differs" if exact else "")
    return item, asked or "not stated", got or "not known", remark


def _agree(values: list[str | None]) -> str | None:
    """One value if all lanes agree, else each one; None if no lane knows it."""
    if not values or all(value is None for value in values):
        return None
    if len(set(values)) == 1:
        return values[0]
    return ", ".join(value or "?" for value in values)


def _agree_pins(values: list[str | None]) -> str | None:
    return None if not values or all(v is None for v in values) else ", ".join(v or "?" for v in values)


def _pins(recording: Recording) -> str | None:
    cpus = [lane.entry.cpu for lane in recording.lanes]
    return None if any(cpu is None for cpu in cpus) or not cpus else ", ".join(str(cpu) for cpu in cpus)


def _cpus(obtained: Obtained | None) -> str | None:
    return None if obtained is None or obtained.affinity is None else format_cpu_list(obtained.affinity)


def _policy(obtained: Obtained | None) -> str | None:
    if obtained is None or obtained.policy is None:
        return None
    return obtained.policy if obtained.priority is None else f"{obtained.policy} {obtained.priority}"


def _sleep_rows(plan: Plan, told: SettingsFacts | None) -> list[tuple[str, str, str, str]]:
    """How the lanes slept, where the probe tells."""
    if told is None or told.sleep is None:
        return []
    return [_row("Sleep", plan.sleep, _maybe(told.sleep)), _row("Clock of the sleep", plan.clock, _maybe(told.clock))]


def _maybe(value: Any) -> str | None:
    return None if value is None else wording.describe(value)


def _time(ns: int | None) -> str | None:
    return None if ns is None else format_time(ns)


def _sum(*values: int | None) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _lasted(manifest: Manifest) -> int | None:
    if manifest.started_ns is None or manifest.ended_ns is None:
        return None
    return manifest.ended_ns - manifest.started_ns


def inventory_rows(recording: Recording) -> Rows:
    """The inventory of the board, with the changes by the end."""
    manifest = recording.manifest
    rows = []
    for name, value in manifest.inventory.items():
        text = wording.describe(value)
        if name in manifest.inventory_end and _changed(value, manifest.inventory_end[name]) not in (value, {}):
            text = f"{text} → {wording.describe(_changed(value, manifest.inventory_end[name]))} at the end"
        rows.append((one_line(str(name), 80).replace("_", " "), text))
    return rows


def _changed(before: Any, after: Any) -> Any:
    """Only the differences of two objects."""
    if isinstance(before, dict) and isinstance(after, dict):
        return {key: value for key, value in after.items() if key not in before or before[key] != value}
    return after


def monitor_rows(recording: Recording) -> Rows:
    """The readings of every monitor, or the reason for none; one row names all monitors that the board does not have."""
    rows: Rows = []
    absent = []
    for name, entry in recording.manifest.monitors.items():
        if entry.state == "not available":
            absent.append(one_line(name, 40))
            continue
        told = [f"{wording.count(entry.readings)} readings"] if entry.readings else []
        told += [f"{wording.count(entry.messages)} messages"] if entry.messages else []
        text = f"{entry.state}: {', '.join(told)}" if told else entry.state
        rows.append((one_line(name, 40), one_line(f"{text} ({entry.why})" if entry.why else text, 200)))
    if absent:
        rows.append(("not available on this board", ", ".join(absent)))
    return rows


def damage_rows(recording: Recording) -> Rows:
    """Losses of the stream, if any."""
    damage = recording.manifest.damage
    rows: Rows = []
    for name in ("skipped_bytes", "bad_frames", "lost_frames", "unknown_frames"):
        value = getattr(damage, name)
        if value:
            rows.append((name.replace("_", " "), f"{value:,}"))
    if damage.cut:
        rows.append(("cut", "the stream ended without its end mark"))
    return rows


def version_rows(findings: Findings, recording: Recording) -> Rows:
    """Everything that has a version."""
    manifest = recording.manifest
    return [
        *((one_line(name, 60), one_line(value, 120)) for name, value in manifest.tool_versions.items()),
        ("findings", f"{findings.schema}, analysis {findings.analysis_version}"),
        ("recording format", str(manifest.version)),
    ]


def commands(findings: Findings, recording: Recording) -> Rows:
    """How to repeat the run: our line, the equivalent cyclictest line, the command that ran on the board."""
    plan = recording.manifest.plan
    ours = findings.command or (wording.shell_line(plan.argv) if plan.argv else None)
    theirs = findings.cyclictest_equivalent or plan.cyclictest_equivalent
    rows: Rows = []
    if ours:
        rows.append(("Repeat this run", clean(ours, 2000)))
    if plan.configured:
        rows.append(("Of these, from the configuration file", wording.shell_line(plan.configured)))
    if theirs:
        rows.append(("Equivalent cyclictest line", clean(theirs, 2000)))
    if plan.command:
        rows.append(("Ran on the board", wording.shell_line(plan.command)))
    return rows


def notes(findings: Findings, recording: Recording) -> list[str]:
    """Notes that the reader needs to understand the tables."""
    said = []
    if findings.bin_width_ns > 1:
        said.append(
            f"The source has bins of {format_time(findings.bin_width_ns)}: a quantile is the lower edge of its bin, the true value may "
            f"be up to {format_time(findings.bin_width_ns)} larger, and a deadline inside an occupied bin counts the whole bin as exceeding."
        )
    over = sum(lane.over or 0 for lane in findings.lanes)
    if over:
        said.append(
            f"{over:,} samples lie beyond the last bin of the source's histogram: means are not known, high quantiles are lower bounds."
        )
    manifest = recording.manifest
    said.extend(one_line(warnings.words(warning, manifest.lanes), 400) for warning in manifest.warnings)
    return said
