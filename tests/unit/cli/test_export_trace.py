"""rtassay export --to trace.dat: the pages of a recording, all or around chosen wake-ups, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rtassay import store
from rtassay.causes.trace_dat import trace_dat
from rtassay.model.events import Note, TracePage, TraceText
from rtassay.store import tracing

from ...support.cause_traces import real_pages
from ...support.command_line import in_process
from ...support.traced_run import BEGIN, MS, US, known, record, traced_run, with_pages

KERNEL = "debian-6.1-arm64"
PAGES = real_pages(KERNEL)
CPU = 3


@pytest.fixture(autouse=True)
def decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_attribute", known)


def hit(due_ns: int, late_ns: int) -> Note:
    fields = {"k": (due_ns - BEGIN) // MS, "due_ns": due_ns, "woke_ns": due_ns + late_ns, "tid": 7}
    return Note("trace_hit", 0, {"mono_ns": due_ns + late_ns, **fields, "above_ns": 500 * US, "captured": True})


def starts_ns(page: bytes) -> int:
    return int.from_bytes(page[:8], "little")


EARLY = hit(starts_ns(PAGES[0]), 600 * US)
LATE = hit(starts_ns(PAGES[-1]) + 3 * MS, 900 * US)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = record(tmp_path / "recordings", with_pages(traced_run(hits=[EARLY, LATE]), KERNEL, CPU))
    store.seal(made)
    return made


def exported(path: Path, *more: object) -> tuple[bytes, dict[str, object]]:
    file = path.parents[1] / "late.dat"
    done = in_process("export", path, "--to", "trace.dat", "-o", file, "--json", *more, home=path.parents[1])
    assert done.returncode == 0, done.stderr
    return file.read_bytes(), json.loads(done.stdout)


def test_the_whole_trace_and_that_of_chosen_wake_ups(path: Path) -> None:
    trace = store.kernel_trace(path, store.load_manifest(path))
    assert trace.pages == {CPU: tuple(PAGES)} and len(trace.hits) == 2
    data, told = exported(path)
    assert data == trace_dat(trace).data
    assert (told["format"], told["pages"], told["damaged_pages"]) == ("trace.dat", len(PAGES), 0)
    (early,) = (one for one in trace.hits if one.latency_ns == 600 * US)
    (late,) = (one for one in trace.hits if one.latency_ns == 900 * US)
    assert exported(path, "--worst", 1)[0] == trace_dat(trace, [late]).data != data
    assert exported(path, "--hit", f"0:{early.k}")[0] == trace_dat(trace, [early]).data != data
    assert exported(path, "--hit", f"0:{early.k}", "--worst", 1)[0] == trace_dat(trace, [early, late]).data


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--to", "trace.dat", "--hit", "0:1"), "the worst are 0:"),
        (("--to", "trace.dat", "--hit", "first"), "names no captured wake-up"),
        (("--to", "csv", "--worst", "1"), "--to trace.dat"),
        (("--to", "trace"), "trace.dat"),
        (("--to", "trace.dat", "--json"), "both want stdout"),
    ],
)
def test_what_cannot_be_chosen_is_told(path: Path, words: tuple[str, ...], told: str) -> None:
    done = in_process("export", path, *words, home=path.parents[1])
    assert done.returncode == 2 and told in done.stderr and not done.stdout


def test_a_run_without_a_trace_has_none_to_write(tmp_path: Path) -> None:
    events = [event for event in traced_run() if not isinstance(event, Note | TracePage | TraceText)]
    plain = record(tmp_path / "recordings", events)
    store.seal(plain)
    done = in_process("export", plain, "--to", "trace.dat", "-o", tmp_path / "no.dat", home=tmp_path)
    assert done.returncode == 2 and "rtassay causes" in done.stderr and not (tmp_path / "no.dat").exists()
