"""Cross-field invariants of every format: a file that breaks one is refused, or fails an integrity check that the whole file passes.

The table of docs/extend/importers.md says which format tells which; this test reads it. "-" means that the format has no such field.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from rtassay import store
from rtassay.analysis.judge import judge
from rtassay.importers.base import events_of
from rtassay.model import rooms
from rtassay.model.errors import InputFileError

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "importers"
PAGE = ROOT / "docs" / "extend" / "importers.md"
INVARIANTS = ("total", "overflow", "order", "inside", "lanes", "sign", "size")
Edit = Callable[[str], str]
HUGE = "9" * 30


def swap(pattern: str, new: str, *, count: int = 1) -> Edit:
    """The first match of the pattern, replaced: `count=0` all of them."""

    def edit(text: str) -> str:
        done, found = re.subn(pattern, new, text, count=count, flags=re.M)
        assert found, f"the golden file holds no {pattern!r}"
        return done

    return edit


def both(*edits: Edit) -> Edit:
    def edit(text: str) -> str:
        for one in edits:
            text = one(text)
        return text

    return edit


def console(pattern: str, new: str) -> Edit:
    """The same in lines of rtprobe-lite, each with the checksum of its new text."""

    def checked(line: re.Match[str]) -> str:
        return f"{line[1]} *{zlib.crc32(line[1].encode()):08x}"

    return both(swap(pattern, new), lambda text: re.sub(r"(@RTL1 [^*]*) \*[0-9a-f]{8}", checked, text))


# Format -> golden file, and for each invariant an edit that breaks it.
CASES: dict[str, tuple[str, dict[str, Edit]]] = {
    "cyclictest": (
        "H60-sum.ok.txt",
        {
            "total": swap("^# Total: 000000285", "# Total: 000000999"),
            "overflow": swap("^# Max Latencies: .*", "# Max Latencies: 00058 00058 00058"),
            "order": swap("^# Avg Latencies: .*", "# Avg Latencies: 00009 00008"),
            "inside": swap("^# Min Latencies: .*", "# Min Latencies: 00030 00030"),
            "lanes": swap("^# Max Latencies: .*", "# Max Latencies: 01046"),
            "sign": swap("^# Min Latencies: 0", "# Min Latencies: -"),
            "size": swap("^# Max Latencies: 01046", f"# Max Latencies: {HUGE}"),
        },
    ),
    "cyclictest-json": (
        "h40.ok.json",
        {
            "total": swap('"cycles": 300', '"cycles": 100'),
            "overflow": swap('"max": [0-9]+', '"max": 39', count=0),
            "order": swap('"avg": [0-9.]+', '"avg": 4.5'),
            "inside": swap('"min": [0-9]+', '"min": 15', count=0),
            "lanes": swap('"num_threads": 2', '"num_threads": 3'),
            "sign": swap('"min": ', '"min": -'),
            "size": swap('"max": [0-9]+', f'"max": {HUGE}'),
        },
    ),
    "cyclicdeadline": (
        "two-threads.ok.json",
        {
            "order": swap('"avg": [0-9.]+', '"avg": 0.5', count=0),
            "lanes": swap('"num_threads": 2', '"num_threads": 3'),
            "sign": swap('"min": ', '"min": -'),
            "size": swap('"max": [0-9]+', f'"max": {HUGE}'),
        },
    ),
    "hwlatdetect": (
        "some-windows.ok.txt",
        {
            "total": swap("^Samples recorded: 9", "Samples recorded: 8"),
            "order": swap("^Max Latency: 238355us", "Max Latency: 500000us"),
            "inside": swap("^Max Latency: 238355us", "Max Latency: 30000us"),
            "sign": swap("inner:12191", "inner:-12191"),
            "size": swap("inner:12191", f"inner:{HUGE}"),
        },
    ),
    "benchkit": (
        "two-threads.ok.json",
        {
            "lanes": swap('"threads": 2', '"threads": 1'),
            "sign": swap('"thread0": \\[[0-9]+', '"thread0": [-4'),
            "size": swap('"thread0": \\[[0-9]+', f'"thread0": [{HUGE}'),
        },
    ),
    "rt-bench": (
        "met.ok.csv",
        {
            "sign": swap(",(0[.]000[0-9]{6},1,)", r",-\1"),
            "size": swap(",0[.]000[0-9]{6},1,", f",{HUGE}.000000000,1,"),
        },
    ),
    "jitterdebugger": (
        "us.ok.json",
        {
            "total": swap('"count": 400', '"count": 100'),
            "overflow": swap('"count": 400', '"count": 400400'),
            "order": swap('"avg": [0-9.]+', '"avg": 4.5'),
            "inside": swap('"max": 74', '"max": 60'),
            "sign": swap('"min": ', '"min": -'),
            "size": swap('"max": [0-9]+', f'"max": {HUGE}'),
        },
    ),
    "hgrm": (
        "wrk2-style_us.ok.hgrm",
        {
            "total": swap("Total count    =          100", "Total count    =          200"),
            "order": swap(r"Mean    =       16\.102", "Mean    =      900.000"),
            "inside": swap(r"Max     =      410\.111", "Max     =      100.000"),
            "sign": swap(r"4\.003 ", "-4.003 "),
            "size": swap(r"Max     =      410\.111", f"Max     = {HUGE}"),
        },
    ),
    "csv-histogram": (
        "rpi3b-rt.ok.csv",
        {
            "lanes": swap("^000002,000000,", "000002,"),
            "sign": swap("^000003,000000", "000003,-00001"),
            "size": swap("^000003,000000", f"000003,{HUGE}"),
        },
    ),
    "rtla-timerlat": (
        "rtla-6.1-over.ok.txt",
        {
            "total": swap("^count:     1961", "count:     9961"),
            "overflow": swap("^max:      49544", "max:        390"),
            "order": swap("^avg:        884", "avg:          5"),
            "inside": swap("^min:         11", "min:        300"),
            "lanes": swap("^max: .*", "max: 49544 57253 77912"),
            "sign": swap("^min:         11", "min:        -11"),
            "size": swap("^max:      49544", f"max: {HUGE}"),
        },
    ),
    "rtla-osnoise": (
        "rtla-6.1-over.ok.txt",
        {
            "total": swap("^count:   718845", "count:   918845"),
            "overflow": swap("^max:      52164", "max:          9"),
            "order": swap("^avg:          5", "avg:          0"),
            "inside": swap("^min:          1", "min:          5"),
            "lanes": swap("^max: .*", "max: 52164"),
            "sign": swap("^min:          1", "min:         -1"),
            "size": swap("^max:      52164", f"max: {HUGE}"),
        },
    ),
    "oslat": (
        "rt-tests-2.40.ok.txt",
        {
            "overflow": swap("Maximum:.*", "Maximum:\t 20 20 (us)"),
            "order": swap("Average:.*", "Average:\t 0.2 0.2 (us)"),
            "inside": swap("Minimum:.*", "Minimum:\t 5 5 (us)"),
            "lanes": swap("Maximum:.*", "Maximum:\t 20030 (us)"),
            "sign": swap("Minimum:.*", "Minimum:\t -1 1 (us)"),
            "size": swap("Maximum:.*", f"Maximum:\t {HUGE} 16027 (us)"),
        },
    ),
    "osadl": (
        "maximum-beyond.ok.json",
        {
            "total": swap('"cycles": 500', '"cycles": 100'),
            "inside": swap(r'"maxima": \[\s*9,', '"maxima": [ 4,'),
            "lanes": swap(r'"maxima": \[\s*9,', '"maxima": ['),
            "sign": swap("300, 150", "300, -150"),
            "size": swap("300, 150", f"300, {HUGE}"),
        },
    ),
    "rteval": (
        "cyclictest.ok.xml",
        {
            "total": swap("<samples>600</samples>", "<samples>900</samples>"),
            "order": swap('<mean unit="us">4.20</mean>', '<mean unit="us">50.20</mean>'),
            "inside": swap('<maximum unit="us">22</maximum>', '<maximum unit="us">4</maximum>'),
            "sign": swap("<samples>600</samples>", "<samples>-600</samples>"),
            "size": swap("<samples>600</samples>", f"<samples>{HUGE}</samples>"),
        },
    ),
    "cyclictest-verbose": (
        "q.ok.txt",
        {
            "total": swap("C:    120", "C:     90"),
            "order": swap("Avg:   17", "Avg:    7"),
            "inside": swap("Max:      78", "Max:      18"),
            "lanes": swap("^       1: .*\n", "", count=0),
            "sign": swap(r"^ *0: +\d+: +", "       0:      -5:          "),
            "size": swap(r"^( *0: +\d+: +)\d+", rf"\g<1>{HUGE}"),
        },
    ),
    "console": (
        "freertos-critical.ok.log",
        {
            "total": console(" n=3000 missed=0", " n=2900 missed=0"),
            "order": console(r"min_ns=\d+", "min_ns=900000"),
            "inside": console(r"max_ns=\d+", "max_ns=50000"),
            "sign": console(" n=3000 missed=0", " n=-3000 missed=0"),
            "size": console(" n=3000 missed=0", f" n={HUGE} missed=0"),
        },
    ),
    "table": ("one-column.ok.csv", {"size": swap("^4037", HUGE)}),
    # Samples alone, or frames whose sums are checked against each other (tests/unit/wire, tests/unit/store).
    "parquet": ("", {}),
    "jitterdebugger-raw": ("", {}),
    "rtw": ("", {}),
}
BROKEN = [(name, invariant) for name, (_, edits) in CASES.items() for invariant in edits]


def integrity(name: str, path: Path, home: Path) -> set[str] | None:
    """The integrity checks that a file fails; None for one that is refused."""
    member = rooms.load("importers", name)(**({"unit": "us"} if name in ("table", "hgrm") else {}))
    try:
        made = store.import_events(home, path, member.source(path), events_of(member, path))
    except InputFileError as error:
        assert str(path) in str(error)
        return None
    checks = judge(store.open_recording(made)).checks
    return {check.id for check in checks if check.kind == "integrity" and check.severity in ("invalid", "warning")}


def declared() -> dict[str, set[str]]:
    """The table of the page: format -> the invariants with a `yes`."""
    rows = [line.strip("| \n").split("|") for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    return {
        cells[0].strip(" `"): {name for name, cell in zip(INVARIANTS, cells[1:], strict=True) if cell.strip() == "yes"}
        for cells in rows
    }


def test_the_page_declares_what_every_format_has() -> None:
    assert declared() == {name: set(edits) for name, (_, edits) in CASES.items()}
    assert set(CASES) == set(rooms.table("importers"))


@pytest.mark.parametrize(("name", "invariant"), BROKEN)
def test_a_file_that_contradicts_itself_is_refused_or_fails_a_check(name: str, invariant: str, tmp_path: Path) -> None:
    golden, edits = CASES[name]
    source = DATA / name / golden
    path = tmp_path / golden
    path.write_bytes(source.read_bytes())
    before = integrity(name, path, tmp_path / "whole")
    assert before is not None
    path.write_text(edits[invariant](source.read_text(encoding="utf-8", errors="surrogateescape")))
    found = integrity(name, path, tmp_path / "broken")
    assert found is None or found - before, f"{invariant} of {name} is broken, and nobody says so"
