"""Importers of rtla, oslat, rteval, OSADL, HdrHistogram, CSV and Parquet: what each keeps, calls by its name, and refuses where."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rtassay import store
from rtassay.analysis.judge import judge
from rtassay.cli.import_files import recognise
from rtassay.model import rooms
from rtassay.model.errors import InputFileError, UsageError
from rtassay.model.events import End, Facts, HistogramPart, Samples
from rtassay.model.recording import Recording

DATA = Path(__file__).parents[3] / "tests" / "data" / "importers"
FORMATS = {
    "rtla-timerlat": "three-columns.ok.txt",
    "rtla-osnoise": "buckets-of-10.ok.txt",
    "oslat": "rt-tests-2.40.ok.txt",
    "rteval": "cyclictest.ok.xml",
    "osadl": "maximum-beyond.ok.json",
    "hgrm": "wrk2-style_us.ok.hgrm",
    "table": "two-cpus.ok.csv",
    "parquet": "two-cpus.ok.parquet",
}
UNITS = {"hgrm": {"unit": "us"}}


def member(name: str, **options: str) -> Any:
    return rooms.load("importers", name)(**(UNITS.get(name, {}) | options))


def events(name: str, path: Path, **options: str) -> tuple[dict[str, Any], list[Any], dict[str, Any]]:
    """FACTS, the data events, END."""
    found = list(member(name, **options).read(path))
    (facts,) = [event.data for event in found if isinstance(event, Facts)]
    assert isinstance(found[-1], End)
    return facts, [event for event in found if isinstance(event, HistogramPart | Samples)], found[-1].data


def of(name: str, file: str) -> tuple[dict[str, Any], list[Any], dict[str, Any]]:
    return events(name, DATA / name / file)


def bins(part: HistogramPart) -> dict[int, int]:
    return dict(zip(part.lower_ns.tolist(), part.counts.tolist(), strict=True))


def recorded(name: str, path: Path, home: Path, **options: str) -> Recording:
    made = member(name, **options)
    return store.open_recording(store.import_events(home, path, made.source(path), made.read(path)), verify=True)


# --- what the numbers are


def test_lanes_of_files_say_what_they_measure() -> None:
    measured = {name: {lane["measure"] for lane in of(name, file)[0]["lanes"]} for name, file in FORMATS.items()}
    assert measured == {
        "rtla-timerlat": {"timer-irq", "timer-thread", "timer-user"},
        "rtla-osnoise": {"noise"},
        "oslat": {"stall"},
        "rteval": {"wake-up"},
        "osadl": {"wake-up"},
        "hgrm": {"unknown"},
        "table": {"unknown"},
        "parquet": {"unknown"},
    }


@pytest.mark.parametrize("name", ["hgrm", "table", "parquet"])
def test_a_person_says_what_a_bare_file_measures(name: str) -> None:
    facts, _, _ = events(name, DATA / name / FORMATS[name], measure="response:signal")
    assert {lane["measure"] for lane in facts["lanes"]} == {"response:signal"}
    with pytest.raises(UsageError, match="no measure 'lateness'"):
        member(name, measure="lateness")


# --- rtla


def test_rtla_keeps_irq_thread_and_user_apart() -> None:
    facts, parts, end = of("rtla-timerlat", "three-columns.ok.txt")
    names = [lane["name"] for lane in facts["lanes"]]
    assert names == ["cpu0 irq", "cpu0 thread", "cpu0 user", "cpu2 irq", "cpu2 thread", "cpu2 user"]
    assert [lane["cpu"] for lane in facts["lanes"]] == [0, 0, 0, 2, 2, 2]
    assert [lane["measure"] for lane in facts["lanes"]] == ["timer-irq", "timer-thread", "timer-user"] * 2
    assert bins(parts[0])[0] == 943 and bins(parts[3])[0] == 483 and bins(parts[1])[0] == 1
    assert [row["over"] for row in end["lanes"]] == [0, 1, 1, 0, 0, 0] and end["lanes"][1]["max_ns"] == 301_000
    assert parts[1].limit_ns == 21_000 and end["mono_ns"] == 3_000_000_000
    assert facts["import"]["missed_events"] and any("not be accurate" in text for text in facts["import"]["caveats"])


def test_rtla_is_pooled_over_its_threads_only(tmp_path: Path) -> None:
    made = recorded("rtla-timerlat", DATA / "rtla-timerlat" / "three-columns.ok.txt", tmp_path)
    findings = judge(made, deadline_ns=100_000)
    assert findings.pooled.n == 3001 + 3000 and findings.pooled.max_ns == 301_000 and len(findings.lanes) == 6
    checks = {check.id: check for check in findings.checks}
    assert checks["MIXED-MEASURES"].severity == "note" and checks["SELF-INTERFERENCE"].severity == "pass"
    assert made.manifest.source.late_policy == "skip"


def test_rtla_without_summary_knows_its_overflow_but_no_maximum() -> None:
    facts, _, end = of("rtla-timerlat", "no-summary.ok.txt")
    assert [row["over"] for row in end["lanes"]] == [0] * 4 and all(row["max_ns"] is None for row in end["lanes"])
    assert facts["import"]["trailer"] is False


def test_rtla_all_block_and_counts_are_held_against_the_columns(tmp_path: Path) -> None:
    text = (DATA / "rtla-timerlat" / "three-columns.ok.txt").read_text()
    file = tmp_path / "f.txt"
    file.write_text(text.replace("count:     6000      6001      6001", "count:     6000      6002      6001"))
    facts, _, _ = events("rtla-timerlat", file)
    assert facts["import"]["inconsistent"] == ["ALL: counts 6002 of Thr, the columns add up to 6001"]
    file.write_text(text.replace("count:     3000      3001 ", "count:     3000      3009 "))
    assert any("cpu0 thread" in said for said in events("rtla-timerlat", file)[0]["import"]["inconsistent"])


def test_rtla_in_ns_and_with_wide_buckets(tmp_path: Path) -> None:
    file = tmp_path / "f.txt"
    file.write_text(
        "# RTLA timerlat histogram\n# Time unit is nanoseconds (ns)\n# Duration:   0 00:00:05\nIndex   Thr-001\n"
        "4000          3 \n6000          1 \nover:         0 \ncount:        4 \nmin:       4100 \navg:       4600 \nmax:       6700 \n"
    )
    facts, (part,), end = events("rtla-timerlat", file)
    assert bins(part) == {4000: 3, 6000: 1} and facts["bin_width_ns"] == 2000 and end["lanes"][0]["min_ns"] == 4100
    assert "inconsistent" not in facts["import"]


def test_osnoise_is_noise(tmp_path: Path) -> None:
    made = recorded("rtla-osnoise", DATA / "rtla-osnoise" / "buckets-of-10.ok.txt", tmp_path)
    findings = judge(made, deadline_ns=10_000_000, p_target=0.1)
    mixed = next(check for check in findings.checks if check.id == "MIXED-MEASURES")
    assert mixed.severity == "warning" and findings.verdict is not None and findings.verdict.state == "NOT DEMONSTRATED"
    assert made.manifest.bin_width_ns == 10_000


# --- oslat


def test_the_last_bucket_of_oslat_is_overflow() -> None:
    facts, parts, end = of("oslat", "rt-tests-2.40.ok.txt")
    first = end["lanes"][0]
    assert (first["over"], first["n"], first["max_ns"]) == (775, 31_132_684, 20_030_000) and parts[0].limit_ns == 32_000
    assert 32_000 not in bins(parts[0]) and {lane["measure"] for lane in facts["lanes"]} == {"stall"}


def test_oslat_whose_maximum_lies_in_the_last_bucket_has_no_overflow(tmp_path: Path) -> None:
    text = (DATA / "oslat" / "rt-tests-2.40.ok.txt").read_text()
    file = tmp_path / "f.txt"
    file.write_text(text.replace("Maximum:\t 20030 16027", "Maximum:\t 32 16027"))
    _, parts, end = events("oslat", file)
    assert [row["over"] for row in end["lanes"]] == [0, 814] and bins(parts[0])[32_000] == 775


def test_oslat_json_takes_the_last_bucket_from_the_command_line(tmp_path: Path) -> None:
    facts, parts, end = of("oslat", "rt-tests-2.40.ok.json")
    assert [row["over"] for row in end["lanes"]] == [1533, 1673] and parts[0].limit_ns == 8_000
    assert (
        facts["kernel"]["release"] == "6.18.44-fc-v669"
        and member("oslat").source(DATA / "oslat" / "rt-tests-2.40.ok.json").version == "2.40"
    )
    data = json.loads((DATA / "oslat" / "rt-tests-2.40.ok.json").read_text())
    data["thread"]["0"]["max"] = float("nan")
    file = tmp_path / "nan.json"
    file.write_text(json.dumps(data))
    assert events("oslat", file)[2]["lanes"][0]["max_ns"] is None


# --- rteval


def test_rteval_timerlat_is_a_mixture_of_unknown_maximum(tmp_path: Path) -> None:
    made = recorded("rteval", DATA / "rteval" / "timerlat.ok.xml", tmp_path)
    findings = judge(made, deadline_ns=1_000_000)
    severity = {check.id: check.severity for check in findings.checks}
    assert severity["MIXED-MEASURES"] == "invalid" and severity["HIST-TRUNCATED"] == "unknown"
    assert all(lane.entry.max_ns is None and lane.entry.over is None for lane in made.lanes)
    assert any("over:" in text for text in made.manifest.facts["import"]["caveats"])


def test_a_real_summary_of_rteval_keeps_the_histogram_and_doubts_the_median_it_states(tmp_path: Path) -> None:
    """It states a median of 0.0 us under a minimum of 10 us: ours is of the histogram, and the file's is named."""
    made = recorded("rteval", DATA / "rteval" / "rteval-3.1.ok.xml", tmp_path)
    lanes = {lane.entry.name: lane for lane in made.lanes}
    assert {name: (lane.entry.n, lane.entry.min_ns, lane.entry.max_ns) for name, lane in lanes.items()} == {
        "cpu1": (81_446, 10_000, 1_995_000),
        "cpu0": (81_173, 10_000, 1_899_000),
    }
    findings = judge(made)
    medians = {lane.name: next(q.value_ns for q in lane.quantiles if q.q == 0.5) for lane in findings.lanes}
    assert medians == {"cpu1": 32_000, "cpu0": 32_000}
    (found,) = [check for check in findings.checks if check.id == "SUMMARY-INCONSISTENT"]
    assert (found.severity, found.message.count("median of 0ns lies outside 10us")) == ("note", 2)


