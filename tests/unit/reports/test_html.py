"""The HTML page: well-formed, complete, small, closed to the outside, and safe whatever the labels say."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import examples
import numpy as np
import pytest
from test_text_formats import empty_example

from rtassay.model import warnings
from rtassay.model.findings import CHECK, CheckResult, Coincidence, Outlier, Reason
from rtassay.model.manifest import MonitorEntry, RunWarning
from rtassay.model.recording import Series
from rtassay.reports import severities, wording
from rtassay.reports.base import JudgedRecording
from rtassay.reports.page import embed
from rtassay.reports.recording import conditions, drawings, load_work, outliers, recording_text
from rtassay.reports.recording.html import HtmlRecording

EXAMPLES = examples.EXAMPLES
ALL = pytest.mark.parametrize("name", sorted(EXAMPLES))
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Checks nesting while it reads; keeps table rows, texts by element, attributes and script contents."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.rows, self.tags, self.scripts, self.text = [], [], [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID and tag != "path":
            self.open.append(tag)
        elif tag == "path":
            assert self.open[-1] == "svg"
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag in ("script", "style"):
            self.scripts.append((tag, dict(attrs), ""))

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            tag, attrs, text = self.scripts[-1]
            self.scripts[-1] = (tag, attrs, text + data)
            return
        self.text.append(data)
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += ("\n" if self.open[-1] == "small" else "") + data

    @property
    def data(self):
        return json.loads(next(text for _, attrs, text in self.scripts if attrs.get("id") == "data"))


def page_of(pair):
    html = HtmlRecording().render(JudgedRecording(*pair)).decode()
    assert html.startswith("<!doctype html>")
    return Page(html), html


@ALL
def test_every_number_of_the_lane_table_is_the_findings_own(name):
    findings, recording = EXAMPLES[name]
    page, _ = page_of((findings, recording))
    places = recording_text.digits(findings)
    head = next(row for row in page.rows if row[:2] == ["Lane", "Total"])
    start = page.rows.index(head) + 1

    def number(text):
        return None if text == "-" else float(text.replace(",", ""))

    def same(text, value):
        assert number(text) == (None if value is None else pytest.approx(value / 1000, abs=0.5 * 10**-places + 1e-9))

    for row, lane in zip(page.rows[start:], (*findings.lanes, findings.pooled), strict=False):
        cells = dict(zip(head, row, strict=True))
        assert number(cells["Total"]) == lane.n
        same(cells["Min"], lane.min_ns)
        same(cells["Avg"], lane.mean_ns)
        same(cells["Max"], lane.max_ns)
        for column, value in (("Missed", lane.missed), ("Dropped", lane.dropped), ("Truncated", lane.truncated)):
            assert number(cells[column]) == value
        for quantile in lane.quantiles:
            cell = cells.get(wording.quantile_name(quantile.q))
            if cell is None:
                assert quantile.q > 0.999999 and quantile.bound == "at_least"
            elif quantile.bound == "at_least":
                assert cell.startswith("≥ ")
                same(cell[2:], quantile.value_ns)
            else:
                value, low, high = re.fullmatch(r"(\S+)\n\[(\S+), (∞\)|\S+\])", cell).groups()
                same(value, quantile.value_ns)
                same(low, quantile.lo_ns)
                assert (high == "∞)") == (quantile.hi_ns is None)
                if quantile.hi_ns is not None:
                    same(high[:-1], quantile.hi_ns)


def test_both_views_where_activations_were_missed_and_only_there():
    page, _ = page_of(EXAMPLES["violated"])
    due = next(i for i, row in enumerate(page.rows) if row[:3] == ["Lane", "Due", "Missed"])
    findings = EXAMPLES["violated"][0]
    for row, lane in zip(page.rows[due + 1 :], findings.lanes, strict=False):
        assert row[1:3] == [f"{lane.due:,}", f"{lane.missed:,}"]
        chosen = (lane.quantiles_due or lane.quantiles)[5]
        assert row[8].split("\n")[0] == wording.us(chosen.value_ns, recording_text.digits(findings))
    assert not any(row[:2] == ["Lane", "Due"] for row in page_of(EXAMPLES["holds"])[0].rows)


@ALL
def test_verdict_checks_conditions_and_commands_are_there(name):
    findings, recording = EXAMPLES[name]
    page, _ = page_of((findings, recording))
    text = " ".join(page.text)
    assert recording_text.state(findings) in text
    assert recording_text.sentence(findings) in text
    shown = [row for row in page.rows if len(row) == 3 and row[0] in ("invalid", "warning", "note", "unknown", "pass")]
    assert [tuple(row) for row in shown] == [
        (c.severity, c.id, c.message) for c in severities.by_severity(findings.checks)
    ]
    for key, value in conditions.conditions(findings, recording):
        assert [key, value] in page.rows
    for row in [
        *conditions.plan_rows(recording),
        *load_work.rows(recording),
        *conditions.damage_rows(recording),
        *conditions.inventory_rows(recording),
    ]:
        assert list(row) in page.rows
    for _, command in conditions.commands(findings, recording):
        assert command in text
    for label, lane in zip(recording_text.lane_labels(findings), findings.lanes, strict=True):
        assert f"{label} max {wording.us(lane.max_ns, recording_text.digits(findings))} us" in text


@ALL
def test_nothing_is_loaded_and_the_policy_matches_what_is_inlined(name):
    page, html = page_of(EXAMPLES[name])
    policy = next(
        a["content"] for tag, a in page.tags if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none';")
    for tag, attrs, text in page.scripts:
        if attrs.get("type") == "application/json":
            continue
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src" in policy.replace("script-src", "script-src") and f"'sha256-{digest}'" in policy
        assert set(attrs) == set()
    for tag, attrs in page.tags:
        assert not {"src", "style", "srcset", "action"} & set(attrs), (tag, attrs)
        assert not any(key.startswith("on") for key in attrs)
        assert attrs.get("href", "#").startswith(("#", "data:,"))
    assert "@import" not in html and "url(" not in re.sub(r"<script>.*?</script>", "", html, flags=re.S)


@ALL
def test_plot_data_agree_with_the_recording(name):
    findings, recording = EXAMPLES[name]
    data = page_of((findings, recording))[0].data
    for lane, bins, curve in zip(recording.lanes, data["histogram"], data["curves"], strict=True):
        assert sum(bins["n"]) == int(lane.histogram.counts.sum())
        assert curve["k"][0] == lane.entry.n - lane.histogram.under
        assert sum(curve["x"]) == int(lane.histogram.lower_ns[-1])
    assert data["deadline_ns"] == (findings.verdict.deadline_ns if findings.verdict else None)
    assert (data["time"] is None) == (recording.lanes[0].seconds is None)


@ALL
def test_typical_pages_are_small(name):
    assert len(page_of(EXAMPLES[name])[1].encode()) < 300_000


def test_a_page_for_1e9_samples_stays_under_400_kb():
    findings, recording = examples.huge()
    assert sum(lane.n for lane in findings.lanes) >= 1_000_000_000
    page, html = page_of((findings, recording))
    assert len(html.encode()) < 400_000
    assert "600 highest of 80,000 are drawn" in " ".join(" ".join(page.text).split())
    for lane, bins in zip(recording.lanes, page.data["histogram"], strict=True):
        assert sum(bins["n"]) == lane.entry.n


def test_64_lanes_of_a_day_stay_under_400_kb():
    findings, recording = examples.huge()
    entries = [replace(recording.lanes[i % 4].entry, name=f"cpu{i}", cpu=i, index=i) for i in range(64)]
    recording = replace(recording, lanes=tuple(replace(recording.lanes[i % 4], entry=entries[i]) for i in range(64)))
    findings = replace(findings, lanes=tuple(replace(findings.lanes[i % 4], name=f"cpu{i}", cpu=i) for i in range(64)))
    assert len(page_of((findings, recording))[1].encode()) < 400_000


HOSTILE = "</script><img src=x onerror=alert(1)><!-- \u2028 \u2029 ]]> {{ 7*7 }} ${1} \"' & \u202e \x00 \ud800"


def test_an_hour_of_all_monitors_and_many_threads_stays_under_400_kb():
    findings, recording = examples.holds()
    rng, seconds = np.random.default_rng(4), 3600
    origin = recording.lanes[0].entry.first_due_ns
    times = origin + np.arange(seconds, dtype=np.int64) * 10**9

    def row(monitor, name, unit):
        return Series(monitor, name, unit, times, rng.random(seconds) * 1e5)

    units = {
        "cpu": "ratio",
        "threads": "ratio",
        "interrupts": "1/s",
        "softirqs": "1/s",
        "temperature": "degC",
        "frequency": "Hz",
    }
    units |= {
        "switches": "1/s",
        "memory": "B",
        "pressure": "ratio",
        "cooling": "1",
        "raspberry": "1",
        "clock": "ns",
        "load": "CPUs",
    }
    many = tuple(row(monitor, f"cpu{i}.{monitor}", unit) for monitor, unit in units.items() for i in range(40))
    page = page_of((findings, replace(recording, telemetry=many)))[1]
    assert len(page.encode()) < 400_000


def test_what_broke_it_and_what_was_watched_is_told():
    findings, recording = examples.holds()
    hog = Coincidence("threads", "hog[7].busy", "ratio", 0.3, 0.002, 0, 40)
    came = Coincidence("threads", "storm[8].priority", "1", 95.0, 0.0, 0, 40)
    far = Coincidence("interrupts", "cpu1.RES", "1/s", 900.0, 10.0, 1, 40)
    lane = findings.lanes[0]
    moments = [
        Outlier(lane.name, 0, 7.25, 900_000, 0, (), (far,), ()),
        Outlier(lane.name, 0, 3.5, 800_000, 1, (), (hog, came), ("RT throttling activated",)),
    ]
    told = outliers.in_words(replace(findings, outliers=tuple(moments)))
    assert told == (
        "900us on CPU0 at 7.2 s, no reading of the monitors stood out; "
        "800us on CPU0 at 3.5 s, with threads hog[7].busy 30%, usually 0.2% (never else as high)"
    )
    assert outliers.in_words(replace(findings, outliers=(replace(moments[1], coincidences=(came,)),))) == (
        "800us on CPU0 at 3.5 s, with a new real-time thread, storm[8] of priority 95"
    )
    assert outliers.in_words(replace(findings, outliers=(moments[0],))) is None
    monitors = {
        "cpu": MonitorEntry("watched", readings=1200),
        "kernel-log": MonitorEntry("watched"),
        "firmware": MonitorEntry("no readings", why="what was read told nothing"),
        "cooling": MonitorEntry("not available", why="nothing there"),
        "raspberry": MonitorEntry("not available", why="nothing there"),
    }
    watched = replace(recording, manifest=replace(recording.manifest, monitors=monitors))
    assert conditions.monitor_rows(watched) == [
        ("cpu", "watched: 1,200 readings"),
        ("kernel-log", "watched"),
        ("firmware", "no readings (what was read told nothing)"),
        ("not available on this board", "cooling, raspberry"),
    ]
    page, _ = page_of((replace(findings, outliers=tuple(moments)), watched))
    text = " ".join(" ".join(page.text).split())
    assert "hog[7].busy 30%" in text and "no readings (what was read told nothing)" in text
    assert "kernel log: RT throttling activated" in text


def hostile_example():
    """Every text that comes from outside is an attack."""
    findings, recording = examples.violated()
    manifest = recording.manifest
    lanes = tuple(replace(lane, name=HOSTILE + str(i), cpu=None) for i, lane in enumerate(findings.lanes))
    verdict = replace(
        findings.verdict,
        sentence=HOSTILE,
        reasons=(Reason(CHECK, {"id": HOSTILE, "message": HOSTILE}),),
        lane=HOSTILE + "0",
        lanes=({"name": HOSTILE + "0", "state": HOSTILE}, {"name": HOSTILE, "state": "HOLDS", "p_upper": 1e-6}),
    )
    findings = replace(
        findings,
        board=HOSTILE,
        kernel=HOSTILE,
        load=HOSTILE,
        labels={HOSTILE: HOSTILE},
        note=HOSTILE,
        command=HOSTILE,
        id=HOSTILE,
        cyclictest_equivalent=HOSTILE,
        end_reason=HOSTILE,
        lanes=lanes,
        verdict=verdict,
        created=HOSTILE,
        source=dict.fromkeys(findings.source, HOSTILE),
        checks=(CheckResult("BAD", "warning", "optimism", HOSTILE),),
    )
    manifest = replace(
        manifest,
        inventory={HOSTILE: HOSTILE},
        tool_versions={HOSTILE: HOSTILE},
        wall_start=HOSTILE,
        warnings=(RunWarning(warnings.END_NOT_READ, None, {"error": HOSTILE}), RunWarning(HOSTILE)),
        plan=replace(manifest.plan, command=(HOSTILE,)),
        facts=dict(manifest.facts, fallback=HOSTILE),
        loads=tuple(
            replace(load, name=HOSTILE, argv=(HOSTILE,), error=HOSTILE, operations_unit=HOSTILE)
            for load in manifest.loads
        ),
    )
    telemetry = tuple(replace(s, name=HOSTILE, monitor=HOSTILE, unit=HOSTILE) for s in recording.telemetry)
    entries = tuple(
        replace(lane, entry=replace(lane.entry, name=HOSTILE + str(i), cpu=None))
        for i, lane in enumerate(recording.lanes)
    )
    return findings, replace(recording, manifest=manifest, telemetry=telemetry, lanes=entries)


def test_hostile_text_stays_text():
    page, html = page_of(hostile_example())
    assert [tag for tag, _ in page.tags].count("script") == 3
    assert not any(tag == "img" for tag, _ in page.tags)
    assert "{{ 7*7 }}" in html and "\u2028" not in html and "\x00" not in html and "\u202e" not in html
    embedded = next(text for _, attrs, text in page.scripts if attrs.get("id") == "data")
    assert not re.search(r"[<>&\u2028\u2029]", embedded)
    assert page.data["labels"][0].startswith("</script>")


def test_embed_round_trips():
    text = HOSTILE + "<!--<script>"
    assert json.loads(str(embed({"a": text}))) == {"a": text}
    with pytest.raises(ValueError, match="not JSON compliant"):
        embed(float("nan"))


def test_long_text_is_cut_and_says_so():
    findings, recording = examples.holds()
    _, html = page_of((replace(findings, note="x" * 1_000_000), recording))
    assert "(996,000 more characters)" in html and len(html) < 300_000


def test_a_lane_without_a_sample_and_no_lane_at_all():
    findings, recording = empty_example()
    page_of((findings, recording))
    page_of((replace(findings, lanes=()), replace(recording, lanes=())))


def test_a_page_of_findings_as_analysis_makes_them():
    from rtassay.analysis.judge import judge

    recording = examples.violated()[1]
    findings = judge(recording, deadline_ns=100_000, p_target=1e-6)
    page, _ = page_of((findings, recording))
    lanes = [row for row in page.rows if len(row) > 2 and row[1] in ("VIOLATED", "NOT DEMONSTRATED", "HOLDS")]
    assert [row[:2] for row in lanes] == [[f"CPU{lane['cpu']}", lane["state"]] for lane in findings.verdict.lanes]
    assert [row[3] for row in lanes] == [f"{lane['exceedances']:,}" for lane in findings.verdict.lanes]
    shown = [
        row[1] for row in page.rows if len(row) == 3 and row[0] in ("invalid", "warning", "note", "unknown", "pass")
    ]
    assert sorted(shown) == sorted(check.id for check in findings.checks)


def test_same_input_same_bytes():
    assert HtmlRecording().render(JudgedRecording(*EXAMPLES["holds"])) == HtmlRecording().render(
        JudgedRecording(*EXAMPLES["holds"])
    )


def test_counts_above_a_billion_are_powers_of_ten_on_the_axis():
    recording = EXAMPLES["holds"][1]
    lane = recording.lanes[0]
    many = replace(lane, histogram=replace(lane.histogram, counts=lane.histogram.counts * 10**6))
    drawn = drawings.latency_plot(replace(recording, lanes=(many,)), ["CPU0"], ["1"], 5_000, 1_000)
    top = int(many.histogram.counts.max())
    assert top > 10**9
    assert ">10⁹<" in drawn and ">10⁶<" in drawn and ">100,000<" in drawn and ">1<" in drawn
    assert "000M" not in drawn and "000,000" not in drawn
