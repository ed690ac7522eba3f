"""HTML: one self-contained page; tables readable without JavaScript, plots with it, nothing loaded from anywhere."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from rtassay.model.findings import Findings, Verdict
from rtassay.model.foreign import clean, one_line
from rtassay.model.recording import Recording
from rtassay.model.units import format_time
from rtassay.reports import curves, page, wording
from rtassay.reports.base import JudgedRecording
from rtassay.reports.causes import html as causes_html
from rtassay.reports.causes import outliers as late
from rtassay.reports.page import Rows, Tile
from rtassay.reports.recording import (
    conditions,
    counters,
    drawings,
    jitter,
    load_work,
    noise,
    outliers,
    published,
    reasons,
    recording_text,
    series,
)
from rtassay.reports.recording.answer import answer

_HISTOGRAM_POINTS = 6000  # over all lanes


class HtmlRecording:
    """The page for people: verdict, D*, tables, plots, checks, conditions, how to repeat it. Under 400 kB for any recording."""

    name = "recording.html"
    suffix = ".html"
    summary = "self-contained page with plots"

    def render(self, subject: JudgedRecording) -> bytes:
        findings, recording, against = subject.findings, subject.recording, subject.published
        given = {
            "against": None if against is None else Rows(published.COLUMNS, published.rows(against)),
            "against_title": "" if against is None else published.title(against),
            "against_caveat": published.CAVEAT,
            "causes": None if subject.causes is None else causes_html.section(subject.causes, recording),
            **_words(findings, recording),
            **_plots(findings, recording),
        }
        return page.render("recording.html.j2", ("report.css", "causes.css"), given)


def _words(findings: Findings, recording: Recording) -> dict[str, Any]:
    verdict = findings.verdict
    return {
        "id": one_line(findings.id, 80),
        "called": one_line(findings.called or "", 100),
        "board": recording_text.board(findings, 80),
        "kernel": one_line(findings.kernel, 120) if findings.kernel else None,
        "load": one_line(findings.load, 120),
        "duration": "duration not known" if findings.duration_s is None else wording.span(findings.duration_s),
        "lane_count": len(findings.lanes),
        "started": one_line(recording_text.started(recording.manifest, findings.created) or "", 60),
        "sealed": findings.sealed,
        "state": recording_text.state(findings),
        "tone": wording.TONES.get(recording_text.state(findings), "none"),
        "icon": wording.ICONS.get(recording_text.state(findings), "–"),
        "answer": answer(findings, recording),
        "sentence": recording_text.sentence(findings) if verdict else "",
        "reasons": [reasons.words(reason) for reason in verdict.reasons] if verdict else [],
        "tiles": _tiles(findings, recording),
        "verdict_lanes": _verdict_lanes(findings, verdict),
        "table": recording_text.lane_table(findings),
        "lanes_title": recording_text.lanes_title(findings),
        "wakes": recording_text.wakes(findings),
        "due_table": recording_text.lane_table(findings, due=True) if recording_text.has_due_view(findings) else None,
        "notes": conditions.notes(findings, recording),
        "check_summary": recording_text.check_summary(findings),
        "checks_shown": recording_text.told_checks(findings),
        "checks_unlooked": recording_text.unlooked(findings),
        "checks_passed": [check for check in findings.checks if check.severity == "pass" and check.waived is None],
        "outliers": outliers.rows(findings, watched=bool(recording.telemetry)),
        "outlier_columns": outliers.COLUMNS,
        "jitter": jitter.rows(findings),
        "jitter_columns": jitter.COLUMNS,
        "jitter_note": jitter.CAVEAT if jitter.rows(findings) else jitter.NOT_KNOWN,
        "noise": noise.in_words(findings, recording),
        "gaps": noise.rows(findings, recording),
        "gap_columns": noise.COLUMNS,
        "counters": counters.rows(findings),
        "counter_columns": counters.COLUMNS,
        "counter_caveat": counters.CAVEAT,
        "outlier_caveat": outliers.CAVEAT,
        "conditions": conditions.conditions(findings, recording),
        "labels": wording.pairs(findings.labels.items()),
        "note": clean(findings.note) if findings.note else None,
        "damage": conditions.damage_rows(recording),
        "plan": conditions.plan_rows(recording),
        "loads": load_work.rows(recording),
        "load_columns": load_work.COLUMNS,
        "load_parts": load_work.part_rows(recording),
        "load_part_columns": load_work.PART_COLUMNS,
        "monitors": conditions.monitor_rows(recording),
        "inventory": conditions.inventory_rows(recording),
        "commands": conditions.commands(findings, recording),
        "versions": conditions.version_rows(findings, recording),
    }


def _tiles(findings: Findings, recording: Recording) -> list[Tile]:
    verdict = findings.verdict
    lane = recording_text.demonstrated(findings)
    tiles = []
    if lane is not None:
        deadline = lane.demonstrated.deadline_ns
        sure = wording.percent(recording_text.confidence(findings, recording))
        where = recording_text.label_of(findings, lane.name)
        why = f"smallest deadline these data demonstrate for {recording_text.star_is_for(lane)} at {sure} confidence, decided by {where}"
        if deadline is None:
            why = f"no deadline is demonstrated for {recording_text.star_is_for(lane)} at {sure} confidence: {recording_text.no_demonstration(lane)} ({where})"
        tiles.append(
            Tile(
                "D*, demonstrated deadline",
                "none" if deadline is None else wording.spaced(deadline),
                why + recording_text.trust(findings),
            )
        )
    if verdict is not None:
        tiles += _verdict_tiles(findings, verdict)
    missions = recording_text.new_record(findings)
    if missions:
        (time, chance), *rest = missions
        why = f"in the next {time} without any change" + "".join(f"; {other} in {span}" for span, other in rest)
        tiles.append(Tile("A new maximum", chance, why))
    return tiles


def _verdict_tiles(findings: Findings, verdict: Verdict) -> list[Tile]:
    where = recording_text.label_of(findings, verdict.lane)
    rate = (
        ""
        if verdict.rate_upper_per_h is None
        else f"at most {wording.rate(verdict.rate_upper_per_h)} events per hour; "
    )
    events = "order not known" if verdict.events is None else f"in {wording.count(verdict.events)} independent events"
    tiles = [
        Tile(
            "Requirement",
            wording.spaced(verdict.deadline_ns),
            f"{recording_text.misses_allowed(verdict)}, {wording.percent(verdict.confidence)} confidence{recording_text.at_look(verdict)}",
        ),
        Tile(
            "Exceedances",
            wording.count(verdict.exceedances),
            f"{events}, of {wording.count(verdict.due)} due on {where}",
        ),
        Tile(
            "p of an exceedance, at most",
            wording.probability(verdict.p_upper),
            f"{rate}at least {wording.probability(verdict.p_lower)} ({where})",
        ),
    ]
    if (needed := recording_text.needed(verdict)) is not None:
        tiles.append(
            Tile(
                "Needed for an answer",
                wording.span(needed.duration_s),
                f"{wording.count(needed.n)} activations per lane with no further exceedance",
            )
        )
    if verdict.safety_factor is not None:
        tiles.append(Tile("Safety factor", wording.factor(verdict.safety_factor), recording_text.SAFETY_CAVEAT))
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
        rows.append((recording_text.label_of(findings, name), *(_lane_value(key, lane.get(key)) for key, _ in columns)))
    return Rows(("Lane", *(words for _, words in columns)), rows)


def _lane_value(key: str, value: Any) -> str:
    if value is None:
        return "-"
    if key.startswith("p_"):
        return wording.probability(value)
    if isinstance(value, float):
        return wording.rate(value)
    return wording.count(value) if isinstance(value, int) else wording.describe(value, 60)


def _plots(findings: Findings, recording: Recording) -> dict[str, Any]:
    labels = recording_text.lane_labels(findings)
    places = recording_text.digits(findings)
    maxima = [wording.us(lane.max_ns, places) for lane in findings.lanes]
    typical = next((q.value_ns for q in findings.pooled.quantiles if q.q == 0.99), None) or 100_000
    judged = series.judged_lane(findings, recording)
    bin_unit = series.bin_unit_ns(findings, typical)
    unit, histogram = curves.histogram_lines([lane.histogram for lane in recording.lanes], bin_unit, _HISTOGRAM_POINTS)
    whole = series.both_parts(recording)
    envelope = series.envelopes(whole)
    spots, left_out = series.marks(whole)
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
        "hits": late.moments(recording),
        "telemetry": series.telemetry(recording, outliers.monitors(findings)) if envelope else [],
        "worst": [
            [round(worst.at_s, 3), worst.latency_ns, _place(findings, worst.lane)] for worst in findings.outliers
        ],
    }
    # Where every sample was kept, nothing is lost by what the probe did not send twice.
    suppressed = 0 if recording.manifest.has_samples else sum(lane.entry.suppressed or 0 for lane in recording.lanes)
    return {
        "data": page.plot_data(data),
        "svg": Markup(
            drawings.latency_plot(recording, labels, maxima, typical, bin_unit)
        ),  # drawings.py escapes the labels
        "bin_words": curves.unit_words(unit),
        "overflow_words": _overflow_words(recording, labels),
        "judged": labels[judged] if labels else "-",
        "judged_n": wording.count(recording.lanes[judged].histogram.total) if recording.lanes else "-",
        "has_plots": True,
        "has_time": envelope is not None,
        "step_words": "" if envelope is None else wording.span(float(envelope["step"])),
        "marks_shown": wording.count(shown),
        "marks_total": wording.count(shown + left_out),
        "marks_left_out": left_out,
        "suppressed": wording.count(suppressed) if suppressed else "",
    }


def _place(findings: Findings, lane: str | None) -> int:
    """Index of a lane by its name, so that the page can give it the lane's colour."""
    return next((index for index, found in enumerate(findings.lanes) if found.name == lane), 0)


def _overflow_words(recording: Recording, labels: list[str]) -> str:
    beyond = []
    for label, lane in zip(labels, recording.lanes, strict=True):
        if lane.histogram.over:
            limit = lane.histogram.limit_ns
            beyond.append(
                f"{lane.histogram.over:,} of {label}" + ("" if limit is None else f" above {format_time(limit)}")
            )
    return f"Overflow, in no bin: {', '.join(beyond)}." if beyond else ""
