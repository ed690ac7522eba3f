"""cyclictest's files: what is in them, what is not, and what must not be believed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rtassay import store
from rtassay.analysis.many.compare.conditions import CONDITIONS
from rtassay.importers import verbose_rows
from rtassay.importers.cyclictest import CyclictestImporter
from rtassay.importers.cyclictest_json import CyclictestJsonImporter
from rtassay.importers.cyclictest_verbose import CyclictestVerboseImporter
from rtassay.importers.riva_csv import RivaCsvImporter
from rtassay.importers.versions import late_policy
from rtassay.model.errors import InputFileError, UsageError
from rtassay.model.events import End, Event, Facts, HistogramPart, Samples
from rtassay.model.manifest import Plan
from rtassay.probes.cyclictest import CyclictestProbe
from rtassay.probes.cyclictest_argv import find_command, parse_command

DATA = Path(__file__).parents[2] / "data" / "importers"
TEXT, VERBOSE, JSON = DATA / "cyclictest", DATA / "cyclictest-verbose", DATA / "cyclictest-json"
RELAXED = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def facts(events: list[Event]) -> dict[str, Any]:
    return next(event.data for event in events if isinstance(event, Facts))


def ends(events: list[Event]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = next(event.data["lanes"] for event in events if isinstance(event, End))
    return rows


def parts(events: list[Event]) -> list[HistogramPart]:
    return [event for event in events if isinstance(event, HistogramPart)]


def read(importer: Any, path: Path) -> list[Event]:
    return list(importer.read(path))


def same_counts(a: list[Event], b: list[Event]) -> bool:
    return [(p.lower_ns.tolist(), p.counts.tolist(), p.over) for p in parts(a)] == [
        (p.lower_ns.tolist(), p.counts.tolist(), p.over) for p in parts(b)
    ]


@pytest.mark.parametrize("name", ["trailer-first", "console", "serial-log"])
def test_what_stands_around_the_numbers_changes_none(name: str) -> None:
    plain, noisy = (read(CyclictestImporter(), TEXT / f"{n}.ok.txt") for n in ("h40", name))
    assert same_counts(plain, noisy) and ends(plain) == ends(noisy)


def test_the_console_log_names_its_command() -> None:
    found = facts(read(CyclictestImporter(), TEXT / "console.ok.txt"))
    assert found["requested"]["interval_ns"] == 1_000_000 and found["requested"]["count"] == 300
    assert found["import"]["unit_from"] == "command line" and found["import"]["noise_lines"] > 0
    assert [lane["interval_ns"] for lane in found["lanes"]] == [1_000_000, 1_000_000]


def test_stripped_totals_are_unknown_not_zero() -> None:
    events = read(CyclictestImporter(), TEXT / "stripped.ok.txt")
    assert [row["over"] for row in ends(events)] == [None, None] and ends(events)[0]["max_ns"] is None
    assert facts(events)["import"]["trailer"] is False
    assert all(part.limit_ns == 40_000 for part in parts(events))


@pytest.mark.parametrize("command", ["", "root@pi:~# cyclictest -q -H 60 -t2\n"])
def test_the_sum_column_is_no_lane_even_without_totals(command: str, tmp_path: Path) -> None:
    file = tmp_path / "H.txt"
    lines = (TEXT / "H60-sum.ok.txt").read_text().splitlines(keepends=True)
    file.write_text(command + "".join(line for line in lines if not line.startswith("#")))
    assert len(parts(read(CyclictestImporter(), file))) == 2


def test_a_summary_knows_how_many_but_not_where() -> None:
    events = read(CyclictestImporter(), TEXT / "q.ok.txt")
    first, row = parts(events)[0], ends(events)[0]
    assert facts(events)["import"]["kind"] == "summary"
    assert (len(first.counts), first.over, first.limit_ns) == (0, row["n"], row["min_ns"])
    assert [lane["interval_ns"] for lane in facts(events)["lanes"]] == [1_000_000, 1_500_000]


def test_the_last_block_of_the_live_display_counts() -> None:
    last = [line for line in (TEXT / "live.ok.txt").read_text().splitlines() if "T: 0" in line][-1]
    row = ends(read(CyclictestImporter(), TEXT / "live.ok.txt"))[0]
    assert row["max_ns"] == int(last.rpartition("Max:")[2]) * 1000


def test_nanoseconds_are_seen_where_microseconds_cannot_be() -> None:
    found = facts(read(CyclictestImporter(), TEXT / "q-N.ok.txt"))
    assert (found["bin_width_ns"], found["import"]["unit_from"]) == (1, "values")
    assert facts(read(CyclictestVerboseImporter(), VERBOSE / "N.ok.txt"))["bin_width_ns"] == 1
    assert facts(read(CyclictestImporter(unit="ns"), TEXT / "h40.ok.txt"))["bin_width_ns"] == 1
    with pytest.raises(UsageError, match="no unit"):
        CyclictestImporter(unit="s")


def test_an_unstarted_thread_has_nothing() -> None:
    row = ends(read(CyclictestImporter(), TEXT / "unstarted.ok.txt"))[1]
    assert (row["n"], row["min_ns"], row["max_ns"]) == (0, None, None)
    row = ends(read(CyclictestJsonImporter(), JSON / "unstarted.ok.json"))[1]
    assert (row["n"], row["min_ns"], row["max_ns"], row["avg_ns"]) == (0, None, None, None)


def test_json_tells_its_version_cpus_and_what_lies_above_the_histogram() -> None:
    path = JSON / "h40.ok.json"
    raw, importer = json.loads(path.read_text()), CyclictestJsonImporter()
    events = read(importer, path)
    assert (importer.source(path).version, importer.source(path).late_policy) == (raw["rt_test_version:"], "skip")
    for row, lane, thread in zip(ends(events), facts(events)["lanes"], raw["thread"].values(), strict=True):
        assert row["over"] == thread["cycles"] - sum(thread["histogram"].values())
        assert lane["cpu"] == thread["cpu"]
    assert all(part.limit_ns == 40_000 for part in parts(events))
    assert facts(events)["kernel"]["release"] == raw["sysinfo"]["release"]


def test_json_with_quotes_that_the_tool_does_not_escape(tmp_path: Path) -> None:
    file = tmp_path / "q.json"
    file.write_text((JSON / "h40.ok.json").read_text().replace("cyclictest -q", 'sh -c \\"x\\" "y" cyclictest -q', 1))
    assert same_counts(read(CyclictestJsonImporter(), file), read(CyclictestJsonImporter(), JSON / "h40.ok.json"))


def test_the_prelude_of_v_prints_the_next_threads_interval(tmp_path: Path) -> None:
    lines = (VERBOSE / "q.ok.txt").read_text().splitlines(keepends=True)
    assert "Thread 0 Interval: 1500\n" in lines
    file = tmp_path / "v.txt"
    file.write_text("".join(line for line in lines if not line.startswith("T:")))
    assert [lane["interval_ns"] for lane in facts(read(CyclictestVerboseImporter(), file))["lanes"]] == [
        10**6,
        15 * 10**5,
    ]


def rows(*triples: tuple[int, int, int]) -> str:
    return "".join(f"{lane:8d}:{cycle:8d}:{value:8d}\n" for lane, cycle, value in triples)


def stream_of(tmp_path: Path, text: str) -> dict[str, Any]:
    file = tmp_path / "v.txt"
    file.write_text(text)
    found: dict[str, Any] = facts(read(CyclictestVerboseImporter(), file))["import"]["stream"][0]
    return found


def test_cycles_that_are_absent_repeat_or_run_backwards(tmp_path: Path) -> None:
    base = [(0, k, 10) for k in range(30)]
    assert stream_of(tmp_path, rows(*base[:10], *base[14:])) | {"max_ns": 0} == {
        "lane": 0, "n": 26, "gaps": 1, "lost": 4, "duplicates": 0, "backwards": 0, "reduced": None, "undrained": None, "max_ns": 0,
    }  # fmt: skip
    assert stream_of(tmp_path, rows(*base[:10], base[9], *base[10:]))["duplicates"] == 1
    assert stream_of(tmp_path, rows(*base[:10], *base[3:]))["backwards"] == 1
    assert stream_of(tmp_path, rows(*base[5:]))["lost"] == 5


def test_zero_latency_repeats_the_number_before_and_is_no_duplicate(tmp_path: Path) -> None:
    text = rows((0, 0, 9), (0, 0, 0), (0, 0, 0), (0, 3, 9), (0, 4, 9))
    found = stream_of(tmp_path, text)
    assert (found["n"], found["duplicates"], found["lost"]) == (5, 0, 0)


def test_zero_latency_where_one_line_at_a_time_is_read(tmp_path: Path) -> None:
    lines = rows((0, 0, 9), (0, 0, 0), (0, 0, 0), (0, 3, 9)).splitlines(keepends=True)
    found = stream_of(tmp_path, "noise\n".join(f"[ 1.0] {line}" for line in lines))
    assert (found["n"], found["duplicates"], found["backwards"], found["lost"]) == (4, 0, 0, 0)


def test_what_stayed_in_the_ring_is_dropped(tmp_path: Path) -> None:
    text = rows(*((0, k, 10) for k in range(20)))
    found = stream_of(
        tmp_path, text + "T: 0 ( 77) P:90 I:1000 C:     25 Min:      9 Act:   10 Avg:   12 Max:      99\n"
    )
    assert found["undrained"] == 5
    end = ends(read(CyclictestVerboseImporter(), tmp_path / "v.txt"))[0]
    assert (end["n"], end["dropped"], end["max_ns"]) == (20, 5, 99_000)


def test_reduced_output_is_seen() -> None:
    found = facts(read(CyclictestVerboseImporter(), VERBOSE / "o10.ok.txt"))["import"]["stream"]
    assert all(row["reduced"] and 5 <= row["reduced"] <= 15 for row in found)


values = st.integers(0, 99_999_999)
triples = st.lists(st.tuples(st.integers(0, 4000), values, st.one_of(values, st.integers(-50, 10**9))), max_size=60)


def by_hand(data: bytes) -> Iterator[tuple[int, int, int]]:
    for line in data.decode().splitlines():
        lane, cycle, value = line.split(":")
        yield int(lane), int(cycle), int(value)


@RELAXED
@given(triples, st.sampled_from(["\n", "\r\n"]))
def test_rows_are_read_as_they_are(written: list[tuple[int, int, int]], newline: str) -> None:
    data = rows(*written).replace("\n", newline).encode()
    read_, at = [], 0
    while at < len(data):
        found = verbose_rows.RowParser().parse(data, at)
        assert found.used > 0
        read_ += list(zip(found.lane.tolist(), found.cycle.tolist(), found.value.tolist(), strict=True))
        at += found.used
    assert read_ == written == list(by_hand(data))


@RELAXED
@given(st.integers(0, 26), st.integers(0, 255), st.integers(0, 4))
def test_a_wrong_byte_stops_the_rows_or_leaves_a_row(at: int, byte: int, row: int) -> None:
    """What is accepted must be what a careful reader reads."""
    data = bytearray(rows(*((1, 1000 + k, 10 * k) for k in range(5))).encode())
    data[row * 27 + at] = byte
    found = verbose_rows.RowParser().parse(bytes(data))
    text = bytes(data[: found.used]).decode("ascii")
    lines = text.split("\n")[:-1]
    assert len(lines) == len(found) == len(found.lane)
    for line, *numbers in zip(lines, found.lane.tolist(), found.cycle.tolist(), found.value.tolist(), strict=True):
        fields = line.rstrip("\r").split(":")
        assert all(field == f"{field.strip(' '):>{len(field)}}" for field in fields)
        assert [int(field) for field in fields] == numbers


@RELAXED
@given(
    st.lists(
        st.tuples(
            st.integers(0, 1200), st.integers(0, 99_999_990), st.integers(1, 9), st.sampled_from([40, 9990, 10**6])
        ),
        min_size=1,
        max_size=40,
    ),
    st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(b"0159 :-/;\n\r\x00@P\xb0")), max_size=2),
)
def test_runs_of_rows_are_read_to_the_first_that_is_none(
    runs: list[tuple[int, int, int, int]], wrong: list[tuple[int, int]]
) -> None:
    """Threads, cycles and values that cross every width, and bytes that look nearly right."""
    written = [(lane, k + i, value + 7 * i) for lane, k, count, value in runs for i in range(count)]
    data = bytearray(rows(*written).encode())
    for at, byte in wrong:
        data[at % len(data)] = byte
    found = verbose_rows.RowParser().parse(bytes(data))
    careful = re.match(rb"(?: *\d+: *\d+: *-?\d+\r?\n)*", bytes(data))
    assert careful is not None and found.used <= careful.end()
    assert list(zip(found.lane.tolist(), found.cycle.tolist(), found.value.tolist(), strict=True)) == list(
        by_hand(bytes(data[: found.used]))
    )
    regular = re.match(rb"(?: {5}[ \d]{3}:[ \d]{8}:[ \d]{7}\d\n)*", bytes(data))
    if not wrong and regular is not None:
        assert found.used >= regular.end() - verbose_rows.ROW_BYTES
    by_lane = found.by_lane() if len(found) else []
    assert [lane for lane, _ in by_lane] == sorted(set(found.lane.tolist()))
    assert all((found.lane[mine] == lane).all() and (np.diff(mine) > 0).all() for lane, mine in by_lane)
    assert sum(len(mine) for _, mine in by_lane) == len(found)


@RELAXED
@given(
    st.binary(max_size=600),
    st.sampled_from([CyclictestImporter, CyclictestVerboseImporter, CyclictestJsonImporter, RivaCsvImporter]),
)
def test_random_bytes_are_refused_or_read(tmp_path: Path, data: bytes, importer: Any) -> None:
    file = tmp_path / "random"
    file.write_bytes(data)
    try:
        events = read(importer(), file)
    except InputFileError as error:
        assert str(file) in str(error)
    else:
        assert isinstance(events[-1], End)


@RELAXED
@given(st.lists(st.lists(st.integers(0, 10**9), min_size=3, max_size=3), min_size=4, max_size=40), st.booleans())
def test_a_histogram_written_is_the_one_read(tmp_path: Path, counts: list[list[int]], sums: bool) -> None:
    cells = [[*row, sum(row)] if sums else row for row in counts]
    totals = [sum(row[i] for row in cells) for i in range(len(cells[0]))]
    body = "".join(f"{k:06d} " + "\t".join(f"{c:06d}" for c in row) + "\n" for k, row in enumerate(cells))
    mins = (
        "# Min Latencies: 00000 00000 00000\n# Avg Latencies: 00000 00000 00000\n# Max Latencies: 00001 00001 00001\n"
    )
    text = f"# Histogram\n{body}# Total: {' '.join(f'{t:09d}' for t in totals)}\n{mins}# Histogram Overflows: 00000 00002 00000\n"
    file = tmp_path / "h.txt"
    file.write_text(text)
    found = parts(read(CyclictestImporter(), file))
    assert [int(part.counts.sum()) for part in found] == totals[:3] and [part.over for part in found] == [0, 2, 0]
    for lane, part in enumerate(found):
        assert dict(zip((part.lower_ns // 1000).tolist(), part.counts.tolist(), strict=True)) == {
            k: row[lane] for k, row in enumerate(counts) if row[lane]
        }


@pytest.mark.parametrize(
    ("tool", "version", "policy"),
    [
        ("cyclictest", "2.40", "skip"),
        ("cyclictest", "1.0", "skip"),
        ("cyclictest", "0.92", "skip"),
        ("cyclictest", "0.84", "catch_up"),
        ("cyclictest", "v0.92", "skip"),
        ("cyclictest", None, "unknown"),
        ("cyclictest", "git", "unknown"),
        ("jitterdebugger", None, "catch_up"),
        ("oslat", "2.4", "unknown"),
    ],
)
def test_what_a_version_does_after_a_late_wake_up(tool: str, version: str | None, policy: str) -> None:
    assert late_policy(tool, version) == policy


def test_command_lines() -> None:
    found = parse_command("cyclictest -l50000000 -m -S -p90 -i200 -h400 -q")
    assert found is not None
    assert (found.loops, found.priority, found.interval_us, found.histogram, found.mlock) == (
        50_000_000,
        90,
        200,
        400,
        True,
    )
    assert [found.interval_ns(i) for i in range(3)] == [200_000] * 3
    ospert = parse_command("sudo ./cyclictest -vmn -i100 -p99 -t --duration=1h")
    assert ospert is not None and ospert.duration_s == 3600 and ospert.verbose
    assert [ospert.interval_ns(i) for i in range(4)] == [100_000, 600_000, 1_100_000, 1_600_000]
    assert find_command("root@pi:~# cyclictest -Sp90 -h 400") is not None
    assert find_command("we ran cyclictest for an hour") is None


@pytest.mark.root
@pytest.mark.skipif(shutil.which("cyclictest") is None, reason="rt-tests is not installed")
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["-h", "100"], "cyclictest"),
        (["-H", "100"], "cyclictest"),
        (["-N"], "cyclictest"),
        ([], "cyclictest"),
        (["-v"], "cyclictest-verbose"),
    ],
)
def test_the_real_tool_today(arguments: list[str], name: str, tmp_path: Path) -> None:
    """Its text and its JSON of the same run agree with what is imported."""
    as_json, file = tmp_path / "run.json", tmp_path / "run.txt"
    line = ["cyclictest", "-q", "-i", "1000", "-t", "2", "-D", "1", *arguments, f"--json={as_json}"]
    file.write_bytes(subprocess.run(line, capture_output=True, check=True, timeout=300).stdout)
    importer = CyclictestVerboseImporter() if name == "cyclictest-verbose" else CyclictestImporter()
    assert importer.recognises(file.read_bytes()[:65536]) and CyclictestJsonImporter().recognises(as_json.read_bytes())
    made = store.open_recording(store.import_events(tmp_path / "a", file, importer.source(file), importer.read(file)))
    other = CyclictestJsonImporter()
    told = store.open_recording(
        store.import_events(tmp_path / "b", as_json, other.source(as_json), other.read(as_json))
    )
    for lane, same in zip(made.lanes, told.lanes, strict=True):
        # the tool prints its two accounts one after the other, and a thread may take a sample in between
        counted = lane.entry.n + (lane.entry.dropped or 0)
        assert abs(counted - same.entry.n) <= 2
        assert counted != same.entry.n or lane.entry.max_ns == same.entry.max_ns
        assert lane.entry.interval_ns in (None, same.entry.interval_ns)  # a histogram alone does not tell it


def test_verbose_importer_tells_how_far_it_is() -> None:
    seen: list[tuple[int, int]] = []
    importer = CyclictestVerboseImporter()
    importer.progress = lambda done, total: seen.append((done, total))
    events = read(importer, VERBOSE / "q.ok.txt")
    assert seen[-1][0] == seen[-1][1] == (VERBOSE / "q.ok.txt").stat().st_size
    assert sum(len(event.latency_ns) for event in events if isinstance(event, Samples)) == 200


def test_a_file_that_still_grows_is_not_imported(tmp_path: Path) -> None:
    file, importer = tmp_path / "growing.txt", CyclictestVerboseImporter()
    file.write_text(rows(*((0, k, 5) for k in range(100))))

    def events() -> Iterator[Event]:
        yield from importer.read(file)
        with file.open("a") as more:
            more.write(rows((0, 100, 5)))

    with pytest.raises(InputFileError, match="changed while it was being read"):
        store.import_events(tmp_path / "home", file, importer.source(file), events())
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.parametrize(
    ("options", "sleep", "clock"),
    [
        ("", "clock_nanosleep", "monotonic"),
        ("-x -c1", "signal", "realtime"),
        ("--posix_timers --clock=1", "signal", "realtime"),
        ("-xc 0", "signal", "monotonic"),
    ],
)
def test_the_way_of_sleeping_and_its_clock_come_from_the_command_line(
    options: str, sleep: str, clock: str, tmp_path: Path
) -> None:
    """So a comparison names them as a difference."""
    file = tmp_path / "f.json"
    file.write_text((JSON / "h40.ok.json").read_text().replace("cyclictest -q", f"cyclictest {options} -q"))
    importer = CyclictestJsonImporter()
    made = store.open_recording(store.import_events(tmp_path, file, importer.source(file), importer.read(file)))
    assert (made.manifest.plan.sleep, made.manifest.plan.clock) == (sleep, clock)
    told = {one.key: one.get(made) for one in CONDITIONS if one.key in ("sleep", "clock")}
    assert told == {"sleep": sleep, "clock": clock}


def test_a_text_without_an_option_does_not_tell_how_it_slept() -> None:
    """Older versions slept by signals unless -n was given."""
    told = [parse_command(f"cyclictest {options} -p90") for options in ("", "-n", "-x", "-c 1")]
    assert [(one.sleep, one.clock) for one in told if one is not None] == [
        (None, "monotonic"),
        ("clock_nanosleep", "monotonic"),
        ("signal", "monotonic"),
        (None, "realtime"),
    ]


def test_a_line_that_runs_as_it_is_keeps_its_way_of_sleeping() -> None:
    plan, _ = CyclictestProbe().of_line(Plan(probe="cyclictest"), "cyclictest -x -c1 -p90 -l100")
    assert (plan.sleep, plan.clock) == ("signal", "realtime")
    plan, _ = CyclictestProbe().of_line(Plan(probe="cyclictest"), "cyclictest -p90 -l100")
    assert (plan.sleep, plan.clock) == (None, None)
