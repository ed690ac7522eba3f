"""What measuring costs and loses: rtprobe against cyclictest and jitterdebugger on the same CPUs, priority, interval, duration."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from common import ROOT, Row, rtprobe, spread, use

sys.path.insert(0, str(ROOT / "src"))

INTERVAL_US = 200
PRIORITY = 90


def cpus() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def cpu_list() -> str:
    return ",".join(map(str, cpus()))


def _rtprobe(seconds: int, out: Path, *more: str, interval_us: int = INTERVAL_US) -> list[str]:
    fixed = [rtprobe(), "cyclic", "--cpus", cpu_list(), "--priority", str(PRIORITY)]
    return [*fixed, "--interval", f"{interval_us}us", "--duration", f"{seconds}s", "-o", str(out), *more]


def _cyclictest(seconds: int, *more: str) -> list[str]:
    # -d0: all threads at the same interval; -t and -a as a list pin one thread to each CPU.
    fixed = ["cyclictest", "-q", "-m", f"-p{PRIORITY}", f"-i{INTERVAL_US}", "-d0", f"-t{len(cpus())}", "-a", cpu_list()]
    return [*fixed, f"-D{seconds}", *more]


def _lanes(stream: Path) -> list[dict[str, int]]:
    """END's lane table of a stream, after checking that it is whole."""
    from rtassay.model.events import End
    from rtassay.wire.stream import StreamParser

    parser = StreamParser(only={"End"})
    events = [*parser.feed(stream.read_bytes()), *parser.finish()]
    ends = [e for e in events if isinstance(e, End)]
    assert len(ends) == 1, f"{stream}: {len(ends)} END frames"
    return ends[0].data["lanes"]  # type: ignore[no-any-return]


def _broken(lanes: list[dict[str, int]]) -> list[int]:
    return [x["lane"] for x in lanes if x["due"] != x["n"] + x["missed"] + x["dropped"] + x["truncated"]]


def _totals(text: str) -> list[int]:
    return [int(x) for x in re.search(r"# Total: (.*)", text)[1].split()[: len(cpus())]]  # type: ignore[index]


def cpu_per_activation(quick: bool) -> list[Row]:
    """User + system time of the whole process per activation; the order within a round rotates."""
    rounds, seconds = (1, 2) if quick else (7, 10)
    ours, cyclictest, jitterdebugger = [], [], []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        work = Path(name)

        def run_ours() -> None:
            used = use(_rtprobe(seconds, work / "f.rtw"))
            ours.append(used.cpu_s * 1e9 / sum(x["n"] for x in _lanes(work / "f.rtw")))

        def run_cyclictest() -> None:
            used = use(_cyclictest(seconds, "-h400"), stdout=work / "c.txt")
            cyclictest.append(used.cpu_s * 1e9 / sum(_totals((work / "c.txt").read_text())))

        def run_jitterdebugger() -> None:
            with tempfile.TemporaryDirectory(dir=work) as out:
                fixed = ["jitterdebugger", "-D", f"{seconds}s", "-i", str(INTERVAL_US), "-p", str(PRIORITY)]
                used = use([*fixed, "-a", cpu_list(), "-o", out, "-s"])
                samples = (Path(out) / "samples.raw").stat().st_size / 28
                jitterdebugger.append(used.cpu_s * 1e9 / samples)

        order = [run_ours, run_cyclictest, run_jitterdebugger]
        for i in range(rounds):
            for run in order[i % 3 :] + order[: i % 3]:
                run()
    settings = f"{INTERVAL_US} us, FIFO {PRIORITY}, CPUs {cpu_list()}, {seconds} s, {rounds} rounds"
    detail = f"median ns per activation: {statistics.median(ours):.0f} against {{:.0f}}; {settings}"
    what = "CPU time per activation, every sample streamed to disk in ns"
    by_c = [a / b for a, b in zip(ours, cyclictest, strict=True)]
    by_j = [a / b for a, b in zip(ours, jitterdebugger, strict=True)]
    return [
        Row(what, "cyclictest -q -h 400", "<= 1.0x", spread(by_c) + " x", detail.format(statistics.median(cyclictest))),
        Row(
            what, "jitterdebugger -s", "<= 0.8x", spread(by_j) + " x", detail.format(statistics.median(jitterdebugger))
        ),
    ]


def _histogram_median(rows: list[tuple[int, int]]) -> int:
    rank = (sum(n for _, n in rows) + 1) // 2
    for value, count in sorted(rows):
        rank -= count
        if rank <= 0:
            return value
    raise AssertionError("an empty histogram")


