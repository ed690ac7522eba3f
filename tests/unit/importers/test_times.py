"""When a file's measurement ran: told by the file, or not told."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtassay import store
from rtassay.importers.times import iso, span
from rtassay.model import rooms

DATA = Path(__file__).parents[2] / "data" / "importers"


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("Sat, 21 Nov 2026 21:34:33 +0000", "2026-11-21T21:34:33Z"),
        ("Sat, 21 Nov 2026 23:34:33 +0200", "2026-11-21T21:34:33Z"),
        ("2026-11-20T15:25:25+02:00", "2026-11-20T13:25:25Z"),
        ("2026-11-20T10:10:12", "2026-11-20T10:10:12"),
        ("yesterday", None),
        ("", None),
        (17, None),
        ("0001-01-01T00:00:00+23:00", None),
    ],
)
def test_stamps_of_tools(stamp: object, expected: str | None) -> None:
    assert iso(stamp) == expected


@given(st.text(max_size=80))
def test_any_text_is_a_time_or_none(text: str) -> None:
    found = span(text, text)
    assert set(found) in (set(), {"started", "ended"})


@pytest.mark.parametrize(
    ("name", "file", "started"),
    [
        ("cyclictest-json", "h40.ok.json", "2026-11-21T21:34:33Z"),
        ("oslat", "rt-tests-2.40.ok.json", "2026-11-21T21:12:20Z"),
        ("rteval", "cyclictest.ok.xml", "2026-11-20T10:10:12"),
        ("cyclictest", "h40.ok.txt", None),
        ("jitterdebugger", "us.ok.json", None),
    ],
)
def test_a_recording_knows_when_it_was_measured(name: str, file: str, started: str | None, tmp_path: Path) -> None:
    path, importer = DATA / name / file, rooms.load("importers", name)()
    made = store.import_events(tmp_path, path, importer.source(path), importer.read(path))
    assert store.load_manifest(made).wall_start == started
