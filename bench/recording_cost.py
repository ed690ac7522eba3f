"""What keeping and reading costs: bytes per sample against the entropy of the data, the exact histogram of 1e8 samples, start-up."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import ROOT, RTASSAY, Row, spread, use

sys.path.insert(0, str(ROOT / "src"))


def _env(home: str) -> dict[str, str]:
    return {**os.environ, "RTASSAY_HOME": home}


def _record(home: str, *options: str) -> Path:
    argv = [str(RTASSAY), "run", "--quiet", "--output", home, *options]
    done = subprocess.run(argv, env=_env(home), capture_output=True, text=True)
    assert done.returncode in (0, 1, 4, 5), done.stderr
    return next(Path(home).glob("*.rta"))


def bytes_per_sample(quick: bool) -> list[Row]:
    """Entropy H0 of each lane's own histogram, weighted: what no coder of independent samples can beat."""
    import numpy as np
    import pyarrow.parquet as pq

    seconds = 3 if quick else 120
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:
        path = _record(home, "--duration", f"{seconds}s", "--interval", "50us", "--load", "builtin")
        size = (path / "samples.parquet").stat().st_size
        table = pq.read_table(path / "histogram.parquet")
    lanes, counts = table["lane"].to_numpy(), table["count"].to_numpy()
    bits, n = 0.0, int(counts.sum())
    for lane in np.unique(lanes):
        c = counts[lanes == lane].astype(float)
        bits += float(-(c * np.log2(c / c.sum())).sum())
    entropy, stored = bits / n / 8, size / n
    detail = f"entropy {entropy:.3f} B, stored {stored:.3f} B per sample; {n} real samples at 50 us under load, with missed positions"
    return [
        Row(
            "Bytes per sample in the sealed recording",
            "entropy of the data",
            "<= entropy + 0.15 B",
            f"entropy + {stored - entropy:.3f} B",
            detail,
        )
    ]


_READ = "import sys, pyarrow.parquet as q\nf = q.ParquetFile(sys.argv[1])\nfor g in range(f.num_row_groups): f.read_row_group(g)\n"
_LADDER = """
import sys
from pathlib import Path
from rtassay import store
from rtassay.analysis.judge import judge
recording = store.open_recording(Path(sys.argv[1]))
histogram = store.histogram_from_samples(Path(sys.argv[1]))
assert sum(h.total for h in histogram.values()) == int(sys.argv[2])
findings = judge(recording)
assert findings.pooled.n == int(sys.argv[2])
"""