def test_rteval_cyclictest_tells_load_kernel_and_time(tmp_path: Path) -> None:
    made = recorded("rteval", DATA / "rteval" / "cyclictest.ok.xml", tmp_path)
    findings = judge(made, deadline_ns=100_000)
    assert (findings.load, findings.kernel, findings.duration_s) == ("kcompile, hackbench", "6.12.9-rt5", 60.0)
    assert (
        made.manifest.plan.priority == 95 and made.manifest.facts["import"]["distribution"] == "Example Linux 9 & more"
    )
    assert {check.id: check.severity for check in findings.checks}["NO-LOAD"] == "pass"


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE rteval SYSTEM "file:///etc/passwd">',
        '<!DOCTYPE rteval [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE rteval [<!ENTITY a "1"><!ENTITY b "&a;&a;">]>',
    ],
)
def test_no_document_type_is_read(declaration: str, tmp_path: Path) -> None:
    file = tmp_path / "summary.xml"
    file.write_text(f"<?xml version='1.0'?>\n{declaration}\n<rteval version='3'>&x;</rteval>")
    with pytest.raises(InputFileError, match=r"summary\.xml:2:\d+: a document type"):
        list(member("rteval").read(file))


def test_lines_that_end_with_a_time_of_day_are_no_rows_of_cyclictest(tmp_path: Path) -> None:
    """A patch in /tmp was imported as a measurement with a maximum of 0."""
    file = tmp_path / "python.patch"
    file.write_text("Date: 12:34:56\n-  2021-09-11 16:50:14\n+  0:00:00\n" * 20)
    with pytest.raises(InputFileError, match="not a format known here"):
        recognise(file, None)
    file.write_text("       0:       1:      12\n[  1.2] console:   0:   2:  -3\n       0:12345678:      12\n")
    assert recognise(file, None) == "cyclictest-verbose"


