"""What watching costs: CPU time of one `rtprobe watch` of all that the monitors ask for, and the latency seen beside it."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common import ROOT, Row, rtprobe, spread, use

sys.path.insert(0, str(ROOT / "src"))

QUANTILES = (0.5, 0.99, 0.999)


def _others() -> str:
    """How busy the machine was: with others on it, maxima say little."""
    return f"load average {os.getloadavg()[1]:.1f}"


def _paths() -> list[str]:
    from rtassay.session.telemetry import SeriesKeeper, all_monitors

    return SeriesKeeper(all_monitors()).paths


def _end(stream: Path) -> dict[str, Any]:
    from rtassay.model.events import End
    from rtassay.wire.stream import StreamParser

    parser = StreamParser(only={"End"})
    (end,) = (e for e in [*parser.feed(stream.read_bytes()), *parser.finish()] if isinstance(e, End))
    return dict(end.data)


def _watched(seconds: int, out: Path) -> float:
    """Share of one CPU, in percent."""
    use([rtprobe(), "watch", "--every", "1s", "--count", str(seconds), "-o", str(out), *_paths()])
    end = _end(out)
    assert end["rounds"] == seconds, end
    return float(end["cpu_ns"]) / (seconds * 1e9) * 100


@contextmanager
def _watching(out: Path) -> Iterator[None]:
    watch = subprocess.Popen(
        [rtprobe(), "watch", "--every", "1s", "-o", str(out), *_paths()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield
        assert watch.poll() is None, "the watch ended before the measurement"
    finally:
        watch.send_signal(signal.SIGTERM)
        watch.wait(10)


def _latency(seconds: int, out: Path) -> list[int]:
    """The quantiles over all lanes, and the maximum, in ns."""
    from rtassay.model.events import HistogramPart
    from rtassay.wire.stream import StreamParser

    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    use(
        [
            rtprobe(),
            "cyclic",
            "--cpus",
            cpus,
            "--priority",
            "90",
            "--interval",
            "500us",
            "--duration",
            f"{seconds}s",
            "-o",
            str(out),
        ]
    )
    counts: dict[int, int] = {}
    for event in StreamParser(only={"HistogramPart"}).feed(out.read_bytes()):
        if isinstance(event, HistogramPart):
            for value, count in zip(event.lower_ns.tolist(), event.counts.tolist(), strict=True):
                counts[value] = counts.get(value, 0) + count
    total, seen, found = sum(counts.values()), 0, []
    ordered = iter(sorted(counts.items()))
    for q in QUANTILES:
        while seen < q * total:
            value, count = next(ordered)
            seen += count
        found.append(value)
    return [*found, max(lane["max_ns"] for lane in _end(out)["lanes"])]


def cost(quick: bool) -> list[Row]:
    watches, rounds, seconds = (1, 1, 2) if quick else (3, 9, 8)
    without: list[list[int]] = []
    beside: list[list[int]] = []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        work = Path(name)
        shares = [_watched(3 if quick else 30, work / "w.rtw") for _ in range(watches)]

        def run_without() -> None:
            without.append(_latency(seconds, work / "f.rtw"))

        def run_beside() -> None:
            with _watching(work / "w.rtw"):
                beside.append(_latency(seconds, work / "f.rtw"))

        for i in range(rounds):
            for run in (run_without, run_beside) if i % 2 else (run_beside, run_without):
                run()
    columns = [("p50", 0), ("p99", 1), ("p99.9", 2), ("max", 3)]
    shown = [
        f"{label} {statistics.median(r[i] for r in beside) / 1000:.1f} / {statistics.median(r[i] for r in without) / 1000:.1f}"
        for label, i in columns
    ]
    ratios = [f"{label} {spread([b[i] / a[i] for b, a in zip(beside, without, strict=True)])}" for label, i in columns]
    return [
        Row(
            "CPU time of all monitors together, every second",
            "one CPU",
            "< 1 %",
            spread(shares) + " %",
            f"{len(_paths())} paths and patterns, their programs included; {len(shares)} watches of {3 if quick else 30} s; {_others()}",
        ),
        Row(
            "Wake-up latency with all monitors / without, us",
            "the same run without monitors",
            "shown side by side",
            "; ".join(shown),
            f"ratios of {rounds} interleaved pairs: {'; '.join(ratios)}; 500 us, FIFO 90, all CPUs, {seconds} s each; {_others()}",
        ),
    ]