def median_latency(quick: bool) -> list[Row]:
    """cyclictest -N counts ns up to 1 ms, so that both medians have the same resolution."""
    from rtassay.model.events import HistogramPart
    from rtassay.wire.stream import StreamParser

    rounds, seconds = (1, 2) if quick else (9, 8)
    ours, theirs = [], []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        work = Path(name)

        def run_ours() -> None:
            use(_rtprobe(seconds, work / "f.rtw"))
            rows: list[tuple[int, int]] = []
            for event in StreamParser(only={"HistogramPart"}).feed((work / "f.rtw").read_bytes()):
                if isinstance(event, HistogramPart):
                    rows += list(zip(event.lower_ns.tolist(), event.counts.tolist(), strict=True))
            ours.append(_histogram_median(rows))

        def run_theirs() -> None:
            use(_cyclictest(seconds, "-N", "-h1000000"), stdout=work / "c.txt")
            rows = []
            for line in (work / "c.txt").read_text().splitlines():
                if re.match(r"\d", line):
                    value, *counts = line.split()
                    rows.append((int(value), sum(map(int, counts))))
            theirs.append(_histogram_median(rows))

        for i in range(rounds):
            for run in (run_ours, run_theirs) if i % 2 else (run_theirs, run_ours):
                run()
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    detail = f"medians of {rounds} interleaved pairs: {statistics.median(ours):.0f} ns against {statistics.median(theirs):.0f} ns; {seconds} s each, idle"
    return [Row("Median wake-up latency seen", "cyclictest -N", "within 5 %", spread(ratios, ".3f") + " x", detail)]


@contextmanager
def full_load(seconds: int) -> Iterator[None]:
    argv = [
        "stress-ng",
        "--cpu",
        str(len(cpus())),
        "--vm",
        "1",
        "--vm-bytes",
        "256M",
        "--switch",
        "1",
        "--timeout",
        f"{seconds}s",
    ]
    load = subprocess.Popen(
        [*argv, "--quiet"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
        assert load.poll() is None, "the load ended before the measurement"
    finally:
        load.terminate()
        load.wait(30)


def _loss(seconds: int, *more: str) -> tuple[list[dict[str, int]], float]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name, full_load(seconds + 30):
        out = Path(name) / "f.rtw"
        used = use(_rtprobe(seconds, out, *more, interval_us=50))
        return _lanes(out), used.cpu_s


def samples_lost(quick: bool) -> list[Row]:
    seconds = 3 if quick else 60
    lanes, _ = _loss(seconds)
    total = {k: sum(x[k] for x in lanes) for k in ("due", "n", "missed", "dropped", "truncated")}
    equation = "exact in every lane" if not _broken(lanes) else f"BROKEN in lanes {_broken(lanes)}"
    detail = f"due {total['due']} = n {total['n']} + missed {total['missed']} + dropped {total['dropped']} + truncated {total['truncated']}: {equation}"
    load = f"full load: stress-ng cpu, vm, switch on {len(cpus())} CPUs"
    return [
        Row(
            f"Samples lost at 50 us on every CPU, {seconds} s",
            load,
            "dropped 0, equation exact",
            f"dropped {total['dropped']}",
            detail,
        )
    ]


def writer_priority(quick: bool) -> list[Row]:
    """Why the writer runs as it does: the same loaded run with the writer as SCHED_OTHER, FIFO 1 and just below the lanes."""
    rounds, seconds = (1, 2) if quick else (3, 10)
    seen: dict[str, list[tuple[int, int, int]]] = {"0": [], "1": [], str(PRIORITY - 1): []}
    for _ in range(rounds):
        for priority, found in seen.items():
            lanes, _cpu = _loss(seconds, "--writer-priority", priority)
            found.append(
                (sum(x["dropped"] for x in lanes), sum(x["missed"] for x in lanes), max(x["max_ns"] for x in lanes))
            )
    names = {"0": "SCHED_OTHER", "1": "FIFO 1", str(PRIORITY - 1): f"FIFO {PRIORITY - 1}"}
    cells = [
        f"{names[p]}: dropped {sum(d for d, _, _ in f)}, missed {statistics.median(m for _, m, _ in f):.0f}, max {statistics.median(x for _, _, x in f) / 1000:.0f} us"
        for p, f in seen.items()
    ]
    return [
        Row(
            "Writer thread's priority, 50 us under full load",
            "each other",
            "dropped 0",
            "; ".join(cells),
            f"medians of {rounds} interleaved runs of {seconds} s",
        )
    ]