# --- OSADL


def test_osadl_maxima_stay_apart_from_the_histogram() -> None:
    facts, parts, end = of("osadl", "maximum-beyond.ok.json")
    first, second = end["lanes"]
    assert (first["over"], first["max_ns"], first["n"]) == (0, 9_000, 500)
    assert (second["over"], second["max_ns"], second["n"]) == (1, 57_000, 500) and parts[1].limit_ns == 20_000
    about = facts["import"]
    assert about["over_at_least"] and about["load"] == "moderate" and about["preempt_rt"] is True
    assert facts["interval_ns"] == 200_000 and facts["kernel"] == {"release": "6.12.9-rt5"}


def test_osadl_leaves_out_the_column_with_the_numbers_of_the_classes() -> None:
    """As OSADL's own scripts write it: `microseconds` as granularity, one column more than maxima, numbers as text."""
    facts, parts, end = of("osadl", "index-column.ok.json")
    assert [lane["name"] for lane in facts["lanes"]] == ["core0", "core1"] and facts["bin_width_ns"] == 1_000
    assert [row["n"] for row in end["lanes"]] == [1000, 1000] and [row["over"] for row in end["lanes"]] == [0, 1]
    assert bins(parts[0])[17_000] == 1 and max(bins(parts[0])) == 17_000 and facts["import"]["index_column"]
    assert "inconsistent" not in facts["import"] and facts["interval_ns"] == 200_000


