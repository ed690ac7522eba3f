"""Validity checks that fire on files real tools wrote on real systems (provenance: the README.md beside each file)."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtassay import store
from rtassay.analysis.judge import judge
from rtassay.model import rooms
from rtassay.model.findings import CheckResult

DATA = Path(__file__).parents[2] / "data" / "importers"


def checks_of(importer: str, file: str, home: Path) -> dict[str, CheckResult]:
    path = DATA / importer / file
    member = rooms.load("importers", importer)()
    recording = store.open_recording(store.import_events(home, path, member.source(path), member.read(path)))
    return {check.id: check for check in judge(recording).checks}


@pytest.mark.proves("TRAILER-STRIPPED", "recorded")
@pytest.mark.proves("QUANTISED", "recorded")
def test_the_published_histograms_of_a_raspberry_pi(tmp_path: Path) -> None:
    """Two hundred million samples of a 3B in bins of 1 us, without totals: nobody can tell what lay above."""
    found = checks_of("csv-histogram", "rpi3b-std.ok.csv", tmp_path)
    assert found["TRAILER-STRIPPED"].severity == found["QUANTISED"].severity == "warning"
    assert found["HIST-TRUNCATED"].severity == "unknown"


@pytest.mark.proves("HIST-TRUNCATED", "recorded")
@pytest.mark.proves("INTERVAL-SPREAD", "recorded")
@pytest.mark.proves("LOOPS-FIRST-WINS", "recorded")
@pytest.mark.proves("TOOL-VERSION-UNKNOWN", "recorded")
@pytest.mark.proves("DMA-LATENCY-SIDE-EFFECT", "recorded")
def test_two_threads_of_cyclictest_without_a_histogram(tmp_path: Path) -> None:
    found = checks_of("cyclictest", "q.ok.txt", tmp_path)
    assert found["INTERVAL-SPREAD"].facts["intervals_ns"] == [1_000_000, 1_500_000]
    assert found["LOOPS-FIRST-WINS"].severity == "warning"
    assert found["HIST-TRUNCATED"].severity in ("warning", "invalid")
    assert found["TOOL-VERSION-UNKNOWN"].severity == "warning" or found["TOOL-VERSION-UNKNOWN"].severity == "note"
    assert found["DMA-LATENCY-SIDE-EFFECT"].severity == "note"


@pytest.mark.proves("VERBOSE-RING", "recorded")
@pytest.mark.proves("COUNT-MISMATCH", "recorded")
def test_a_stream_of_cyclictest_that_left_samples_in_its_ring(tmp_path: Path) -> None:
    found = checks_of("cyclictest-verbose", "N.ok.txt", tmp_path)
    assert found["VERBOSE-RING"].severity == "warning"
    assert found["COUNT-MISMATCH"].severity == "warning"
    assert checks_of("cyclictest-verbose", "h40.ok.txt", tmp_path)["VERBOSE-RING"].severity == "pass"


@pytest.mark.proves("MIXED-MEASURES", "recorded")
def test_gaps_of_a_busy_loop_are_no_wake_up_latency(tmp_path: Path) -> None:
    assert checks_of("oslat", "rt-tests-2.40.ok.json", tmp_path)["MIXED-MEASURES"].severity == "warning"


@pytest.mark.proves("NEGATIVE-OR-ZERO", "recorded")
def test_noise_of_nothing(tmp_path: Path) -> None:
    assert (
        checks_of("rtla-osnoise", "rtla-6.1-buckets-of-10.ok.txt", tmp_path)["NEGATIVE-OR-ZERO"].severity == "warning"
    )
