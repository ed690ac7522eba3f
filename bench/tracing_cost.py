"""What tracing costs a wake-up: rtprobe --trace-above, trace-cmd record of the same events and rtla timerlat, in one boot in virtual time;
and how fast pages are decoded, beside trace-cmd report.

    .venv/bin/python bench/tracing_cost.py [--kernel rt|stock] [--seconds 4] [--keep DIR]

Prints Markdown tables. It needs QEMU, trace-cmd on this machine, and Debian's mirror for rtla at the first run.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from rtassay import store
from rtassay.boards.binaries import probe_path
from rtassay.causes import formats, pages
from rtassay.lab import quick
from rtassay.lab.arches import arch_named
from rtassay.lab.packages import Packages
from rtassay.lab.script import STREAM, ScriptBoard
from rtassay.model.events import HistogramPart, Note, TracePage, TraceText
from rtassay.model.manifest import Manifest, Plan, Source
from rtassay.wire.stream import StreamParser

TOOLS = {
    "trace-cmd": ("usr/bin/trace-cmd",),
    "rtla": ("usr/bin/rtla",),
    "libtracefs1": ("usr/lib/x86_64-linux-gnu/*.so*",),
    "libtraceevent1": ("usr/lib/x86_64-linux-gnu/*.so*",),
    "libzstd1": ("usr/lib/x86_64-linux-gnu/*.so*",),
}
LANE = "cyclic --cpus 0 --interval 1ms --no-samples"


def script(seconds: int) -> str:
    """One tool after the other, each with a lane of 1 ms on the only CPU. The level is one that many wake-ups reach, so that pages are kept."""
    traced = f"rtprobe {LANE} --duration {2 * seconds}s --trace-above 60us -o /out/{STREAM}"
    return "\n".join(
        [
            traced,
            f"events=$(grep -a -o '\"events\":\\[[^]]*' /out/{STREAM} | head -n 1 | grep -o '[a-z_]*/[a-z_]*' | grep -v exceptions | sed 's,/,:,; s/^/-e /')",
            f"trace-cmd record -C mono -o /tmp/t.dat $events sleep {seconds + 6} >/out/trace-cmd.txt 2>&1 &",
            "recorder=$!; sleep 4",
            f"rtprobe {LANE} --duration {seconds}s -o /out/trace-cmd.rtw",
            "wait $recorder; echo $? >> /out/trace-cmd.txt; ls -l /tmp/t.dat >> /out/trace-cmd.txt",
            f"rtla timerlat hist -c 0 -p 1000 -d {seconds}s -E 2000 > /out/rtla.txt 2>&1; true",
            "",
        ]
    )


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--kernel", choices=["rt", "stock"], default="rt")
    options.add_argument("--seconds", type=int, default=4)
    options.add_argument("--keep", type=Path, help="directory for what the board wrote")
    given = options.parse_args()
    arch = arch_named("amd64")
    image = quick.cached(arch) or quick.build(arch, print)
    files = {"bin/rtprobe": probe_path("x86_64").read_bytes()}
    for name, home in Packages(arch.name).unpacked(TOOLS, print).items():
        for path in (path for path in home.rglob("*") if path.is_file()):
            files[f"{'lib' if '.so' in path.name else 'bin'}/{_as_asked(path, name)}"] = path.read_bytes()
    board = ScriptBoard(image.kernels[given.kernel], image.initramfs.read_bytes(), files, script(given.seconds))
    result = board.run(600)
    if given.keep:
        given.keep.mkdir(parents=True, exist_ok=True)
        for name, content in result.files.items():
            (given.keep / name).write_bytes(content)
    print(f"| {given.kernel}, p50 and p99 in us | p50 | p99 | above untraced |\n| --- | --- | --- | --- |")
    untraced, traced = (_quantiles(result.stream, traced=part) for part in (False, True))
    beside = _quantiles(result.files["trace-cmd.rtw"], traced=False)
    for name, (p50, p99) in {
        "rtprobe, untraced": untraced,
        "rtprobe, traced": traced,
        "rtprobe, beside trace-cmd record": beside,
        "rtla timerlat, thread": _rtla(result.files["rtla.txt"].decode()),
    }.items():
        print(f"| {name} | {p50:.1f} | {p99:.1f} | {p50 - untraced[0]:+.1f} |")
    _decoding(result.stream)
    return 0


def _as_asked(path: Path, package: str) -> str:
    """A library as programs ask for it: libtracefs.so.1.6.3 is libtracefs.so.1."""
    found = re.match(r"(lib.*\.so\.\d+)", path.name) if package.startswith("lib") else None
    return found[1] if found else path.name


def _quantiles(stream: bytes, *, traced: bool) -> tuple[float, float]:
    """Median and p99 in us of one part of a stream of one lane."""
    parts = [e for e in StreamParser().feed(stream) if isinstance(e, HistogramPart) and e.traced == traced]
    lower = np.concatenate([part.lower_ns for part in parts])
    counts = np.concatenate([part.counts for part in parts])
    order = np.argsort(lower)
    upto = np.cumsum(counts[order])
    p50, p99 = (lower[order][np.searchsorted(upto, np.ceil(q * upto[-1]))] / 1000 for q in (0.5, 0.99))
    return float(p50), float(p99)


def _rtla(text: str) -> tuple[float, float]:
    """Median and p99 in us of rtla's thread latency: rows of `index IRQ-000 Thr-000`."""
    rows = [line.split() for line in text.splitlines() if re.fullmatch(r"\d+\s+\d+\s+\d+\s*", line)]
    counts = np.array([int(row[2]) for row in rows])
    if not counts.sum():
        return float("nan"), float("nan")
    upto = np.cumsum(counts)
    p50, p99 = (int(rows[int(np.searchsorted(upto, np.ceil(q * upto[-1])))][0]) for q in (0.5, 0.99))
    return float(p50), float(p99)


