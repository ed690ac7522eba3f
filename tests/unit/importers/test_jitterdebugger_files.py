"""jitterdebugger's two files of one run must agree; the layouts of samples.raw; what must not be believed."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rtassay import store
from rtassay.importers.jitterdebugger import JitterdebuggerImporter
from rtassay.importers.jitterdebugger_raw import LAYOUTS, JitterdebuggerRawImporter
from rtassay.model.errors import InputFileError
from rtassay.model.events import End, Facts, HistogramPart, Samples

DATA = Path(__file__).parents[2] / "data" / "importers"
RAW, RESULTS = DATA / "jitterdebugger-raw", DATA / "jitterdebugger"
RELAXED = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def samples(path: Path) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for event in JitterdebuggerRawImporter().read(path):
        if isinstance(event, Samples):
            found.setdefault(event.lane, []).extend(event.latency_ns.tolist())
    return found


def facts(path: Path) -> dict:
    return next(event.data for event in JitterdebuggerRawImporter().read(path) if isinstance(event, Facts))


@pytest.mark.parametrize(("unit", "scale"), [("us", 1000), ("ns", 1)])
def test_samples_and_results_of_one_run_agree(unit: str, scale: int) -> None:
    """The raw file may lack the last few samples (they were in the ring), and nothing else."""
    assert facts(RAW / f"{unit}.ok.raw")["bin_width_ns"] == scale
    raw = json.loads((RESULTS / f"{unit}.ok.json").read_text())["cpu"]
    for lane, latencies in samples(RAW / f"{unit}.ok.raw").items():
        histogram = {int(k) * scale: n for k, n in raw[str(lane)]["histogram"].items()}
        values, counts = np.unique(latencies, return_counts=True)
        inside = {int(v): int(n) for v, n in zip(values, counts, strict=True) if v < 1_000_000}
        assert all(n <= histogram.get(v, 0) for v, n in inside.items())
        assert raw[str(lane)]["count"] - len(latencies) in range(5)


def test_layouts_hold_the_same_samples() -> None:
    whole = samples(RAW / "us.ok.raw")
    assert samples(RAW / "armv7-20-bytes.ok.raw") == whole
    big = samples(RAW / "mips-big-endian.ok.raw")
    assert all(latencies == whole[lane][: len(latencies)] for lane, latencies in big.items())


def test_interval_comes_from_the_times() -> None:
    for name in ("us", "ns"):
        assert [lane["interval_ns"] for lane in facts(RAW / f"{name}.ok.raw")["lanes"]] == [1_000_000] * 2


def test_a_gap_in_the_times_is_dropped_samples(tmp_path: Path) -> None:
    data = (RAW / "us.ok.raw").read_bytes()
    records = [data[at : at + 28] for at in range(0, len(data), 28)]
    first = [i for i, record in enumerate(records) if struct.unpack_from("<I", record)[0] == 0]
    for at in sorted(first[200:230], reverse=True):
        del records[at]
    file = tmp_path / "samples.raw"
    file.write_bytes(b"".join(records))
    end = next(event for event in JitterdebuggerRawImporter().read(file) if isinstance(event, End))
    assert [row["dropped"] for row in end.data["lanes"]] == [30, 0]


def test_what_lies_above_the_histogram_is_counted(tmp_path: Path) -> None:
    data = json.loads((RESULTS / "us.ok.json").read_text())
    data["cpu"]["0"]["count"] += 3
    data["cpu"]["0"]["max"] = 4711
    file = tmp_path / "results.json"
    file.write_text(json.dumps(data))
    events = list(JitterdebuggerImporter().read(file))
    part = next(event for event in events if isinstance(event, HistogramPart))
    assert part.over >= 3 and part.limit_ns == 1_000_000
    end = events[-1]
    assert isinstance(end, End) and end.data["lanes"][0]["max_ns"] == 4_711_000


@RELAXED
@given(
    st.sampled_from(LAYOUTS),
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 900)), min_size=8, max_size=200),
)
def test_records_written_are_those_read(tmp_path: Path, layout: object, rows: list[tuple[int, int]]) -> None:
    now = [5_000_000_000] * 4
    records, expected = [], {}
    for cpu, value in rows:
        now[cpu] += 1_000_000
        woken = now[cpu] + value * 1000
        records.append((cpu, woken // 10**9, woken % 10**9, value))
        expected.setdefault(cpu, []).append(value * 1000)
    file = tmp_path / "samples.raw"
    file.write_bytes(np.array(records, layout.dtype).tobytes())
    found = samples(file)
    assert {cpu: found[lane] for lane, cpu in enumerate(sorted(expected))} == {
        cpu: expected[cpu] for cpu in sorted(expected)
    }


@RELAXED
@given(st.binary(max_size=400))
def test_random_bytes_are_refused_or_read(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "random"
    file.write_bytes(data)
    for importer in (JitterdebuggerImporter(), JitterdebuggerRawImporter()):
        try:
            events = list(importer.read(file))
        except InputFileError as error:
            assert str(file) in str(error)
        else:
            assert isinstance(events[-1], End)


@pytest.mark.root
@pytest.mark.skipif(shutil.which("jitterdebugger") is None, reason="jitterdebugger is not installed")
def test_the_real_tool_today(tmp_path: Path) -> None:
    line = ["jitterdebugger", "-o", str(tmp_path / "d"), "-s", "-i", "1000", "-D", "1s"]
    subprocess.run(line, capture_output=True, check=True, timeout=300)
    told = json.loads((tmp_path / "d" / "results.json").read_text())["cpu"]
    for importer, name in ((JitterdebuggerImporter(), "results.json"), (JitterdebuggerRawImporter(), "samples.raw")):
        path = tmp_path / "d" / name
        assert importer.recognises(path.read_bytes()[: 64 * 1024])
        made = store.import_events(tmp_path / name, path, importer.source(path), importer.read(path))
        for lane in store.open_recording(made).lanes:
            count = told[lane.entry.name]["count"]
            # what is in the ring at the end never reaches samples.raw
            assert lane.entry.n == count if name == "results.json" else count - 100 <= lane.entry.n <= count
