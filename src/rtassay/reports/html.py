"""HTML: one self-contained page; tables readable without JavaScript, plots with it, nothing loaded from anywhere."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from importlib import resources
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from rtassay.model.findings import Findings, Verdict
from rtassay.model.published import Against
from rtassay.model.recording import Recording
from rtassay.model.units import format_time
from rtassay.reports import against as beside
from rtassay.reports import details, loads, outliers, series, svg, view


class Tile(NamedTuple):
    """One headline number with the words that keep it honest."""

    name: str
    value: str
    why: str = ""


class Rows(NamedTuple):
    """Column headings and rows of text."""

    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


class HtmlReport:
    """The page for people: verdict, D*, tables, plots, checks, conditions, how to repeat it. Under 400 kB for any recording."""

    name = "html"
    suffix = ".html"
    summary = "self-contained page with plots"

    def __init__(self, against: Against | None = None) -> None:
        """`against`: published results to show beside the recording."""
        self.against = against

    def render(self, findings: Findings, recording: Recording) -> bytes:
        style = asset("uPlot.min.css") + asset("report.css")
        uplot, script = asset("uPlot.iife.min.js"), asset("report.js")
        page: str = _template().render(
            style=Markup(style),
            uplot=Markup(uplot),
            script=Markup(script),
            csp=content_policy(style, uplot, script),
            line=view.one_line,
            against=None if self.against is None else Rows(beside.COLUMNS, beside.rows(self.against)),
            against_title="" if self.against is None else beside.title(self.against),
            against_caveat=beside.CAVEAT,
            **_words(findings, recording),
            **_plots(findings, recording),
        )
        return f"{page}\n".encode("utf-8", "backslashreplace")


@functools.cache
def asset(name: str) -> str:
    """The text of a file in assets/."""
    return resources.files("rtassay.reports").joinpath("assets", name).read_text(encoding="utf-8").strip()


@functools.cache
def _template() -> Template:
    environment = Environment(loader=PackageLoader("rtassay.reports"), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("report.html.j2")


def content_policy(style: str, *scripts: str) -> str:
    """A Content-Security-Policy that lets exactly these texts run and nothing be loaded."""

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    allowed = " ".join(digest(script) for script in scripts)
    return f"default-src 'none'; script-src {allowed}; style-src {digest(style)}; img-src data:; base-uri 'none'; form-action 'none'"


def embed(data: Any) -> Markup:
    """JSON that cannot end its script element, open a comment or break a line, whatever strings it holds."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _words(findings: Findings, recording: Recording) -> dict[str, Any]:
    verdict = findings.verdict
    return {
        "id": view.one_line(findings.id, 80),
        "board": view.board(findings, 80),
        "kernel": view.one_line(findings.kernel, 120) if findings.kernel else None,
        "load": view.one_line(findings.load, 120),
        "duration": "duration not known" if findings.duration_s is None else view.span(findings.duration_s),
        "lane_count": len(findings.lanes),
        "started": view.one_line(view.started(recording.manifest, findings.created) or "", 60),
        "sealed": findings.sealed,
        "state": view.state(findings),
        "tone": view.TONES.get(view.state(findings), "none"),
        "icon": view.ICONS.get(view.state(findings), "–"),
        "sentence": view.sentence(findings),
        "reasons": verdict.reasons if verdict else (),
        "next_step": view.next_step(findings),
        "tiles": _tiles(findings, recording),
        "verdict_lanes": _verdict_lanes(findings, verdict),
        "table": view.lane_table(findings),
        "due_table": view.lane_table(findings, due=True) if view.has_due_view(findings) else None,
        "notes": details.notes(findings, recording),
        "check_summary": view.check_summary(findings),
        "checks_shown": view.told_checks(findings),
        "checks_unlooked": view.unlooked(findings),
        "checks_passed": [check for check in findings.checks if check.severity == "pass" and check.waived is None],
        "outliers": outliers.rows(findings, watched=bool(recording.telemetry)),
        "outlier_columns": outliers.COLUMNS,
        "outlier_caveat": outliers.CAVEAT,
        "conditions": details.conditions(findings, recording),
        "labels": view.pairs(findings.labels.items()),
        "note": view.clean(findings.note) if findings.note else None,
        "damage": details.damage_rows(recording),
        "plan": details.plan_rows(recording),
        "loads": loads.rows(recording),
        "load_columns": loads.COLUMNS,
        "load_parts": loads.part_rows(recording),
        "load_part_columns": loads.PART_COLUMNS,
        "monitors": details.monitor_rows(recording),
        "inventory": details.inventory_rows(recording),
        "commands": details.commands(findings, recording),
        "versions": details.version_rows(findings, recording),
    }


def _tiles(findings: Findings, recording: Recording) -> list[Tile]:
    verdict = findings.verdict
    lane, p = view.demonstrated(findings)
    tiles = []
    if lane is not None:
        deadline = lane.demonstrated.deadline_ns
        sure = view.percent(view.confidence(findings, recording))
        where = view.label_of(findings, lane.name)
        why = f"smallest deadline these data demonstrate for p ≤ {view.probability(p)} at {sure} confidence, decided by {where}"
        if deadline is None:
            why = f"no deadline is demonstrated for p ≤ {view.probability(p)} at {sure} confidence: {view.no_demonstration(lane)} ({where})"
        tiles.append(
            Tile(
                "D*, demonstrated deadline",
                "none" if deadline is None else view.spaced(deadline),
                why + view.trust(findings),
            )
        )
    if verdict is not None:
        tiles += _verdict_tiles(findings, verdict)
    missions = view.new_record(findings)
    if missions:
        (time, chance), *rest = missions
        why = f"in the next {time} without any change" + "".join(f"; {other} in {span}" for span, other in rest)
        tiles.append(Tile("A new maximum", chance, why))
    return tiles