def _decoding(stream: bytes) -> None:
    """Pages and events a second, and trace-cmd report's time for the same pages."""
    events = list(StreamParser().feed(stream))
    texts = {e.name: e.content.decode() for e in events if isinstance(e, TraceText)}
    raw = list(dict.fromkeys(e.page for e in events if isinstance(e, TracePage)))
    forms = {n.removeprefix("format/"): t for n, t in texts.items() if n.startswith("format/") and "ftrace/" not in n}
    begun = time.perf_counter()
    found = pages.decode(raw, pages.decoder(formats.page_layout(texts["header_page"]), forms))
    ours_s = time.perf_counter() - begun
    with tempfile.TemporaryDirectory() as scratch:
        path = _recorded(stream, Path(scratch))
        dat = Path(scratch) / "t.dat"
        rtassay = [sys.executable, "-m", "rtassay"]
        subprocess.run([*rtassay, "export", str(path), "--to", "trace.dat", "-o", str(dat)], check=True)
        trace_cmd = shutil.which("trace-cmd") or "trace-cmd"
        begun = time.perf_counter()
        text = subprocess.run([trace_cmd, "report", "-i", str(dat)], capture_output=True, check=True).stdout
        theirs_s = time.perf_counter() - begun
        begun = time.perf_counter()
        attributed = len(store.open_recording(path).causes)
        whole_s = time.perf_counter() - begun
    lines = text.count(b"\n")
    begin = next(e.data for e in events if isinstance(e, Note) and e.name == "trace_begin")
    print(
        f"\n{len(raw)} pages, {len(found.events)} events of them known; buffer {begin['buffer_kb']} kB; stats of the ring:"
    )
    print("; ".join(line.strip() for line in texts.get("stats/cpu0", "").splitlines()))
    print("\n| decoder | s | pages/s | events/s |\n| --- | --- | --- | --- |")
    print(f"| rtassay | {ours_s:.2f} | {len(raw) / ours_s:,.0f} | {len(found.events) / ours_s:,.0f} |")
    print(f"| trace-cmd report | {theirs_s:.2f} | {len(raw) / theirs_s:,.0f} | {lines / theirs_s:,.0f} |")
    print(
        f"\nratio of events/s: {len(found.events) / ours_s / (lines / theirs_s):.2f}; open with {attributed} attributions: {whole_s:.2f} s"
    )


def _recorded(stream: bytes, home: Path) -> Path:
    """The stream as a sealed recording."""
    blank = Manifest(store.new_id(), "2026-11-23T12:00:00Z", Source("rtprobe", None, "rtw", "counted"))
    manifest = replace(blank, plan=Plan(interval_ns=1_000_000))
    with store.RecordingWriter.create(home, manifest, STREAM) as writer:
        writer.append(stream)
    store.seal(writer.path)
    return Path(writer.path)


if __name__ == "__main__":
    sys.exit(main())
