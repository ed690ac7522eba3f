"""What reports say of the loads: work, CPU use, and parts that did nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rtassay.model.manifest import LoadEntry, Manifest, Source, WorkPart
from rtassay.model.recording import Recording, Series
from rtassay.reports.recording import load_work

S = 10**9


def recording(*entries: LoadEntry, cpus: list[float] | None = None) -> Recording:
    manifest = Manifest(
        "x", "2026-11-22", Source("rtprobe", "1", "rtw"), loads=entries, started_ns=10 * S, ended_ns=14 * S
    )
    times = np.array([9, 11, 12, 13, 20], dtype=np.int64) * S
    series = [] if cpus is None else [Series("load", "0.stress-ng.cpus", "CPUs", times, np.array(cpus))]
    return Recording(manifest, (), telemetry=tuple(series))


PARTS = (
    WorkPart("cpu", 500.0, "bogo ops", 4.0, 2),
    WorkPart("vm", 0.0, "bogo ops", 4.0, 2),
    WorkPart("apparmor", skipped=True, why="AppArmor | is not enabled"),
)
ENTRY = LoadEntry(
    "stress-ng",
    ("stress-ng",),
    (0, 1),
    "0.15",
    9 * S,
    15 * S,
    15 * S,
    0,
    operations=1_480_000.0,
    operations_unit="bogo ops",
    parts=PARTS,
)


def test_the_sentence_names_work_use_and_what_did_nothing() -> None:
    told = load_work.in_words(recording(ENTRY, cpus=[9.0, 1.0, 2.0, 1.5, 9.0]))
    assert told == "stress-ng 1.48M bogo ops, 1.5 CPUs used, no work: vm, skipped: apparmor"
    assert load_work.in_words(recording()) is None
    iperf = LoadEntry(
        "iperf3", (), operations=9.6e9, operations_unit="bytes", parts=(WorkPart("sent", 9.6e9, "bytes"),)
    )
    failed = LoadEntry("hackbench", (), error="no memory")
    stress = LoadEntry("stress", (), operations=4.29, operations_unit="CPU seconds")
    assert load_work.in_words(recording(iperf, failed, stress)) == (
        "iperf3 9.6 Gbytes; hackbench work not known, no memory; stress 4.29 CPU seconds"
    )


def test_a_row_for_every_part_where_there_are_several_or_one_did_nothing() -> None:
    one = LoadEntry("hackbench", (), operations=5.0, parts=(WorkPart("7 rounds", 5.0, "messages", 1.0),))
    rows = load_work.part_rows(recording(ENTRY, one))
    assert [row[:4] for row in rows] == [
        ("stress-ng", "cpu", "2", "500 bogo ops"),
        ("stress-ng", "vm", "2", "0 bogo ops"),
        ("stress-ng", "apparmor", "-", "-"),
    ]
    assert rows[0][4:6] == ("4.0 s", "125")
    assert (rows[1][6], rows[2][6]) == ("no work", "skipped: AppArmor | is not enabled")


def test_a_rate_has_no_exponent() -> None:
    fast = replace(ENTRY, parts=(WorkPart("msg", 3_727_158.0, "bogo ops", 61.07, 2), PARTS[0]))
    assert [row[5] for row in load_work.part_rows(recording(fast))] == ["61,031", "125"]


def test_the_table_has_a_window_and_an_end() -> None:
    ((name, _, cpus, window, work, ended),) = load_work.rows(recording(ENTRY, cpus=[9.0, 1.0, 1.0, 1.0, 9.0]))
    assert (name, cpus, window, ended) == ("stress-ng (0.15)", "0-1", "-1.0 to +5.0 s", "exit 0")
    assert work == "1,480,000 bogo ops, 1.00 CPUs used"