def test_osadl_without_maxima_does_not_claim_that_nothing_lay_beyond() -> None:
    facts, parts, end = of("osadl", "cyclictest-only.ok.json")
    assert [row["n"] for row in end["lanes"]] == [1000, 1000] and [row["over"] for row in end["lanes"]] == [None, None]
    assert len(parts) == 2 and facts["import"]["load"] == "stress CPU"


def test_osadl_knows_the_file_that_describes_the_board_and_asks_for_the_other() -> None:
    path = DATA / "osadl" / "no-histogram.bad.json"
    assert recognise(path, None) == "osadl"
    with pytest.raises(InputFileError, match="describes the board, and holds no histogram"):
        list(member("osadl").read(path))


# --- HdrHistogram


def test_hgrm_places_samples_at_the_upper_row() -> None:
    facts, (part,), end = of("hgrm", "wrk2-style_us.ok.hgrm")
    assert bins(part) == {4003: 2, 8511: 23, 12007: 25, 15503: 25, 40031: 24, 410111: 1}
    assert end["lanes"][0]["over"] is None and end["lanes"][0]["max_ns"] == 410_111
    assert "too high by up to 90%" in facts["import"]["caveats"][0] and facts["import"]["mean_ns"] == 16_102


def test_quantiles_of_hgrm_are_those_of_its_table(tmp_path: Path) -> None:
    path = DATA / "hgrm" / "hdrhistogram-0.10.8_us.ok.hgrm"
    findings = judge(recorded("hgrm", path, tmp_path))
    rows = [line.split() for line in path.read_text().splitlines()[2:] if line and not line.startswith("#")]
    for quantile in findings.lanes[0].quantiles[:4]:
        stated = next(float(value) for value, _, total, *_ in rows if int(total) >= quantile.q * 20002)
        assert quantile.value_ns == round(stated * 1000)


def test_hgrm_needs_a_unit(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="unit of its values"):
        list(rooms.load("importers", "hgrm")().read(DATA / "hgrm" / "wrk2-style_us.ok.hgrm"))
    with pytest.raises(UsageError, match="furlong"):
        member("hgrm", unit="furlong")


# --- CSV and Parquet


def test_csv_by_lane_column_keeps_negative_values() -> None:
    facts, blocks, end = events("table", DATA / "table" / "two-cpus.ok.csv", lane_column="cpu")
    assert [(lane["name"], lane["cpu"]) for lane in facts["lanes"]] == [("0", 0), ("1", 1)]
    assert [row["n"] for row in end["lanes"]] == [200, 200] and end["lanes"][1]["min_ns"] == -250
    assert facts["import"]["negative"] == {"1": 1} and facts["bin_width_ns"] == 10
    assert sum(len(block.latency_ns) for block in blocks) == 400