def _synthetic(home: Path, n: int) -> Path:
    """A sealed recording of n samples (log-normal body, an interrupt bump, a Pareto tail), made through our own stream."""
    import numpy as np

    from rtassay import store
    from rtassay.model.events import End, Facts, Samples
    from rtassay.model.manifest import Source

    rng = np.random.default_rng(20261121)
    lanes, block = 2, 1 << 20
    per_lane = n // lanes
    origin, interval = 1_000_000_000, 200_000

    def events():  # type: ignore[no-untyped-def]
        known = [
            {"lane": i, "cpu": i, "tid": 100 + i, "first_due_ns": origin + i * interval // lanes, "obtained": None}
            for i in range(lanes)
        ]
        facts = {
            "stream": 1,
            "probe": "rtprobe",
            "version": "bench",
            "command": "cyclic",
            "mono_ns": origin,
            "wall_ns": 0,
        }
        yield Facts(
            {
                **facts,
                "origin_ns": origin,
                "interval_ns": interval,
                "requested": {"interval_ns": interval},
                "lanes": known,
            }
        )
        ends = []
        for lane in range(lanes):
            low, high, total, done = 2**62, 0, 0, 0
            while done < per_lane:
                size = min(block, per_lane - done)
                values = rng.lognormal(8.3, 0.25, size)
                bump = rng.random(size) < 0.01
                values[bump] += rng.normal(9000, 700, int(bump.sum()))
                tail = rng.random(size) < 1e-4
                values[tail] += rng.pareto(3.0, int(tail.sum())) * 15000
                latency = np.minimum(values, interval - 1).astype(np.int64)
                zero = np.zeros(size, np.int64)
                yield Samples(lane, done, latency, zero, zero)
                low, high, total, done = (
                    min(low, int(latency.min())),
                    max(high, int(latency.max())),
                    total + int(latency.sum()),
                    done + size,
                )
            first = known[lane]["first_due_ns"]
            account = {"due": per_lane, "n": per_lane, "missed": 0, "dropped": 0, "truncated": 0, "exceedances": 0}
            times = {
                "first_due_ns": first,
                "last_due_ns": first + (per_lane - 1) * interval,
                "closed_ns": first + per_lane * interval,
            }
            rest = {
                "min_ns": low,
                "max_ns": high,
                "sum_ns": total,
                "clip": None,
                "spilled": 0,
                "suppressed": 0,
                "coarsened": 0,
            }
            ends.append({"lane": lane, **account, **times, **rest, "state": "ended", "obtained": None})
        yield End(
            {
                "mono_ns": origin + per_lane * interval,
                "wall_ns": 0,
                "reason": "count",
                "exit": 0,
                "lanes": ends,
                "writer": {},
                "main": {},
            }
        )

    original = home / "synthetic.rtw"
    original.write_bytes(b"made by bench/recording_cost.py\n")
    return store.import_events(home, original, Source("rtprobe", "bench", "rtw", "counted"), events())


def histogram_of_1e8(quick: bool) -> list[Row]:
    n, rounds = (2_000_000, 1) if quick else (100_000_000, 5)
    ratios, reads, rss = [], [], []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        path = _synthetic(Path(name), n)
        samples = path / "samples.parquet"
        size = samples.stat().st_size
        for _ in range(rounds):
            read = use([sys.executable, "-c", _READ, samples])
            ladder = use([sys.executable, "-c", _LADDER, path, str(n)])
            ratios.append(ladder.wall_s / read.wall_s)
            reads.append(read.wall_s)
            rss.append(ladder.max_rss_kb / 1024)
    detail = f"whole processes; reading {size / 1e6:.0f} MB of Parquet takes {statistics.median(reads):.2f} s; peak RSS {max(rss):.0f} MB (goal under 250)"
    return [
        Row(
            f"Exact histogram and ladder of {n:.0e} samples",
            "reading its samples.parquet",
            "<= 3x, < 250 MB",
            spread(ratios) + " x",
            detail,
        )
    ]


_VERDICT = """
import json, sys, time
from pathlib import Path
from rtassay import store
from rtassay.analysis.judge import judge
recording = store.open_recording(Path(sys.argv[1]))
deadlines, found = [None, *map(int, sys.argv[3:])], []
for _ in range(int(sys.argv[2])):
    row = []
    for deadline in deadlines:
        start = time.process_time()
        findings = judge(store.with_order(recording, deadline), deadline_ns=deadline)
        row.append((time.process_time() - start, findings.verdict.exceedances if findings.verdict else 0))
    found.append(row)
print(json.dumps(found))
"""
DEADLINES_NS = (2_000, 6_000, 8_000, 14_000, 20_000, 50_000, 150_000)


def verdict_of_1e8(quick: bool) -> list[Row]:
    """A verdict reads the late samples in order where they are few enough. CPU time; the first round opens and compiles what is lazy."""
    n, rounds = (2_000_000, 2) if quick else (100_000_000, 4)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        argv = [sys.executable, "-c", _VERDICT, _synthetic(Path(name), n), rounds, *DEADLINES_NS]
        done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)[1:]
    more = [max(seconds for seconds, _ in row[1:]) - row[0][0] for row in found]
    slowest, late = max(found[0][1:])
    detail = f"slowest {slowest:.2f} s, at a deadline with {late:,} late; figures and checks alone {found[0][0][0]:.2f} s; deadlines with {', '.join(f'{k:,}' for _, k in found[0][1:])} late; CPU time"
    return [
        Row(
            f"Verdict over {n:.0e} samples, at the slowest of {len(DEADLINES_NS)} deadlines",
            "its figures and checks without a deadline",
            "< 1 s more",
            spread(more) + " s more",
            detail,
        )
    ]


def start_up(quick: bool) -> list[Row]:
    rounds = 3 if quick else 15
    bare, helped, shown = [], [], []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:
        path = _record(home, "--duration", "3s", "--load", "none", "--deadline", "10ms", "--p", "1e-3")
        for _ in range(rounds):
            bare.append(use([sys.executable, "-c", "pass"]).wall_s * 1e3)
            helped.append(use([RTASSAY, "--help"]).wall_s * 1e3)
            start = time.monotonic()
            subprocess.run([RTASSAY, "show", path], stdout=subprocess.DEVNULL, check=True)
            shown.append((time.monotonic() - start) * 1e3)
    peer = f"bare python3 {statistics.median(bare):.0f} ms"
    return [
        Row("rtassay --help", peer, "< 120 ms", spread(helped, ".0f") + " ms", f"{rounds} runs"),
        Row(
            "rtassay show of a sealed recording",
            peer,
            "< 600 ms",
            spread(shown, ".0f") + " ms",
            f"{rounds} runs, findings cached at sealing",
        ),
    ]