def _verdict_tiles(findings: Findings, verdict: Verdict) -> list[Tile]:
    where = view.label_of(findings, verdict.lane)
    rate = (
        "" if verdict.rate_upper_per_h is None else f"at most {view.rate(verdict.rate_upper_per_h)} events per hour; "
    )
    events = "order not known" if verdict.events is None else f"in {view.count(verdict.events)} independent events"
    tiles = [
        Tile(
            "Requirement",
            view.spaced(verdict.deadline_ns),
            f"p ≤ {view.probability(verdict.p_target)} per activation, {view.percent(verdict.confidence)} confidence",
        ),
        Tile("Exceedances", view.count(verdict.exceedances), f"{events}, of {view.count(verdict.due)} due on {where}"),
        Tile(
            "p of an exceedance, at most",
            view.probability(verdict.p_upper),
            f"{rate}at least {view.probability(verdict.p_lower)} ({where})",
        ),
    ]
    if (needed := view.needed(verdict)) is not None:
        tiles.append(
            Tile(
                "Needed for an answer",
                view.span(needed.duration_s),
                f"{view.count(needed.n)} activations per lane with no further exceedance",
            )
        )
    if verdict.safety_factor is not None:
        tiles.append(Tile("Safety factor", view.factor(verdict.safety_factor), view.SAFETY_CAVEAT))
    return tiles


_LANE_WORDS = (
    ("state", "State"),
    ("due", "Due"),
    ("exceedances", "Exceedances"),
    ("events", "Events"),
    ("p_lower", "p lower"),
    ("p_upper", "p upper"),
    ("rate_upper_per_h", "Events/h upper"),
    ("safety_factor", "Safety factor"),
)


def _verdict_lanes(findings: Findings, verdict: Verdict | None) -> Rows | None:
    """The verdict of every lane, of the columns that analysis gives."""
    if verdict is None or len(verdict.lanes) < 2:
        return None
    columns = [(key, words) for key, words in _LANE_WORDS if any(key in lane for lane in verdict.lanes)]
    rows = []
    for lane in verdict.lanes:
        name = lane.get("name", lane.get("lane"))
        rows.append((view.label_of(findings, name), *(_lane_value(key, lane.get(key)) for key, _ in columns)))
    return Rows(("Lane", *(words for _, words in columns)), rows)


def _lane_value(key: str, value: Any) -> str:
    if value is None:
        return "-"
    if key.startswith("p_"):
        return view.probability(value)
    if isinstance(value, float):
        return view.rate(value)
    return view.count(value) if isinstance(value, int) else view.describe(value, 60)


def _plots(findings: Findings, recording: Recording) -> dict[str, Any]:
    labels = view.lane_labels(findings)
    places = view.digits(findings)
    maxima = [view.us(lane.max_ns, places) for lane in findings.lanes]
    typical = next((q.value_ns for q in findings.pooled.quantiles if q.q == 0.99), None) or 100_000
    judged = series.judged_lane(findings, recording)
    bin_unit = series.bin_unit_ns(findings, typical)
    unit, histogram = series.histogram_lines(recording, bin_unit)
    envelope = series.envelopes(recording)
    spots, left_out = series.marks(recording)
    shown = sum(len(lane["t"]) for lane in spots)
    verdict = findings.verdict
    deadline = verdict.deadline_ns if verdict else recording.manifest.plan.deadline_ns
    data = {
        "labels": labels,
        "maxima": maxima,
        "digits": places,
        "typical_ns": typical,
        "judged": judged,
        "deadline_ns": deadline,
        "p_target": verdict.p_target if verdict else None,
        "histogram": histogram,
        "curves": series.curves(recording, judged),
        "over": [lane.histogram.over for lane in recording.lanes],
        "limit_ns": [lane.histogram.limit_ns for lane in recording.lanes],
        "time": envelope,
        "marks": spots,
        "telemetry": series.telemetry(recording) if envelope else [],
        "worst": [[round(outlier.at_s, 3), format_time(outlier.latency_ns)] for outlier in findings.outliers],
    }
    suppressed = sum(lane.entry.suppressed or 0 for lane in recording.lanes)
    return {
        "data": embed(data),
        "svg": Markup(svg.latency_plot(recording, labels, maxima, typical, bin_unit)),  # svg.py escapes the labels
        "bin_words": svg.unit_words(unit),
        "overflow_words": _overflow_words(recording, labels),
        "judged": labels[judged] if labels else "-",
        "judged_n": view.count(recording.lanes[judged].histogram.total) if recording.lanes else "-",
        "has_time": envelope is not None,
        "step_words": "" if envelope is None else view.span(float(envelope["step"])),
        "marks_shown": view.count(shown),
        "marks_total": view.count(shown + left_out),
        "marks_left_out": left_out,
        "suppressed": view.count(suppressed) if suppressed else "",
    }


def _overflow_words(recording: Recording, labels: list[str]) -> str:
    beyond = []
    for label, lane in zip(labels, recording.lanes, strict=True):
        if lane.histogram.over:
            limit = lane.histogram.limit_ns
            beyond.append(
                f"{lane.histogram.over:,} of {label}" + ("" if limit is None else f" above {format_time(limit)}")
            )
    return f"Overflow, in no bin: {', '.join(beyond)}." if beyond else ""