def test_csv_and_parquet_of_the_same_data_are_the_same(tmp_path: Path) -> None:
    first = recorded("table", DATA / "table" / "two-cpus.ok.csv", tmp_path, lane_column="cpu")
    second = recorded("parquet", DATA / "parquet" / "two-cpus.ok.parquet", tmp_path, lane_column="cpu")
    for a, b in zip(first.lanes, second.lanes, strict=True):
        assert (a.histogram.lower_ns == b.histogram.lower_ns).all() and (a.histogram.counts == b.histogram.counts).all()
        assert a.entry.sum_ns == b.entry.sum_ns


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("v\n1.5\n2\n", "us", [1500, 2000]),
        ("v\n0.0000015\n", "s", [1500]),
        ("v\n12e-1\n-3\n", "ms", [1_200_000, -3_000_000]),
        ("v\n0.4\n0.5\n0.6\n", "ns", [0, 1, 1]),
        ('"v";w\n"7";x\n', "ns", [7]),
        ("v\tw\r\n7\tx\r\n\r\n8\ty\r\n", "ns", [7, 8]),
        ("\ufeff# c\nv\n5\n", "ns", [5]),
    ],
)
def test_units_and_dialects(text: str, unit: str, expected: list[int], tmp_path: Path) -> None:
    file = tmp_path / "f.csv"
    file.write_bytes(text.encode())
    _, blocks, _ = events("table", file, column="v", unit=unit)
    assert [int(v) for block in blocks for v in block.latency_ns] == expected


def test_a_list_without_header_by_number(tmp_path: Path) -> None:
    file = tmp_path / "f.csv"
    file.write_text("1,10\n2,20\n")
    _, (block,), end = events("table", file, column="2", unit="us")
    assert block.latency_ns.tolist() == [10_000, 20_000] and end["lanes"][0]["sum_ns"] == 30_000


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a,latency_us\n1,2\n1,nan\n", ":3:2: 'nan'"),
        ("a,latency_us\n1,2\n\n# x\n1\n", ":5:2: 1 fields"),
        ("a,latency_us\n1,99999999999999999999999\n", ":2:2:"),
        ("a,b\n1,2\n", ":1: no column"),
        ("", "empty"),
        ("latency_us\n", "not one latency"),
    ],
)
def test_csv_errors_name_line_and_column(text: str, where: str, tmp_path: Path) -> None:
    file = tmp_path / "f.csv"
    file.write_text(text)
    with pytest.raises(InputFileError) as caught:
        list(member("table").read(file))
    assert where in str(caught.value) and str(file) in str(caught.value)


def test_parquet_durations_have_their_own_unit(tmp_path: Path) -> None:
    file = tmp_path / "f.parquet"
    pq.write_table(pa.table({"d": pa.array([1, 2, -3], pa.duration("us")), "x": [1.5, 2.0, 3.0]}), file)
    assert events("parquet", file, column="d")[1][0].latency_ns.tolist() == [1000, 2000, -3000]
    assert events("parquet", file, column="x", unit="us")[1][0].latency_ns.tolist() == [1500, 2000, 3000]
    with pytest.raises(InputFileError, match="duration in us"):
        list(member("parquet", column="d", unit="ms").read(file))
    with pytest.raises(InputFileError, match=r"no columns"):
        list(member("parquet").read(file))


def test_memory_does_not_grow_with_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rtassay.importers.table._BLOCK", 4096)
    peaks = []
    for rows in (10_000, 40_000):
        file = tmp_path / "f.csv"
        file.write_text("latency_us\n" + "12.5\n13\n" * (rows // 2))
        tracemalloc.start()
        total = sum(len(event.latency_ns) for event in member("table").read(file) if isinstance(event, Samples))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert total == rows
    assert peaks[1] < 1.5 * peaks[0]


# --- all of them


@pytest.mark.parametrize("name", FORMATS)
def test_no_event_is_numpy_in_json(name: str) -> None:
    facts, _, end = events(name, DATA / name / FORMATS[name])
    json.dumps([facts, end], allow_nan=False)
    assert facts["import"]["caveats"] and facts["import"]["kind"] in ("histogram", "stream")


def attempt(name: str, path: Path) -> None:
    """Events that add up, or an error that names the file: nothing else."""
    made = member(name)
    made.recognises(path.read_bytes()[: 64 * 1024])
    try:
        found = list(made.read(path))
    except InputFileError as error:
        assert str(path) in str(error)
        return
    for event in found:
        if isinstance(event, HistogramPart):
            assert (event.counts > 0).all() and (event.width_ns > 0).all() and event.over >= 0
            assert (np.diff(event.lower_ns) > 0).all()


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=300), keep=st.integers(0, 400))
def test_any_bytes_after_any_beginning(name: str, data: bytes, keep: int, tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes((DATA / name / FORMATS[name]).read_bytes()[:keep] + data)
    attempt(name, file)


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.floats(0, 1, exclude_max=True), cut=st.integers(0, 40), put=st.binary(max_size=8))
def test_any_edit(name: str, where: float, cut: int, put: bytes, tmp_path: Path) -> None:
    whole = (DATA / name / FORMATS[name]).read_bytes()
    at = int(where * len(whole))
    file = tmp_path / "f"
    file.write_bytes(whole[:at] + put + whole[at + cut :])
    attempt(name, file)


