"""One stall of 50 ms as thirteen programs of ours and of others told it (tests/data/one-stall): what each says, and what compare says of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import in_process

from rtassay import store
from rtassay.model.recording import Lane

DATA = Path(__file__).parents[1] / "data" / "one-stall"
MS = 1_000_000
STALL = range(47 * MS, 51 * MS)
MISSED = range(48, 52)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    done = in_process("import", *(path for path in sorted(DATA.iterdir()) if path.suffix != ".md"), home=home)
    assert done.returncode == 0, done.stderr
    return home


@pytest.fixture(scope="module")
def lanes(home: Path) -> dict[tuple[str, str], Lane]:
    """By file and measure; the board has one CPU."""
    found = {}
    for path in (home / "recordings").glob("*.rta"):
        recording = store.open_recording(path)
        for lane in recording.lanes:
            found[str(recording.manifest.source.file), lane.entry.measure] = lane
    return found


Lanes = dict[tuple[str, str], Lane]


@pytest.mark.parametrize(
    ("name", "measure", "missed"),
    [
        ("rtprobe-cyclic.rtw", "wake-up", MISSED),
        ("rtprobe-timerlat.rtw", "timer-irq", MISSED),
        ("rtprobe-timerlat.rtw", "timer-thread", MISSED),
        ("rtprobe-response.rtw", "response:futex", MISSED),
        ("rtprobe-response.rtw", "response:futex-answer", MISSED),
        ("rtprobe-deadline.rtw", "wake-up", range(8, 11)),  # its interval is 5 ms
    ],
)
def test_ours_count_what_was_missed_in_the_stall(lanes: Lanes, name: str, measure: str, missed: range) -> None:
    entry = lanes[name, measure].entry
    assert entry.max_ns in STALL and entry.missed in missed
    assert entry.due == entry.n + entry.missed


@pytest.mark.parametrize(
    ("name", "measure", "late"),
    [
        ("cyclictest.txt", "wake-up", range(1, 2)),  # skip: one late sample, and the missed ones are not told
        ("rtla-timerlat.txt", "timer-irq", range(1, 2)),
        ("rtla-timerlat.txt", "timer-thread", range(1, 2)),
        ("jitterdebugger.json", "wake-up", range(48, 54)),  # catch-up: a train of late samples
    ],
)
def test_others_tell_it_by_what_they_do_after_a_late_wake_up(
    lanes: Lanes, name: str, measure: str, late: range
) -> None:
    lane = lanes[name, measure]
    counts, edges = lane.histogram.counts, lane.histogram.lower_ns
    assert int(counts[edges >= MS].sum()) + lane.histogram.over in late
    assert lane.entry.max_ns in STALL and lane.entry.missed is None


def test_cyclicdeadline_stays_late_after_the_stall() -> None:
    """Its next due time is one interval after the last one, and the kernel wakes it once in each: half of its run is late by the whole stall."""
    (thread,) = json.loads((DATA / "cyclicdeadline.json").read_text())["thread"].values()
    assert thread["max"] * 1000 in STALL and 0.4 < thread["avg"] / thread["max"] < 0.6


def test_busy_threads_find_the_gap_and_the_look_below_the_kernel_does_not(lanes: Lanes) -> None:
    for name, measure in (("rtprobe-noise.rtw", "noise-longest"), ("rtprobe-osnoise.rtw", "noise-longest"), ("rtla-osnoise.txt", "noise"), ("oslat.txt", "stall")):  # fmt: skip
        assert lanes[name, measure].entry.max_ns in STALL, name
    hwlat = lanes["rtprobe-hwlat.rtw", "hardware-gap"].entry
    assert hwlat.max_ns == 0 and hwlat.n >= 3


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("rtprobe-cyclic.rtw", "cyclictest.txt", "after a late wake-up A does 'counted', B 'unknown', and latencies reach the interval"),
        ("rtprobe-timerlat.rtw", "rtla-timerlat.txt", "after a late wake-up A does 'counted', B 'skip', and latencies reach the interval"),
        ("rtprobe-cyclic.rtw", "oslat.txt", "A holds wake-up latency, B holds gaps in a busy loop: unlike measures are not compared"),
        ("rtla-timerlat.txt", "rtla-osnoise.txt", "unlike measures are not compared"),
        ("rtprobe-hwlat.rtw", "rtprobe-noise.rtw", "unlike measures are not compared"),
    ],
)  # fmt: skip
def test_compare_refuses_with_the_reason(home: Path, first: str, second: str, said: str) -> None:
    done = in_process("compare", first, "--with", second, "--factor", "tool", "--json", home=home)
    told = json.loads(done.stdout)
    assert done.returncode == 0 and told["conclusion"] == "refused"
    reasons = " ".join(check["message"] for check in told["checks"] if check["severity"] == "invalid")
    assert said in reasons and all(quantile["ratio"] is None for quantile in told["quantiles"])