def test_cyclicdeadline_tells_a_summary_and_the_interval_of_its_command_line() -> None:
    events = list(rooms.load("importers", "cyclicdeadline")().read(DATA / "cyclicdeadline" / "two-threads.ok.json"))
    facts, end = events[0].data, events[-1].data
    assert [lane["interval_ns"] for lane in facts["lanes"]] == [5_000_000, 5_000_000]  # -i 5000 -s 0
    assert facts["import"]["kind"] == "summary" and facts["requested"]["policy"] == "deadline"
    assert all(
        part.over == lane["n"] and not part.counts.size for part, lane in zip(events[1:-1], end["lanes"], strict=True)
    )
    one = next(rooms.load("importers", "cyclicdeadline")().read(DATA / "cyclicdeadline" / "one-thread.ok.json"))
    assert [lane["interval_ns"] for lane in one.data["lanes"]] == [10_000_000]


def test_hwlatdetect_counts_each_window_of_the_time() -> None:
    events = list(rooms.load("importers", "hwlatdetect")().read(DATA / "hwlatdetect" / "some-windows.ok.txt"))
    facts, part, end = events[0].data, events[1], events[-1].data
    assert (facts["interval_ns"], facts["import"]["threshold_ns"]) == (10**9, 20_000_000)
    counts = dict(zip(part.lower_ns.tolist(), part.counts.tolist(), strict=True))
    assert counts[0] == 11 and sum(counts.values()) == 20 and counts[238_355_000] == 1  # 9 of 20 windows have a gap
    assert end["lanes"][0]["max_ns"] == 238_355_000 and end["mono_ns"] == 20 * 10**9


def test_rt_bench_has_every_job_and_the_periods_that_had_none() -> None:
    events = list(rooms.load("importers", "rt-bench")().read(DATA / "rt-bench" / "missed.ok.csv"))
    facts, jobs, end = events[0].data, events[1], events[2].data["lanes"][0]
    rows = [line.split(",") for line in (DATA / "rt-bench" / "missed.ok.csv").read_text().splitlines()[1:]]
    assert jobs.latency_ns.tolist() == pytest.approx([float(row[9]) * 1e9 for row in rows], abs=2)
    assert abs(facts["lanes"][0]["interval_ns"] - 1_000_000) < 10_000 and facts["lanes"][0]["measure"] == "job-response"
    # 60 jobs in 62 ms: the first two were not over when the next period began
    assert jobs.missed.tolist() == [1, 1, *[0] * 58] and (end["due"], end["n"], end["missed"]) == (62, 60, 2)
    met = list(rooms.load("importers", "rt-bench")().read(DATA / "rt-bench" / "met.ok.csv"))
    assert not met[1].missed.any() and abs(met[0].data["lanes"][0]["interval_ns"] - 20_000_000) < 100_000


def test_benchkit_tells_the_interval_of_the_next_thread() -> None:
    events = list(rooms.load("importers", "benchkit")().read(DATA / "benchkit" / "two-threads.ok.json"))
    facts, first, second = events[0].data, events[1], events[2]
    assert [lane["interval_ns"] for lane in facts["lanes"]] == [100_000, 600_000]
    # 2 s of them, by the numbers of samples
    assert abs(first.latency_ns.size * 100_000 - 2 * 10**9) < 10**8
    assert abs(second.latency_ns.size * 600_000 - 2 * 10**9) < 10**8
